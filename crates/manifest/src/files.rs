//! Reads manifests from files.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::{MAX_BYTES, Manifest, ManifestError};

impl Manifest {
    /// Reads a manifest from a file, at most 16 MiB of it.
    ///
    /// # Errors
    /// [`ManifestErrorKind::Read`](crate::ManifestErrorKind::Read) if the file cannot be read; else as for [`parse`](Self::parse).
    ///
    /// ```
    /// use tamis_manifest::{Manifest, ManifestErrorKind};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("tools.yaml");
    /// std::fs::write(&path, "version: 1\nfilters: {list: {select: [id]}}\n")?;
    /// assert!(Manifest::load(&path)?.program("list").is_ok());
    /// let error = Manifest::load(folder.path().join("none.yaml")).unwrap_err();
    /// assert_eq!(error.kind(), ManifestErrorKind::Read);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ManifestError> {
        let (name, file) = open(path.as_ref())?;
        Self::read(&name, file)
    }

    /// Reads a manifest from a reader, at most 16 MiB. `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    ///
    /// ```
    /// let text = "version: 1\nfilters: {list: {select: [id]}}\n";
    /// assert!(tamis_manifest::Manifest::read("a response", text.as_bytes())?.program("list").is_ok());
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    pub fn read(name: &str, reader: impl Read) -> Result<Self, ManifestError> {
        Self::parse_bytes(name, &bytes(name, reader)?)
    }
}

/// Opens a file and returns it with its name in errors.
pub fn open(path: &Path) -> Result<(String, File), ManifestError> {
    let name = path.display().to_string();
    let file = File::open(path).map_err(|error| ManifestError::read(&name, &error))?;
    Ok((name, file))
}

/// Reads at most one byte more than allowed, by which the caller recognizes input that is too long.
pub fn bytes(name: &str, reader: impl Read) -> Result<Vec<u8>, ManifestError> {
    let mut bytes = Vec::new();
    let read = reader.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes);
    read.map_err(|error| ManifestError::read(name, &error))?;
    Ok(bytes)
}
