//! Writing a mark: one byte, in place.
//!
//! A rename would replace the file under an editor, drop its mode and turn a link into a file. One byte cannot tear.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::Path,
};

use super::{
    SIZE_MAX, marks,
    read::{Draft, Placed},
};
use crate::{
    id::ItemId,
    plan::{ItemStatus, Marked, PlanError},
};

/// How often to begin again when a person saves the file meanwhile.
const TRIES: u32 = 5;

/// Changes the mark of `item` in the file at `path` from `from` to `to`, or says what stands there.
///
/// Problems elsewhere in the file do not matter here: the work on the item is done, and its mark is found all the same.
pub(super) fn mark(path: &Path, item: &ItemId, from: ItemStatus, to: ItemStatus) -> Result<Marked, PlanError> {
    let Some(byte) = marks::byte_of(to) else {
        let text = format!("{}: an item cannot be marked as unknown", path.display());
        return Err(PlanError::Invalid(vec![text]));
    };
    for _ in 0..TRIES {
        if let Some(marked) = attempt(path, item, from, to, byte)? {
            return Ok(marked);
        }
    }
    Err(failed(path, &io::Error::other("the file changes all the time")))
}

/// `None` when the file changed under our hands: nothing of use was written.
fn attempt(
    path: &Path,
    item: &ItemId,
    from: ItemStatus,
    to: ItemStatus,
    byte: u8,
) -> Result<Option<Marked>, PlanError> {
    let io = |error| failed(path, &error);
    // Opening follows links, so the file that is read is the one that is written.
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    let bytes = contents(&mut file).map_err(io)?;
    let draft = Draft::read(&bytes).map_err(|problem| {
        let text = format!("{}:{}: {}", path.display(), problem.line, problem.text);
        PlanError::Invalid(vec![text])
    })?;
    let mut found = draft.items.iter().filter(|placed| placed.item.id == *item);
    let Some(placed) = found.next() else { return Ok(Some(Marked::Refused(None))) };
    if let Some(second) = found.next() {
        let text = format!(
            "{}:{}: the id `{item}` is taken by the item in line {}",
            path.display(),
            second.item.line,
            placed.item.line
        );
        return Err(PlanError::Invalid(vec![text]));
    }
    let status = placed.item.status;
    if status == to {
        return Ok(Some(Marked::AlreadySo));
    }
    if status != from || status == ItemStatus::Unknown || !single(placed, &bytes) {
        return Ok(Some(Marked::Refused(Some(status))));
    }
    // The last look before the write, on the same open file.
    if contents(&mut file).map_err(io)? != bytes {
        return Ok(None);
    }
    let at = placed.inner.start as u64;
    file.seek(SeekFrom::Start(at)).map_err(io)?;
    file.write_all(&[byte]).map_err(io)?;
    file.sync_data().map_err(io)?;
    // An editor that saves by renaming leaves us with the old file in our hands.
    Ok(still_there(path, &file).map_err(io)?.then_some(Marked::Written))
}

/// Whether the mark is one byte in brackets: the only thing that is ever overwritten.
fn single(placed: &Placed, bytes: &[u8]) -> bool {
    let inner = &placed.inner;
    inner.len() == 1
        && inner.start > 0
        && bytes.get(inner.start - 1) == Some(&b'[')
        && bytes.get(inner.end) == Some(&b']')
}

fn contents(file: &mut File) -> io::Result<Vec<u8>> {
    file.seek(SeekFrom::Start(0))?;
    let mut bytes = Vec::new();
    Read::by_ref(file).take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(io::Error::other(format!("larger than {} MiB", SIZE_MAX >> 20)));
    }
    Ok(bytes)
}

#[cfg(unix)]
fn still_there(path: &Path, file: &File) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt as _;
    let (ours, theirs) = (file.metadata()?, fs::metadata(path)?);
    Ok(ours.dev() == theirs.dev() && ours.ino() == theirs.ino())
}

#[cfg(not(unix))]
fn still_there(path: &Path, file: &File) -> io::Result<bool> {
    Ok(file.metadata()?.len() == fs::metadata(path)?.len())
}

fn failed(path: &Path, error: &io::Error) -> PlanError {
    PlanError::Io { operation: "written", source: format!("{}: {error}", path.display()).into() }
}
