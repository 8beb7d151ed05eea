//! Refuses a value at `extract` that is a factored document, if a rule removes for safety.
//!
//! A factored document is restored before any rule reads it (`filter_run/restoring.rs`), because rules name members that it has
//! elsewhere. One inside another document is not, so the rules would not find them. The stage passes everything else on.

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::sink::Sink;

use super::factored_start::{Decision, decision};
use super::output::facts::OutputFacts;
use super::pipe::{Next, Stage, StageText};
use crate::filter::compile::program::CompiledProgram;
use crate::report::Report;

/// The most bytes that are held until the value is known to be another one.
const MOST: usize = 4096;

/// The stage after the one that extracts.
#[derive(Debug)]
pub(super) struct FactoredValueGuard {
    /// The first bytes of the value, without white space.
    first: Vec<u8>,
    /// The bytes from the first one on, which wait until it is known what the value is.
    held: Vec<u8>,
    is_known: bool,
}

impl FactoredValueGuard {
    /// Returns the stage if a program needs it.
    pub(super) fn of(program: &CompiledProgram) -> Option<Self> {
        let needs = program.extract.is_some() && program.spec.removes_for_safety();
        needs.then(|| Self { first: Vec::new(), held: Vec::new(), is_known: false })
    }

    /// Reads bytes until they decide. Returns how many of them were read.
    ///
    /// # Errors
    /// They are those of a factored document, or too many do not decide.
    fn read(&mut self, bytes: &[u8]) -> Result<usize, Error> {
        for (at, byte) in bytes.iter().enumerate() {
            if self.first.len() < 2 && byte.is_ascii_whitespace() {
                continue;
            }
            self.first.push(*byte);
            match decision(&self.first) {
                Decision::Open => {}
                Decision::Factored => return Err(refused()),
                Decision::Other => {
                    self.is_known = true;
                    return Ok(at + 1);
                }
            }
        }
        if self.held.len() + bytes.len() > MOST { Err(refused()) } else { Ok(bytes.len()) }
    }
}

fn refused() -> Error {
    let message = "the value at `extract` is a factored document, which is not restored there";
    Error::at(Raise::new(ErrorKind::Restore, message), 0, String::new())
}

impl Stage for FactoredValueGuard {
    fn writes(&self) -> StageText {
        StageText::Left
    }

    fn restart(&mut self) {
        self.first.clear();
        self.held.clear();
        self.is_known = false;
    }

    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let mut rest = bytes;
        if !self.is_known {
            // White space before the value decides nothing.
            let white = match self.first.is_empty() {
                true => rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count(),
                false => 0,
            };
            let (before, value) = bytes.split_at(white);
            let (now, later) = value.split_at(self.read(value)?);
            if self.is_known && self.held.is_empty() {
                // The next stage may decide by the whole piece.
                next.write(bytes);
                return Ok(());
            }
            if !before.is_empty() {
                next.write(before);
            }
            self.held.extend_from_slice(now);
            if !self.is_known {
                return Ok(());
            }
            next.write(&std::mem::take(&mut self.held));
            rest = later;
        }
        if !rest.is_empty() {
            next.write(rest);
        }
        Ok(())
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if !self.held.is_empty() {
            next.write(&std::mem::take(&mut self.held));
        }
        Ok(())
    }

    fn report(&self, _: &mut Report, _: &OutputFacts) {}
}
