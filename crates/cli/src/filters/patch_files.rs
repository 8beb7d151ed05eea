//! Reads the files of `--patch` and adds their operations to a spec.
//!
//! This module must not depend on other flags or what an operation does.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tamis::spec::PatchOp;
use tamis::{Error, Spec};

use crate::files;
use crate::files::place::called;

/// Maximum size of a patch, in bytes.
const MOST: u64 = 16 << 20;

/// Returns `spec` with the operations of these files appended, in order.
///
/// # Errors
/// A file cannot be read or is not a JSON Patch.
pub(crate) fn add_all(spec: &Spec, paths: &[PathBuf]) -> Result<Spec, Error> {
    let mut spec = spec.clone();
    for path in paths {
        for operation in read(path)? {
            spec = spec.patch(operation);
        }
    }
    Ok(spec)
}

fn read(path: &Path) -> Result<Vec<PatchOp>, Error> {
    let wrong = |what: &dyn std::fmt::Display| Error::spec(format!("{}: {what}", called(path)));
    let file = if path.as_os_str() == "-" { files::standard_input() } else { File::open(path) };
    let mut text = String::new();
    let read = file.and_then(|file| file.take(MOST + 1).read_to_string(&mut text));
    read.map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    if text.len() as u64 > MOST {
        return Err(wrong(&format!("a patch has at most {MOST} bytes")));
    }
    PatchOp::parse_patch(&text).map_err(|error| wrong(&error))
}
