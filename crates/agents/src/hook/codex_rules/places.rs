//! [`RulePlaces`]: the folders with rules.

use std::path::PathBuf;

/// Where the layers are.
#[derive(Clone, Debug)]
pub struct RulePlaces {
    /// The folder of the user's files, `$CODEX_HOME`.
    pub home: PathBuf,
    /// The folder of the system's files.
    pub system: PathBuf,
    /// The working directory of the session.
    pub working: PathBuf,
}
