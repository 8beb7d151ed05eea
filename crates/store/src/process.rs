//! The environment of this process, and the way in which it was started.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Returns whether the environment ends all that saves tokens: `TAMIS=off`.
#[must_use]
pub fn is_off() -> bool {
    std::env::var_os("TAMIS").is_some_and(|value| value == "off")
}

/// Returns what starts the command `tamis` in a shell, for notices: its path, if it was started by an absolute one, as agents do,
/// else its name.
#[must_use]
pub fn command_word() -> String {
    let typed = std::env::args_os().next();
    let path = typed.as_deref().map(Path::new).filter(|path| path.is_absolute());
    let own = path.filter(|path| path.file_stem().is_some_and(|name| name == "tamis"));
    own.and_then(path_word).unwrap_or_else(|| "tamis".to_owned())
}

/// Returns an argument of a command in a notice, in quotes.
#[must_use]
pub fn quoted(text: &str) -> String {
    if cfg!(windows) && !is_posix_shell() && windows_shell::is_plain_in_quotes(text) {
        return format!("\"{text}\"");
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(not(windows))]
fn path_word(path: &Path) -> Option<String> {
    Some(shell_word(&path.to_string_lossy()))
}

/// Returns `None` if the name finds the program, or if no text starts it in both shells of Windows.
#[cfg(windows)]
fn path_word(path: &Path) -> Option<String> {
    let named = with_extension(OsStr::new("tamis"), &std::env::var_os("PATH")?);
    if named == path {
        return None;
    }
    let path = path.to_str()?;
    if is_posix_shell() {
        // With slashes: these shells remove backslashes.
        return Some(shell_word(&path.replace('\\', "/")));
    }
    windows_shell::start_of_command(&path.replace('/', "\\"))
}

/// Returns whether a shell of Git or MSYS2 started this process: they set this variable.
fn is_posix_shell() -> bool {
    std::env::var_os("MSYSTEM").is_some_and(|value| !value.is_empty())
}

/// Texts that mean the same in `cmd.exe` and in PowerShell.
pub mod windows_shell {
    /// Returns what starts a program by its path, which has backslashes. `None`: no text does.
    ///
    /// PowerShell takes a path in quotes for a string, so a path with spaces is left to `cmd`. Without `call`, `cmd /c` would
    /// remove the quotes of a path with parentheses.
    ///
    /// ```
    /// use tamis_store::process::windows_shell::start_of_command;
    ///
    /// assert_eq!(start_of_command(r"C:\bin\tamis.exe").as_deref(), Some(r"C:\bin\tamis.exe"));
    /// let spaced = r"C:\Program Files (x86)\tamis.exe";
    /// assert_eq!(start_of_command(spaced), Some(format!("cmd /c call \"{spaced}\"")));
    /// ```
    #[must_use]
    pub fn start_of_command(path: &str) -> Option<String> {
        if !path.is_empty() && path.chars().all(is_bare) {
            return Some(path.to_owned());
        }
        let is_quotable = path.chars().all(|char| is_bare(char) || " ()'".contains(char));
        (is_quotable && path.contains(' ')).then(|| format!("cmd /c call \"{path}\""))
    }

    /// Returns the command that lets `cmd.exe` run these words, or one word that is a whole command line. `None`: no text does in
    /// both shells.
    ///
    /// ```
    /// use tamis_store::process::windows_shell::command_of_cmd;
    ///
    /// assert_eq!(command_of_cmd(&["dir", "a b"]).as_deref(), Some(r#"cmd /c dir "a b""#));
    /// assert_eq!(command_of_cmd(&["dir | more"]).as_deref(), Some(r#"cmd /c "dir | more""#));
    /// ```
    #[must_use]
    pub fn command_of_cmd(words: &[&str]) -> Option<String> {
        let mut command = "cmd /c".to_owned();
        for word in words {
            command.push(' ');
            if !word.is_empty() && word.chars().all(|char| is_bare(char) || char == '/') {
                command.push_str(word);
                continue;
            }
            // In a line, `cmd` reads these signs. In one of several words, it reads them too, although they are meant as text.
            let is_line = words.len() == 1 || !word.contains(['&', '|', '<', '>', '^', '(', ')']);
            if !is_plain_in_quotes(word) || word.contains('^') || !is_line {
                return None;
            }
            command.extend(["\"", word, "\""]);
        }
        Some(command)
    }

    /// Returns whether a text in double quotes is that text. A backslash before the last quote would escape it.
    pub(super) fn is_plain_in_quotes(text: &str) -> bool {
        let changes = |char: char| "\"$`%!“”„".contains(char) || char.is_control();
        !text.contains(changes) && !text.ends_with('\\')
    }

    /// Returns whether a character needs no quotes.
    fn is_bare(char: char) -> bool {
        char.is_alphanumeric() || r"-_.:\~+".contains(char)
    }
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

    use super::windows_shell::{command_of_cmd, is_plain_in_quotes, start_of_command};
    use super::with_extension;

    #[test]
    fn a_path_starts_a_program_in_both_shells_of_windows_or_is_refused() {
        let start = |path: &str| start_of_command(path);
        assert_eq!(start(r"C:\Users\Zoë\tamis.exe").as_deref(), Some(r"C:\Users\Zoë\tamis.exe"));
        let quoted = r#"cmd /c call "C:\Jo Do's\tamis.exe""#;
        assert_eq!(start(r"C:\Jo Do's\tamis.exe").as_deref(), Some(quoted));
        // PowerShell would remove the quotes of a word without spaces; it or cmd replaces the other signs.
        for path in [
            r"C:\a&b\tamis.exe",
            r"C:\a $b\tamis.exe",
            r"C:\a %b%\tamis.exe",
            "C:\\a `b\\t.exe",
            r"C:\a “b\t.exe",
        ] {
            assert_eq!(start(path), None, "{path}");
        }
    }

    #[test]
    fn a_command_line_for_cmd_keeps_its_words() {
        let command = |words: &[&str]| command_of_cmd(words);
        assert_eq!(command(&["ver"]).as_deref(), Some("cmd /c ver"));
        assert_eq!(
            command(&["dir", "/b", r"C:\a b"]).as_deref(),
            Some(r#"cmd /c dir /b "C:\a b""#)
        );
        assert_eq!(command(&["echo a&echo b"]).as_deref(), Some(r#"cmd /c "echo a&echo b""#));
        // These would be two commands, a variable, and an escaped quote.
        for words in [&["echo", "a&b"][..], &["echo", "%PATH%"], &["dir", r"a b\"], &["echo \"a\""]]
        {
            assert_eq!(command(words), None, "{words:?}");
        }
        assert!(is_plain_in_quotes("/a b/0") && !is_plain_in_quotes("/a\"b"));
    }

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
