//! Standard output on Windows, which may be a console.
//!
//! A console takes characters, not bytes: the standard library converts UTF-8, and reports an error for other bytes. Commands
//! print in the code page of the console as well, so a piece that is not UTF-8 is written to it unchanged. Pipes and files get
//! the bytes in any case.

use std::fs::File;
use std::io::{IsTerminal as _, Result, StdoutLock, Write};

use super::standard_output;

/// The most bytes of a character.
const CHARACTER: usize = 4;

/// A writer to standard output.
#[derive(Debug)]
pub(crate) struct ConsoleText {
    stream: StdoutLock<'static>,
    /// For bytes that are not UTF-8. `None`: it is not a console.
    console: Option<File>,
    /// The beginning of a character whose other bytes have not been written yet.
    open: Vec<u8>,
}

impl ConsoleText {
    /// Opens standard output.
    pub(crate) fn standard_output() -> Result<Self> {
        let stream = std::io::stdout().lock();
        let console = if stream.is_terminal() { Some(standard_output()?) } else { None };
        Ok(Self { stream, console, open: Vec::new() })
    }
}

impl Write for ConsoleText {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        let Some(console) = &mut self.console else { return self.stream.write(bytes) };
        let mut piece = std::mem::take(&mut self.open);
        piece.extend_from_slice(bytes);
        match whole_characters(&piece) {
            Some(end) => {
                self.open = piece.split_off(end);
                self.stream.write_all(&piece)?;
            }
            None => {
                self.stream.flush()?;
                console.write_all(&piece)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        self.stream.flush()
    }
}

impl Drop for ConsoleText {
    fn drop(&mut self) {
        if let Some(console) = &mut self.console {
            // Nobody is left to report an error to.
            _ = self.stream.flush().and_then(|()| console.write_all(&self.open));
        }
    }
}

/// Returns the length of the characters that are whole. `None`: the text is not UTF-8.
fn whole_characters(text: &[u8]) -> Option<usize> {
    let Err(error) = std::str::from_utf8(text) else { return Some(text.len()) };
    let end = error.valid_up_to();
    (error.error_len().is_none() && text.len() - end < CHARACTER).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::whole_characters;

    #[test]
    fn a_character_may_be_split_between_pieces() {
        assert_eq!(whole_characters("aé".as_bytes()), Some(3));
        assert_eq!(whole_characters(b"a\xc3"), Some(1));
        assert_eq!(whole_characters(b"a\xf0\x9f\x98"), Some(1));
        // "é" of code page 850.
        assert_eq!(whole_characters(b"caf\x82\r\n"), None);
    }
}
