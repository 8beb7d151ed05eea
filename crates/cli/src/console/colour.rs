//! Decides whether output is coloured: `--color`, `NO_COLOR`, `CLICOLOR_FORCE` and the abilities of the terminal.
//!
//! This module must not depend on what is coloured. The choice is made once, before anything is printed.

use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

/// Style of errors.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// Style of warnings.
pub(crate) const WARNING: Style = AnsiColor::Yellow.on_default().bold();
/// Style of titles.
pub(crate) const TITLE: Style = Style::new().bold().underline();

/// Reads `--color` before the arguments are parsed, so that errors of the parser have the right colours.
pub(crate) fn choose(args: &[OsString]) {
    let mut choice = None;
    let mut args = args.iter().skip(1).map(OsString::as_os_str);
    while let Some(arg) = args.next() {
        if arg == "--" {
            break;
        }
        let value = if arg == "--color" {
            args.next()
        } else {
            arg.to_str().and_then(|text| text.strip_prefix("--color=")).map(OsStr::new)
        };
        choice = match value.and_then(OsStr::to_str) {
            Some("always") => Some(ColorChoice::Always),
            Some("never") => Some(ColorChoice::Never),
            Some("auto") => Some(ColorChoice::Auto),
            _ => choice,
        };
    }
    if let Some(choice) = choice {
        choice.write_global();
    }
}

/// Returns whether standard error shows colours.
pub(crate) fn on_stderr() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Returns whether standard output shows colours.
pub(crate) fn on_stdout() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Returns whether data on standard output is coloured: on a terminal that shows colours, and elsewhere only if it was typed.
/// A variable of the environment must not change what the next program in a pipe reads.
pub(crate) fn on_data() -> bool {
    let is_typed = ColorChoice::global() == ColorChoice::Always;
    is_typed || (std::io::stdout().is_terminal() && on_stdout())
}

/// Returns whether standard error is a terminal, so that a person reads it.
pub(crate) fn is_read_by_people() -> bool {
    std::io::stderr().is_terminal()
}
