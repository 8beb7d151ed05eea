//! `make`, `ninja`, `cmake --build`: commands are shown only if they printed something.
//!
//! The last command and the entered directories are held. When another line follows, it is preceded by the innermost
//! directories and the command, so that a diagnostic has its context. Commands that print nothing are removed. A line
//! about leaving a directory is written only if the line about entering it was. The engine knows the lines of GNU
//! make and ninja, and the names of compilers; other lines are kept. From the first failure of a test runner on,
//! everything is kept.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};
use tamis_text::lines::{LineEnd, TextLine};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<MakeOutput>::default()
}

#[derive(Debug, Default)]
struct MakeOutput {
    /// The entered directories, the innermost last.
    folders: Vec<MakeFolder>,
    command: Option<(Vec<u8>, LineEnd)>,
    /// Whether a test runner has begun to report failures.
    failing: bool,
    lines_read: u64,
    lines_written: u64,
}

#[derive(Debug)]
struct MakeFolder {
    /// The line about entering the directory.
    entered: Vec<u8>,
    end: LineEnd,
    /// Whether that line was written.
    written: bool,
}

/// Maximum number of held directories, and maximum length of the line of one, in bytes.
const DEEPEST: usize = 64;
const LONGEST: usize = 4 << 10;

/// Headings under which test runners report failures, and ninja's report of a failed command.
const FAILURES: [&str; 8] = [
    "^=+ (FAILURES|ERRORS) =+$",
    "^failures:$",
    "^ *--- FAIL: ",
    "^  ● ",
    "^⎯+ *(Failed|Unhandled) ",
    r"^ +\d+ failing$",
    r"^ +FAIL +\[",
    "^(FAILED: |The following tests FAILED:)",
];
static IS_FAILURE: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(FAILURES).ok());

/// The kinds of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MakeLine {
    Enters,
    Leaves,
    Command,
    /// A nested make had nothing to do.
    Idle,
    Other,
}

/// Programs whose commands make prints, without the prefix of a target and without versions.
const TOOLS: [&[u8]; 19] = [
    b"cc",
    b"gcc",
    b"g++",
    b"c++",
    b"clang",
    b"clang++",
    b"ar",
    b"gcc-ar",
    b"ranlib",
    b"ld",
    b"as",
    b"gfortran",
    b"rustc",
    b"nvcc",
    b"ccache",
    b"libtool",
    b"make",
    b"gmake",
    b"strip",
];

impl LineStage for MakeOutput {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_read += 1;
        if self.failing {
            self.lines_written += 1;
            return next(line);
        }
        match kind(line.text) {
            MakeLine::Enters if self.folders.len() < DEEPEST && line.text.len() <= LONGEST => {
                let entered = line.text.to_vec();
                self.folders.push(MakeFolder { entered, end: line.end, written: false });
            }
            MakeLine::Leaves => {
                self.command = None;
                if self.leave(line.text) {
                    self.lines_written += 1;
                    next(line);
                }
            }
            MakeLine::Command => self.command = Some((line.text.to_vec(), line.end)),
            MakeLine::Idle => {}
            MakeLine::Other | MakeLine::Enters => {
                self.failing =
                    IS_FAILURE.as_ref().is_some_and(|failure| failure.is_match(line.text));
                self.write_folders(next);
                if let Some((text, end)) = self.command.take() {
                    self.lines_written += 1;
                    next(TextLine { text: &text, end });
                }
                self.lines_written += 1;
                next(line);
            }
        }
    }

    /// Drops the last command, because it printed nothing.
    fn flush(&mut self, _: EmitLine<'_>) {
        self.command = None;
    }

    /// Writes the running command.
    fn release(&mut self, next: EmitLine<'_>) {
        if let Some((text, end)) = self.command.take() {
            self.write_folders(next);
            self.lines_written += 1;
            next(TextLine { text: &text, end });
        }
    }

    /// The line may be a diagnostic, so the directories precede it.
    fn begin_early(&mut self, next: EmitLine<'_>) {
        self.write_folders(next);
    }

    /// The line may be about entering a directory, and is already written.
    fn end_early(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        let outer = self.folders.len();
        self.line(line, next);
        self.release(next);
        if let Some(entered) = self.folders.get_mut(outer) {
            entered.written = true;
            self.lines_written += 1;
        }
    }

    fn tally(&self) -> StageCounts {
        StageCounts {
            removed: self.lines_read.saturating_sub(self.lines_written),
            ..StageCounts::default()
        }
    }
}

impl MakeOutput {
    /// Removes the directory that is left. Returns whether the line about entering it was written. With `-j` it may
    /// not be the innermost.
    fn leave(&mut self, text: &[u8]) -> bool {
        let name = name(text);
        let left = self.folders.iter().rposition(|folder| folder.entered.ends_with(name));
        let left = left.or_else(|| self.folders.len().checked_sub(1));
        left.is_none_or(|left| self.folders.remove(left).written)
    }

    /// Writes the innermost directory, and those of parallel makes at the same depth: the next line may belong to any
    /// of them.
    fn write_folders(&mut self, next: EmitLine<'_>) {
        let Some(own) = self.folders.last().map(|folder| depth(&folder.entered).to_vec()) else {
            return;
        };
        let is_sibling = |folder: &&MakeFolder| depth(&folder.entered) == own;
        let count = self.folders.iter().rev().take_while(is_sibling).count();
        let outer = self.folders.len() - count;
        for folder in self.folders.iter_mut().skip(outer).filter(|folder| !folder.written) {
            folder.written = true;
            self.lines_written += 1;
            next(TextLine { text: &folder.entered, end: folder.end });
        }
    }
}

/// Returns a prefix such as `make[2]`, by which the depths of two lines are compared.
fn depth(text: &[u8]) -> &[u8] {
    text.get(..16).unwrap_or(text).split(|byte| *byte == b':').next().unwrap_or_default()
}

/// Returns the part ` directory '/work'` of a line about entering or leaving a directory.
fn name(text: &[u8]) -> &[u8] {
    let at = memchr::memmem::find(text, b" directory ").unwrap_or(0);
    text.get(at..).unwrap_or_default()
}

fn kind(text: &[u8]) -> MakeLine {
    if let Some((within, message)) = of_make(text) {
        return if message.starts_with(b"Entering directory ") {
            MakeLine::Enters
        } else if message.starts_with(b"Leaving directory ") {
            MakeLine::Leaves
        } else if within
            && (message.starts_with(b"Nothing to be done for ")
                || message.ends_with(b" is up to date."))
        {
            MakeLine::Idle
        } else {
            MakeLine::Other
        };
    }
    if is_progress(text) || is_command(text) { MakeLine::Command } else { MakeLine::Other }
}

/// Parses `make[2]: …`. Returns whether the make is nested, and the message.
fn of_make(text: &[u8]) -> Option<(bool, &[u8])> {
    let rest = text.strip_prefix(b"make").or_else(|| text.strip_prefix(b"gmake"))?;
    if let Some(message) = rest.strip_prefix(b": ") {
        return Some((false, message));
    }
    let rest = rest.strip_prefix(b"[")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let message = rest.get(digits..)?.strip_prefix(b"]: ")?;
    Some((digits > 0, message))
}

/// Whether a line is progress: `[ 12%] Building C object a.o`, `[3/40] CC a.o`, ` [403/891] CC a.o`.
fn is_progress(text: &[u8]) -> bool {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let Some(rest) = text.strip_prefix(b"[") else { return false };
    let Some(at) = rest.iter().take(16).position(|byte| *byte == b']') else { return false };
    let inside = rest.get(..at).unwrap_or_default();
    let counts = inside.iter().all(|byte| byte.is_ascii_digit() || b" /%".contains(byte));
    let says = inside.ends_with(b"%") || inside.contains(&b'/');
    counts && says && rest.get(at + 1) == Some(&b' ')
}

/// Whether a line is a command: `/usr/bin/x86_64-linux-gnu-gcc-12 -c a.c`.
fn is_command(text: &[u8]) -> bool {
    let Some(at) = text.iter().position(|byte| *byte == b' ') else { return false };
    let program = text.get(..at).unwrap_or_default();
    let name = program.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    let version = name.iter().rposition(|byte| !(byte.is_ascii_digit() || *byte == b'.'));
    let name = match version.map(|last| name.split_at(last + 1)) {
        Some((name, version)) if !version.is_empty() => name.strip_suffix(b"-").unwrap_or(name),
        _ => name,
    };
    TOOLS.iter().any(|tool| {
        name.strip_suffix(*tool).is_some_and(|front| front.is_empty() || front.ends_with(b"-"))
    }) && text.get(at + 1..).is_some_and(|rest| {
        // Unlike a sentence that begins with `as`, a command has a flag, or ends with a file.
        let flag =
            |pair: &[u8]| matches!(pair, [b' ', b'-', letter] if letter.is_ascii_alphabetic());
        let files: [&[u8]; 5] = [b".o", b".a", b".so", b".c", b".cpp"];
        rest.starts_with(b"-")
            || rest.windows(3).any(flag)
            || files.iter().any(|file| rest.ends_with(file))
    })
}

#[cfg(test)]
mod tests {
    use super::{MakeLine, kind};

    #[test]
    fn lines_of_make() {
        for (text, expected) in [
            ("make[1]: Entering directory '/code/lib'", MakeLine::Enters),
            ("make: Entering directory '/work'", MakeLine::Enters),
            ("make[1]: Leaving directory '/code/lib'", MakeLine::Leaves),
            ("make[1]: Nothing to be done for 'all'.", MakeLine::Idle),
            ("make: Nothing to be done for 'all'.", MakeLine::Other),
            ("make: *** [Makefile:3: all] Error 1", MakeLine::Other),
            ("make -C lib", MakeLine::Command),
            ("make love", MakeLine::Other),
            ("as a result, nothing - at all - was built", MakeLine::Other),
            ("ld was here", MakeLine::Other),
            ("cc -c a.c", MakeLine::Command),
            ("/usr/bin/x86_64-linux-gnu-gcc-12 -c a.c", MakeLine::Command),
            ("ar rcs lib.a a.o", MakeLine::Command),
            ("gcc: error: no input files", MakeLine::Other),
            ("[ 12%] Building C object a.o", MakeLine::Command),
            ("[3/40] CC a.o", MakeLine::Command),
            ("[warn] as it is", MakeLine::Other),
            ("FAILED: a.o", MakeLine::Other),
            ("a.c:1:2: error: x", MakeLine::Other),
            ("", MakeLine::Other),
        ] {
            assert_eq!(kind(text.as_bytes()), expected, "{text}");
        }
    }
}
