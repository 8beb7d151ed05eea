//! The program that entries start, by its path, and the shell that starts it.
//!
//! A name would be looked up in `PATH`, which may have folders that a sandboxed command can write to, such as that of a
//! virtual environment. The agent starts hooks and servers outside of its sandbox, so such a command would get out of it.

use std::env;
use std::path::{Path, PathBuf};

use tamis_store::process::shell_word;

/// Compares the path in `$0` with the working directory and the temporary folder of the agent: what lies there may have been
/// written by a sandboxed command.
const IS_ELSEWHERE: &str =
    r#"t=${TMPDIR:-/dev/null}; case $0 in "$PWD"/*|"${t%/}"/*) false ;; esac && [ -f "$0" ]"#;

/// Returns the path of this program as it was started: absolute, with its links.
///
/// An upgrade replaces what links lead to, so the path that they lead to now is not written anywhere.
#[must_use]
pub fn as_started() -> Option<PathBuf> {
    let real = env::current_exe().ok()?;
    let typed = PathBuf::from(env::args_os().next()?);
    let is_same = |path: &PathBuf| path.canonicalize().ok() == real.canonicalize().ok();
    let found = if typed.components().count() > 1 {
        Some(env::current_dir().ok()?.join(typed))
    } else {
        let folders = env::var_os("PATH").unwrap_or_default();
        let mut files = env::split_paths(&folders).map(|folder| folder.join(&typed));
        files.find(|file| file.is_absolute() && is_same(file))
    };
    Some(found.filter(is_same).map_or(real, |path| without_dots(&path)))
}

/// Removes `.`, and `..` with the folder before it, unless that is a link.
fn without_dots(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut clean = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir if !clean.is_symlink() && clean.file_name().is_some() => {
                clean.pop();
            }
            component => clean.push(component),
        }
    }
    clean
}

/// Returns the text of a word that [`shell_word`] wrote.
pub(crate) fn unquoted(word: &str) -> Option<String> {
    let text = match word.strip_prefix('\'').and_then(|word| word.strip_suffix('\'')) {
        Some(quoted) => quoted.replace(r"'\''", "'"),
        None => word.to_owned(),
    };
    (shell_word(&text) == word).then_some(text)
}

/// The command line of a hook: `/bin/sh -c SCRIPT PROGRAM`. An agent runs it with a shell, which may be another one than `sh`.
#[derive(Clone, Debug)]
pub(crate) struct HookLine {
    before: String,
}

impl HookLine {
    /// `arguments` and `otherwise` must not have a single quote.
    pub(crate) fn new(arguments: &str, otherwise: &str) -> Self {
        let script = format!(r#"{IS_ELSEWHERE} && "$0" {arguments} 2>/dev/null || {otherwise}"#);
        Self { before: format!("/bin/sh -c '{script}' ") }
    }

    /// Returns the line that starts a program.
    pub(crate) fn of(&self, program: &Path) -> String {
        format!("{}{}", self.before, shell_word(&program.to_string_lossy()))
    }

    /// Returns the program that a line starts, if it has this form.
    pub(crate) fn program(&self, line: &str) -> Option<PathBuf> {
        unquoted(line.strip_prefix(&self.before)?).map(PathBuf::from)
    }
}

/// Returns whether a word of a shell's text is the name or the path of a program of ours.
pub(crate) fn names_program(text: &str) -> bool {
    let is_part =
        |char: char| char.is_alphanumeric() || matches!(char, '/' | '.' | '_' | '-' | '~');
    let mut words = text.split(|char: char| !is_part(char));
    words.any(|word| {
        let name = word.rsplit('/').next().unwrap_or_default();
        matches!(name, "tamis" | "tamis-gateway" | "tamis-shell")
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{HookLine, without_dots};

    #[test]
    fn lines_are_recognised_by_their_form() {
        let line = HookLine::new("hook codex --config user", "exit 0");
        for program in ["/usr/bin/tamis", "/home/a b/it's/tamis", "/ü/tamis"] {
            let text = line.of(Path::new(program));
            assert_eq!(line.program(&text).unwrap().to_str(), Some(program), "{text}");
            assert_eq!(line.program(&format!("{text} x")), None);
            assert_eq!(line.program(&format!("{text}; x")), None);
        }
        let other = HookLine::new("hook codex --config project", "exit 0");
        assert_eq!(other.program(&line.of(Path::new("/usr/bin/tamis"))), None);
    }

    #[test]
    fn dots() {
        for (path, clean) in [("/a/./b", "/a/b"), ("/a/../b", "/b"), ("/../a", "/../a")] {
            assert_eq!(without_dots(Path::new(path)), Path::new(clean));
        }
    }
}
