//! Which paths differ between two revisions. Only trees are compared, so that no file is read and nothing that
//! attributes or settings name is run.

use ralph_core::{Change, Cx, DiffStat, Digest, EntryKind, Revision, VcsError};

use crate::{
    GitVcs,
    folder_read::{Content, Kind},
    git::other,
};

/// A longer list of changes is not read.
const MOST_CHANGES: usize = 64 << 20;

/// One side of a changed path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) kind: EntryKind,
    pub(crate) id: String,
}

impl Entry {
    /// The mode as git writes it.
    pub(crate) fn mode(&self) -> &'static str {
        match self.kind {
            EntryKind::File => "100644",
            EntryKind::Executable => "100755",
            EntryKind::Link => "120000",
            EntryKind::Submodule => "160000",
        }
    }

    pub(crate) fn is_file(&self) -> bool {
        match self.kind {
            EntryKind::File | EntryKind::Executable => true,
            EntryKind::Link | EntryKind::Submodule => false,
        }
    }
}

/// A changed path as git has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RawChange {
    pub(crate) path: Vec<u8>,
    pub(crate) before: Option<Entry>,
    pub(crate) after: Option<Entry>,
}

impl GitVcs {
    pub(crate) async fn changes_between(
        &self,
        base: &Revision,
        revision: &Revision,
        cx: &Cx,
    ) -> Result<Vec<Change>, VcsError> {
        let (before, after) = (self.tree_of(base, cx).await?, self.tree_of(revision, cx).await?);
        let changes = self.raw_changes(&before, &after, cx).await?;
        let kind = |entry: Option<Entry>| entry.map(|entry| entry.kind);
        let plain = |it: RawChange| Change { path: it.path, before: kind(it.before), after: kind(it.after) };
        Ok(changes.into_iter().map(plain).collect())
    }

    /// How much is another in the tree `after`. Which paths are is remembered: it is asked next.
    pub(crate) async fn stat(&self, before: &Digest, after: &Digest, cx: &Cx) -> Result<DiffStat, VcsError> {
        let call = self.git.call("diff-tree").args(["-r", "--raw", "--numstat", "-z", "--no-renames", "--no-abbrev"]);
        let call = call.args(["--no-ext-diff", "--no-textconv", "--ignore-submodules=none"]);
        let list = call.args([before.as_str(), after.as_str(), "--"]).most(MOST_CHANGES).ok(cx).await?;
        let (raw, numstat) = halves(&list);
        let changes = sorted(raw)?;
        self.memory().changes = Some((before.clone(), after.clone(), changes.into()));
        Ok(count(numstat))
    }

    /// What is another in the tree `after`, sorted by path.
    pub(crate) async fn raw_changes(
        &self,
        before: &Digest,
        after: &Digest,
        cx: &Cx,
    ) -> Result<Vec<RawChange>, VcsError> {
        if before == after {
            return Ok(Vec::new());
        }
        if let Some((from, to, changes)) = &self.memory().changes
            && (from, to) == (before, after)
        {
            return Ok(changes.to_vec());
        }
        let call = self.git.call("diff-tree").args(["-r", "--raw", "-z", "--no-renames", "--no-abbrev"]);
        let call = call.args(["--ignore-submodules=none", before.as_str(), after.as_str(), "--"]);
        sorted(&call.most(MOST_CHANGES).ok(cx).await?)
    }
}

fn sorted(raw: &[u8]) -> Result<Vec<RawChange>, VcsError> {
    let unknown = || other("reading git's list of changes", "it has an entry that is not known");
    let mut changes = parse(raw).ok_or_else(unknown)?;
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(changes)
}

/// The records of `--raw`, and those of `--numstat` behind them. Only the former begin with a colon.
fn halves(list: &[u8]) -> (&[u8], &[u8]) {
    let mut at = 0;
    while list.get(at) == Some(&b':') {
        let record = list[at..].iter().enumerate().filter(|(_, byte)| **byte == 0).map(|(end, _)| end + 1).nth(1);
        at += record.unwrap_or(list.len() - at);
    }
    list.split_at(at)
}

/// Adds up `added TAB removed TAB path NUL`; a binary file has `-` for both.
fn count(numstat: &[u8]) -> DiffStat {
    let mut stat = DiffStat { files: 0, added: Some(0), removed: Some(0) };
    for record in numstat.split(|byte| *byte == 0).filter(|record| !record.is_empty()) {
        let mut fields = record
            .split(|byte| *byte == b'\t')
            .map(|field| std::str::from_utf8(field).ok().and_then(|text| text.parse::<u64>().ok()).unwrap_or(0));
        stat.files += 1;
        stat.added = stat.added.zip(fields.next()).map(|(sum, more)| sum + more);
        stat.removed = stat.removed.zip(fields.next()).map(|(sum, more)| sum + more);
    }
    stat
}

/// Reads `:mode mode id id letter NUL path NUL`; `None` for what is not such a list.
pub(crate) fn parse(list: &[u8]) -> Option<Vec<RawChange>> {
    let mut changes = Vec::new();
    let mut fields = list.split(|byte| *byte == 0);
    while let Some(meta) = fields.next().filter(|meta| !meta.is_empty()) {
        let mut words = std::str::from_utf8(meta.strip_prefix(b":")?).ok()?.split(' ');
        let (old, new) = (words.next()?, words.next()?);
        let (old_id, new_id) = (words.next()?, words.next()?);
        let path = fields.next().filter(|path| !path.is_empty())?.to_vec();
        changes.push(RawChange { path, before: entry(old, old_id)?, after: entry(new, new_id)? });
    }
    Some(changes)
}

/// The outer `None` is for a mode that git does not have.
fn entry(mode: &str, id: &str) -> Option<Option<Entry>> {
    let kind = match mode {
        "000000" => return Some(None),
        "100644" => EntryKind::File,
        "100755" => EntryKind::Executable,
        "120000" => EntryKind::Link,
        "160000" => EntryKind::Submodule,
        _ => return None,
    };
    Some(Some(Entry { kind, id: id.to_owned() }))
}

/// What is another in the content `after`, sorted by path.
pub(crate) fn content_changes(before: &Content, after: &Content) -> Vec<Change> {
    let kind = |content: &Content, path: &Vec<u8>| match content.files.get(path)? {
        Kind::File { program: false, .. } => Some(EntryKind::File),
        Kind::File { program: true, .. } => Some(EntryKind::Executable),
        Kind::Link(_) => Some(EntryKind::Link),
    };
    let change = |path: &Vec<u8>| Change { path: path.clone(), before: kind(before, path), after: kind(after, path) };
    before.changed_paths(after).into_iter().map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_become_kinds() {
        let list = b":000000 100755 0 a1 A\0x\0:120000 160000 b2 c3 T\0d/y\nz\0:100644 000000 d4 0 D\0w\0";
        let changes = parse(list).unwrap();
        let kinds: Vec<_> = changes
            .iter()
            .map(|it| {
                let kind = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.kind);
                (it.path.as_slice(), kind(&it.before), kind(&it.after))
            })
            .collect();
        let expected: [(&[u8], _, _); 3] = [
            (b"x", None, Some(EntryKind::Executable)),
            (b"d/y\nz", Some(EntryKind::Link), Some(EntryKind::Submodule)),
            (b"w", Some(EntryKind::File), None),
        ];
        assert_eq!(kinds, expected);
        assert_eq!(changes[0].after.as_ref().unwrap().id, "a1");
        assert_eq!(parse(b""), Some(vec![]));
    }

    #[test]
    fn raw_records_come_before_numbers() {
        let raw = b":000000 100644 0 a1 A\0:odd\0:100644 000000 d4 0 D\0w\0";
        let numstat = b"1\t0\t:odd\0-\t-\tw\0";
        let list = [&raw[..], &numstat[..]].concat();
        assert_eq!(halves(&list), (&raw[..], &numstat[..]));
        assert_eq!(halves(b""), (&b""[..], &b""[..]));
        assert_eq!(halves(raw), (&raw[..], &b""[..]));
        assert_eq!(count(numstat), DiffStat { files: 2, added: Some(1), removed: Some(0) });
    }

    #[test]
    fn what_is_not_such_a_list_is_not_half_of_one() {
        for bad in
            [&b"x\0"[..], b":100644 100644 a b M\0", b":100644 100600 a b M\0x\0", b":100644\0x\0", b":\xff\0x\0"]
        {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }
}
