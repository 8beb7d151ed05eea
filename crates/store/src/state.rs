//! The folder for what tamis keeps between runs.

use std::path::{Path, PathBuf};

/// Returns `$TAMIS_STATE_DIR`, else `tamis` in `$XDG_STATE_HOME`, else in `~/.local/state`. Relative paths are ignored.
/// `None` if there is no home folder.
#[must_use]
pub fn folder_of_user() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    variable("TAMIS_STATE_DIR").filter(absolute).or_else(|| {
        let all = variable("XDG_STATE_HOME").filter(absolute);
        let all = all.or_else(|| Some(std::env::home_dir().filter(absolute)?.join(".local/state")));
        Some(all?.join("tamis"))
    })
}

/// Returns the folder for what a process in a sandbox keeps: `tamis-UID` in the folder for temporary files.
#[must_use]
pub fn temporary_folder() -> Option<PathBuf> {
    folder_name().map(|name| std::env::temp_dir().join(name))
}

/// Returns the folders in which processes in sandboxes may have kept something. Agents give their sandboxes folders of their
/// own for temporary files.
#[must_use]
pub fn temporary_folders() -> Vec<PathBuf> {
    let Some(name) = folder_name() else { return Vec::new() };
    let user = name.trim_start_matches("tamis-");
    let claude = format!("claude-{user}");
    let mut found: Vec<PathBuf> = Vec::new();
    for parent in [std::env::temp_dir(), "/tmp".into()] {
        for own in ["", "claude", &claude] {
            let folder = parent.join(own).join(&name);
            if !found.contains(&folder) {
                found.push(folder);
            }
        }
    }
    found
}

#[cfg(unix)]
fn folder_name() -> Option<String> {
    Some(format!("tamis-{}", rustix::process::geteuid().as_raw()))
}

/// Sandboxes are those of Unix systems.
#[cfg(not(unix))]
fn folder_name() -> Option<String> {
    None
}

/// Returns whether a path is a folder that belongs to the user and that nobody else can read or write.
#[cfg(unix)]
#[must_use]
pub fn is_private(folder: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let user = rustix::process::geteuid().as_raw();
    folder
        .symlink_metadata()
        .is_ok_and(|data| data.is_dir() && data.uid() == user && data.mode() & 0o077 == 0)
}

/// Returns `false`: such a folder is used on Unix only.
#[cfg(not(unix))]
#[must_use]
pub fn is_private(_folder: &Path) -> bool {
    false
}
