//! `--why`: explains which rule removed which bytes, or what became of one value.
//!
//! This module must not depend on flags: the library explains, and this prints.

use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

use tamis::{Call, Error, Limits};
use tamis_insight::why::why;

use crate::console::{Usage, print};
use crate::files::gzip::{self, Decoded};

/// The question of `--why`.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The value that is asked about. `None`: the whole document.
    pointer: Option<String>,
    json: bool,
}

impl Asked {
    /// Creates the question of the flags `--why` and `--json`.
    ///
    /// # Errors
    /// The value of `--why` is not a pointer.
    pub(crate) fn new(flag: Option<Option<String>>, json: bool) -> Result<Option<Self>, Usage> {
        let Some(pointer) = flag else { return Ok(None) };
        if let Some(text) =
            pointer.as_ref().filter(|text| !text.is_empty() && !text.starts_with('/'))
        {
            let message = format!(
                "--why={text}: expected a JSON Pointer, which starts with `/`, as in --why=/items/0/id"
            );
            return Err(Usage::new(message));
        }
        Ok(Some(Self { pointer, json }))
    }

    /// Returns the explanation of a run over `input`, from its current position on.
    pub(crate) fn explain(&self, call: Call<'_>, input: File) -> Result<Vec<u8>, Error> {
        let why = why(call, input, self.pointer.as_deref())?;
        if !self.json {
            return Ok(why.to_string().into_bytes());
        }
        print::json(&why).map_err(Error::write)
    }
}

/// Prints an explanation on standard error.
pub(crate) fn print(text: &[u8]) {
    // A closed standard error has no reader.
    _ = std::io::stderr().write_all(text);
}

/// Returns a file that can be read several times, and where the document begins in it. A pipe and a compressed file are copied to
/// a temporary file without a name.
pub(crate) fn rereadable(mut input: File, limits: &Limits) -> std::io::Result<(File, u64)> {
    if crate::files::is_regular(&input) && !gzip::is_compressed(&mut input)? {
        let begin = input.stream_position()?;
        return Ok((input, begin));
    }
    let most = limits.held().saturating_add(limits.spill());
    let mut copy = tempfile::tempfile()?;
    let copied = std::io::copy(&mut Decoded::new(input).take(most.saturating_add(1)), &mut copy)?;
    if copied > most {
        let message = format!(
            "--why reads the input several times, and it exceeds the buffer limit of {most} bytes (raise --held or --spill, or give a file)"
        );
        return Err(std::io::Error::new(ErrorKind::StorageFull, message));
    }
    copy.seek(SeekFrom::Start(0))?;
    Ok((copy, 0))
}
