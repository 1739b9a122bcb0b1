//! Whether a merge took from each side just what that side changed.

use std::collections::BTreeMap;

use ralph_core::{Cx, Digest, EntryKind, Revision, VcsError};

use crate::{
    GitVcs,
    changes::RawChange,
    links::{leaves_among, leaves_by_text},
};

/// The texts of all links of a tree. More are not read, and the merge is not taken.
const MOST_LINKS: usize = 16 << 20;

/// What came of comparing a merge with its two sides.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides {
    /// Paths at which the merge is not what one of the sides made of them, or two texts merged.
    pub(crate) wrong: Vec<Vec<u8>>,
    /// Files of which both sides changed the content, and which git merged.
    pub(crate) merged: Vec<Vec<u8>>,
}

/// Compares `result`, what the merge changes on the tip, with what the work and the tip have changed since they parted.
pub(crate) fn contradictions(work: &[RawChange], theirs: &[RawChange], result: &[RawChange]) -> Sides {
    let theirs: BTreeMap<_, _> = theirs.iter().map(|it| (it.path.as_slice(), it)).collect();
    let mut result: BTreeMap<_, _> = result.iter().map(|it| (it.path.as_slice(), it)).collect();
    let mut sides = Sides::default();
    for ours in work {
        let found = result.remove(ours.path.as_slice());
        let fine = match theirs.get(ours.path.as_slice()) {
            None => found.is_some_and(|found| found.after == ours.after),
            Some(theirs) if theirs.after == ours.after => found.is_none(),
            Some(theirs) => match (&ours.before, &ours.after, &theirs.after) {
                (Some(before), Some(our), Some(their)) if before.is_file() && our.is_file() && their.is_file() => {
                    if our.id != before.id && their.id != before.id && our.id != their.id {
                        sides.merged.push(ours.path.clone());
                    }
                    // Nothing is found where the tip has all that the work wanted.
                    found.is_none_or(|found| found.after.as_ref().is_some_and(|after| after.is_file()))
                }
                // Added by both, or changed by one and removed by the other, or not texts.
                _ => false,
            },
        };
        if !fine {
            sides.wrong.push(ours.path.clone());
        }
    }
    // What the work has not touched is the tip's.
    sides.wrong.extend(result.into_keys().map(<[u8]>::to_vec));
    sides
}

/// The paths in git's list of conflicts: a tree, names, an empty field, then messages with the paths they are about.
/// Where a file and a folder are in each other's way, git has put one of the `commits` behind the name.
pub(crate) fn conflicts(said: &[u8], commits: [&Revision; 2]) -> Vec<Vec<u8>> {
    let mut fields = said.split(|byte| *byte == 0).skip(1);
    let mut paths: Vec<Vec<u8>> = fields.by_ref().take_while(|name| !name.is_empty()).map(<[u8]>::to_vec).collect();
    while let Some(count) = fields.next().and_then(|text| std::str::from_utf8(text).ok()?.parse::<usize>().ok()) {
        let about: Vec<_> = fields.by_ref().take(count).map(<[u8]>::to_vec).collect();
        let (kind, _text) = (fields.next().unwrap_or_default(), fields.next());
        if kind.starts_with(b"CONFLICT") {
            paths.extend(about);
        }
    }
    for path in &mut paths {
        for commit in commits {
            let tail = [b"~", commit.as_str().as_bytes()].concat();
            if let Some(at) = path.windows(tail.len()).position(|part| part == tail) {
                path.truncate(at);
            }
        }
    }
    paths
}

impl GitVcs {
    /// Links that lead out of the tree now that both sides' links are in it, though they did in neither.
    pub(crate) async fn leaving_links(
        &self,
        work: &[RawChange],
        tree: &Digest,
        cx: &Cx,
    ) -> Result<Vec<Vec<u8>>, VcsError> {
        if !work.iter().any(|it| it.after.as_ref().is_some_and(|after| after.kind == EntryKind::Link)) {
            return Ok(Vec::new());
        }
        let links = self.links_of(tree, cx).await?;
        let target = |path: &[u8]| links.get(path).cloned();
        let leaves = |(path, to): &(&Vec<u8>, &Vec<u8>)| {
            let ours = work.iter().any(|it| it.path == **path);
            let by_text = leaves_by_text(path, to);
            // One that the tip has had before is not the work's fault.
            if by_text { ours } else { leaves_among(path, target) }
        };
        Ok(links.iter().filter(leaves).map(|(path, _)| path.clone()).collect())
    }

    /// All links of a tree, and where they lead.
    async fn links_of(&self, tree: &Digest, cx: &Cx) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, VcsError> {
        let list = self.git.call("ls-tree").args(["-r", "-z", "--full-tree", tree.as_str()]).ok(cx).await?;
        let link = |record: &[u8]| {
            let mut halves = record.strip_prefix(b"120000 blob ")?.splitn(2, |byte| *byte == b'\t');
            Some((halves.next()?.to_vec(), halves.next()?.to_vec()))
        };
        let found: Vec<_> = list.split(|byte| *byte == 0).filter_map(link).collect();
        let wanted: Vec<u8> = found.iter().flat_map(|(id, _)| [id.as_slice(), b"\n"].concat()).collect();
        let texts = self.git.call("cat-file").arg("--batch").stdin(wanted).most(MOST_LINKS).ok(cx).await?;
        let mut rest = texts.as_slice();
        let mut links = BTreeMap::new();
        for (_, path) in found {
            let text = next_text(&mut rest);
            let unread = || crate::git::other("reading the links of a merge", "git did not give them all");
            links.insert(path, text.ok_or_else(unread)?.to_vec());
        }
        Ok(links)
    }
}

/// Takes `id blob size LF text LF` off the front.
fn next_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let end = rest.iter().position(|byte| *byte == b'\n')?;
    let size: usize = std::str::from_utf8(rest.get(..end)?).ok()?.rsplit(' ').next()?.parse().ok()?;
    let text = rest.get(end + 1..end + 1 + size)?;
    *rest = rest.get(end + 1 + size + 1..)?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Entry;

    fn change(path: &str, before: &str, after: &str) -> RawChange {
        let entry = |text: &str| {
            let kind = match text.chars().next()? {
                'l' => EntryKind::Link,
                'm' => EntryKind::Submodule,
                'x' => EntryKind::Executable,
                _ => EntryKind::File,
            };
            Some(Entry { kind, id: text.trim_start_matches(['l', 'm', 'x']).to_owned() })
        };
        RawChange { path: path.into(), before: entry(before), after: entry(after) }
    }

    fn check(work: [&str; 2], theirs: Option<&str>, result: Option<&str>) -> (usize, usize) {
        let ours = change("p", work[0], work[1]);
        let onto = theirs.unwrap_or(work[0]);
        let theirs: Vec<_> = theirs.map(|after| change("p", work[0], after)).into_iter().collect();
        let result: Vec<_> = result.map(|after| change("p", onto, after)).into_iter().collect();
        let sides = contradictions(&[ours], &theirs, &result);
        (sides.wrong.len(), sides.merged.len())
    }

    #[test]
    fn each_side_has_what_it_changed() {
        for (work, theirs, result, expected) in [
            // Only the work has changed it.
            (["1", "2"], None, Some("2"), (0, 0)),
            (["1", ""], None, Some(""), (0, 0)),
            (["1", "2"], None, None, (1, 0)),
            (["1", "2"], None, Some("3"), (1, 0)),
            // Both to the same.
            (["1", "2"], Some("2"), None, (0, 0)),
            (["1", ""], Some(""), None, (0, 0)),
            // Two texts, and a text and a mode.
            (["1", "2"], Some("3"), Some("4"), (0, 1)),
            (["1", "2"], Some("3"), None, (0, 1)),
            (["1", "x1"], Some("3"), Some("x3"), (0, 0)),
            (["1", "2"], Some("3"), Some(""), (1, 1)),
            // Nothing that has to be guessed, whatever git made of it.
            (["", "2"], Some("3"), Some("4"), (1, 0)),
            (["1", ""], Some("3"), Some(""), (1, 0)),
            (["1", "2"], Some(""), Some("2"), (1, 0)),
            (["l1", "l2"], Some("l3"), Some("l2"), (1, 0)),
            (["m1", "m2"], Some("m3"), Some("m2"), (1, 0)),
            (["1", "l2"], Some("3"), Some("l2"), (1, 0)),
        ] {
            assert_eq!(check(work, theirs, result), expected, "{work:?} {theirs:?} {result:?}");
        }
        // A change that landed in another file.
        let moved = contradictions(&[], &[], &[change("q", "1", "2")]);
        assert_eq!(moved.wrong, [b"q".to_vec()]);
    }

    #[test]
    fn conflicts_are_named_as_people_know_them() {
        let (one, two) = (Revision::new("aa"), Revision::new("bb"));
        let said = b"tree\0d/f\0d~bb\0\x001\0a\0Auto-merging\0x\n\x002\0d~bb\0e\0CONFLICT (file/directory)\0y\n\0";
        let told = conflicts(said, [&one, &two]);
        assert_eq!(told, [&b"d/f"[..], b"d", b"d", b"e"].map(<[u8]>::to_vec));
        assert_eq!(conflicts(b"tree", [&one, &two]), [[0; 0]; 0]);
        assert_eq!(conflicts(b"", [&one, &two]), [[0; 0]; 0]);
    }

    #[test]
    fn texts_are_cut_where_git_says() {
        let mut rest = &b"ab blob 3\nx\ny\ncd blob 0\n\nef missing\n"[..];
        assert_eq!(next_text(&mut rest), Some(&b"x\ny"[..]));
        assert_eq!(next_text(&mut rest), Some(&b""[..]));
        assert_eq!(next_text(&mut rest), None);
    }
}
