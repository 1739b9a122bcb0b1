//! What a session may do without asking.

/// What a session may do without asking. There is nobody to ask: what would need it is denied to the agent, which goes
/// on without. Each backend says it in its agent's own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Permissions {
    /// Edit files, and what the user's own settings of the agent allow.
    #[default]
    Edits,
    /// Anything.
    All,
}

/// Whether we are root, as far as can be told (on Linux). Where not, an agent's own refusal is read.
pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}
