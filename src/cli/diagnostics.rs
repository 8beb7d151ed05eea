//! What is said on standard error, in one line each, and the exit codes.
//!
//! Must not know flags or rules. What cannot be said is left unsaid: there is no place left to say so.

use std::error::Error;
use std::fmt::{self, Display, Write as _};
use std::io::Write;
use std::process::ExitCode;

use crate::progress::Bar;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
        })
    }
}

/// What is wrong with the command line, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Usage {}

/// Standard error, which a progress bar may share.
#[derive(Debug, Default)]
pub(crate) struct Console {
    bar: Bar,
}

impl Console {
    /// Diagnostics beside a progress bar.
    pub(crate) fn new(bar: Bar) -> Self {
        Self { bar }
    }

    /// Says what is wrong with `name`, a file or a stream.
    pub(crate) fn say(&self, name: &str, message: impl Display) {
        self.line(&format!("{name}: {message}"));
    }

    /// Says what is to be known about a run that is done.
    pub(crate) fn warn(&self, name: &str, message: impl Display) {
        self.line(&format!("{name}: warning: {message}"));
    }

    /// Says what is wrong with the command line. The place in a rule is shown on lines of its own.
    pub(crate) fn usage(&self, usage: &Usage) {
        let mut lines = usage.0.lines();
        self.line(lines.next().unwrap_or_default());
        for line in lines {
            self.put(line);
        }
    }

    fn line(&self, text: &str) {
        self.put(&format!("tamis: {text}"));
    }

    fn put(&self, text: &str) {
        let line = format!("{}\n", Plain(text));
        self.bar.aside(|| {
            let _ = std::io::stderr().lock().write_all(line.as_bytes());
        });
    }
}

/// A text whose control characters are escaped: names of files and of members are not ours, and one line is one line.
struct Plain<'a>(&'a str);

impl Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for char in self.0.chars() {
            if char.is_control() {
                write!(f, "{}", char.escape_default())?;
            } else {
                f.write_char(char)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Plain;

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(Plain("é a\nb\u{1b}[31m").to_string(), "é a\\nb\\u{1b}[31m");
    }
}
