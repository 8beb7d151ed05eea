//! The folder for what tamis keeps between runs.

use std::path::PathBuf;

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
