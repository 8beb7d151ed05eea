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

#[cfg(test)]
mod tests {

    use crate::scan::tests::scanners;
    use crate::spec::{Spec, Validation};
    use crate::{CallOptions, Filter, Limits, Program};

    /// Appends nested containers. Short runs of text are between the brackets.
    fn nest(text: &mut String, random: &mut u64, levels: usize) {
        *random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(0x1405_7B7E_F767_814F);
        let (open, close) = if *random >> 40 & 1 == 0 { ("{\"k\":", "}") } else { ("[", "]") };
        text.push_str(open);
        for _ in 0..*random >> 60 {
            if levels == 0 {
                text.push_str("\"}[\"");
            } else {
                nest(text, random, levels - 1);
            }
            text.push_str(if open == "[" { "," } else { ",\"l\":" });
        }
        text.push_str("null");
        text.push_str(close);
    }

    /// Dropped containers, long and short, with the wrong bracket, too many and too few of them, and too deep: every
    /// kernel has the same output and the same error. The scalar kernel handles bracket by bracket.
    #[test]
    fn every_kernel_finds_the_same_end_and_the_same_errors() {
        let spec = Spec::new().root("object").select("a").validation(Validation::Structure);
        let program = Program::compile(&spec).unwrap();
        let mut random = 1;
        let (mut good, mut bad) = (0, 0);
        for round in 0..120 {
            let mut text = "{\"a\":1,\"b\":".to_owned();
            nest(&mut text, &mut random, 1 + round % 4);
            text.push_str(",\"c\":[");
            text.push_str(&"[".repeat(round % 90));
            for _ in 0..12 {
                nest(&mut text, &mut random, 3);
                text.push(',');
            }
            text.push_str(&"]".repeat(round % 90));
            text.push_str("],\"a2\":0}");
            let brackets = text.match_indices(['{', '[', ']', '}']).map(|(at, _)| at);
            let brackets: Vec<usize> = brackets.collect();
            for change in ["", "}", "]", "{", "[", " "] {
                let mut text = text.clone().into_bytes();
                if let Some(byte) = change.bytes().next() {
                    let at = brackets[(random >> 33) as usize % brackets.len()];
                    random = random.wrapping_mul(0x5851_F42D_4C95_7F2D).wrapping_add(1);
                    text[at] = byte;
                }
                let depth = [1024, 64, 8, 5][round / 2 % 4];
                for chunk in [text.len(), 4096, 1000, 600] {
                    let mut expected = None;
                    for (isa, scanner) in scanners() {
                        let limits = Limits::new().with_depth(depth);
                        let options = CallOptions::new().with_limits(limits).scan_with(scanner);
                        let mut filter = Filter::new(program.with_options(&options), Vec::new());
                        let written = text.chunks(chunk).try_for_each(|chunk| filter.write(chunk));
                        let ended = written.and_then(|()| filter.end().map(|_| ()));
                        let error = ended
                            .err()
                            .map(|error| (error.kind(), error.offset(), error.to_string()));
                        good += usize::from(error.is_none());
                        bad += usize::from(error.is_some());
                        let found = (filter.into_sink(), error);
                        let expected = expected.get_or_insert_with(|| found.clone());
                        assert_eq!(found, *expected, "{isa:?}, round {round}, {change:?}, {chunk}");
                    }
                }
            }
        }
        assert!(good > 300 && bad > 300, "{good} {bad}");
    }
}
