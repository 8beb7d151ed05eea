//! `go test`: what tests print keeps the name of its test; tests that pass, and frames of the test runner and the runtime, go.
//!
//! With `-v` lines of a test stand behind `=== RUN TestName`, and its result far below: that line is held, and goes out if
//! something is said. Knows the lines of go 1.14 and later; what it does not know passes. Holds one line.

use std::sync::LazyLock;

use regex::bytes::RegexSet;

use crate::text::lines::{End, Line};
use crate::text::stage::{LineStage, Next, Tally};

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<GoTest>::default()
}

#[derive(Debug, Default)]
struct GoTest {
    /// The line that names the test, until something is said.
    title: Option<(Vec<u8>, End)>,
    seen: u64,
    passed_on: u64,
}

/// Bytes of a line that names a test; a longer one passes.
const LONGEST: usize = 4 << 10;

/// Lines that nobody needs.
const NOISE: [&str; 9] = [
    r"^=== PAUSE ",
    r"^ *--- PASS: ",
    r"^\?   \t\S+\t\[no test files\]$",
    r"^PASS$",
    r"^go: downloading ",
    // Frames: each is two lines.
    r"^(testing|runtime)\.[\w.*()]+\(.*\)$",
    r"^panic\(\{?0x.*\)$",
    r"^created by testing\.\(\*T\)\.Run",
    r"^\t\S*/src/(testing/testing|runtime/(panic|proc|signal_unix|asm_\w+))\.(go|s):\d+( \+0x[0-9a-f]+)?$",
];
static IS_NOISE: LazyLock<Option<RegexSet>> = LazyLock::new(|| RegexSet::new(NOISE).ok());

impl LineStage for GoTest {
    fn line(&mut self, line: Line<'_>, next: Next<'_>) {
        self.seen += 1;
        let text = line.text;
        let names = [&b"=== RUN "[..], b"=== CONT ", b"=== NAME "];
        if text.len() <= LONGEST && names.iter().any(|begin| text.starts_with(begin)) {
            self.title = Some((text.to_vec(), line.end));
            return;
        }
        if IS_NOISE.as_ref().is_some_and(|noise| noise.is_match(text)) {
            return;
        }
        let title = self.title.take();
        // Results have their names, of tests or packages.
        let results = [&b"--- "[..], b"FAIL", b"ok  \t", b"exit status ", b"coverage: "];
        if !results.iter().any(|begin| text.trim_ascii_start().starts_with(begin))
            && let Some((title, end)) = title
        {
            self.passed_on += 1;
            next(Line { text: &title, end });
        }
        self.passed_on += 1;
        next(line);
    }

    /// Nothing is said by the last test.
    fn flush(&mut self, _: Next<'_>) {
        self.title = None;
    }

    fn long(&mut self, _: &[u8], next: Next<'_>) -> bool {
        if let Some((title, end)) = self.title.take() {
            self.passed_on += 1;
            next(Line { text: &title, end });
        }
        self.seen += 1;
        self.passed_on += 1;
        true
    }

    /// The test that runs is shown.
    fn release(&mut self, next: Next<'_>) {
        if let Some((title, end)) = self.title.take() {
            self.passed_on += 1;
            next(Line { text: &title, end });
        }
    }

    fn tally(&self) -> Tally {
        Tally { removed: self.seen.saturating_sub(self.passed_on), ..Tally::default() }
    }
}
