//! A plan: the new content of each file, computed before anything is written.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::diff::unified;
use super::edit::EditFault;
use super::json::JsonFault;
use super::offer::Offer;
use super::places::Places;
use super::record::{FileRecord, Record};

/// Larger files are refused.
const MAX_BYTES: u64 = 64 << 20;

/// Changes to files, in the order in which they are made.
#[derive(Debug)]
pub struct Plan {
    pub(super) changes: Vec<Change>,
    /// Remarks for the user.
    pub(super) notes: Vec<String>,
    pub(super) offers: Vec<Offer>,
    /// The record before and after.
    pub(super) record: Change,
    /// Whether the record is written first: a change without a record cannot be removed to the byte.
    pub(super) is_install: bool,
    /// MCP servers are wrapped in a form of ours.
    pub(super) has_servers: bool,
}

/// The change of one file. `None` stands for a file that does not exist.
#[derive(Clone, Debug)]
pub(super) struct Change {
    /// The file that symbolic links lead to.
    pub(super) path: PathBuf,
    pub(super) shown: String,
    pub(super) before: Option<String>,
    pub(super) after: Option<String>,
    /// The mode of a new file.
    pub(super) mode: u32,
    /// Folders that are removed if they are empty, the innermost first.
    pub(super) folders: Vec<PathBuf>,
}

impl Change {
    pub(super) fn is_needed(&self) -> bool {
        self.before != self.after
    }
}

impl Plan {
    /// Returns whether no file has to be changed.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.changes.iter().any(Change::is_needed)
    }

    /// Returns the changes as a unified diff.
    #[must_use]
    pub fn diff(&self) -> String {
        let needed = self.changes.iter().filter(|change| change.is_needed());
        let texts = needed.map(|change| {
            unified(&change.shown, change.before.as_deref(), change.after.as_deref())
        });
        texts.collect()
    }

    /// Returns what the user has to know or to do, one sentence each.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Returns whether MCP servers are wrapped, or were and stay so, to which the options of the installation apply.
    #[must_use]
    pub fn has_servers(&self) -> bool {
        self.has_servers
    }

    /// Returns lines that the user can add to settings. Nothing adds them unasked.
    #[must_use]
    pub fn offers(&self) -> &[Offer] {
        &self.offers
    }
}

/// Why nothing was changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallError {
    /// The file, as people write its path.
    pub(super) file: String,
    pub(super) message: String,
    pub(super) snippet: Option<String>,
}

impl InstallError {
    /// Returns the file that the error is about.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Returns what is wrong with the file.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the text that the user can add by hand.
    #[must_use]
    pub fn snippet(&self) -> Option<&str> {
        self.snippet.as_deref()
    }
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file, self.message)
    }
}

impl std::error::Error for InstallError {}

/// Files, as they will be.
#[derive(Debug)]
pub(crate) struct Planner<'p> {
    pub(crate) places: &'p Places,
    pub(crate) notes: Vec<String>,
    pub(crate) offers: Vec<Offer>,
    /// MCP servers are wrapped in a form of ours.
    pub(crate) has_servers: bool,
    record_before: Option<String>,
    record: Record,
    /// In the order in which they were opened first.
    files: Vec<PlannedFile>,
    index: BTreeMap<PathBuf, usize>,
}

/// A file that is edited.
#[derive(Clone, Debug)]
pub(crate) struct PlannedFile {
    path: PathBuf,
    pub(crate) shown: String,
    before: Option<String>,
    /// The text so far.
    pub(crate) text: Option<String>,
    pub(crate) record: Option<FileRecord>,
    mode: u32,
    is_read_only: bool,
    pub(crate) folders: Vec<PathBuf>,
}

impl PlannedFile {
    pub(crate) fn fail(&self, message: impl Into<String>, snippet: Option<String>) -> InstallError {
        InstallError { file: self.shown.clone(), message: message.into(), snippet }
    }

    pub(crate) fn edit_failed(&self, fault: EditFault, snippet: Option<String>) -> InstallError {
        let message = match fault {
            EditFault::Json(fault) => return self.json_failed(&fault, snippet),
            EditFault::Type { path, expected } if path.is_empty() => {
                format!("the document is not {expected}")
            }
            EditFault::Type { path, expected } => format!("the value at {path} is not {expected}"),
        };
        self.fail(message, snippet)
    }

    pub(crate) fn json_failed(&self, fault: &JsonFault, snippet: Option<String>) -> InstallError {
        self.fail(format!("{fault}; the file is left as it is"), snippet)
    }

    /// Returns the record, which is begun if there is none.
    pub(crate) fn recorded(&mut self) -> &mut FileRecord {
        let is_new = self.before.is_none();
        self.record.get_or_insert_with(|| FileRecord { is_new, ..FileRecord::default() })
    }

    /// Forgets what was recorded about hooks and variables, if none of ours are in the text. Servers have arguments only.
    pub(crate) fn forget_hooks(&mut self) {
        let Some(record) = &mut self.record else { return };
        record.added.retain(|pointer| pointer.ends_with("/args"));
        if record.added.is_empty() {
            self.record = None;
            return;
        }
        record.around.clear();
        (record.blank, record.is_new) = (None, false);
    }
}

impl<'p> Planner<'p> {
    pub(crate) fn new(places: &'p Places) -> Result<Self, InstallError> {
        let path = places.record();
        let record = Record::read(&path).map_err(|error| InstallError {
            file: places.shown(&path),
            message: format!("cannot be read: {error}"),
            snippet: None,
        })?;
        let record_before = std::fs::read_to_string(&path).ok();
        let (notes, offers) = (Vec::new(), Vec::new());
        let (files, index) = (Vec::new(), BTreeMap::new());
        let has_servers = false;
        Ok(Self { places, notes, offers, has_servers, record_before, record, files, index })
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns whether something was installed into another file with this name.
    pub(crate) fn has_record_of_another(&self, path: &Path) -> bool {
        let real = follow_links(path).unwrap_or_else(|_| path.to_owned());
        let mut files = self.record.files.keys();
        files.any(|file| *file != real && file.file_name() == real.file_name() && file.is_file())
    }

    /// Opens a file to edit it. The same file is opened once.
    pub(crate) fn open(&mut self, path: &Path) -> Result<&mut PlannedFile, InstallError> {
        let shown = self.places.shown(path);
        let fail = |message: String| InstallError { file: shown.clone(), message, snippet: None };
        let real = follow_links(path).map_err(|error| fail(format!("cannot be read: {error}")))?;
        let at = if let Some(at) = self.index.get(&real) {
            *at
        } else {
            let (before, is_read_only) = read(&real).map_err(fail)?;
            self.index.insert(real.clone(), self.files.len());
            self.files.push(PlannedFile {
                shown: shown.clone(),
                text: before.clone(),
                before,
                record: self.record.files.get(&real).cloned(),
                mode: 0o644,
                is_read_only,
                folders: Vec::new(),
                path: real,
            });
            self.files.len() - 1
        };
        self.files.get_mut(at).ok_or_else(|| fail("cannot be read".to_owned()))
    }

    /// Plans a file that belongs to tamis, with this line in it.
    pub(crate) fn own(
        &mut self,
        path: &Path,
        text: &str,
        marker: &str,
        mode: u32,
    ) -> Result<(), InstallError> {
        let file = self.open(path)?;
        if file.text.as_ref().is_some_and(|old| !is_own(old, marker)) {
            return Err(file.fail("exists and was not written by tamis; move it away", None));
        }
        file.mode = mode;
        file.recorded();
        file.text = Some(text.to_owned());
        Ok(())
    }

    /// Plans the removal of a file that belongs to tamis. `folders` are removed if they are empty then.
    pub(crate) fn disown(
        &mut self,
        path: &Path,
        marker: &str,
        folders: &[PathBuf],
    ) -> Result<(), InstallError> {
        let file = self.open(path)?;
        let foreign = file.text.as_ref().is_some_and(|old| !is_own(old, marker));
        if file.text.is_some() && !foreign {
            file.text = None;
            file.folders = folders.to_vec();
        }
        if foreign {
            let note = format!("{}: was not written by tamis, so it is kept", file.shown);
            self.note(note);
        }
        Ok(())
    }

    /// Ends the plan of an installation.
    pub(crate) fn install(mut self) -> Result<Plan, InstallError> {
        for file in &mut self.files {
            let is_changed = file.before != file.text;
            if is_changed && file.is_read_only {
                return Err(
                    file.fail("is read-only; make it writable, or add the lines by hand", None)
                );
            }
            if is_changed && file.before.is_none() {
                let folders = missing_folders(&file.path);
                let record = file.recorded();
                record.is_new = true;
                record.folders.extend(folders);
            }
            if let Some(record) = file.record.clone() {
                self.record.files.insert(file.path.clone(), record);
            }
        }
        self.finish(true)
    }

    /// Ends the plan of a removal: files that were edited lose their records.
    pub(crate) fn uninstall(mut self) -> Result<Plan, InstallError> {
        for file in &mut self.files {
            if file.before != file.text && file.is_read_only {
                return Err(file.fail("is read-only; make it writable", None));
            }
            let Some(record) = self.record.files.remove(&file.path) else { continue };
            if file.text.is_none() {
                file.folders.splice(0..0, record.folders);
            }
        }
        self.finish(false)
    }

    fn finish(mut self, is_install: bool) -> Result<Plan, InstallError> {
        let path = self.places.record();
        let shown = self.places.shown(&path);
        let mut folders = Vec::new();
        if is_install && self.record_before.is_none() {
            self.record.folders = missing_folders(&path);
        }
        let after = if self.record.files.is_empty() {
            folders.append(&mut self.record.folders);
            None
        } else {
            let text = self.record.text();
            Some(text.map_err(|error| InstallError {
                file: shown.clone(),
                message: format!("cannot be written: {error}"),
                snippet: None,
            })?)
        };
        let record =
            Change { path, shown, before: self.record_before, after, mode: 0o600, folders };
        let changes = self.files.into_iter().map(|file| Change {
            path: file.path,
            shown: file.shown,
            before: file.before,
            after: file.text,
            mode: file.mode,
            folders: file.folders,
        });
        let (notes, offers, has_servers) = (self.notes, self.offers, self.has_servers);
        Ok(Plan { changes: changes.collect(), notes, offers, record, is_install, has_servers })
    }
}

/// Whether one of the first lines is the marker.
fn is_own(text: &str, marker: &str) -> bool {
    text.lines().take(5).any(|line| line.trim() == marker)
}

fn read(path: &Path) -> Result<(Option<String>, bool), String> {
    let data = match path.metadata() {
        Ok(data) => data,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok((None, false)),
        Err(error) => return Err(format!("cannot be read: {error}")),
    };
    if !data.is_file() {
        return Err("is not a file".to_owned());
    }
    if data.len() > MAX_BYTES {
        return Err("is larger than 64 MiB".to_owned());
    }
    let bytes = std::fs::read(path).map_err(|error| format!("cannot be read: {error}"))?;
    let text = String::from_utf8(bytes).map_err(|error| format!("is not UTF-8: {error}"))?;
    Ok((Some(text), data.permissions().readonly()))
}

/// Returns the file that is read and written through a path, whether it exists or not.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        match path.canonicalize() {
            Ok(real) => return Ok(real),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let Ok(target) = path.read_link() else {
            // Only a part of the path exists.
            let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                return Ok(path);
            };
            return Ok(follow_links(parent)?.join(name));
        };
        path = path.parent().map_or(target.clone(), |folder| folder.join(&target));
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the folders of a file that do not exist, the innermost first.
fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let folders = path.ancestors().skip(1).take_while(|folder| !folder.exists());
    folders.map(Path::to_owned).collect()
}
