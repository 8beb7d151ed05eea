//! Inputs and outputs as they are named: a path, or `-` for a standard stream.
//!
//! This module must not open them.

use std::path::{Path, PathBuf};

use crate::console::Usage;

/// A file or a standard stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Standard,
    Path(PathBuf),
}

impl From<PathBuf> for Place {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Standard } else { Self::Path(path) }
    }
}

impl Place {
    /// Returns its name in diagnostics; `standard` is the name of the standard stream.
    pub(crate) fn name(&self, standard: &str) -> String {
        match self {
            Self::Standard => standard.to_owned(),
            Self::Path(path) => path.display().to_string(),
        }
    }
}

/// Returns the name of a manifest, or another input of a command, in diagnostics.
pub(crate) fn called(path: impl AsRef<Path>) -> String {
    Place::from(path.as_ref().to_path_buf()).name("standard input")
}

/// Refuses to read standard input twice.
///
/// # Errors
/// More than one of the paths is `-`.
pub(crate) fn read_once<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<(), Usage> {
    if paths.into_iter().filter(|path| path.as_os_str() == "-").count() > 1 {
        return Err(Usage::new(
            "`-` is given twice: standard input can be read only once; give the others as files",
        ));
    }
    Ok(())
}
