//! `go test -json`: the events of passing tests are removed. Those of failed and skipped tests are kept byte for byte, so
//! that the output is still a stream of events.
//!
//! Whether a test failed is known at its last event. Until then its events are held, up to [`HELD`] bytes for one test and
//! [`TOTAL`] for all; those of a test that prints more are kept. A test without a last event was running when the program
//! died, and is kept too. The results of packages are kept, and the output of packages that did not pass. Benchmarks and
//! coverage are results. Lines that are not such events are kept.

use std::collections::HashMap;

use tamis_text::lines::line_splitter::{LineEnd, TextLine};
use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};

/// Maximum number of held bytes of one test, and of all.
const HELD: usize = 256 << 10;
const TOTAL: usize = 8 << 20;

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<GoTestEvents>::default()
}

#[derive(Debug, Default)]
struct GoTestEvents {
    /// The tests that have begun, by package and name.
    tests: HashMap<(Vec<u8>, Vec<u8>), RunningTest>,
    /// The number of tests that have begun, which gives them an order.
    begun: u64,
    held: usize,
    lines_read: u64,
    lines_written: u64,
}

/// A test without a result.
#[derive(Debug, Default)]
struct RunningTest {
    number: u64,
    /// Whole lines. The first one says that the test begins.
    lines: Vec<u8>,
    /// Whether its events are no longer held.
    is_kept: bool,
}

/// The members of an event that decide.
#[derive(Debug, Default)]
struct TestEvent<'a> {
    action: &'a [u8],
    package: &'a [u8],
    test: &'a [u8],
    output: &'a [u8],
}

impl<'a> TestEvent<'a> {
    /// Reads an event: an object whose values are strings, numbers and words.
    fn parse(line: &'a [u8]) -> Option<Self> {
        let mut rest = line.trim_ascii().strip_prefix(b"{")?;
        let mut event = Self::default();
        loop {
            let (name, after) = string(rest)?;
            rest = after.trim_ascii_start().strip_prefix(b":")?.trim_ascii_start();
            let value = if rest.starts_with(b"\"") {
                let (value, after) = string(rest)?;
                rest = after;
                value
            } else {
                let end = rest.iter().position(|byte| matches!(byte, b',' | b'}'))?;
                rest = rest.get(end..)?;
                b""
            };
            match name {
                b"Action" => event.action = value,
                b"Package" => event.package = value,
                b"Test" => event.test = value,
                b"Output" => event.output = value,
                _ => {}
            }
            rest = rest.trim_ascii_start();
            match rest.strip_prefix(b",") {
                Some(after) => rest = after.trim_ascii_start(),
                None => return (rest == b"}" && !event.action.is_empty()).then_some(event),
            }
        }
    }

    /// Whether the output repeats what another event says, such as the beginning of a test.
    fn is_repeated(&self) -> bool {
        let output = self.output;
        let begins = [&b"=== RUN "[..], b"=== PAUSE ", b"=== CONT ", b"=== NAME "];
        begins.iter().any(|begin| output.starts_with(begin))
            || matches!(output, b"PASS\\n" | b"FAIL\\n")
            || output.starts_with(b"?   \\t")
            || output.starts_with(b"ok  \\t")
                && memchr::memmem::find(output, b"coverage:").is_none()
    }
}

/// Returns the JSON string with which a text begins, as it is written, and the text after it.
fn string(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let text = text.strip_prefix(b"\"")?;
    let mut at = 0;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        if text.get(at) == Some(&b'"') {
            return Some((text.get(..at)?, text.get(at + 1..)?));
        }
        at += 2;
    }
}

impl GoTestEvents {
    fn emit(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_written += 1;
        next(line);
    }

    /// Writes the held lines of a test. The first line says that the test begins.
    fn emit_held(&mut self, test: &RunningTest, begin: bool, next: EmitLine<'_>) {
        self.held = self.held.saturating_sub(test.lines.len());
        let lines = test.lines.split_inclusive(|byte| *byte == b'\n');
        for line in lines.skip(usize::from(!begin)) {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            self.emit(TextLine { text, end: LineEnd::Lf }, next);
        }
    }

    fn event(&mut self, event: &TestEvent<'_>, line: TextLine<'_>, next: EmitLine<'_>) {
        if event.test.is_empty() {
            let is_dropped = matches!(event.action, b"start" | b"skip") || event.is_repeated();
            if !is_dropped {
                self.emit(line, next);
            }
            return;
        }
        let key = (event.package.to_vec(), event.test.to_vec());
        match event.action {
            b"pass" => {
                if let Some(test) = self.tests.remove(&key) {
                    self.held = self.held.saturating_sub(test.lines.len());
                    if test.is_kept {
                        self.emit(line, next);
                    } else if event.test.starts_with(b"Benchmark") {
                        self.emit_held(&test, false, next);
                    }
                }
            }
            b"run" | b"pause" | b"cont" | b"output" => {
                let begun = &mut self.begun;
                let test = self.tests.entry(key).or_insert_with(|| {
                    *begun += 1;
                    RunningTest { number: *begun, ..RunningTest::default() }
                });
                let is_first = test.lines.is_empty();
                if event.action != b"output" && !(is_first && event.action == b"run")
                    || event.is_repeated()
                {
                    return;
                }
                if test.is_kept {
                    return self.emit(line, next);
                }
                if is_first && event.action == b"output" {
                    // The output began in the middle of a test.
                    test.lines.push(b'\n');
                }
                test.lines.extend_from_slice(line.text);
                test.lines.push(b'\n');
                self.held += line.text.len() + 1;
                if test.lines.len() > HELD || self.held > TOTAL {
                    let lines = std::mem::take(&mut test.lines);
                    test.is_kept = true;
                    let test = RunningTest { lines, ..RunningTest::default() };
                    self.emit_held(&test, false, next);
                }
            }
            // Failed, skipped, and what later versions of Go may add.
            _ => {
                if let Some(test) = self.tests.remove(&key) {
                    self.emit_held(&test, false, next);
                }
                self.emit(line, next);
            }
        }
    }
}

impl LineStage for GoTestEvents {
    fn line(&mut self, line: TextLine<'_>, next: EmitLine<'_>) {
        self.lines_read += 1;
        let text = line.text;
        match TestEvent::parse(text) {
            Some(event) if line.end == LineEnd::Lf => self.event(&event, line, next),
            _ => self.emit(line, next),
        }
    }

    /// Writes the events of tests that have no result, in the order in which they began.
    fn flush(&mut self, next: EmitLine<'_>) {
        let mut tests: Vec<RunningTest> = self.tests.drain().map(|(_, test)| test).collect();
        tests.sort_by_key(|test| test.number);
        for test in tests {
            self.emit_held(&test, !test.lines.starts_with(b"\n"), next);
        }
    }

    fn long(&mut self, _: &[u8], _: EmitLine<'_>) -> bool {
        self.lines_read += 1;
        self.lines_written += 1;
        true
    }

    fn tally(&self) -> StageCounts {
        StageCounts {
            removed: self.lines_read.saturating_sub(self.lines_written),
            ..StageCounts::default()
        }
    }
}
