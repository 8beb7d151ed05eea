//! `cargo test`: suites that pass become one line with their sums; of those that fail, everything stays.
//!
//! Knows the lines of cargo and of libtest, from rustc 1.7x on; what it does not know passes, with the header of the suite in
//! which it stands. Of backtraces the frames of the standard library go. Holds three lines.

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

#[derive(Debug, Default)]
struct CargoTest {
    place: Place,
    /// The line that names the suite, until something of it is told.
    header: Option<Vec<u8>>,
    /// Suites that passed, their sums, and the line of the last.
    suites: u64,
    sums: Counts,
    result: Vec<u8>,
    /// A line of a backtrace that names a function: where that is decides whether it stays.
    frame: Option<Vec<u8>>,
    /// Lines that came, and that went on.
    seen: u64,
    passed_on: u64,
}

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
        if let Some(rest) = text.strip_prefix(b"running ")
            && (rest.ends_with(b" tests") || rest.ends_with(b" test"))
        {
            self.place = Place::Suite;
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
        if text == b"failures:" {
            self.place = Place::Failures;
            return self.emit(text, line.end, next);
        }
        if let Some(rest) = text.strip_prefix(b"test result: ") {
            self.place = Place::Outside;
            let counts = counts(rest).filter(|_| rest.starts_with(b"ok. "));
            if let (Some(counts), true) = (counts, self.header.is_some() || self.is_quiet()) {
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

    /// All stays but the frames of the standard library.
    fn failures(&mut self, line: Line<'_>, next: Next<'_>) {
        let text = line.text;
        if let Some(frame) = self.frame.take() {
            if text.trim_ascii_start().starts_with(b"at /rustc/") {
                return;
            }
            self.emit(&frame, End::Lf, next);
        }
        if is_frame(text) && line.end != End::Missing {
            self.frame = Some(text.to_vec());
            return;
        }
        // That of another suite, which passed, is what a test printed.
        if text.starts_with(b"test result: FAILED") {
            self.place = Place::Outside;
        }
        self.emit(text, line.end, next);
    }

    /// A suite whose header is not known: libtest without cargo.
    fn is_quiet(&self) -> bool {
        self.passed_on == 0
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

/// `   3: core::ops::function::FnOnce::call_once`
fn is_frame(text: &[u8]) -> bool {
    let rest = text.trim_ascii_start();
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    digits > 0
        && rest.len() < text.len()
        && rest.get(digits..).unwrap_or_default().starts_with(b": ")
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
