//! What `git status --porcelain=v2 -z` says about a site, seen from its private index.

/// One path that differs from the index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    pub(crate) path: Vec<u8>,
    /// Whether the index knows the path.
    pub(crate) tracked: bool,
}

/// The parsed answer.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Status {
    pub(crate) changed: Vec<Changed>,
    /// Ignored paths; folders end in `/`.
    pub(crate) ignored: Vec<Vec<u8>>,
}

/// Reads the records. Only the second letter of a state counts: the first compares with the operator's `HEAD`. `None`
/// for what is not such an answer.
pub(crate) fn parse(bytes: &[u8]) -> Option<Status> {
    let mut status = Status::default();
    for record in bytes.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let (kind, rest) = (*record.first()?, record.get(2..)?);
        match kind {
            b'?' => status.changed.push(Changed { path: rest.to_vec(), tracked: false }),
            b'!' => status.ignored.push(rest.to_vec()),
            b'1' => {
                // XY sub mH mI mW hH hI path
                let path = rest.splitn(8, |byte| *byte == b' ').nth(7)?;
                if *rest.get(1)? != b'.' {
                    status.changed.push(Changed { path: path.to_vec(), tracked: true });
                }
            }
            b'#' => {}
            _ => return None,
        }
    }
    Some(status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_apart() {
        let text = b"1 M. N... 100644 100644 100644 a b only head\x001 .M N... 100644 100644 100644 a b x y\n\x00? new\x00! target/\x00";
        let status = parse(text).unwrap();
        let x = Changed { path: b"x y\n".to_vec(), tracked: true };
        let new = Changed { path: b"new".to_vec(), tracked: false };
        assert_eq!(status.changed, [x, new]);
        assert_eq!(status.ignored, [b"target/".to_vec()]);
        assert_eq!(parse(b"2 R. what"), None);
        assert_eq!(parse(b"u"), None);
    }
}
