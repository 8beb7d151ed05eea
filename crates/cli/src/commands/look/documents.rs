//! Reads an input as one document, or as one per line.

use std::io::Read;

use tamis::Error;

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

/// Reads an input to its end. With `ndjson` each line that is not blank is a document.
pub(super) fn read_documents(
    reader: &mut impl Read,
    ndjson: bool,
    documents: &mut impl DocumentSink,
) -> Result<(), FailedInput> {
    let mut line = u64::from(ndjson);
    read(reader, &mut line, documents)
        .map_err(|error| FailedInput { error, line: ndjson.then_some(line) })
}

/// Reads an input. `line` is the number of the open line, or 0 if the input is one document.
fn read(
    reader: &mut impl Read,
    line: &mut u64,
    documents: &mut impl DocumentSink,
) -> Result<(), Error> {
    let ndjson = *line > 0;
    let mut buffer = vec![0; CHUNK];
    // Whether the open line has bytes that are not white space.
    let mut open = false;
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Error::read(error)),
        };
        let mut chunk = buffer.get(..count).unwrap_or_default();
        while ndjson && let Some(at) = chunk.iter().position(|byte| *byte == b'\n') {
            let (text, rest) = chunk.split_at(at + 1);
            open |= !text.trim_ascii().is_empty();
            if open {
                documents.write(text)?;
                documents.end_document()?;
            }
            (open, chunk) = (false, rest);
            *line += 1;
        }
        if !ndjson || open || !chunk.trim_ascii().is_empty() {
            open = true;
            documents.write(chunk)?;
        }
    }
    if open || !ndjson { documents.end_document() } else { Ok(()) }
}
