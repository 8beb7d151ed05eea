//! Reads an input as one document, or as one per line.

use std::io::Read;

use tamis::{Error, Program, Spec, filter_reader};

/// Bytes that are read at once, and by which the form of the input is recognised.
pub(super) const CHUNK: usize = 64 << 10;

/// Receives the bytes of documents.
pub(super) trait DocumentSink {
    /// Takes the next bytes of a document.
    fn write(&mut self, chunk: &[u8]) -> Result<(), Error>;

    /// Ends a document.
    fn end_document(&mut self) -> Result<(), Error>;
}

/// The error of an input.
#[derive(Debug)]
pub(super) struct FailedInput {
    pub(super) error: Error,
    /// The number of the line, if each is a document.
    pub(super) line: Option<u64>,
}

/// The longest line that is checked before it is counted. A longer one is counted while it arrives.
const CHECKED: usize = 16 << 20;

/// The lines that are not JSON.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BadLineCount {
    pub(super) count: u64,
    /// No other line has a document.
    pub(super) is_all: bool,
    /// The number of the first one.
    pub(super) first: u64,
}

/// Reads an input to its end. With `ndjson` each line that is not blank is a document. If documents must be JSON, other lines are
/// left out and counted.
pub(super) fn read_documents(
    reader: &mut impl Read,
    ndjson: bool,
    must_be_json: bool,
    documents: &mut impl DocumentSink,
) -> Result<BadLineCount, FailedInput> {
    if ndjson {
        let plain = must_be_json.then(|| Program::compile(&Spec::new())).transpose();
        let plain = plain.map_err(|error| FailedInput { error, line: None })?;
        let mut lines = LineSplitter {
            plain,
            number: 1,
            line: Vec::new(),
            is_long: false,
            bad: BadLineCount { is_all: true, ..BadLineCount::default() },
        };
        let read = each_chunk(reader, |chunk| lines.write(chunk, documents));
        let ended = read.and_then(|()| lines.end(documents));
        return ended
            .map(|()| lines.bad)
            .map_err(|error| FailedInput { error, line: Some(lines.number) });
    }
    let read = each_chunk(reader, |chunk| documents.write(chunk));
    read.and_then(|()| documents.end_document())
        .map(|()| BadLineCount::default())
        .map_err(|error| FailedInput { error, line: None })
}

/// Reads to the end of the input.
fn each_chunk(
    reader: &mut impl Read,
    mut take: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::read(error)),
        };
        take(buffer.get(..count).unwrap_or_default())?;
    }
}

/// Splits an input into lines.
struct LineSplitter {
    /// A program without rules, which checks a line.
    plain: Option<Program>,
    /// The number of the open line.
    number: u64,
    /// The open line, unless it is longer than what is checked.
    line: Vec<u8>,
    /// The open line is counted while it arrives.
    is_long: bool,
    bad: BadLineCount,
}

impl LineSplitter {
    fn write(&mut self, chunk: &[u8], documents: &mut impl DocumentSink) -> Result<(), Error> {
        for piece in chunk.split_inclusive(|byte| *byte == b'\n') {
            if self.is_long {
                documents.write(piece)?;
            } else {
                self.line.extend_from_slice(piece);
                if self.line.len() > CHECKED {
                    documents.write(&self.line)?;
                    self.line.clear();
                    self.is_long = true;
                }
            }
            if piece.ends_with(b"\n") {
                self.end(documents)?;
                self.number += 1;
            }
        }
        Ok(())
    }

    /// Ends the open line, if there is one.
    fn end(&mut self, documents: &mut impl DocumentSink) -> Result<(), Error> {
        if std::mem::take(&mut self.is_long) {
            self.bad.is_all = false;
            return documents.end_document();
        }
        let line = std::mem::take(&mut self.line);
        let text = line.trim_ascii();
        if text.is_empty() {
            return Ok(());
        }
        let is_bad = |plain| filter_reader(plain, text, std::io::sink()).is_err();
        if self.plain.as_ref().is_some_and(is_bad) {
            if self.bad.count == 0 {
                self.bad.first = self.number;
            }
            self.bad.count += 1;
            return Ok(());
        }
        self.bad.is_all = false;
        documents.write(text)?;
        documents.end_document()
    }
}
