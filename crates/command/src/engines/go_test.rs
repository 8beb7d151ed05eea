//! `go test`: passing tests are removed. From the first failure on everything is kept, except frames of the test
//! runner and of panics, which every trace repeats.
//!
//! With `-v`, the output of a test follows `=== RUN TestName`, and its result comes much later. That line is held,
//! and written if the test prints something, so that output keeps the name of its test. Nothing ends the failures,
//! because a test may print the output of another `go test`. The engine knows the output of go 1.14 and later; other
//! lines are kept. Memory: one line.

use std::sync::LazyLock;

use regex::bytes::{Regex, RegexSet};

use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};
use tamis_text::lines::{LineEnd, TextLine};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<GoTestOutput>::default()
}

#[derive(Debug, Default)]
struct GoTestOutput {
    /// The line that names the running test, until something is printed.
    title: Option<(Vec<u8>, LineEnd)>,
    /// Whether a failure has begun.
    failing: bool,
    /// The line of a frame that names a function of the runtime, until the next line gives its position.
    frame: Option<Vec<u8>>,
    lines_read: u64,
    lines_written: u64,
}

/// Maximum length of a held line that names a test, in bytes. Longer ones are kept.
const LONGEST: usize = 4 << 10;

/// Lines about passing tests, and progress.
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

/// The positions of those functions: the second line of a frame.
static PLACE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    Regex::new(r"^\t\S*/src/(testing/testing|runtime/(panic|proc|signal_unix|asm_\w+))\.(go|s):\d+( \+0x[0-9a-f]+)?$").ok()
});

impl GoTestOutput {
    fn emit(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_written += 1;
        next(line);
    }

    fn emit_title(&mut self, next: EmitLine<'_>) {
        if let Some((text, end)) = self.title.take() {
            self.emit(TextLine { text: &text, end }, next);
        }
    }

    /// Processes a line of failures: everything but repeated frames is kept.
    fn failure(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        if let Some(text) = self.frame.take() {
            if is_match(&PLACE, line.text) {
                return;
            }
            self.emit(TextLine { text: &text, end: LineEnd::Lf }, next);
        }
        if line.end == LineEnd::Lf && is_match(&FUNCTION, line.text) {
            self.frame = Some(line.text.to_vec());
            return;
        }
        self.emit(line, next);
    }
}

fn is_match(pattern: &LazyLock<Option<Regex>>, text: &[u8]) -> bool {
    pattern.as_ref().is_some_and(|pattern| pattern.is_match(text))
}

impl LineStage for GoTestOutput {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_read += 1;
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
        // Result lines contain the name of their test or package.
        let results = [&b"--- "[..], b"FAIL", b"ok  \t", b"exit status ", b"coverage: "];
        if results.iter().any(|begin| text.trim_ascii_start().starts_with(begin)) {
            self.title = None;
        }
        self.emit_title(next);
        self.emit(line, next);
    }

    /// Drops the name of the last test, because it printed nothing.
    fn flush(&mut self, next: EmitLine<'_>) {
        self.title = None;
        if let Some(text) = self.frame.take() {
            self.emit(TextLine { text: &text, end: LineEnd::Lf }, next);
        }
    }

    fn long(&mut self, _: &[u8], next: EmitLine<'_>) -> bool {
        self.emit_title(next);
        self.flush(next);
        self.lines_read += 1;
        self.lines_written += 1;
        true
    }

    /// Writes the name of the running test, and a held frame.
    fn release(&mut self, next: EmitLine<'_>) {
        self.emit_title(next);
        if let Some(text) = self.frame.take() {
            self.emit(TextLine { text: &text, end: LineEnd::Lf }, next);
        }
    }

    fn tally(&self) -> StageCounts {
        StageCounts {
            removed: self.lines_read.saturating_sub(self.lines_written),
            ..StageCounts::default()
        }
    }
}
