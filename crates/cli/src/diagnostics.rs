//! What is said on standard error, in one line each, and the exit codes. On a terminal a line may be coloured, and an
//! excerpt follow it.
//!
//! Must not know flags or rules. What cannot be said is left unsaid: there is no place left to say so.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::{self, Display, Write as _};
use std::io::Write;
use std::process::ExitCode;

use anstream::AutoStream;
use anstyle::Style;

use crate::colour::{self, ERROR, WARNING};
use crate::progress::Bar;
use crate::remedies::Remedied;

/// How the process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    Failed,
    Usage,
    /// As a command that was run.
    #[cfg_attr(not(unix), allow(dead_code, reason = "commands are run on Unix alone"))]
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

/// What is wrong with the command line, and what to do about it.
///
/// Each line is said by itself. One that begins with two spaces is an excerpt for the line before it: a text with a caret,
/// how to use the command. It is shown where somebody reads it as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Usage(String);

impl Usage {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }

    /// From the parser's text: what is wrong and tips become one line, how to use the command stands below.
    pub(crate) fn from_parser(text: &str) -> Self {
        let (wrong, usage) = text.split_once("\nUsage:").unwrap_or((text, ""));
        let lines = wrong.lines().map(str::trim).filter(|line| !line.is_empty());
        let lines = lines.filter(|line| !line.starts_with("For more information"));
        // The parser offers it for every flag that it does not know.
        let lines = lines.filter(|line| !line.starts_with("tip: to pass '"));
        let message = lines.collect::<Vec<_>>().join("; ");
        let message = message.strip_prefix("error: ").unwrap_or(&message).replace(":; ", ": ");
        let usage = usage.lines().next().unwrap_or_default().trim();
        let usage = if usage.is_empty() { String::new() } else { format!("\n  usage: {usage}") };
        Self(format!("{message}; --help says more{usage}"))
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
    /// Diagnostics beside a progress bar.
    pub(crate) fn new(bar: Bar) -> Self {
        Self { bar }
    }

    /// Says what is wrong with `name`, a file or a stream.
    pub(crate) fn say(&self, name: &str, message: impl Display) {
        self.line(ERROR, &format!("{name}: {message}"));
    }

    /// Says what is to be known about a run that is done.
    pub(crate) fn warn(&self, name: &str, message: impl Display) {
        self.line(WARNING, &format!("{name}: warning: {message}"));
    }

    /// Says what was asked for.
    pub(crate) fn note(&self, message: impl Display) {
        self.line(Style::new(), &message.to_string());
    }

    /// Says what is wrong with the command line.
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
            // One write a line, so that lines of several processes stay whole.
            let _ = if colour::on_stderr() {
                AutoStream::auto(stderr).write_all(line.as_bytes())
            } else {
                { stderr }.write_all(line.as_bytes())
            };
        });
    }
}

/// A line of bearable length: the middle of a long one is left out.
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
    use super::{Plain, Usage, bearable};

    #[test]
    fn one_line_is_one_line() {
        assert_eq!(bearable(&"é".repeat(2000)).chars().count(), 1001);
        assert_eq!(bearable("é"), "é");
        assert_eq!(Plain("é a\nb\u{1b}[31m").to_string(), "é a\\nb\\u{1b}[31m");
    }

    #[test]
    fn what_the_parser_says_is_one_line() {
        let text = "error: unexpected argument '--slect' found\n\n  tip: a similar argument exists: '--select'\n\n\
                    Usage: tamis filter --select <K=PATH,PATH> [FILE|-]\n\nFor more information, try '--help'.\n";
        let usage = Usage::from_parser(text);
        let message = "unexpected argument '--slect' found; tip: a similar argument exists: '--select'; --help says more";
        let below = "  usage: tamis filter --select <K=PATH,PATH> [FILE|-]";
        assert_eq!(usage.to_string(), format!("{message}\n{below}"));
        let text = "error: unexpected argument '--where' found\n\n  tip: to pass '--where' as a value, use '-- --where'\n\n";
        let told = "unexpected argument '--where' found; --help says more";
        assert_eq!(Usage::from_parser(text).to_string(), told);
    }
}
