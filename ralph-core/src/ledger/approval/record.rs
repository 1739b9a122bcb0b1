//! The record of an approval: `state/approvals/<plan>.json`.

use std::{fs, io, path::Path};

use serde::{Deserialize, Serialize};

use super::Coverage;
use crate::{
    id::Digest,
    ledger::{layout::private_folder, replace},
};

/// The format that is written.
const FORMAT: u32 = 1;

/// An approval as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalRecord {
    /// The plan, as it is named in messages.
    pub plan: String,
    /// Who approved.
    pub who: String,
    /// The day in the signature.
    pub date: String,
    /// How it came about.
    pub origin: Origin,
    /// The hash in the signature, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The fingerprint of what is covered.
    pub digest: Digest,
    /// What is covered.
    pub covered: Coverage,
    /// When it was recorded, in milliseconds since the epoch.
    pub at: u64,
}

/// How an approval came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// `ralph approve`.
    Command,
    /// A person wrote the line, and the first run recorded it.
    ByHand,
}

#[derive(Serialize, Deserialize)]
struct Stored {
    format: u32,
    #[serde(flatten)]
    record: ApprovalRecord,
}

/// Only the part that every format has.
#[derive(Deserialize)]
struct AnyFormat {
    format: u32,
}

/// Reads a record; `None` where there is none. The inner error is for what cannot be understood.
pub(super) fn read(path: &Path) -> io::Result<Option<Result<ApprovalRecord, String>>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let format = match serde_json::from_slice::<AnyFormat>(&bytes) {
        Ok(any) => any.format,
        Err(error) => return Ok(Some(Err(error.to_string()))),
    };
    if format > FORMAT {
        // Not damaged, so it stays where it is.
        return Err(io::Error::other(format!(
            "{} has format {format}, and this version reads up to {FORMAT}: use a newer ralph",
            path.display()
        )));
    }
    let stored = serde_json::from_slice::<Stored>(&bytes).map_err(|error| error.to_string());
    Ok(Some(stored.and_then(|stored| {
        let record = stored.record;
        let whole = record.covered.digest() == record.digest;
        if whole { Ok(record) } else { Err("its texts are not those of its fingerprint".to_owned()) }
    })))
}

/// Writes a record, durably and in one step.
pub(super) fn write(path: &Path, record: &ApprovalRecord) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        private_folder(folder)?;
    }
    let mut text = serde_json::to_string_pretty(&Stored { format: FORMAT, record: record.clone() })?;
    text.push('\n');
    replace::replace(path, text.as_bytes())
}
