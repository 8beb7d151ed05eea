//! Reads rules for the output of commands from files.

use std::io::Read;
use std::path::Path;

use crate::CommandRules;
use tamis_manifest::ManifestError;
use tamis_manifest::files::{bytes, open};

impl CommandRules {
    /// Reads rules from a file, at most 16 MiB of it.
    ///
    /// # Errors
    /// [`ManifestErrorKind::Read`](tamis_manifest::ManifestErrorKind::Read) if the file cannot be read; else as for [`parse`](Self::parse).
    ///
    /// ```
    /// use tamis_command::CommandRules;
    ///
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("rules.toml");
    /// std::fs::write(&path, "[[rules]]\nname = \"deploy\"\nmatch = { prefix = \"deploy\" }\nstrip = ['^copying ']\n")?;
    /// assert!(CommandRules::load(&path)?.names().eq(["deploy"]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ManifestError> {
        let (name, file) = open(path.as_ref())?;
        Self::read(&name, file)
    }

    /// Reads rules from a reader, at most 16 MiB. `name` is its name in errors.
    ///
    /// # Errors
    /// As for [`load`](Self::load).
    pub fn read(name: &str, reader: impl Read) -> Result<Self, ManifestError> {
        Self::parse_bytes(name, &bytes(name, reader)?)
    }
}
