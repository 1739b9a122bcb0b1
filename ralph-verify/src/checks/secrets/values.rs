//! The operator's own values, in the forms in which they get into files.

use std::fmt;

use memchr::memmem;

/// A shorter value is a word, a number or a name.
const SHORTEST: usize = 12;

/// A value that must be in no file, and the forms that it is looked for in.
#[derive(Clone)]
pub(super) struct Value {
    pub(super) name: String,
    forms: Vec<Vec<u8>>,
}

/// Without the value.
impl fmt::Debug for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Value").field("name", &self.name).finish_non_exhaustive()
    }
}

impl Value {
    /// `None` where the value is too short to be told from words.
    pub(super) fn new(name: String, value: &str) -> Option<Self> {
        let value = value.trim();
        let distinct = value.bytes().collect::<std::collections::BTreeSet<_>>().len();
        if value.len() < SHORTEST || distinct < 5 {
            return None;
        }
        let mut forms = vec![value.as_bytes().to_vec(), percent(value, false), percent(value, true)];
        for alphabet in [STANDARD, URL] {
            forms.extend((0..3).map(|shift| base64(value.as_bytes(), shift, alphabet)));
        }
        forms.sort_unstable();
        forms.dedup();
        Some(Self { name, forms })
    }

    pub(super) fn is_in(&self, content: &[u8]) -> bool {
        self.forms.iter().any(|form| memmem::find(content, form).is_some())
    }

    /// Whether it has more than one line.
    pub(super) fn is_long(&self) -> bool {
        self.forms.iter().any(|form| form.contains(&b'\n'))
    }
}

fn percent(value: &str, lower: bool) -> Vec<u8> {
    let mut out = Vec::new();
    for byte in value.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(byte);
        } else {
            let code = if lower { format!("%{byte:02x}") } else { format!("%{byte:02X}") };
            out.extend(code.bytes());
        }
    }
    out
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What base64 makes of `value` where `shift` bytes are before it in its group: the characters that hold nothing of what
/// is around it.
fn base64(value: &[u8], shift: usize, alphabet: &[u8; 64]) -> Vec<u8> {
    let bits = |at: usize| value.get(at / 8).is_some_and(|byte| byte & (0x80 >> (at % 8)) != 0);
    // The first whole character starts so many bits into the value.
    let first = (6 - shift * 8 % 6) % 6;
    let whole = (value.len() * 8 - first) / 6;
    let character = |index: usize| {
        let sextet = (0..6).fold(0_usize, |sum, bit| sum << 1 | usize::from(bits(first + index * 6 + bit)));
        alphabet[sextet]
    };
    (0..whole).map(character).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUE: &str = "p4ss/w0rd+Zürich";

    #[test]
    fn every_form_is_found_and_nothing_else() {
        let value = Value::new("DB_PASSWORD".to_owned(), VALUE).unwrap();
        for text in [
            "url = p4ss/w0rd+Zürich;",
            "p4ss%2Fw0rd%2BZ%C3%BCrich",
            "p4ss%2fw0rd%2bZ%c3%bcrich",
            // The value; after one byte; after two; in the alphabet of addresses.
            "cDRzcy93MHJkK1rDvHJpY2g=",
            "eHA0c3MvdzByZCtaw7xyaWNo",
            "eHhwNHNzL3cwcmQrWsO8cmljaA==",
            "eHA0c3MvdzByZCtaw7xyaWNo".replace('/', "_").as_str(),
        ] {
            assert!(value.is_in(text.as_bytes()), "{text}");
        }
        for text in ["p4ss/w0rd", "p4ss w0rd Zurich", "cDRzcy93MHJk"] {
            assert!(!value.is_in(text.as_bytes()), "{text}");
        }
        assert!(!format!("{value:?}").contains("w0rd"));
    }

    #[test]
    fn words_are_no_secrets() {
        for value in ["short", "aaaaaaaaaaaaaaaa", "           ", "1"] {
            assert!(Value::new("X".to_owned(), value).is_none(), "{value}");
        }
    }
}
