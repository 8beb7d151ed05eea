//! Refuses places that are the same: a record must not destroy the input that it records.
//!
//! Looks at files, opens none.

use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::diagnostics::Usage;
use crate::files;
use crate::resolve::{Job, Place};

/// Which file a place is, as far as it matters: two runs into a device do no harm.
#[derive(Debug, PartialEq, Eq)]
enum Identity {
    /// No regular file, or not known.
    None,
    File(Id),
    /// There is no such file yet.
    New(PathBuf),
}

#[cfg(unix)]
type Id = (u64, u64);
#[cfg(not(unix))]
type Id = PathBuf;

/// Refuses a job that would write to one file twice, or to what it reads.
///
/// # Errors
/// Names both, and what to do.
pub(crate) fn check(job: &Job) -> Result<(), Usage> {
    let input = match &job.input {
        Place::Standard => of_stream(files::standard_input()),
        Place::Path(path) => of_path(path),
    };
    let output = match &job.output {
        Place::Standard => of_stream(files::standard_output()),
        Place::Path(path) => of_path(path),
    };
    let tee = job.tee.as_deref().map_or(Identity::None, of_path);
    let report = match &job.report {
        Some(Place::Path(path)) => of_path(path),
        _ => Identity::None,
    };
    if job.output == Place::Standard && same(&input, &output) {
        return Err(overwritten());
    }
    for (name, place) in [("--tee", &tee), ("--report", &report)] {
        if same(place, &input) {
            return refuse(name, "the input");
        }
        if same(place, &output) {
            return refuse(name, "the output");
        }
    }
    for manifest in job.selected.manifests().iter().map(|path| of_path(path)) {
        for (name, place) in [("--output", &output), ("--tee", &tee), ("--report", &report)] {
            if same(place, &manifest) {
                return refuse(name, "--manifest");
            }
        }
    }
    if same(&tee, &report) { refuse("--tee", "--report") } else { Ok(()) }
}

/// The same for a run that reads one file, writes one, and reports to a third.
///
/// # Errors
/// Names both, and what to do.
pub(crate) fn apart(input: &Place, output: &Place, report: Option<&Place>) -> Result<(), Usage> {
    let to = output;
    let input = match input {
        Place::Standard => of_stream(files::standard_input()),
        Place::Path(path) => of_path(path),
    };
    let output = match output {
        Place::Standard => of_stream(files::standard_output()),
        Place::Path(path) => of_path(path),
    };
    let report = match report {
        Some(Place::Path(path)) => of_path(path),
        _ => Identity::None,
    };
    if *to == Place::Standard && same(&input, &output) {
        return Err(overwritten());
    }
    if same(&report, &input) {
        return refuse("--report", "the input");
    }
    if same(&report, &output) { refuse("--report", "the output") } else { Ok(()) }
}

fn overwritten() -> Usage {
    Usage::new(
        "standard output is the input itself, which it would overwrite; use -o, which replaces it when done",
    )
}

fn refuse(one: &str, other: &str) -> Result<(), Usage> {
    Err(Usage::new(format!("{one} and {other} are the same file; give {one} another path")))
}

fn same(one: &Identity, other: &Identity) -> bool {
    *one != Identity::None && one == other
}

fn of_path(path: &Path) -> Identity {
    match std::fs::metadata(path) {
        Ok(metadata) => of_metadata(&metadata, path),
        Err(_) => new(path).map_or(Identity::None, Identity::New),
    }
}

/// Where a file that is not there yet would be made: links followed, its folder by its real name.
fn new(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    // As many links as systems follow.
    for _ in 0..40 {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent()?.join(target);
    }
    let name = path.file_name()?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    // A folder that is yet to be made has no real name.
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
