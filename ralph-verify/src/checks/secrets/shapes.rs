//! What well-known keys look like.

/// Which characters a key is made of.
#[derive(Clone, Copy, Debug)]
enum Of {
    /// `A`–`Z` and digits.
    Upper,
    /// Letters and digits.
    Word,
    /// Letters, digits, `_` and `-`.
    Url,
    /// The same and `.`.
    Dotted,
    /// `0`–`9` and `a`–`f`.
    Hex,
}

impl Of {
    fn has(self, c: char) -> bool {
        match self {
            Self::Upper => c.is_ascii_uppercase() || c.is_ascii_digit(),
            Self::Word => c.is_ascii_alphanumeric(),
            Self::Url => c.is_ascii_alphanumeric() || matches!(c, '_' | '-'),
            Self::Dotted => Self::Url.has(c) || c == '.',
            Self::Hex => c.is_ascii_hexdigit() && !c.is_ascii_uppercase(),
        }
    }
}

/// A kind of key: what it is called, how it starts, what follows, and how long that is at least and at most.
///
/// The shapes are those that the issuers document, and that secret scanners share.
#[rustfmt::skip]
const SHAPES: &[(&str, &str, Of, usize, usize)] = &[
    ("an AWS access key id", "AKIA", Of::Upper, 16, 16),
    ("an AWS access key id", "ASIA", Of::Upper, 16, 16),
    ("a GitHub token", "ghp_", Of::Word, 36, 255),
    ("a GitHub token", "gho_", Of::Word, 36, 255),
    ("a GitHub token", "ghu_", Of::Word, 36, 255),
    ("a GitHub token", "ghs_", Of::Word, 36, 255),
    ("a GitHub token", "ghr_", Of::Word, 36, 255),
    ("a GitHub token", "github_pat_", Of::Url, 60, 255),
    ("a GitLab token", "glpat-", Of::Url, 20, 255),
    ("an Anthropic key", "sk-ant-", Of::Url, 40, 255),
    ("an OpenAI key", "sk-proj-", Of::Url, 40, 255),
    ("an OpenAI key", "sk-svcacct-", Of::Url, 40, 255),
    ("an OpenAI key", "sk-", Of::Word, 40, 64),
    ("a Slack token", "xoxb-", Of::Url, 24, 255),
    ("a Slack token", "xoxp-", Of::Url, 24, 255),
    ("a Slack token", "xoxa-", Of::Url, 24, 255),
    ("a Slack token", "xoxr-", Of::Url, 24, 255),
    ("a Slack token", "xoxs-", Of::Url, 24, 255),
    ("a Slack token", "xapp-", Of::Url, 24, 255),
    ("a Google key", "AIza", Of::Url, 35, 35),
    ("a Google client secret", "GOCSPX-", Of::Url, 28, 28),
    ("a Stripe live key", "sk_live_", Of::Word, 24, 255),
    ("a Stripe live key", "rk_live_", Of::Word, 24, 255),
    ("an npm token", "npm_", Of::Word, 36, 36),
    ("a PyPI token", "pypi-AgE", Of::Url, 50, 255),
    ("a Hugging Face token", "hf_", Of::Word, 34, 40),
    ("a SendGrid key", "SG.", Of::Dotted, 60, 70),
    ("a DigitalOcean token", "dop_v1_", Of::Hex, 64, 64),
    ("a Docker Hub token", "dckr_pat_", Of::Url, 27, 27),
];

/// Words that say that a key is none.
const PLACEHOLDERS: &[&str] =
    &["example", "placeholder", "dummy", "fake", "your", "xxxx", "redacted", "changeme", "sample", "0000", "insert"];

/// Sequences that nobody draws.
const RUNS: &[&str] = &["12345678", "abcdefgh", "ABCDEFGH", "qwertyui", "01234567", "deadbeef"];

/// The token with which everybody shows what a JWT is (`{"sub":"1234567890","name":"John Doe"…`).
const WELL_KNOWN_JWT: &str = "eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkpvaG4gRG9lI";

/// The kinds of key in `line`, each once; `next` is the line after it.
pub(super) fn find(line: &str, next: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    let mut add = |kind| {
        if !found.contains(&kind) {
            found.push(kind);
        }
    };
    for (kind, start, of, least, most) in SHAPES {
        for (at, _) in line.match_indices(start) {
            // In the middle of another word it is chance.
            if line[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                continue;
            }
            let rest = &line[at + start.len()..];
            let length = rest.find(|c: char| !of.has(c)).unwrap_or(rest.len());
            if (*least..=*most).contains(&length) && is_drawn(&rest[..length]) {
                add(*kind);
            }
        }
    }
    if line.match_indices("eyJ").any(|(at, _)| is_jwt(&line[at..])) {
        add("a JSON web token");
    }
    if is_private_key(line, next) {
        add("a private key");
    }
    found
}

/// Whether a key was drawn at random, as far as anybody can see: no placeholder, and letters enough.
fn is_drawn(key: &str) -> bool {
    let lower = key.to_ascii_lowercase();
    let mut distinct: Vec<u8> = key.bytes().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let digits = key.bytes().any(|byte| byte.is_ascii_digit());
    digits
        && distinct.len() >= 8
        && !PLACEHOLDERS.iter().any(|word| lower.contains(word))
        && !RUNS.iter().any(|run| key.contains(run))
}

fn is_jwt(rest: &str) -> bool {
    let length = rest.find(|c: char| !Of::Dotted.has(c)).unwrap_or(rest.len());
    let parts: Vec<&str> = rest[..length].split('.').collect();
    let [head, body, seal, ..] = parts[..] else { return false };
    head.len() >= 16
        && body.starts_with("eyJ")
        && body.len() >= 16
        && seal.len() >= 20
        && !body.starts_with(WELL_KNOWN_JWT)
}

/// Whether a private key begins here. Its first line alone is what code looks for.
fn is_private_key(line: &str, next: &str) -> bool {
    let Some((_, rest)) = line.split_once("-----BEGIN ") else { return false };
    let Some((kind, after)) = rest.split_once("-----") else { return false };
    if !kind.ends_with("PRIVATE KEY") && !kind.ends_with("PRIVATE KEY BLOCK") {
        return false;
    }
    let is_body = |text: &str| {
        let text = text.trim().trim_start_matches("\\n").trim_start_matches(['"', '\'']);
        let length = text.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '/')).unwrap_or(text.len());
        length >= 40
    };
    // An encrypted one has headers before its body.
    is_body(after) || is_body(next) || next.starts_with("Proc-Type:")
}
