//! The first step of a budget: finds how many items fit.
//!
//! Called once, when the document is complete and no shorter form was needed so far. The items that arrived before the
//! array was too long are held, each after a newline. A prefix of them is kept, with the mark for all others:
//!
//! ```text
//! held items     \n{"a":1}\n{"a":2}\n{"a":3}
//! prefixes       ^0       ^1       ^2       ^3      `bytes`, the offset of the caret: 0, 8, 16, 24
//! written        frame + {"a":1},{"a":2} + mark     16 - 1 bytes of items for the prefix of 2
//! ```
//!
//! Nearly every prefix needs a mark, whose length depends on the count. So the items are read once to find the prefixes
//! that fit without a mark. They are then tried with their marks, the longest first. Only the last [`REMEMBERED`]
//! prefixes are remembered: each item that is left out saves at least its comma, so one of these prefixes fits with its
//! mark if any does.
//!
//! Tokens are counted for the frame with the items that must be kept, for each further item with its comma, and for the
//! mark. Their sum is compared with the budget.

use std::collections::VecDeque;

use tamis_json::error::Raise;
use tamis_json::test_work::{self, WorkKind, words};
use tamis_json::tokens::TokenCounter;

use super::budget::{FramePoint, ItemBudget, each_part};
use crate::filter::compile::size_policy::TokenLimit;

/// The number of prefixes remembered. A mark has fewer tokens than this many commas.
const REMEMBERED: usize = 64;

/// A number of first items.
#[derive(Clone, Copy, Debug)]
struct ItemPrefix {
    /// The number of items.
    count: u64,
    /// Their size, with a newline before each. The commas in the output take the same space, except the first.
    bytes: u64,
    /// The tokens of the frame and these items, if tokens are counted.
    tokens: u64,
}

impl ItemBudget {
    /// Returns the longest prefix of items that fits with its mark: the number of items, their size, and the mark.
    /// Returns `None` if not even the items that must be kept fit.
    pub(super) fn fitting(&mut self) -> Result<Option<(u64, u64, Option<String>)>, Raise> {
        let (limit, tokens_limit) = (self.limit(), self.policy.token_limit());
        let least = self.least();
        let frame = self.frame.len();
        let prefixes = self.prefixes(tokens_limit)?;
        for ItemPrefix { count, bytes, tokens } in prefixes.into_iter().rev() {
            if count < least {
                break;
            }
            let mark = self.mark_text(count);
            // The first newline does not become a comma.
            let length =
                frame + bytes.saturating_sub(1) + mark.as_ref().map_or(0, String::len) as u64;
            if length <= limit && pays(tokens_limit, tokens, mark.as_deref()) {
                return Ok(Some((count, bytes, mark)));
            }
        }
        Ok(None)
    }

    /// Returns the longest prefixes that fit without a mark, in ascending order. None of them has fewer items than must
    /// be kept.
    ///
    /// Reads the complete items once, up to the first prefix that does not fit.
    fn prefixes(
        &mut self,
        tokens_limit: Option<TokenLimit>,
    ) -> Result<VecDeque<ItemPrefix>, Raise> {
        let (limit, frame) = (self.limit(), self.frame.len());
        let (stay, complete, upto) = (self.stay, self.complete, self.complete_bytes);
        let mut prefixes = VecDeque::new();
        // `spent` is the sum of the tokens of the frame and of all complete items. The counter has the open item.
        let mut purse = match tokens_limit {
            None => None,
            Some(limit) => {
                Some(TokenTally { counter: limit.counter(), spent: self.frame_tokens(limit)? })
            }
        };
        let most = tokens_limit.map_or(u64::MAX, |limit| limit.most);
        // The offset of the piece in the held items, and the number of items before the current newline.
        let mut at = 0;
        let mut count = 0;
        let mut add = |count: u64, bytes: u64, tokens: u64| {
            let fits = frame + bytes.saturating_sub(1) <= limit && tokens <= most;
            if fits {
                if prefixes.len() == REMEMBERED {
                    prefixes.pop_front();
                }
                prefixes.push_back(ItemPrefix { count, bytes, tokens });
            }
            fits
        };
        // Each newline ends the item before it. The first one ends no item: it gives the prefix without items.
        let mut more = true;
        each_part(&mut self.items, 0, upto, |piece| {
            test_work::count(WorkKind::Tail, words(piece.len()));
            // The start of the current item in this piece.
            let mut from = 0;
            for newline in memchr::memchr_iter(b'\n', piece) {
                let bytes = at + newline as u64;
                let mut tokens = 0;
                if let Some(purse) = &mut purse {
                    if bytes > stay {
                        purse.counter.push(piece.get(from..newline).unwrap_or_default());
                        purse.pay();
                    }
                    if bytes >= stay && bytes > 0 {
                        purse.counter.push(b",");
                    }
                    tokens = purse.spent;
                }
                from = newline + 1;
                // Prefixes without the items that must be kept are not candidates.
                more = bytes < stay || add(count, bytes, tokens);
                if !more {
                    return Ok(false);
                }
                count += 1;
            }
            if let Some(purse) = &mut purse
                && at + piece.len() as u64 > stay
            {
                purse.counter.push(piece.get(from..).unwrap_or_default());
            }
            at += piece.len() as u64;
            Ok(true)
        })?;
        // All complete items fit. The end of the last one has no newline.
        if more {
            if let Some(purse) = &mut purse
                && upto > stay
            {
                purse.pay();
            }
            let tokens = purse.map_or(0, |purse| purse.spent);
            add(complete, upto, tokens);
        }
        Ok(prefixes)
    }

    /// Returns the tokens of the frame and of the items that must be kept. They are counted as one text, with the items
    /// in their place.
    fn frame_tokens(&mut self, limit: TokenLimit) -> Result<u64, Raise> {
        let items = self.points.iter().find(|(_, point)| *point == FramePoint::Items);
        let (length, stay) = (self.frame.len(), self.stay);
        let place = items.map_or(length, |(place, _)| *place);
        let mut counter = limit.counter();
        let mut text = Vec::new();
        let mut take = |piece: &[u8]| {
            text.clear();
            text.extend(piece.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }));
            counter.push(&text);
            Ok(true)
        };
        each_part(&mut self.frame, 0, place, &mut take)?;
        each_part(&mut self.items, 1, stay, &mut take)?;
        each_part(&mut self.frame, place, length, &mut take)?;
        Ok(counter.finish())
    }
}

/// Counts the tokens of items. Each item with its comma is counted on its own.
struct TokenTally {
    /// The open item.
    counter: TokenCounter,
    /// The tokens of all earlier ones, and of the frame.
    spent: u64,
}

impl TokenTally {
    /// Adds the tokens of a complete item.
    fn pay(&mut self) {
        self.spent += self.counter.finish();
    }
}

/// Returns whether the budget has enough tokens for the mark as well. `spent`: the tokens of everything else.
fn pays(limit: Option<TokenLimit>, spent: u64, mark: Option<&str>) -> bool {
    let Some(limit) = limit else { return true };
    let mut counter = limit.counter();
    counter.push(mark.unwrap_or_default().as_bytes());
    spent + counter.finish() <= limit.most
}
