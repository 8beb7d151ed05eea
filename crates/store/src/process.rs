//! The environment of this process, and the way in which it was started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns whether the environment ends all that saves tokens: `TAMIS=off`.
#[must_use]
pub fn is_off() -> bool {
    std::env::var_os("TAMIS").is_some_and(|value| value == "off")
}

/// Returns the word of a shell that starts the command `tamis`, for notices: its path, if it was started by an absolute one,
/// as agents do, else its name.
#[must_use]
pub fn command_word() -> String {
    let typed = std::env::args_os().next();
    let path = typed.as_deref().map(Path::new).filter(|path| path.is_absolute());
    let own = path.filter(|path| path.file_stem().is_some_and(|name| name == "tamis"));
    own.and_then(path_word).unwrap_or_else(|| "tamis".to_owned())
}

#[cfg(not(windows))]
fn path_word(path: &Path) -> Option<String> {
    Some(shell_word(&path.to_string_lossy()))
}

/// Returns `None` if the name finds the program: PowerShell starts every program by its path. A path with slashes is one for
/// PowerShell and for the shells of Git and MSYS2.
#[cfg(windows)]
fn path_word(path: &Path) -> Option<String> {
    let named = with_extension(OsStr::new("tamis"), &std::env::var_os("PATH")?);
    (named != path).then(|| shell_word(&path.to_string_lossy().replace('\\', "/")))
}

/// Returns the file that Windows runs for a name, or for a path: the standard library would only add `.exe`, but npm installs
/// programs such as `npx` as `npx.cmd`. Those are run by `cmd.exe`, for which the standard library quotes the arguments, or
/// refuses them.
///
/// `folders` is the value of `PATH`. A name without a file is returned unchanged: the standard library looks into more folders.
#[must_use]
pub fn with_extension(program: &OsStr, folders: &OsStr) -> PathBuf {
    let path = Path::new(program);
    if path.extension().is_some_and(is_executable) {
        return path.to_owned();
    }
    let is_name = path.components().count() == 1 && path.file_name() == Some(program);
    let folders = std::env::split_paths(if is_name { folders } else { OsStr::new("") });
    let folders = folders.filter(|folder| folder.is_absolute());
    // A path is looked for where it is.
    let folders = folders.chain((!is_name).then(PathBuf::new));
    let mut files = folders.flat_map(|folder| {
        EXECUTABLE.map(|extension| {
            // `python3.12` has no extension.
            let mut file = folder.join(path).into_os_string();
            file.push(".");
            file.push(extension);
            PathBuf::from(file)
        })
    });
    files.find(|file| file.is_file()).unwrap_or_else(|| path.to_owned())
}

/// The extensions of programs, in the order in which Windows looks for them.
const EXECUTABLE: [&str; 4] = ["com", "exe", "bat", "cmd"];

fn is_executable(extension: &OsStr) -> bool {
    EXECUTABLE.iter().any(|one| extension.eq_ignore_ascii_case(one))
}

/// Returns a word of a POSIX shell, in quotes where it needs them. fish reads it alike.
///
/// ```
/// use tamis_store::process::shell_word;
///
/// assert_eq!(shell_word("/usr/bin/tamis"), "/usr/bin/tamis");
/// assert_eq!(shell_word("/a b/it's"), r"'/a b/it'\''s'");
/// ```
#[must_use]
pub fn shell_word(text: &str) -> String {
    let is_bare = |char: char| char.is_ascii_alphanumeric() || "-_./:@%+,=".contains(char);
    if !text.is_empty() && text.chars().all(is_bare) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::path::Path;

    use super::with_extension;

    #[test]
    fn a_name_finds_a_program_or_a_batch_file() {
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let file = |folder: &tempfile::TempDir, name: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, "").unwrap();
            path
        };
        // npm installs both; the one without an extension is a script of a POSIX shell.
        file(&first, "npx");
        let npx = file(&first, "npx.cmd");
        file(&second, "npx.exe");
        let python = file(&second, "python3.12.exe");
        let folders = std::env::join_paths([Path::new("relative"), first.path(), second.path()]);
        let found = |name: &str| with_extension(OsStr::new(name), folders.as_ref().unwrap());
        assert_eq!(found("npx"), npx);
        assert_eq!(found("python3.12"), python);
        assert_eq!(found("npx.EXE"), Path::new("npx.EXE"));
        assert_eq!(found("none"), Path::new("none"));
        let path = first.path().join("npx");
        assert_eq!(with_extension(path.as_os_str(), OsStr::new("")), npx);
        assert_eq!(with_extension(npx.as_os_str(), OsStr::new("")), npx);
    }
}
