//! Removes a prefix that all lines of an output have, so that the filter of the command reads what the command printed.
//!
//! Tools that run other tools write their name, the name of a service or task, or the time before each line:
//!
//! | prefix | written by |
//! |---|---|
//! | `[exec] `, `[java] `, `[Build on node-3] ` | Ant, Jenkins |
//! | `[0] `, `[server] `, `[@acme/web]: ` | concurrently, yarn workspaces |
//! | `web-1  \| `, `web.1 \| ` | docker compose, honcho |
//! | `app:build: `, `packages/app build: `, `@acme/web: ` | turbo; pnpm -r; lerna |
//! | `ci-1 runner[812]: ` | syslog, after the time |
//! | `2026-11-23T08:00:00.1234567Z ` | logs of GitHub's runners |
//! | `2026-11-23T08:00:00.123456Z 00O `, `[08:00:00] `, `Nov 23 08:00:00 ` | GitLab's runner, Jenkins, `ts`, syslog |
//!
//! The first lines decide: they are held until there are [`LINES`] of them. A constant prefix is written once, as the first
//! line. Later lines without the prefix are kept as they are. There may be a second prefix after it: `[exec] app:build: x`.
//!
//! A program may print times itself, and they matter. Only GitHub's runners write seven digits of a second, so that this form
//! is removed in any case. Other forms are removed if one of the first lines without the time begins the output of the
//! command, as its rule declares (`begins`).

use std::fmt;
use std::sync::{Arc, LazyLock};

use memchr::memchr;
use regex::bytes::Regex;
use tamis::text::TextReport;
use tamis_text::lines::beginning_with;

/// Lines that decide.
const LINES: usize = 4;
/// Bytes that are held to decide.
const HELD: usize = 8 << 10;
/// Prefixes of a line.
const DEEPEST: u8 = 2;

/// Prefixes that are the same on all lines. Levels (`[INFO] `) and counters (`[3/20] `) belong to the lines.
static CONSTANT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    beginning_with(&[
        // The indentation of the text belongs to the text.
        r" *\[[A-Za-z@][\w ./:@-]{1,60}\]:? ",
        r"\[\d{1,3}\] ",
        r"\xe2\x9e\xa4 YN0000: \[[\w@/.-]{1,60}\]: ",
        r"[\w.@/-]{1,60}[-_.]\d+ +\| ",
        r"[\w@/.-]{1,60}:[\w.-]{1,40}: ",
        r"@[\w.-]{1,60}/[\w.-]{1,60}: ",
        r"[\w.-]{1,60} [\w./@-]{1,60}\[\d{1,10}\]: ",
        r"[\w@/.-]{1,60} (?:build|test|lint|check|start|dev|compile|typecheck)(?::[\w-]+)?: ",
    ])
});

/// The forms of a time before each line: the first one is removed in any case.
const TIMES: [&str; 4] = [
    r"^\x{feff}?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z(?: |$)",
    r"(?-u)^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?\]?(?: \d\d[OE][ +]| |$)",
    r"(?-u)^[\[(]?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?[\])]?(?: |$)",
    r"(?-u)^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: |$)",
];
static TIME: LazyLock<[Option<Regex>; TIMES.len()]> =
    LazyLock::new(|| TIMES.map(|form| Regex::new(form).ok()));

/// Words in brackets that are the level of a line.
const LEVELS: [&[u8]; 11] = [
    b"info",
    b"error",
    b"warn",
    b"warning",
    b"debug",
    b"trace",
    b"fatal",
    b"critical",
    b"notice",
    b"tamis",
    b"err",
];

/// The text that is removed from each line.
#[derive(Debug)]
enum LinePrefix {
    Constant(Vec<u8>),
    Time(&'static Regex),
}

impl LinePrefix {
    /// Returns the length of the prefix of a line.
    fn length(&self, line: &[u8]) -> Option<usize> {
        match self {
            // A line without text may lack the blanks at the end.
            Self::Constant(prefix) if line.len() < prefix.len() => {
                (!line.is_empty() && line == prefix.trim_ascii_end()).then_some(line.len())
            }
            Self::Constant(prefix) => line.starts_with(prefix).then_some(prefix.len()),
            Self::Time(form) => form.find(line).map(|found| found.end()),
        }
    }

    /// Bytes of a line that decide.
    fn reach(&self) -> usize {
        match self {
            Self::Constant(prefix) => prefix.len(),
            Self::Time(_) => 48,
        }
    }
}

/// Knowledge of the prefix.
#[derive(Debug, Default)]
enum PrefixState {
    /// Nothing is removed.
    #[default]
    Off,
    /// The beginning of the output is held.
    Deciding,
    Removing(LinePrefix),
}

/// Says whether a line begins the output of the command.
pub(super) type IsBeginning = Arc<dyn Fn(&[u8]) -> bool + Send + Sync>;

/// Reads an output without the prefix of its lines.
#[derive(Default)]
pub(super) struct PrefixReader {
    state: PrefixState,
    begins: Option<IsBeginning>,
    /// The beginning of the output, or of the open line.
    held: Vec<u8>,
    /// Whether the rest of the open line is passed on.
    in_line: bool,
    /// Bytes and lines that were shortened.
    bytes: u64,
    lines: u64,
    /// Whether the prefix was written as a line. This line is a heading, and not counted.
    is_named: bool,
    /// Reads the lines without the prefix, which may have another one.
    inner: Option<Box<PrefixReader>>,
    /// Prefixes before this one.
    depth: u8,
}

impl fmt::Debug for PrefixReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrefixReader").field("state", &self.state).finish_non_exhaustive()
    }
}

impl PrefixReader {
    /// Creates a reader that looks for a prefix. The default one changes nothing.
    pub(super) fn new(begins: Option<IsBeginning>) -> Self {
        Self { state: PrefixState::Deciding, begins, ..Self::default() }
    }

    /// Reads bytes.
    pub(super) fn write(&mut self, bytes: &[u8], next: &mut dyn FnMut(&[u8])) {
        match &self.state {
            PrefixState::Off => next(bytes),
            PrefixState::Deciding => {
                self.held.extend_from_slice(bytes);
                let lines = memchr::memchr_iter(b'\n', &self.held).count();
                // Empty lines decide nothing.
                if self.held.len() > HELD || lines >= LINES && full_lines(&self.held) >= LINES {
                    self.decide(next);
                }
            }
            PrefixState::Removing(_) => self.remove(bytes, next),
        }
    }

    /// Passes text without the prefix on.
    fn pass_on(&mut self, text: &[u8], next: &mut dyn FnMut(&[u8])) {
        match &mut self.inner {
            Some(inner) => inner.write(text, next),
            None => next(text),
        }
    }

    /// Passes on what is held: somebody waits for it.
    pub(super) fn release(&mut self, next: &mut dyn FnMut(&[u8])) {
        match self.state {
            PrefixState::Off => {}
            PrefixState::Deciding => self.decide(next),
            PrefixState::Removing(_) => self.pass_on_open_line(next),
        }
        if let Some(inner) = &mut self.inner {
            inner.release(next);
        }
    }

    /// Ends the output.
    pub(super) fn end(&mut self, next: &mut dyn FnMut(&[u8])) {
        self.release(next);
        self.pass_on_open_line(next);
        if let Some(inner) = &mut self.inner {
            inner.end(next);
        }
    }

    /// Adds to a report what was removed.
    pub(super) fn report(&self, text: TextReport) -> TextReport {
        let mut text = match &self.inner {
            Some(inner) => inner.report(text),
            None => text,
        };
        text.bytes_in = text.bytes_in.wrapping_add(self.bytes);
        text.chars_in = text.chars_in.wrapping_add(self.bytes);
        text.lines_in = text.lines_in.saturating_sub(u64::from(self.is_named));
        text.lines_shortened += self.lines;
        text.changed |= self.lines > 0;
        text
    }

    fn decide(&mut self, next: &mut dyn FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        let Some(prefix) = prefix_of(&held, self.begins.as_ref()) else {
            self.state = PrefixState::Off;
            return next(&held);
        };
        if let LinePrefix::Constant(text) = &prefix {
            let name = text.trim_ascii_end();
            next(name);
            next(b"\n");
            // The line is not part of the output.
            self.bytes = 0_u64.wrapping_sub(name.len() as u64 + 1);
            self.is_named = true;
        }
        self.state = PrefixState::Removing(prefix);
        let depth = self.depth + 1;
        let inner = || Box::new(Self { depth, ..Self::new(self.begins.clone()) });
        self.inner = (depth < DEEPEST).then(inner);
        self.remove(&held, next);
    }

    fn remove(&mut self, mut bytes: &[u8], next: &mut dyn FnMut(&[u8])) {
        while !bytes.is_empty() {
            let end = memchr(b'\n', bytes).map_or(bytes.len(), |at| at + 1);
            let (line, rest) = bytes.split_at(end);
            bytes = rest;
            let ends = line.ends_with(b"\n");
            if self.in_line {
                self.pass_on(line, next);
            } else {
                self.held.extend_from_slice(line);
                let PrefixState::Removing(prefix) = &self.state else { return };
                if ends || self.held.len() > prefix.reach() {
                    self.pass_on_open_line(next);
                }
            }
            self.in_line = !ends && (self.in_line || self.held.is_empty());
        }
    }

    /// Passes on the held beginning of the open line.
    fn pass_on_open_line(&mut self, next: &mut dyn FnMut(&[u8])) {
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return;
        }
        let text = held.strip_suffix(b"\n").unwrap_or(&held);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let length = match &self.state {
            PrefixState::Removing(prefix) => prefix.length(text).unwrap_or(0),
            _ => 0,
        };
        self.bytes = self.bytes.wrapping_add(length as u64);
        self.lines += u64::from(length > 0);
        self.in_line = !held.ends_with(b"\n");
        self.pass_on(held.get(length..).unwrap_or_default(), next);
    }
}

/// Number of complete lines that are not empty.
fn full_lines(text: &[u8]) -> usize {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| line.ends_with(b"\n") && !line.trim_ascii().is_empty()).count()
}

/// Returns the prefix that all lines of the beginning of an output have.
fn prefix_of(text: &[u8], begins: Option<&IsBeginning>) -> Option<LinePrefix> {
    // More may be held, depending on the chunks.
    let text = text.get(..text.len().min(HELD)).unwrap_or_default();
    let lines = || {
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        let lines = lines.filter(|line| line.ends_with(b"\n")).map(|line| line.trim_ascii_end());
        lines.filter(|line| !line.is_empty()).take(LINES)
    };
    let first = lines().next()?;
    if lines().count() < 2 {
        return None;
    }
    let all_have = |prefix: &LinePrefix| lines().all(|line| prefix.length(line).is_some());
    if let Some(prefix) = constant_of(first).filter(all_have) {
        return Some(prefix);
    }
    for (number, form) in TIME.iter().enumerate() {
        let prefix = LinePrefix::Time(form.as_ref()?);
        let is_other = || {
            let mut rests = lines().filter_map(|line| line.get(prefix.length(line)?..));
            rests.any(|line| {
                let inner = constant_of(line).and_then(|inner| line.get(inner.length(line)?..));
                begins.is_some_and(|begins| begins(line) || inner.is_some_and(|line| begins(line)))
            })
        };
        if all_have(&prefix) && (number == 0 || is_other()) {
            return Some(prefix);
        }
    }
    None
}

/// Returns the constant prefix that a line may have.
fn constant_of(line: &[u8]) -> Option<LinePrefix> {
    let text = CONSTANT.as_ref()?.find(line)?.as_bytes();
    let word = text.trim_ascii_start().strip_prefix(b"[");
    let word = word.and_then(|rest| rest.split(|byte| *byte == b']').next());
    let word = word.unwrap_or_default().to_ascii_lowercase();
    (!LEVELS.contains(&word.as_slice())).then(|| LinePrefix::Constant(text.to_vec()))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::PrefixReader;

    fn read(text: &str, chunk: usize) -> String {
        let begins = Arc::new(|line: &[u8]| line.starts_with(b"running "));
        let mut reader = PrefixReader::new(Some(begins));
        let mut out = Vec::new();
        for bytes in text.as_bytes().chunks(chunk) {
            reader.write(bytes, &mut |text| out.extend_from_slice(text));
        }
        reader.end(&mut |text| out.extend_from_slice(text));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn prefixes_are_removed() {
        for (text, expected) in [
            (
                "[exec] running 2 tests\n[exec]\n[exec] test a ... ok\n[exec] test b ... ok\nBUILD\n[exec] x",
                "[exec]\nrunning 2 tests\n\ntest a ... ok\ntest b ... ok\nBUILD\nx",
            ),
            ("web-1  | a\nweb-1  | b\nweb-1  | c\nweb-1  | d\n", "web-1  |\na\nb\nc\nd\n"),
            ("app:build: a\napp:build: b\n", "app:build:\na\nb\n"),
            ("2026-11-23T08:00:00.1234567Z a\r\n2026-11-23T08:00:01.1234567Z b\r\n", "a\r\nb\r\n"),
            (
                "[INFO] a\n[INFO] b\n[INFO] c\n[INFO] d\n",
                "[INFO] a\n[INFO] b\n[INFO] c\n[INFO] d\n",
            ),
            ("[exec] a\nb\n[exec] c\n[exec] d\n", "[exec] a\nb\n[exec] c\n[exec] d\n"),
            ("[exec] a", "[exec] a"),
            (
                "[exec] app:build: a\n[exec] app:build: b\n[exec] app:build: c\n[exec] x",
                "[exec]\napp:build:\na\nb\nc\nx",
            ),
            (
                "2026-11-23T08:00:00.1234567Z web-1  | a\n2026-11-23T08:00:01.1234567Z web-1  | b\n",
                "web-1  |\na\nb\n",
            ),
            // The indentation of the first line is not part of the prefix.
            (
                "[exec]    Compiling a\n[exec]    Compiling b\n[exec]    Compiling c\n[exec] running 2 tests\n[exec] x\n",
                "[exec]\n   Compiling a\n   Compiling b\n   Compiling c\nrunning 2 tests\nx\n",
            ),
            ("     [exec] a\n     [exec] b\n", "     [exec]\na\nb\n"),
            ("[0] a\n[0] b\n", "[0]\na\nb\n"),
            ("[1/9] a\n[2/9] b\n", "[1/9] a\n[2/9] b\n"),
            ("[@acme/web]: a\n[@acme/web]: b\n", "[@acme/web]:\na\nb\n"),
            ("➤ YN0000: [web]: a\n➤ YN0000: [web]: b\n", "➤ YN0000: [web]:\na\nb\n"),
            ("@acme/web: a\n@acme/web: b\n", "@acme/web:\na\nb\n"),
            ("error: a\nerror: b\n", "error: a\nerror: b\n"),
            // Times are removed if the lines after them begin the output of the command.
            ("[08:00:00] running 2 tests\n[08:00:01] a\n", "running 2 tests\na\n"),
            ("[08:00:00] listening\n[08:00:01] a\n", "[08:00:00] listening\n[08:00:01] a\n"),
            ("08:00:00 running 2 tests\n08:00:00\n08:00:01 a\n", "running 2 tests\n\na\n"),
            (
                "2026-11-23 08:00:00,123 running 2 tests\n2026-11-23 08:00:00,124 a\n",
                "running 2 tests\na\n",
            ),
            (
                "2026-11-23T08:00:00.123456Z 00O running 2 tests\n2026-11-23T08:00:01.123456Z 00O+a\n",
                "running 2 tests\na\n",
            ),
            (
                "[2026-11-23T08:00:00.123+01:00] running 2 tests\n[2026-11-23T08:00:00.123+01:00] a\n",
                "running 2 tests\na\n",
            ),
            (
                "Nov 23 08:00:00 ci-1 runner[812]: running 2 tests\nNov  3 08:00:00 ci-1 runner[812]: a\n",
                "ci-1 runner[812]:\nrunning 2 tests\na\n",
            ),
            (
                "08:00:00 web.1  | running 2 tests\n08:00:00 web.1  | a\n",
                "web.1  |\nrunning 2 tests\na\n",
            ),
            ("", ""),
        ] {
            for chunk in [1, 2, 7, 1000] {
                assert_eq!(read(text, chunk), expected, "{chunk}");
            }
        }
    }
}
