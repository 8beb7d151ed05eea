//! Skips dropped containers under `validation: structure` by counting brackets.
//!
//! Skipping uses bracket masks and the kinds of the open containers, but no tokens, no grammar and no handler. The work
//! is one step per bracket, and one per block without any.

use super::{Machine, SkipMode, WalkError, WindowContext};
use crate::scan::BLOCK;

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
        loop {
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

    /// Finds the end of the container at depth `floor` like [`leap`](Self::leap), but visits every token. The reference
    /// for `leap` in tests; see `plain_walk.rs`.
    pub(super) fn leap_by_token(
        &mut self,
        cx: &WindowContext<'_>,
        from: usize,
        to: usize,
        floor: usize,
        through: bool,
    ) -> Result<Option<usize>, WalkError> {
        for token in cx.window.tokens() {
            let at = cx.base + usize::from(*token);
            if !(from..to).contains(&at) {
                continue;
            }
            let byte = cx.byte(at);
            if matches!(byte, b'{' | b'[') {
                self.deeper(at, byte == b'{')?;
            } else if matches!(byte, b'}' | b']') {
                let depth = self.levels.depth();
                if depth == floor && !through {
                    self.mode = SkipMode::Inspect;
                    return Ok(Some(at));
                }
                self.matches(at, byte)?;
                self.levels.pop();
                if depth == floor {
                    self.mode = SkipMode::Inspect;
                    self.expect = self.after();
                    return Ok(Some(at + 1));
                }
            }
        }
        Ok(None)
    }
}
