//! `go test`: the output of a test keeps the name of the test. Tests that pass are removed, and everything is kept from the
//! first failure on, but for frames of the test runner and of panics, which every trace repeats.
//!
//! With `-v` the output of a test follows `=== RUN TestName`, and its result comes much later: that line is held, and written
//! if the test prints something. After a failure nothing ends the section: a test may print the output of another `go test`.
//! Knows the lines of go 1.14 and later; other lines are kept. Holds one line.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet};

use crate::text::lines::{End, Line};
use crate::text::stage::{LineStage, Next, Tally};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<GoTest>::default()
}

#[derive(Debug, Default)]
struct GoTest {
    /// The line that names the test, until something is said.
    title: Option<(Vec<u8>, End)>,
    /// A failure has begun.
    failing: bool,
    /// A line that names a function of the runtime, until the next line says where it is.
    frame: Option<Vec<u8>>,
    seen: u64,
    passed_on: u64,
}

/// Bytes of a line that names a test; a longer one passes.
const LONGEST: usize = 4 << 10;

/// Lines of tests that pass.
const NOISE: [&str; 5] = [
    r"^=== PAUSE ",
    r"^ *--- PASS: ",
    r"^\?   \t\S+\t\[no test files\]$",
    r"^PASS$",
    r"^go: downloading ",
];
static IS_NOISE: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(NOISE).ok());

/// The first line of a failure.
static IS_FAILURE: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"^( *--- FAIL: |panic: |fatal error: )").ok());

/// Functions of the test runner and the runtime: the first line of a frame.
static FUNCTION: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(
        r"^((testing|runtime)\.[\w.*()]+\(.*\)|panic\(.*\)|created by testing\.\(\*T\)\.Run.*)$",
    )
    .ok()
});

/// Where those are that every trace repeats: the second line.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\t\S*/src/(testing/testing|runtime/(panic|proc|signal_unix|asm_\w+))\.(go|s):\d+( \+0x[0-9a-f]+)?$").ok()
});

impl GoTest {
    fn emit(&mut self, line: Line<'_>, next: Next<'_>) {
        self.passed_on += 1;
        next(line);
    }

    fn emit_title(&mut self, next: Next<'_>) {
        if let Some((text, end)) = self.title.take() {
            self.emit(Line { text: &text, end }, next);
        }
    }

    /// Keeps everything but a frame that every trace repeats.
    fn failure(&mut self, line: Line<'_>, next: Next<'_>) {
        if let Some(text) = self.frame.take() {
            if is_match(&PLACE, line.text) {
                return;
            }
            self.emit(Line { text: &text, end: End::Lf }, next);
        }
        if line.end == End::Lf && is_match(&FUNCTION, line.text) {
            self.frame = Some(line.text.to_vec());
            return;
        }
        self.emit(line, next);
    }
}

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

impl LineStage for GoTest {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        self.seen += 1;
        let text = line.text;
        if self.failing {
            return self.failure(line, next);
        }
        let names = [&b"=== RUN "[..], b"=== CONT ", b"=== NAME "];
        if text.len() <= LONGEST && names.iter().any(|begin| text.starts_with(begin)) {
            self.title = Some((text.to_vec(), line.end));
            return;
        }
        if IS_NOISE.as_ref().is_some_and(|noise| noise.is_match(text)) {
            return;
        }
        self.failing = is_match(&IS_FAILURE, text);
        // Results have their names, of tests or packages.
        let results = [&b"--- "[..], b"FAIL", b"ok  \t", b"exit status ", b"coverage: "];
        if results.iter().any(|begin| text.trim_ascii_start().starts_with(begin)) {
            self.title = None;
        }
        self.emit_title(next);
        self.emit(line, next);
    }

    /// The last test printed nothing.
    fn flush(&mut self, next: Next<'_>) {
        self.title = None;
        if let Some(text) = self.frame.take() {
            self.emit(Line { text: &text, end: End::Lf }, next);
        }
    }

    fn long(&mut self, _: &[u8], next: Next<'_>) -> bool {
        self.emit_title(next);
        self.flush(next);
        self.seen += 1;
        self.passed_on += 1;
        true
    }

    /// The test that runs is shown, and a frame.
    fn release(&mut self, next: Next<'_>) {
        self.emit_title(next);
        if let Some(text) = self.frame.take() {
            self.emit(Line { text: &text, end: End::Lf }, next);
        }
    }

    fn tally(&self) -> Tally {
        Tally { removed: self.seen.saturating_sub(self.passed_on), ..Tally::default() }
    }
}
