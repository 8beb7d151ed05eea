//! `make`, `ninja`, `cmake --build`: a command is shown if something was said about what it did.
//!
//! Holds the last command, and the folders that are entered. If a line comes that is neither, the command and the innermost
//! folders go in front of it: so a diagnostic has its command, and its folder, and commands about which nothing was said go. That
//! a folder is left is said if it was said that it was entered. Knows the lines of GNU make and ninja, and the names of
//! compilers; what it does not know passes. From the first failure of a test runner on nothing is removed.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

use crate::text::lines::{End, Line};
use crate::text::stage::{LineStage, Next, Tally};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<Make>::default()
}

#[derive(Debug, Default)]
struct Make {
    /// The innermost last.
    folders: Vec<Folder>,
    command: Option<(Vec<u8>, End)>,
    /// A test runner has begun to report failures.
    failing: bool,
    seen: u64,
    passed_on: u64,
}

#[derive(Debug)]
struct Folder {
    /// The line with which it was entered.
    entered: Vec<u8>,
    end: End,
    /// That line has gone out.
    said: bool,
}

/// Folders that are held, and bytes of the line of one.
const DEEPEST: usize = 64;
const LONGEST: usize = 4 << 10;

/// The headings under which test runners report failures; and ninja, that a command failed.
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

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Enters,
    Leaves,
    Command,
    /// Of a make within this one: there was nothing to be done.
    Idle,
    Said,
}

/// Programs whose commands make prints, without what is in front of their names and their versions.
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

impl LineStage for Make {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        self.seen += 1;
        if self.failing {
            self.passed_on += 1;
            return next(line);
        }
        match kind(line.text) {
            Kind::Enters if self.folders.len() < DEEPEST && line.text.len() <= LONGEST => {
                let entered = line.text.to_vec();
                self.folders.push(Folder { entered, end: line.end, said: false });
            }
            Kind::Leaves => {
                self.command = None;
                if self.leave(line.text) {
                    self.passed_on += 1;
                    next(line);
                }
            }
            Kind::Command => self.command = Some((line.text.to_vec(), line.end)),
            Kind::Idle => {}
            Kind::Said | Kind::Enters => {
                self.failing =
                    IS_FAILURE.as_ref().is_some_and(|failure| failure.is_match(line.text));
                self.say_folders(next);
                if let Some((text, end)) = self.command.take() {
                    self.passed_on += 1;
                    next(Line { text: &text, end });
                }
                self.passed_on += 1;
                next(line);
            }
        }
    }

    /// Nothing is said of the last command.
    fn flush(&mut self, _: Next<'_>) {
        self.command = None;
    }

    /// The command that runs is shown.
    fn release(&mut self, next: Next<'_>) {
        if let Some((text, end)) = self.command.take() {
            self.say_folders(next);
            self.passed_on += 1;
            next(Line { text: &text, end });
        }
    }

    /// The line may be a diagnostic, which has its folder.
    fn begin_early(&mut self, next: Next<'_>) {
        self.say_folders(next);
    }

    /// That a folder is entered has been said.
    fn end_early(&mut self, line: Line<'_>, next: Next<'_>) {
        let outer = self.folders.len();
        self.line(line, next);
        self.release(next);
        if let Some(entered) = self.folders.get_mut(outer) {
            entered.said = true;
            self.passed_on += 1;
        }
    }

    fn tally(&self) -> Tally {
        Tally { removed: self.seen.saturating_sub(self.passed_on), ..Tally::default() }
    }
}

impl Make {
    /// Whether it was said that the folder was entered that is left. With `-j` it may be another than the innermost.
    fn leave(&mut self, text: &[u8]) -> bool {
        let name = name(text);
        let left = self.folders.iter().rposition(|folder| folder.entered.ends_with(name));
        let left = left.or_else(|| self.folders.len().checked_sub(1));
        left.is_none_or(|left| self.folders.remove(left).said)
    }

    /// Says the innermost folder, and those in which makes of its depth run beside it: any of them may be meant.
    fn say_folders(&mut self, next: Next<'_>) {
        let Some(own) = self.folders.last().map(|folder| depth(&folder.entered).to_vec()) else {
            return;
        };
        let beside = |folder: &&Folder| depth(&folder.entered) == own;
        let count = self.folders.iter().rev().take_while(beside).count();
        let outer = self.folders.len() - count;
        for folder in self.folders.iter_mut().skip(outer).filter(|folder| !folder.said) {
            folder.said = true;
            self.passed_on += 1;
            next(Line { text: &folder.entered, end: folder.end });
        }
    }
}

/// `make[2]`, or as much of it as a depth needs: it is compared for each line.
fn depth(text: &[u8]) -> &[u8] {
    text.get(..16).unwrap_or(text).split(|byte| *byte == b':').next().unwrap_or_default()
}

/// ` directory '/work'` of a line that enters or leaves it.
fn name(text: &[u8]) -> &[u8] {
    let at = memchr::memmem::find(text, b" directory ").unwrap_or(0);
    text.get(at..).unwrap_or_default()
}

fn kind(text: &[u8]) -> Kind {
    if let Some((within, said)) = of_make(text) {
        return if said.starts_with(b"Entering directory ") {
            Kind::Enters
        } else if said.starts_with(b"Leaving directory ") {
            Kind::Leaves
        } else if within
            && (said.starts_with(b"Nothing to be done for ") || said.ends_with(b" is up to date."))
        {
            Kind::Idle
        } else {
            Kind::Said
        };
    }
    if is_progress(text) || is_command(text) { Kind::Command } else { Kind::Said }
}

/// `make[2]: …`: whether it is one within another, and what it says.
fn of_make(text: &[u8]) -> Option<(bool, &[u8])> {
    let rest = text.strip_prefix(b"make").or_else(|| text.strip_prefix(b"gmake"))?;
    if let Some(said) = rest.strip_prefix(b": ") {
        return Some((false, said));
    }
    let rest = rest.strip_prefix(b"[")?;
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let said = rest.get(digits..)?.strip_prefix(b"]: ")?;
    Some((digits > 0, said))
}

/// `[ 12%] Building C object a.o`, `[3/40] CC a.o`
fn is_progress(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"[") else { return false };
    let Some(at) = rest.iter().take(16).position(|byte| *byte == b']') else { return false };
    let inside = rest.get(..at).unwrap_or_default();
    let counts = inside.iter().all(|byte| byte.is_ascii_digit() || b" /%".contains(byte));
    let says = inside.ends_with(b"%") || inside.contains(&b'/');
    counts && says && rest.get(at + 1) == Some(&b' ')
}

/// `/usr/bin/x86_64-linux-gnu-gcc-12 -c a.c`
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
        // `as a result` is said: a command has a flag, or ends with a file.
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
    use super::{Kind, kind};

    #[test]
    fn lines_of_make() {
        for (text, expected) in [
            ("make[1]: Entering directory '/code/lib'", Kind::Enters),
            ("make: Entering directory '/work'", Kind::Enters),
            ("make[1]: Leaving directory '/code/lib'", Kind::Leaves),
            ("make[1]: Nothing to be done for 'all'.", Kind::Idle),
            ("make: Nothing to be done for 'all'.", Kind::Said),
            ("make: *** [Makefile:3: all] Error 1", Kind::Said),
            ("make -C lib", Kind::Command),
            ("make love", Kind::Said),
            ("as a result, nothing - at all - was built", Kind::Said),
            ("ld was here", Kind::Said),
            ("cc -c a.c", Kind::Command),
            ("/usr/bin/x86_64-linux-gnu-gcc-12 -c a.c", Kind::Command),
            ("ar rcs lib.a a.o", Kind::Command),
            ("gcc: error: no input files", Kind::Said),
            ("[ 12%] Building C object a.o", Kind::Command),
            ("[3/40] CC a.o", Kind::Command),
            ("[warn] as it is", Kind::Said),
            ("FAILED: a.o", Kind::Said),
            ("a.c:1:2: error: x", Kind::Said),
            ("", Kind::Said),
        ] {
            assert_eq!(kind(text.as_bytes()), expected, "{text}");
        }
    }
}
