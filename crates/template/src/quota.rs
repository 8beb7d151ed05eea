//! Bounds what one rendering may do, so that no template runs for long or takes much memory.
//!
//! Nothing depends on the time. Text that functions return counts as if it were never freed.

use super::functions::RenderFault;

/// Turns of loops and calls of templates.
const TURNS: u32 = 1_000_000;
/// Work, in bytes that are compared or written and [`STEP`] for each value that is computed.
const WORK: u64 = 512 << 20;
const STEP: u64 = 64;
/// Bytes of the rendered text and of the texts that functions return.
const KEPT: u64 = 64 << 20;
/// Bytes of a returned text that are not counted: a loop makes many small texts, one after the other.
const SMALL: u64 = 256;

/// The rest of the limits of one rendering.
pub(super) struct Quota {
    turns: u32,
    work: u64,
    kept: u64,
}

impl Quota {
    pub(super) fn new() -> Self {
        Self { turns: TURNS, work: WORK, kept: KEPT }
    }

    /// Bytes of text that may still be written or returned.
    pub(super) fn text(&self) -> usize {
        usize::try_from(self.kept).unwrap_or(usize::MAX)
    }

    /// Charges one turn of a loop or one call of a template.
    pub(super) fn turn(&mut self) -> Result<(), RenderFault> {
        match self.turns.checked_sub(1) {
            Some(left) => {
                self.turns = left;
                Ok(())
            }
            None => Err(RenderFault::limit(format!(
                "the template makes more than {TURNS} turns of loops and calls of templates"
            ))),
        }
    }

    /// Charges one value, for which `bytes` of data are looked at.
    pub(super) fn step(&mut self, bytes: usize) -> Result<(), RenderFault> {
        match self.work.checked_sub(STEP.saturating_add(bytes as u64)) {
            Some(left) => {
                self.work = left;
                Ok(())
            }
            None => Err(RenderFault::limit(
                "the template does too much work; use fewer nested loops, or name smaller values",
            )),
        }
    }

    /// Charges text that was written to the output.
    pub(super) fn write(&mut self, bytes: usize) {
        self.kept = self.kept.saturating_sub(bytes as u64);
    }

    /// Charges text that a function returns.
    pub(super) fn make(&mut self, bytes: usize) -> Result<(), RenderFault> {
        self.kept = self.kept.saturating_sub((bytes as u64).saturating_sub(SMALL));
        self.step(bytes)
    }
}
