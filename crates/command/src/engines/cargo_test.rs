//! `cargo test`: passing suites are replaced by one line with their totals. Failing suites are kept.
//!
//! The engine knows the output of cargo and libtest since rustc 1.70. Other lines are kept, together with the header
//! of their suite. In failures, only those frames of the standard library are removed that every backtrace repeats or
//! that were shown before. A failed test may print the output of another `cargo test`, so the failures of a suite end
//! only with a result line that agrees with the suite, see [`FailedSuite`]. Memory: three lines.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};
use tamis_text::lines::{LineEnd, TextLine};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<CargoTestOutput>::default()
}

/// Position in the output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CargoSection {
    /// Building, or between suites.
    #[default]
    Outside,
    /// In the list of running tests.
    Suite,
    /// In the output of failed tests, or in the list of their names.
    Failures,
}

/// The numbers of a result line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestCounts {
    passed: u64,
    failed: u64,
    ignored: u64,
    measured: u64,
    filtered: u64,
}

/// A set of test names, compared by count and sum of hashes, so that the order does not matter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct TestNames {
    count: u64,
    sum: u64,
}

impl TestNames {
    fn add(&mut self, name: &[u8]) {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.count += 1;
        self.sum = self.sum.wrapping_add(hasher.finish());
    }
}

/// State of a suite with failures. It distinguishes the suite's result line from one that a test printed.
#[derive(Debug, Default)]
struct FailedSuite {
    /// Number of tests in the suite, if known.
    tests: Option<u64>,
    /// The failed tests, as reported while running.
    failed: TestNames,
    /// Number of suites that began inside the failures and have no result yet.
    nested: u64,
    /// The list of names before a result line, while it is being read.
    list: Option<TestNames>,
}

impl FailedSuite {
    /// Returns whether a line ends the failures: it is the result of the suite, follows the list of failed tests, and
    /// its counts and names agree with those reported before.
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
                // With `-q`, no names were reported before.
                && (self.failed == list || self.failed.count == 0);
        } else if text == b"failures:" {
            self.list = Some(TestNames::default());
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
struct CargoTestOutput {
    place: CargoSection,
    /// Whether any line of the suite was written.
    written: bool,
    /// Whether the output of passing tests is being shown.
    shows: bool,
    failing: FailedSuite,
    /// The header of the suite, until a line of the suite is written.
    header: Option<Vec<u8>>,
    /// The passing suites: their number, their totals, and the result line of the last one.
    suites: u64,
    totals: TestCounts,
    result: Vec<u8>,
    /// The line of a backtrace that names a function. The next line, with the position, decides whether it is kept.
    frame: Option<Vec<u8>>,
    /// Hashes of frames already shown, up to a limit.
    shown: HashSet<u64>,
    /// Lines read, and lines written.
    lines_read: u64,
    lines_written: u64,
}

/// Maximum number of remembered frames. Further frames are kept.
const FRAMES: usize = 4096;

/// Beginnings of the functions that are in every backtrace: those that start a panic, and those that call a test.
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

/// Verbs of cargo's progress messages.
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

impl CargoTestOutput {
    fn emit(&mut self, text: &[u8], end: LineEnd, next: EmitLine<'_>) {
        if let Some(header) = self.header.take() {
            self.lines_written += 1;
            next(TextLine {
                text: &header,
                end: if end == LineEnd::Missing { LineEnd::Lf } else { end },
            });
        }
        self.lines_written += 1;
        self.written = true;
        next(TextLine { text, end });
    }

    /// Writes the totals of the passing suites.
    fn sum(&mut self, end: LineEnd, next: EmitLine<'_>) {
        let TestCounts { passed, failed, ignored, measured, filtered } =
            std::mem::take(&mut self.totals);
        let text = match std::mem::take(&mut self.suites) {
            0 => return,
            1 => std::mem::take(&mut self.result),
            suites => format!(
                "test result: ok. {passed} passed; {failed} failed; {ignored} ignored; {measured} measured; \
                 {filtered} filtered out; {suites} suites"
            )
            .into_bytes(),
        };
        self.lines_written += 1;
        next(TextLine { text: &text, end });
    }

    fn outside(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
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
            self.place = CargoSection::Suite;
            (self.written, self.shows) = (false, false);
            self.failing = FailedSuite { tests: Some(tests), ..FailedSuite::default() };
            return;
        }
        // Suites are surrounded by empty lines.
        if text.is_empty() && (self.header.is_some() || self.suites > 0) {
            return;
        }
        self.emit(text, line.end, next);
    }

    fn suite(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        let text = line.text;
        self.shows |= text == b"successes:";
        if text == b"failures:" || (!self.shows && is_output(text)) {
            self.place = CargoSection::Failures;
            return self.emit(text, line.end, next);
        }
        if let Some(name) = failed(text) {
            self.failing.failed.add(name);
        }
        if let Some(rest) = text.strip_prefix(b"test result: ") {
            self.place = CargoSection::Outside;
            let counts = counts(rest).filter(|_| rest.starts_with(b"ok. "));
            if let (Some(counts), false) = (counts, self.written) {
                self.header = None;
                self.suites += 1;
                self.totals.passed += counts.passed;
                self.totals.failed += counts.failed;
                self.totals.ignored += counts.ignored;
                self.totals.measured += counts.measured;
                self.totals.filtered += counts.filtered;
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

    /// Whether a frame of the standard library is one that every backtrace repeats, or was shown before.
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

    /// Processes a line of failures: everything but repeated frames is kept.
    fn failures(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        let text = line.text;
        if let Some(frame) = self.frame.take() {
            let place = text.trim_ascii_start();
            if place.starts_with(b"at /rustc/") && self.is_repeated(&frame, place) {
                return;
            }
            self.emit(&frame, LineEnd::Lf, next);
        }
        if is_frame(text) && line.end != LineEnd::Missing {
            self.frame = Some(text.to_vec());
            return;
        }
        if self.failing.ends(text) {
            self.place = CargoSection::Outside;
        }
        self.emit(text, line.end, next);
    }
}

impl LineStage for CargoTestOutput {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_read += 1;
        match self.place {
            CargoSection::Outside => self.outside(line, next),
            CargoSection::Suite => self.suite(line, next),
            CargoSection::Failures => self.failures(line, next),
        }
    }

    fn flush(&mut self, next: EmitLine<'_>) {
        if let Some(frame) = self.frame.take() {
            self.emit(&frame, LineEnd::Lf, next);
        } else if let Some(header) = self.header.take() {
            self.lines_written += 1;
            next(TextLine { text: &header, end: LineEnd::Lf });
        }
        self.sum(LineEnd::Lf, next);
    }

    /// Writes the header of the running suite, and a held frame. Totals stay held until the end.
    fn release(&mut self, next: EmitLine<'_>) {
        if let Some(frame) = self.frame.take() {
            self.emit(&frame, LineEnd::Lf, next);
        } else if let Some(header) = self.header.take() {
            self.lines_written += 1;
            next(TextLine { text: &header, end: LineEnd::Lf });
        }
    }

    fn tally(&self) -> StageCounts {
        StageCounts {
            removed: self.lines_read.saturating_sub(self.lines_written),
            ..StageCounts::default()
        }
    }
}

/// Returns the verb of a message of cargo. It is right-aligned to column 12.
fn verb(text: &[u8]) -> Option<&str> {
    let head = text.get(..12)?;
    let verb = std::str::from_utf8(head).ok()?.trim_start();
    let after = text.get(12);
    (after == Some(&b' ') && head.first() == Some(&b' ')).then_some(verb)
}

/// Whether a line reports a passed or ignored test: `test a::b ... ok`, `test a::b ... ignored, because`.
fn is_ok(text: &[u8]) -> bool {
    let Some(rest) = text.strip_prefix(b"test ") else { return false };
    let Some(at) = memchr::memmem::rfind(rest, b" ... ") else { return false };
    let outcome = rest.get(at + 5..).unwrap_or_default();
    outcome == b"ok" || outcome == b"ignored" || outcome.starts_with(b"ignored, ") || {
        // With `--report-time`, a time follows.
        outcome.starts_with(b"ok <") && outcome.ends_with(b">")
    }
}

/// Returns the number in `running 3 tests`.
fn tests(text: &[u8]) -> Option<u64> {
    let rest = text.strip_prefix(b"running ")?;
    let number = rest.strip_suffix(b" tests").or_else(|| rest.strip_suffix(b" test"))?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Returns the name of a failed test: `test a::b ... FAILED`.
fn failed(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"test ")?;
    let at = memchr::memmem::rfind(rest, b" ... FAILED")?;
    let name = rest.get(..at)?;
    // A suffix such as `- should panic` is not part of the name.
    let expected = [&b" - should panic"[..], b" - compile fail", b" - compile"];
    Some(expected.iter().find_map(|expected| name.strip_suffix(*expected)).unwrap_or(name))
}

/// Whether a line begins the output of a test: `---- a::b stdout ----`.
fn is_output(text: &[u8]) -> bool {
    text.starts_with(b"---- ") && text.ends_with(b" ----")
}

/// Whether a line begins a frame: `   3: core::ops::function::FnOnce::call_once`.
fn is_frame(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    rest.len() < text.len() && function(text).len() < rest.len()
}

/// Returns the function of a frame, without the number.
fn function(text: &[u8]) -> &[u8] {
    let rest = text.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let after = rest.get(digits..).unwrap_or_default();
    after.strip_prefix(b": ").filter(|_| digits > 0).unwrap_or(rest)
}

/// Whether a line has one character per test (`-q`), none of which failed.
fn is_dots(text: &[u8]) -> bool {
    let signs = text.iter().take_while(|byte| matches!(byte, b'.' | b'i')).count();
    let rest = text.get(signs..).unwrap_or_default();
    let is_count = |byte: &u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'/');
    signs > 0 && rest.iter().all(is_count)
}

/// Parses `ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s`.
fn counts(text: &[u8]) -> Option<TestCounts> {
    let text = std::str::from_utf8(text).ok()?;
    let (_, numbers) = text.split_once(". ")?;
    let mut counts = TestCounts::default();
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
