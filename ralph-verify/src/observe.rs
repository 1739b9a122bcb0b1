//! Verifiers that look at the files of a revision, without a checkout.

use memchr::memmem;
use ralph_core::{Cx, Part, Target, Tree, Verdict, Verifier, VerifyError, async_trait};

/// A longer file is searched up to here, in bytes.
const LARGEST: usize = 8 * 1024 * 1024;

/// Passes where the revision has a file at a path.
///
/// A target without a tree ([`Target::tree`]) makes this and its kin broken: a folder may hold what no revision does.
///
/// ```
/// use ralph_verify::FileExists;
/// let observed = FileExists::new("docs/api.md");
/// ```
#[derive(Clone, Debug)]
pub struct FileExists {
    path: String,
}

impl FileExists {
    /// The path from the root, with `/` between its parts.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into() }
    }
}

#[async_trait]
impl Verifier for FileExists {
    fn name(&self) -> &str {
        "file-exists"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let tree = tree(target, cx)?;
        let there = tree.kind(self.path.as_bytes()).await.map_err(VerifyError::other)?.is_some();
        let what = if there { "is there" } else { "is not there" };
        Ok(verdict(self.name(), there, &format!("{} {what}", self.path)))
    }
}

/// Passes where a file of the revision has a fixed text. Its first 8 MiB are searched.
///
/// ```
/// use ralph_verify::FileContains;
/// let observed = FileContains::new("README.md", "## Usage");
/// ```
#[derive(Clone, Debug)]
pub struct FileContains {
    path: String,
    text: String,
}

impl FileContains {
    /// The path from the root, and the text as it stands there.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

#[async_trait]
impl Verifier for FileContains {
    fn name(&self) -> &str {
        "file-contains"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let tree = tree(target, cx)?;
        something(&self.text)?;
        let content = tree.read(self.path.as_bytes(), LARGEST).await.map_err(VerifyError::other)?;
        let (passed, what) = match content {
            None => (false, "is not there"),
            Some(content) if memmem::find(&content, self.text.as_bytes()).is_some() => (true, "has the text"),
            Some(_) => (false, "does not have the text"),
        };
        Ok(verdict(self.name(), passed, &format!("{} {what}", self.path)))
    }
}

/// Passes where any file of the revision has a fixed text. What a plan says it wants is no proof that it is there: the
/// control folder (`ralph-loop/`) and the PRDs named with [`Grep::without`] never count. Of each file the first 8 MiB are
/// searched.
///
/// ```
/// use ralph_verify::Grep;
/// let observed = Grep::new("fn parse_config").without(["prd.json"]);
/// ```
#[derive(Clone, Debug)]
pub struct Grep {
    text: String,
    without: Vec<String>,
}

impl Grep {
    /// The text as it stands there.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), without: Vec::new() }
    }

    /// The same, and what is at these paths or below them does not count.
    #[must_use]
    pub fn without(mut self, paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.without.extend(paths.into_iter().map(Into::into));
        self
    }

    fn counts(&self, path: &[u8]) -> bool {
        let below = |folder: &str| {
            let rest = path.strip_prefix(folder.trim_end_matches('/').as_bytes());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        };
        !below("ralph-loop") && !self.without.iter().any(|path| below(path))
    }
}

#[async_trait]
impl Verifier for Grep {
    fn name(&self) -> &str {
        "grep"
    }

    async fn verify(&self, target: &Target, cx: &Cx) -> Result<Verdict, VerifyError> {
        let tree = tree(target, cx)?;
        something(&self.text)?;
        let paths = tree.list(b"").await.map_err(VerifyError::other)?;
        for path in paths.iter().filter(|path| self.counts(path)) {
            if cx.cancel().is_cancelled() {
                return Err(VerifyError::Cancelled);
            }
            let content = tree.read(path, LARGEST).await.map_err(VerifyError::other)?.unwrap_or_default();
            if memmem::find(&content, self.text.as_bytes()).is_some() {
                let path = ralph_core::printable(&String::from_utf8_lossy(path));
                return Ok(verdict(self.name(), true, &format!("the text is in {path}")));
            }
        }
        Ok(verdict(self.name(), false, "the text is in no file"))
    }
}

fn tree<'t>(target: &'t Target, cx: &Cx) -> Result<&'t dyn Tree, VerifyError> {
    if cx.cancel().is_cancelled() {
        return Err(VerifyError::Cancelled);
    }
    target.tree.as_deref().ok_or_else(|| VerifyError::broken("there is no revision to look at"))
}

/// An empty text is in every file.
fn something(text: &str) -> Result<(), VerifyError> {
    if text.is_empty() { Err(VerifyError::broken("the text to look for is empty")) } else { Ok(()) }
}

fn verdict(name: &str, passed: bool, what: &str) -> Verdict {
    let summary = format!("{name}: {what}");
    let mut verdict = Verdict::new(passed, summary);
    let (Verdict::Pass(evidence) | Verdict::Fail(evidence)) = &mut verdict;
    evidence.parts.push(Part::new(name, passed));
    verdict
}
