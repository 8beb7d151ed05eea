//! Rejects runs that name one file twice: a run must not overwrite a file that it also reads or writes elsewhere.
//!
//! Reads metadata and opens no file.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::console::Usage;
use crate::files;
use crate::files::place::Place;

/// The files and streams that a run reads and writes.
#[derive(Debug, Default)]
pub(crate) struct Places<'a> {
    /// The filtered document.
    pub(crate) input: Option<&'a Place>,
    /// Files with rules, each with its flag.
    pub(crate) rules: Vec<(&'static str, &'a Path)>,
    pub(crate) output: Option<&'a Place>,
    pub(crate) tee: Option<&'a Path>,
    /// [`Place::Standard`] is standard error.
    pub(crate) report: Option<&'a Place>,
}

/// The identity of a file, to compare places. Devices have none: writing to one twice does no harm.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// Not a regular file, or unknown.
    None,
    File(Id),
    /// A file that does not exist yet.
    New(PathBuf),
}

#[cfg(unix)]
type Id = (u64, u64);
#[cfg(not(unix))]
type Id = PathBuf;

/// Refuses a run that would write one file twice or overwrite a file that it reads. The output may replace the input.
///
/// # Errors
/// Names both places and a remedy.
pub(crate) fn check(places: &Places<'_>) -> Result<(), Usage> {
    let input = places.input.map_or(Identity::None, |place| of_place(place, files::standard_input));
    let output = places.output.unwrap_or(&Place::Standard);
    // A descriptor is written directly; no complete file replaces the input at the end.
    let replaces = match output {
        Place::Standard => false,
        Place::Path(path) => files::descriptor(path).is_none(),
    };
    let output = of_place(output, files::standard_output);
    if !replaces && same(&input, &output) {
        return Err(overwritten());
    }
    let tee = places.tee.map_or(Identity::None, of_path);
    let report = match places.report {
        Some(Place::Path(path)) => of_path(path),
        _ => Identity::None,
    };
    for (name, place) in [("--tee", &tee), ("--report", &report)] {
        if same(place, &input) {
            return refuse(name, "the input");
        }
        if same(place, &output) {
            return refuse(name, "the output");
        }
    }
    for (flag, path) in &places.rules {
        let rules = of_place(&Place::from(path.to_path_buf()), files::standard_input);
        for (name, place) in [("--output", &output), ("--tee", &tee), ("--report", &report)] {
            if same(place, &rules) {
                return refuse(name, flag);
            }
        }
    }
    if same(&tee, &report) { refuse("--tee", "--report") } else { Ok(()) }
}

fn overwritten() -> Usage {
    Usage::new(
        "standard output would overwrite the input; use -o, which replaces it when the run is done",
    )
}

fn refuse(one: &str, other: &str) -> Result<(), Usage> {
    Err(Usage::new(format!("{one} and {other} are the same file; give {one} another path")))
}

fn same(one: &Identity, other: &Identity) -> bool {
    *one != Identity::None && one == other
}

fn of_place(place: &Place, stream: impl Fn() -> std::io::Result<File>) -> Identity {
    match place {
        Place::Standard => of_stream(stream()),
        Place::Path(path) => of_path(path),
    }
}

fn of_path(path: &Path) -> Identity {
    match std::fs::metadata(path) {
        Ok(metadata) => of_metadata(&metadata, path),
        Err(_) => new(path).map_or(Identity::None, Identity::New),
    }
}

/// Returns the path at which a missing file would be created: links are followed, and the folder is canonical.
fn new(path: &Path) -> Option<PathBuf> {
    let path = files::follow_links(path);
    let name = path.file_name()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // A missing folder has no canonical path.
    let folder = folder.canonicalize().or_else(|_| std::path::absolute(folder)).ok()?;
    Some(folder.join(name))
}

fn of_stream(stream: std::io::Result<File>) -> Identity {
    stream
        .and_then(|file| file.metadata())
        .map_or(Identity::None, |metadata| of_metadata(&metadata, Path::new("")))
}

#[cfg(unix)]
fn of_metadata(metadata: &Metadata, _: &Path) -> Identity {
    use std::os::unix::fs::MetadataExt;
    if metadata.is_file() {
        Identity::File((metadata.dev(), metadata.ino()))
    } else {
        Identity::None
    }
}

#[cfg(not(unix))]
fn of_metadata(metadata: &Metadata, path: &Path) -> Identity {
    match path.canonicalize() {
        Ok(path) if metadata.is_file() => Identity::File(path),
        _ => Identity::None,
    }
}
