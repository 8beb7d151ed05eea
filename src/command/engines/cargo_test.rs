//! `cargo test`: suites that pass become one line with their sums; of those that fail, everything stays.
//!
//! Knows the lines of cargo and of libtest, from rustc 1.7x on; what it does not know passes, with the header of the suite in
//! which it stands. Of the failures, only frames of the standard library are removed that every backtrace repeats or that were
//! already shown. A failed test may print the output of another `cargo test`: the failures of a suite end with a result line
//! that agrees with what the suite said before, see [`Failing`]. Holds three lines.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::text::lines::{End, Line};
use crate::text::stage::{LineStage, Next, Tally};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<CargoTest>::default()
}

/// Where in the output the lines are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// What cargo builds, and between suites.
    #[default]
    Outside,
    /// Tests run.
    Suite,
    /// What failed tests printed, and their names.
    Failures,
}

/// The numbers of a result line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
    filtered: u64,
}

/// Names of tests, in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Names {
    count: u64,
    sum: u64,
}

impl Names {
    fn add(&mut self, name: &[u8]) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// What is known of a suite, by which the end of its failures is told from a result line that a test printed.
#[derive(Debug, Default)]
struct Failing {
    /// How many tests the suite has.
    tests: Option<u64>,
    /// Tests that failed, as they were run.
    failed: Names,
    /// Suites that began inside the failures and have no result yet.
    nested: u64,
    /// The list of names that stands in front of a result line, while it is read.
    list: Option<Names>,
}

impl Failing {
    /// Whether a line of the failures is the last one: the result of the suite, right after the names of the tests that
    /// failed, with counts and names that agree with those before.
    fn ends(&mut self, text: &[u8]) -> bool {
        if tests(text).is_some() {
            self.nested += 1;
        } else if let Some(rest) = text.strip_prefix(b"test result: ") {
            let list = self.list.take();
            if let Some(nested) = self.nested.checked_sub(1) {
                self.nested = nested;
                return false;
            }
            let (Some(list), Some(counts)) = (list, counts(rest)) else { return false };
            let all = counts.passed + counts.failed + counts.ignored + counts.measured;
            return rest.starts_with(b"FAILED. ")
                && counts.failed == list.count
                && self.tests == Some(all)
                // With `-q` no names were said before.
                && (self.failed == list || self.failed.count == 0);
        } else if text == b"failures:" {
            self.list = Some(Names::default());
            return false;
        } else if let (Some(list), Some(name)) = (&mut self.list, text.strip_prefix(b"    ")) {
            list.add(name);
            return false;
        } else if text.is_empty() {
            return false;
        }
        self.list = None;
        false
    }
}

#[derive(Debug, Default)]
struct CargoTest {
    place: Place,
    /// Something of the suite was written.
    said: bool,
    /// What passed tests printed is shown.
    shows: bool,
    failing: Failing,
    /// The line that names the suite, until something of it is told.
    header: Option<Vec<u8>>,
    /// Suites that passed, their sums, and the line of the last.
    suites: u64,
    sums: Counts,
    result: Vec<u8>,
    /// A line of a backtrace that names a function: where that is decides whether it stays.
    frame: Option<Vec<u8>>,
    /// Hashes of frames that were shown, up to a limit.
    shown: HashSet<u64>,
    /// Lines that came, and that went on.
    seen: u64,
    passed_on: u64,
}

/// Frames that are remembered; those beyond are kept.
const FRAMES: usize = 4096;

/// How the functions begin by which every panic starts and every test is called.
const REPEATED: [&[u8]; 9] = [
    b"rust_begin_unwind",
    b"__rustc::rust_begin_unwind",
    b"std::panicking::",
    b"core::panicking::",
    b"core::option::unwrap_failed",
    b"core::option::expect_failed",
    b"core::result::unwrap_failed",
    b"core::ops::function::FnOnce::call_once",
    b"<fn() -> ",
];

/// What cargo says while it builds.
const BUILDING: [&str; 15] = [
    "Compiling",
    "Checking",
    "Downloading",
    "Downloaded",
    "Updating",
    "Locking",
    "Adding",
    "Fresh",
    "Dirty",
    "Blocking",
    "Finished",
    "Building",
    "Documenting",
    "Packaging",
    "Removed",
];

impl CargoTest {
    fn emit(&mut self, text: &[u8], end: End, next: Next<'_>) {
        if let Some(header) = self.header.take() {
            self.passed_on += 1;
            next(Line { text: &header, end: if end == End::Missing { End::Lf } else { end } });
        }
        self.passed_on += 1;
        self.said = true;
        next(Line { text, end });
    }

    /// The sums of the suites that passed.
    fn sum(&mut self, end: End, next: Next<'_>) {
        let Counts { passed, failed, ignored, measured, filtered } = std::mem::take(&mut self.sums);
        let text = match std::mem::take(&mut self.suites) {
            0 => return,
            1 => std::mem::take(&mut self.result),
            suites => format!(
                "test result: ok. {passed} passed; {failed} failed; {ignored} ignored; {measured} measured; \
                 {filtered} filtered out; {suites} suites"
            )
            .into_bytes(),
        };
        self.passed_on += 1;
        next(Line { text: &text, end });
    }

    fn outside(&mut self, line: Line<'_>, next: Next<'_>) {
        let text = line.text;
        if let Some(verb) = verb(text) {
            if BUILDING.contains(&verb) {
                return;
            }
            if verb == "Running" || verb == "Doc-tests" {
                self.header = Some(text.to_vec());
                return;
            }
        }
        if let Some(tests) = tests(text) {
            self.place = Place::Suite;
            (self.said, self.shows) = (false, false);
            self.failing = Failing { tests: Some(tests), ..Failing::default() };
            return;
        }
        // Empty lines stand around suites.
        if text.is_empty() && (self.header.is_some() || self.suites > 0) {
            return;
        }
        self.emit(text, line.end, next);
    }

    fn suite(&mut self, line: Line<'_>, next: Next<'_>) {
        let text = line.text;
        self.shows |= text == b"successes:";
        if text == b"failures:" || (!self.shows && is_output(text)) {
            self.place = Place::Failures;
            return self.emit(text, line.end, next);
        }
        if let Some(name) = failed(text) {
            self.failing.failed.add(name);
        }
        if let Some(rest) = text.strip_prefix(b"test result: ") {
            self.place = Place::Outside;
            let counts = counts(rest).filter(|_| rest.starts_with(b"ok. "));
            if let (Some(counts), false) = (counts, self.said) {
                self.header = None;
                self.suites += 1;
                self.sums.passed += counts.passed;
                self.sums.failed += counts.failed;
                self.sums.ignored += counts.ignored;
                self.sums.measured += counts.measured;
                self.sums.filtered += counts.filtered;
                self.result = text.to_vec();
                return;
            }
            return self.emit(text, line.end, next);
        }
        if text.is_empty() || is_ok(text) || is_dots(text) {
            return;
        }
        self.emit(text, line.end, next);
    }

    /// Whether a frame of the standard library is one that every backtrace repeats, or was already shown.
    fn is_repeated(&mut self, frame: &[u8], place: &[u8]) -> bool {
        let function = function(frame);
        if REPEATED.iter().any(|begin| function.starts_with(begin)) {
            return true;
        }
        let mut hasher = DefaultHasher::new();
        (function, place).hash(&mut hasher);
        let frame = hasher.finish();
        if self.shown.contains(&frame) {
            return true;
        }
        if self.shown.len() < FRAMES {
            self.shown.insert(frame);
        }
        false
    }

    /// All stays but repeated frames.
    fn failures(&mut self, line: Line<'_>, next: Next<'_>) {
        let text = line.text;
        if let Some(frame) = self.frame.take() {
            let place = text.trim_ascii_start();
            if place.starts_with(b"at /rustc/") && self.is_repeated(&frame, place) {
                return;
            }
            self.emit(&frame, End::Lf, next);
        }
        if is_frame(text) && line.end != End::Missing {
            self.frame = Some(text.to_vec());
            return;
        }
        if self.failing.ends(text) {
            self.place = Place::Outside;
        }
        self.emit(text, line.end, next);
    }
}

impl LineStage for CargoTest {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        self.seen += 1;
        match self.place {
            Place::Outside => self.outside(line, next),
            Place::Suite => self.suite(line, next),
            Place::Failures => self.failures(line, next),
        }
    }

    fn flush(&mut self, next: Next<'_>) {
        if let Some(frame) = self.frame.take() {
            self.emit(&frame, End::Lf, next);
        } else if let Some(header) = self.header.take() {
            self.passed_on += 1;
            next(Line { text: &header, end: End::Lf });
        }
        self.sum(End::Lf, next);
    }

    /// The suite that runs is shown, and a frame of a backtrace. Sums wait for the end.
    fn release(&mut self, next: Next<'_>) {
        if let Some(frame) = self.frame.take() {
            self.emit(&frame, End::Lf, next);
        } else if let Some(header) = self.header.take() {
            self.passed_on += 1;
            next(Line { text: &header, end: End::Lf });
        }
    }

    fn tally(&self) -> Tally {
        Tally { removed: self.seen.saturating_sub(self.passed_on), ..Tally::default() }
    }
}

/// The word with which cargo begins a line of its own: it ends in column 12.
fn verb(text: &[u8]) -> Option<&str> {
    let head = text.get(..12)?;
    let verb = std::str::from_utf8(head).ok()?.trim_start();
    let behind = text.get(12);
    (behind == Some(&b' ') && head.first() == Some(&b' ')).then_some(verb)
}

/// `test a::b ... ok`, `test a::b ... ignored, because`
fn is_ok(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"test ") else { return false };
    let Some(at) = memchr::memmem::rfind(rest, b" ... ") else { return false };
    let said = rest.get(at + 5..).unwrap_or_default();
    said == b"ok" || said == b"ignored" || said.starts_with(b"ignored, ") || {
        // `--report-time`
        said.starts_with(b"ok <") && said.ends_with(b">")
    }
}

/// The number of `running 3 tests`.
fn tests(text: &[u8]) -> Option<u64> {
    let rest = text.strip_prefix(b"running ")?;
    let number = rest.strip_suffix(b" tests").or_else(|| rest.strip_suffix(b" test"))?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The name of a test that failed: `test a::b ... FAILED`.
fn failed(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"test ")?;
    let at = memchr::memmem::rfind(rest, b" ... FAILED")?;
    let name = rest.get(..at)?;
    // What a test is expected to do is not part of its name.
    let expected = [&b" - should panic"[..], b" - compile fail", b" - compile"];
    Some(expected.iter().find_map(|expected| name.strip_suffix(*expected)).unwrap_or(name))
}

/// `---- a::b stdout ----`
fn is_output(text: &[u8]) -> bool {
    text.starts_with(b"---- ") && text.ends_with(b" ----")
}

/// `   3: core::ops::function::FnOnce::call_once`
fn is_frame(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    rest.len() < text.len() && function(text).len() < rest.len()
}

/// A frame without its number, if it has one.
fn function(text: &[u8]) -> &[u8] {
    let rest = text.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let behind = rest.get(digits..).unwrap_or_default();
    behind.strip_prefix(b": ").filter(|_| digits > 0).unwrap_or(rest)
}

/// One sign for each test (`-q`), none of which failed.
fn is_dots(text: &[u8]) -> bool {
    let signs = text.iter().take_while(|byte| matches!(byte, b'.' | b'i')).count();
    let rest = text.get(signs..).unwrap_or_default();
    let is_count = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'/');
    signs > 0 && rest.iter().all(is_count)
}

/// `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`
fn counts(text: &[u8]) -> Option<Counts> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, numbers) = text.split_once(". ")?;
    let mut counts = Counts::default();
    for part in numbers.split("; ") {
        let Some((number, what)) = part.split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match what {
            "passed" => counts.passed = number,
            "failed" => counts.failed = number,
            "ignored" => counts.ignored = number,
            "measured" => counts.measured = number,
            "filtered out" => counts.filtered = number,
            _ => {}
        }
    }
    Some(counts)
}
