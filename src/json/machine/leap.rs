//! Dropped containers under `structure`: to their end by brackets alone.
//!
//! Knows bracket masks and the kinds of the open containers; no token, no grammar, no handler. Work is one step a bracket
//! and one a block without any.

use super::{Cx, Fail, Gait, Machine};

impl Machine {
    /// Finds the end of the container at depth `floor` by brackets alone. Returns where the walk goes on.
    pub(super) fn leap(
        &mut self,
        cx: &Cx<'_>,
        from: usize,
        to: usize,
        floor: usize,
        through: bool,
    ) -> Result<Option<usize>, Fail> {
        let mut at = from - cx.base;
        while let Some(position) = cx.window.bracket(at, to - cx.base) {
            at = position + 1;
            self.steps += 1;
            let byte = cx.byte(cx.base + position);
            if matches!(byte, b'{' | b'[') {
                self.deeper(cx.base + position, byte == b'{')?;
                continue;
            }
            if self.levels.depth() == floor && !through {
                self.gait = Gait::Inspect;
                return Ok(Some(cx.base + position));
            }
            self.matches(cx.base + position, byte)?;
            self.levels.pop();
            if self.levels.depth() < floor {
                self.gait = Gait::Inspect;
                self.expect = self.after();
                return Ok(Some(cx.base + position + 1));
            }
        }
        Ok(None)
    }
}
