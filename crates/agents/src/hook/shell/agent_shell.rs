//! The shell in which Claude Code runs commands.
//!
//! Claude Code (2.1.332) takes the first of these that can be executed:
//!
//! 1. `CLAUDE_CODE_SHELL`, then `SHELL`, if the path has `bash` or `zsh` in it;
//! 2. the preferred shell in the `PATH`: bash if `SHELL` is one, else zsh;
//! 3. the preferred shell, then the other one, in `/bin`, `/usr/bin`, `/usr/local/bin` and `/opt/homebrew/bin`;
//! 4. the other one in the `PATH`.
//!
//! The name of the snapshot has the name of the shell. Claude Code decides once, when a session begins. A command may have
//! written a `zsh` since then, so folders of the `PATH` below the working directory and `$TMPDIR` are left out here.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 4] = ["/bin", "/usr/bin", "/usr/local/bin", "/opt/homebrew/bin"];

/// The folders and variables that decide about the shell.
#[derive(Clone, Debug)]
pub(super) struct ShellPlaces {
    /// `CLAUDE_CODE_SHELL` and `SHELL`.
    pub(super) variables: [Option<PathBuf>; 2],
    /// The folders of the `PATH`.
    pub(super) path: Vec<PathBuf>,
    /// Folders to which commands write.
    pub(super) writable: Vec<PathBuf>,
}

impl ShellPlaces {
    pub(super) fn of_process() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let temporary = std::env::var_os("TMPDIR").map(PathBuf::from);
        let writable = std::env::current_dir().ok().into_iter().chain(temporary);
        Self {
            variables: ["CLAUDE_CODE_SHELL", "SHELL"]
                .map(|name| std::env::var_os(name).map(PathBuf::from)),
            path: std::env::split_paths(&path).collect(),
            // Everything is below the root.
            writable: writable.filter(|folder| folder.parent().is_some()).collect(),
        }
    }

    /// Returns the shell for a script.
    pub(super) fn shell(&self, script: &str) -> OsString {
        let named =
            ["zsh", "bash"].into_iter().find(|name| script.contains(&format!("/snapshot-{name}-")));
        let found = self.candidates(named).into_iter().find(|path| is_executable(path));
        found.map_or_else(|| named.unwrap_or("bash").into(), PathBuf::into_os_string)
    }

    /// Returns the shells in their order. `named`: only those with this name.
    fn candidates(&self, named: Option<&str>) -> Vec<PathBuf> {
        let is_wanted = |name: &str| named.is_none_or(|named| named == name);
        let set = self
            .variables
            .iter()
            .flatten()
            .filter(|path| path.is_absolute() && kind(path).is_some_and(&is_wanted));
        let prefers_bash = self.variables[1].as_deref().and_then(kind) == Some("bash");
        let [first, second] = if prefers_bash { ["bash", "zsh"] } else { ["zsh", "bash"] };
        let in_folders =
            [first, second].into_iter().flat_map(|name| FOLDERS.map(|folder| (folder, name)));
        let in_folders = in_folders.filter(|(_, name)| is_wanted(name));
        let in_path = |name| self.in_path(name).filter(|_| is_wanted(name));
        set.cloned()
            .chain(in_path(first))
            .chain(in_folders.map(|(folder, name)| Path::new(folder).join(name)))
            .chain(in_path(second))
            .collect()
    }

    /// Finds a shell in the `PATH`.
    fn in_path(&self, name: &str) -> Option<PathBuf> {
        let is_safe = |folder: &&PathBuf| {
            folder.is_absolute()
                && !self.writable.iter().any(|writable| folder.starts_with(writable))
        };
        let files = self.path.iter().filter(is_safe).map(|folder| folder.join(name));
        files.into_iter().find(|file| is_executable(file))
    }
}

/// Returns which of the two shells a path is, by the name of the file, else by any part of it.
fn kind(path: &Path) -> Option<&'static str> {
    let [name, whole] =
        [path.file_name().unwrap_or_default(), path.as_os_str()].map(|text| text.to_string_lossy());
    [name, whole]
        .iter()
        .find_map(|text| ["zsh", "bash"].into_iter().find(|shell| text.contains(shell)))
}

fn is_executable(path: &Path) -> bool {
    use rustix::fs::{Access, access};
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::PathBuf;

    use super::ShellPlaces;

    fn script(shell: &str) -> String {
        format!(
            "source /h/.claude/shell-snapshots/snapshot-{shell}-1-a.sh && eval 'ls' && pwd -P >| /tmp/x"
        )
    }

    #[test]
    fn shells_of_claude_code() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, mode: u32| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, "").unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        };
        let (bash, zsh) = (file("a/bash", 0o755), file("b/zsh-5.9", 0o755));
        let (locked, fish) = (file("c/bash", 0o644), file("a/fish", 0o755));
        let (path_zsh, path_bash) = (file("path/zsh", 0o755), file("path/bash", 0o755));
        _ = file("project/bin/zsh", 0o755);
        let relative = PathBuf::from("bash");
        for (variables, shell, expected) in [
            ([None, Some(&bash)], "bash", &bash),
            ([Some(&bash), Some(&zsh)], "bash", &bash),
            ([Some(&bash), Some(&zsh)], "zsh", &zsh),
            ([None, Some(&zsh)], "zsh", &zsh),
            ([None, Some(&locked)], "bash", &path_bash),
            ([Some(&relative), Some(&bash)], "bash", &bash),
            ([None, Some(&fish)], "zsh", &path_zsh),
            // The folders of the system come before the `PATH` for the shell that is not preferred.
            ([None, Some(&fish)], "bash", &PathBuf::from("/bin/bash")),
            ([None, Some(&fish)], "sh", &path_zsh),
            ([None, Some(&bash)], "sh", &bash),
            ([None, None], "sh", &path_zsh),
        ] {
            let places = ShellPlaces {
                variables: variables.map(|path| path.cloned()),
                path: [".", "project/bin", "path"]
                    .map(|name| match name {
                        "." => PathBuf::from(name),
                        name => folder.path().join(name),
                    })
                    .into(),
                writable: vec![folder.path().join("project")],
            };
            assert_eq!(places.shell(&script(shell)), expected.as_os_str(), "{variables:?} {shell}");
        }
    }
}
