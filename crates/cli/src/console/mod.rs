//! Messages on standard error, one line each, and exit codes. On a terminal a line may be coloured and followed by an
//! excerpt.
//!
//! This module must not depend on flags or rules. Failures to write to standard error are ignored: there is nowhere
//! left to report them.

pub(crate) mod colour;
pub(crate) mod json_colours;
pub(crate) mod print;
pub(crate) mod progress;
pub(crate) mod remedies;

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Write as _};
use std::io::Write;
use std::process::ExitCode;

use anstream::AutoStream;
use anstyle::Style;

use colour::{ERROR, WARNING};
use progress::Bar;
use remedies::Remedied;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    /// The exit code of a command that was run.
    Code(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Code(code) => code,
        })
    }
}

/// An error of the command line or of a manifest, with a remedy.
///
/// Each line is printed as a message. A line that begins with two spaces is an excerpt for the line before it, such as
/// a text with a caret or the usage of the command, and is shown only on a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// Converts an error of the argument parser: the error and its tips become one line, the usage becomes an excerpt. `advice`
    /// is printed in place of the tips.
    pub(crate) fn from_parser(text: &str, advice: Option<&str>) -> Self {
        let (wrong, usage) = text.split_once("\nUsage:").unwrap_or((text, ""));
        let lines = wrong.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.filter(|line| !line.starts_with("For more information"));
        // The parser offers it for every flag that it does not know.
        let lines = lines.filter(|line| !line.starts_with("tip: to pass '"));
        let lines = lines.filter(|line| advice.is_none() || !line.starts_with("tip: "));
        let message = lines
            .map(str::to_owned)
            .chain(advice.map(str::to_owned))
            .collect::<Vec<_>>()
            .join("; ");
        let message = message.strip_prefix("error: ").unwrap_or(&message).replace(":; ", ": ");
        let usage = usage.lines().next().unwrap_or_default().trim();
        let usage = if usage.is_empty() { String::new() } else { format!("\n  usage: {usage}") };
        Self(format!("{message}; see --help{usage}"))
    }
}

impl From<&tamis::Error> for Usage {
    fn from(error: &tamis::Error) -> Self {
        let mut text = Remedied(error).to_string();
        for line in error.excerpt().into_iter().flat_map(str::lines) {
            text.push_str("\n  ");
            text.push_str(line);
        }
        Self(text)
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
    /// Creates a console that suspends `bar` while it prints.
    pub(crate) fn new(bar: Bar) -> Self {
        Self { bar }
    }

    /// Prints an error about `name`, a file or a stream.
    pub(crate) fn say(&self, name: &str, message: impl Display) {
        self.line(ERROR, &format!("{name}: {message}"));
    }

    /// Prints an error about `name`, and returns the exit for it.
    pub(crate) fn fail(&self, name: &str, message: impl Display) -> Exit {
        self.say(name, message);
        Exit::Failed
    }

    /// Prints an error of the command line, and returns the exit for it.
    pub(crate) fn refuse(&self, usage: &Usage) -> Exit {
        self.usage(usage);
        Exit::Usage
    }

    /// Prints a warning about `name`.
    pub(crate) fn warn(&self, name: &str, message: impl Display) {
        self.line(WARNING, &format!("{name}: warning: {message}"));
    }

    /// Prints requested information.
    pub(crate) fn note(&self, message: impl Display) {
        self.line(Style::new(), &message.to_string());
    }

    /// Prints lines that people copy into a file.
    pub(crate) fn lines(&self, text: &str) {
        for line in text.lines() {
            self.put(&format!("{}\n", Plain(line)));
        }
    }

    /// Prints an error of the command line.
    pub(crate) fn usage(&self, usage: &Usage) {
        let people = colour::is_read_by_people();
        for line in usage.0.lines() {
            if !line.starts_with("  ") {
                self.line(ERROR, line);
            } else if people {
                self.put(&format!("{}\n", Plain(&bearable(line))));
            }
        }
    }

    fn line(&self, style: Style, text: &str) {
        let style = if colour::on_stderr() { style } else { Style::new() };
        self.put(&format!("{style}tamis:{style:#} {}\n", Plain(&bearable(text))));
    }

    fn put(&self, line: &str) {
        self.bar.aside(|| {
            let stderr = std::io::stderr().lock();
            // One write per line, so that lines of several processes are not mixed.
            let _ = if colour::on_stderr() {
                AutoStream::auto(stderr).write_all(line.as_bytes())
            } else {
                { stderr }.write_all(line.as_bytes())
            };
        });
    }
}

/// Shortens a long line by leaving out its middle.
fn bearable(text: &str) -> Cow<'_, str> {
    const HEAD: usize = 700;
    const TAIL: usize = 300;
    let chars = text.chars().count();
    if chars <= HEAD + TAIL {
        return Cow::Borrowed(text);
    }
    let head: String = text.chars().take(HEAD).collect();
    let tail: String = text.chars().skip(chars - TAIL).collect();
    Cow::Owned(format!("{head}…{tail}"))
}

/// Displays a text with its control characters escaped: names of files and members are untrusted and may contain any.
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
    use super::{Plain, Usage, bearable};

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(bearable(&"é".repeat(2000)).chars().count(), 1001);
        assert_eq!(bearable("é"), "é");
        assert_eq!(Plain("é a\nb\u{1b}[31m").to_string(), "é a\\nb\\u{1b}[31m");
    }

    #[test]
    fn errors_of_the_parser_are_one_line() {
        let text = "error: unexpected argument '--slect' found\n\n  tip: a similar argument exists: '--select'\n\n\
                    Usage: tamis filter --select <K=PATH,PATH> [FILE|-]\n\nFor more information, try '--help'.\n";
        let usage = Usage::from_parser(text, None);
        let message = "unexpected argument '--slect' found; tip: a similar argument exists: '--select'; see --help";
        let below = "  usage: tamis filter --select <K=PATH,PATH> [FILE|-]";
        assert_eq!(usage.to_string(), format!("{message}\n{below}"));
        let text = "error: unexpected argument '--where' found\n\n  tip: to pass '--where' as a value, use '-- --where'\n\n";
        let message = "unexpected argument '--where' found; see --help";
        assert_eq!(Usage::from_parser(text, None).to_string(), message);
        let text =
            "error: unexpected argument '-n' found\n\n  tip: a similar argument exists: '--x'\n";
        let message = "unexpected argument '-n' found; write -m; see --help";
        assert_eq!(Usage::from_parser(text, Some("write -m")).to_string(), message);
    }
}
