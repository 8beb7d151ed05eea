//! The environment of this process, and the way in which it was started.

use std::path::Path;

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
    own.map_or_else(|| "tamis".to_owned(), |path| shell_word(&path.to_string_lossy()))
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
