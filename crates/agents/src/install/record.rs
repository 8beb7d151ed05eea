//! A record of what an installation added to files, so that it can be removed to the byte.
//!
//! Entries are recognised by their own values, not by this record. The record has what the text does not show: whether a
//! file, a folder or an enclosing object was there before, and which blanks were written into an empty one. Without it,
//! entries are still removed, and the empty objects and arrays around them.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The records of all files.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) files: BTreeMap<PathBuf, FileRecord>,
    /// The folders that were created for the record itself.
    #[serde(default)]
    pub(crate) folders: Vec<PathBuf>,
}

/// The record of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct FileRecord {
    /// The file did not exist.
    #[serde(skip_serializing_if = "is_false")]
    pub(crate) is_new: bool,
    /// The folders that did not exist, the innermost first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) folders: Vec<PathBuf>,
    /// The file had no value; these were its characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) blank: Option<String>,
    /// Pointers to the objects, arrays and members that did not exist.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub(crate) added: BTreeSet<String>,
    /// Pointers to the containers that were empty, and the blanks before and after the entry that was written.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) around: BTreeMap<String, (String, String)>,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}

impl Record {
    /// Reads the record. A missing or broken one is empty.
    pub(crate) fn read(path: &Path) -> io::Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(serde_json::from_slice(&bytes).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Returns the record as the text of a file.
    pub(crate) fn text(&self) -> io::Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }
}

/// Appends a name to a JSON Pointer.
pub(crate) fn pointer(parent: &str, name: &str) -> String {
    format!("{parent}/{}", name.replace('~', "~0").replace('/', "~1"))
}
