//! `go test -json`: the events of passing tests are removed, except what they print. All other events are kept byte for byte,
//! so that the output is still a stream of events.
//!
//! The event that begins a test is held until its result. A test without a result was running when the program died, and the
//! event is written at the end. At most [`HELD`] bytes are held; beyond that, such events are kept. The results of packages are
//! kept, and the output of packages that is not repeated by their results. Lines that are not such events are kept.

use std::collections::HashMap;

use tamis_text::lines::line_stage::{EmitLine, LineStage, StageCounts};
use tamis_text::lines::{LineEnd, TextLine};

/// Maximum number of held bytes.
const HELD: usize = 8 << 20;

pub(super) fn make() -> Box<dyn LineStage> {
    Box::<GoTestEvents>::default()
}

#[derive(Debug, Default)]
struct GoTestEvents {
    /// The tests that are running, by package and name: their numbers, and the events that begin them.
    tests: HashMap<(Vec<u8>, Vec<u8>), RunningTest>,
    /// The number of tests that have begun, which gives them an order.
    begun: u64,
    held: usize,
    lines_read: u64,
    lines_written: u64,
}

/// The number of a test, and the event that begins it.
type RunningTest = (u64, Vec<u8>);

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
        let begins = [&b"=== RUN "[..], b"=== PAUSE ", b"=== CONT ", b"=== NAME ", b"--- PASS: "];
        begins.iter().any(|begin| output.trim_ascii_start().starts_with(begin))
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

    fn event(&mut self, event: &TestEvent<'_>, line: TextLine<'_>, next: EmitLine<'_>) {
        if event.action == b"output" && event.is_repeated() {
            return;
        }
        let is_test = !event.test.is_empty();
        let key = || (event.package.to_vec(), event.test.to_vec());
        match event.action {
            b"start" | b"pause" | b"cont" => {}
            b"skip" if !is_test => {}
            b"run" if is_test && self.held + line.text.len() <= HELD => {
                self.begun += 1;
                self.held += line.text.len();
                let before = self.tests.insert(key(), (self.begun, line.text.to_vec()));
                self.held = self.held.saturating_sub(before.map_or(0, |(_, line)| line.len()));
            }
            b"pass" | b"fail" | b"skip" if is_test => {
                let begun = self.tests.remove(&key());
                self.held =
                    self.held.saturating_sub(begun.as_ref().map_or(0, |(_, line)| line.len()));
                if event.action != b"pass" || begun.is_none() {
                    self.emit(line, next);
                }
            }
            _ => self.emit(line, next),
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

    /// Writes the beginnings of tests that have no result, in their order.
    fn flush(&mut self, next: EmitLine<'_>) {
        let mut tests: Vec<_> = self.tests.drain().map(|(_, test)| test).collect();
        tests.sort_unstable();
        self.held = 0;
        for (_, text) in tests {
            self.emit(TextLine { text: &text, end: LineEnd::Lf }, next);
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
