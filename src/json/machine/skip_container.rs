//! Skips dropped containers under `validation: structure` by counting brackets.
//!
//! Skipping uses bracket masks and the kinds of the open containers, but no tokens, no grammar and no handler. The work
//! is one step per bracket, and one per block without any. In a long container it is one step per batch of blocks.

use super::{Machine, SkipMode, WalkError, WindowContext};
use crate::scan::{BLOCK, BracketBatch};

/// Blocks of a container that are handled bracket by bracket before batches are tried: most containers end before.
const SHORT: usize = 8;

impl Machine {
    /// Finds the end of the container at depth `floor`. Returns the position where the walk continues, or `None` if the
    /// container does not end before `to`.
    pub(super) fn leap(
        &mut self,
        cx: &WindowContext<'_>,
        from: usize,
        to: usize,
        floor: usize,
        through: bool,
    ) -> Result<Option<usize>, WalkError> {
        let (from, to) = (from - cx.base, to - cx.base);
        let mut block = from / BLOCK;
        let mut brackets = cx.window.brackets(block) & (u64::MAX << (from % BLOCK));
        let text = cx.slice(cx.base, cx.base + to);
        // The first block that is not handled bracket by bracket. A container that began in an earlier window is long.
        let mut batches = if from == 0 { 0 } else { block + SHORT };
        loop {
            while block >= batches {
                let Some(batch) = cx.window.bracket_batch(text, block) else {
                    batches = usize::MAX;
                    break;
                };
                if !self.apply(&batch, floor) {
                    batches = batch.end;
                    break;
                }
                self.steps += 1;
                block = batch.end;
                brackets = cx.window.brackets(block);
                if block * BLOCK >= to {
                    return Ok(None);
                }
            }
            while brackets != 0 {
                let position = block * BLOCK + brackets.trailing_zeros() as usize;
                if position >= to {
                    return Ok(None);
                }
                brackets &= brackets - 1;
                self.steps += 1;
                let at = cx.base + position;
                let byte = cx.byte(at);
                if matches!(byte, b'{' | b'[') {
                    self.deeper(at, byte == b'{')?;
                    continue;
                }
                if self.levels.depth() == floor && !through {
                    self.mode = SkipMode::Inspect;
                    return Ok(Some(at));
                }
                self.matches(at, byte)?;
                self.levels.pop();
                if self.levels.depth() < floor {
                    self.mode = SkipMode::Inspect;
                    self.expect = self.after();
                    return Ok(Some(at + 1));
                }
            }
            block += 1;
            if block * BLOCK >= to {
                return Ok(None);
            }
            brackets = cx.window.brackets(block);
        }
    }

    /// Applies the brackets of some blocks at once. Returns `false` and changes nothing if the container at depth `floor`
    /// may end among them, or if one of them may be an error.
    #[inline]
    fn apply(&mut self, batch: &BracketBatch, floor: usize) -> bool {
        let depth = self.levels.depth();
        let Some(unpaired) = &batch.unpaired else { return false };
        depth + batch.opened as usize <= self.config.depth
            && unpaired.closing as usize + floor <= depth
            && self.levels.apply(unpaired)
    }
}
