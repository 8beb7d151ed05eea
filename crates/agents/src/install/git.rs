//! Asks git about files.

use std::path::Path;
use std::process::{Command, Stdio};

/// Returns whether a file is in the index of a repository. Without git, every file in a repository counts.
pub(crate) fn is_tracked(path: &Path) -> bool {
    let Some(folder) = path.ancestors().skip(1).find(|folder| folder.is_dir()) else {
        return false;
    };
    if !path.exists() || !folder.ancestors().any(|folder| folder.join(".git").exists()) {
        return false;
    }
    let Some(name) = path.file_name() else { return false };
    let mut command = Command::new("git");
    command.arg("-C").arg(folder).args(["ls-files", "--error-unmatch", "--"]).arg(name);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().map_or(true, |status| status.code() != Some(1))
}
