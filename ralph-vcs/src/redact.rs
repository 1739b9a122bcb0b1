//! Taking credentials out of what git and remotes say.

use std::collections::BTreeSet;

/// What stands in the place of a credential.
const HIDDEN: &str = "***";
/// A shorter password is looked for in addresses only: elsewhere it would hit ordinary words.
const SHORTEST: usize = 6;

/// The credentials that are known from a remote's addresses.
pub(crate) struct Redact {
    known: BTreeSet<String>,
}

impl Redact {
    /// Knows what `addresses` hold.
    pub(crate) fn new<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        let mut known = BTreeSet::new();
        for address in addresses {
            let Some((scheme, rest)) = address.split_once("://") else { continue };
            let Some(length) = credentials(rest) else { continue };
            let own = rest.get(..length).unwrap_or_default();
            match own.split_once(':') {
                Some((_, password)) => known.insert(password.to_owned()),
                // Alone it is a token, but to ssh.
                None if !is_ssh(scheme) => known.insert(own.to_owned()),
                None => false,
            };
        }
        known.retain(|secret| secret.len() >= SHORTEST);
        Self { known }
    }

    /// `text` without the known credentials, and without those of any address in it.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find("://") {
            let (before, after) = rest.split_at(at + 3);
            out.push_str(before);
            let scheme = before.trim_end_matches("://").rsplit(|c: char| !scheme_char(c)).next().unwrap_or_default();
            let end = after.find(|c: char| c.is_whitespace() || "'\"<>".contains(c)).unwrap_or(after.len());
            let (address, next) = after.split_at(end);
            out.push_str(&without_credentials(scheme, address));
            rest = next;
        }
        out.push_str(rest);
        for secret in &self.known {
            out = out.replace(secret.as_str(), HIDDEN);
        }
        out
    }
}

fn scheme_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
}

fn is_ssh(scheme: &str) -> bool {
    matches!(scheme, "ssh" | "git+ssh" | "ssh+git")
}

/// How much of an address after `://` are credentials.
fn credentials(rest: &str) -> Option<usize> {
    let host_ends = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, _) = rest.split_at(host_ends);
    if let Some(at) = authority.rfind('@') {
        return Some(at);
    }
    // A password in which somebody left a `/` as it is: what stands after the `:` is no port.
    let port = authority.split_once(':').map_or("", |(_, port)| port);
    if port.bytes().all(|byte| byte.is_ascii_digit()) { None } else { rest.rfind('@') }
}

fn without_credentials(scheme: &str, address: &str) -> String {
    let (length, shown) = match credentials(address) {
        None => (0, None),
        Some(length) => {
            let own = address.get(..length).unwrap_or_default();
            // The user of ssh is a place and no secret.
            let shown = if is_ssh(scheme) { own.split(':').next().filter(|_| !own.contains(':')) } else { None };
            (length, Some(shown.unwrap_or(HIDDEN)))
        }
    };
    let rest = address.get(length..).unwrap_or_default();
    let (place, query) = rest.split_at(rest.find('?').unwrap_or(rest.len()));
    format!("{}{place}{}", shown.unwrap_or_default(), if query.is_empty() { "" } else { "?***" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_address_shows_its_credentials() {
        let redact = Redact::new([]);
        for (text, expected) in [
            ("fatal: 'https://me:hunter2@host/x.git/': no", "fatal: 'https://***@host/x.git/': no"),
            ("https://ghp_token@host:443/x", "https://***@host:443/x"),
            ("https://me:p@ss@host/x", "https://***@host/x"),
            ("https://me:pa/ss@host/x https://b@c", "https://***@host/x https://***@c"),
            ("http://host/x?private_token=y", "http://host/x?***"),
            ("ssh://git@host:22/x", "ssh://git@host:22/x"),
            ("ssh://git:secret@host/x", "ssh://***@host/x"),
            ("git@host:x.git and ://", "git@host:x.git and ://"),
            ("http://host:8080/a@b", "http://host:8080/a@b"),
        ] {
            assert_eq!(redact.text(text), expected);
        }
    }

    #[test]
    fn known_ones_are_hidden_wherever_they_are() {
        let redact =
            Redact::new(["https://me:hunter2@host/x", "https://token-alone@h/", "ssh://operator@h/", "/a/b@c"]);
        let said = redact.text("remote: hunter2 of operator is not token-alone");
        assert_eq!(said, "remote: *** of operator is not ***");
        assert_eq!(Redact::new(["https://me:abc@host/"]).text("abc"), "abc");
    }
}
