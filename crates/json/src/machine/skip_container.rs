//! Skips dropped containers under `validation: structure` by counting brackets.
//!
//! Skipping uses bracket masks and the kinds of the open containers, but no tokens, no grammar and no handler. The work
//! is one step per bracket, and one per batch of blocks or step of rows in a long container.
//!
//! ```text
//! {"a":[1,{"b":2}],"c":3}          floor: the depth of this container, 1 if it is the outermost
//! 1    2  3     32      1          the depth at each bracket, counted with the container that it opens or closes
//! ```
//!
//! The container ends at the closing bracket of depth `floor`. Brackets must match in kind, and the limit of nested
//! containers applies, as in the walk. Strings and UTF-8 are checked by the scanner. Nothing else in the container is
//! checked: that is the meaning of `structure`.
//!
//! A batch removes the pairs of brackets inside several blocks at once. The closing and opening brackets that are left
//! are applied to the levels together. A batch in which the container may end, or that may have an error, is not
//! applied: its blocks are handled bracket by bracket, which finds the place.
//!
//! In a container that is longer than a window, batches of brackets come from rows that are not scanned into a window
//! (`scan/brackets.rs`), several rows at a time. If a batch is not applied, its rows are scanned and handled as above.

use super::{Machine, SkipMode, WalkError, WindowContext};
use crate::fast_paths::{FastPath, is_off};
use crate::scan::{BLOCK, BracketBatch, Row, Scanner, WINDOW};

/// Blocks of a container that are handled bracket by bracket before batches are tried: most containers end before.
const SHORT: usize = 8;
/// Brackets of a container that are handled one by one before batches are tried: without many brackets, batches save
/// nothing.
const FEW: u64 = 8;
/// Blocks of the first batch. The next ones are twice as long, up to [`LONGEST`], because the batch with the end of the
/// container is useless: it should be short compared to the container.
const FIRST: usize = 8;
const LONGEST: usize = 16;
/// Bytes of windows that were inside a container before its rows are skipped. Most containers that begin in one window
/// end in the next, where skipped rows save less than is lost with those that contain the end.
pub(super) const LONG: usize = WINDOW;
/// The largest number of rows that are skipped together. The first number is one, and each is larger by one than the one
/// before, because the rows with the end of the container are scanned twice. They are no more than a window, so that
/// they are in the first-level cache when their UTF-8 is checked.
const MOST_ROWS: usize = WINDOW / size_of::<Row>();

impl Machine {
    /// Calls [`leap`](Self::leap), or its reference if that path is off. The tokens of the window must be listed.
    #[inline(always)]
    pub(super) fn skip_to_end(
        &mut self,
        cx: &WindowContext<'_>,
        from: usize,
        to: usize,
        floor: usize,
        through: bool,
    ) -> Result<Option<usize>, WalkError> {
        #[cfg(any(debug_assertions, fuzzing))]
        if is_off(FastPath::BracketMasks) {
            return self.leap_by_token(cx, from, to, floor, through);
        }
        self.leap(cx, from, to, floor, through)
    }

    /// Finds the end of the container at depth `floor`, whose opening bracket is before `from`. Returns the position where
    /// the walk continues, or `None` if the container does not end before `to`. `through`: the position is after the closing
    /// bracket, which is consumed; otherwise it is that of the bracket. At the end the mode is `Inspect`.
    ///
    /// # Errors
    /// A bracket does not match, or opens too many containers.
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
        // The blocks before this one are handled bracket by bracket. At 0, the container began in an earlier window.
        let mut batches_from = if from == 0 { 0 } else { block + SHORT };
        let few = self.steps + FEW;
        loop {
            if block >= batches_from && self.steps >= few && !is_off(FastPath::BracketBatches) {
                (block, batches_from) = self.apply_batches(cx, block, to, floor);
                if block * BLOCK >= to {
                    return Ok(None);
                }
                brackets = cx.window.brackets(block);
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
                // The walk closes the container that the handler inspects, and checks the kind of this bracket.
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

    /// Applies the brackets of several blocks at once, batch by batch. Returns the next block, and the block before which
    /// brackets must be handled one by one, because the end of the container at depth `floor` or an error may be there.
    #[inline(always)]
    fn apply_batches(
        &mut self,
        cx: &WindowContext<'_>,
        mut block: usize,
        to: usize,
        floor: usize,
    ) -> (usize, usize) {
        let text = cx.slice(cx.base, cx.base + to);
        // The levels are up to date at the beginning of each batch.
        let mut length = FIRST;
        while let Some((batch, end)) = cx.window.bracket_batch(text, block, length) {
            if !self.apply(&batch, floor) {
                return (block, end);
            }
            self.steps += 1;
            length = LONGEST.min(2 * length);
            block = end;
        }
        (block, usize::MAX)
    }

    /// Skips rows at the beginning of `bytes` that lie inside the container at depth `floor`. Returns the number of bytes.
    ///
    /// The rows need no masks of a window. Those after them may contain the end of the container, or an error.
    #[inline(never)]
    pub(super) fn skip_rows(&mut self, scanner: Scanner, bytes: &[u8], floor: usize) -> usize {
        if is_off(FastPath::BracketMasks) || is_off(FastPath::BracketRows) {
            return 0;
        }
        let (mut rows, _) = bytes.as_chunks().0.as_chunks();
        let (mut skipped, mut length) = (0, 1);
        while let Some((some, rest)) = rows.split_at_checked(rows.len().min(length))
            && !some.is_empty()
        {
            let innermost = self.levels.innermost();
            let mut carry = std::mem::take(&mut self.carry);
            let inside = scanner.skip(some, &mut carry, |batch| self.apply(batch, floor));
            self.carry = carry;
            if !inside {
                self.levels.restore(innermost);
                break;
            }
            self.steps += 1;
            skipped += size_of_val(some);
            rows = rest;
            length = MOST_ROWS.min(length + 1);
        }
        skipped
    }

    /// Applies the brackets of some blocks at once. Returns `false` and changes nothing if the container at depth `floor`
    /// may end among them, or if one of them may be an error.
    #[inline]
    fn apply(&mut self, batch: &BracketBatch, floor: usize) -> bool {
        let depth = self.levels.depth();
        // `None`: a bracket closes a container of the other kind. Handled one by one, the brackets show which one it is.
        let Some(unpaired) = &batch.unpaired else { return false };
        depth + batch.opened as usize <= self.config.depth
            && unpaired.closing as usize + floor <= depth
            && self.levels.apply(unpaired)
    }

    /// Finds the end of the container at depth `floor` like [`leap`](Self::leap), but visits every token. The reference
    /// for `leap` in tests; see `fast_paths.rs`.
    #[cfg(any(debug_assertions, fuzzing))]
    fn leap_by_token(
        &mut self,
        cx: &WindowContext<'_>,
        from: usize,
        to: usize,
        floor: usize,
        through: bool,
    ) -> Result<Option<usize>, WalkError> {
        let first = cx.window.tokens_before(from - cx.base);
        for token in cx.window.tokens().get(first..).unwrap_or_default() {
            let at = cx.base + usize::from(*token);
            if at >= to {
                break;
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
