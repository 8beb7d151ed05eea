//! The first step of a budget: finds how many items fit.

use std::collections::VecDeque;

#[cfg(feature = "tokens")]
use super::budget::FramePoint;
use super::budget::{ItemBudget, each_part};
use crate::error::Raise;
use crate::spec;
use crate::test_work::{self, WorkKind, words};
#[cfg(feature = "tokens")]
use crate::tokens::TokenCounter;

/// The number of prefixes remembered. A mark has fewer tokens than this many commas.
const REMEMBERED: usize = 64;

/// A number of first items.
#[derive(Clone, Copy, Debug)]
struct ItemPrefix {
    count: u64,
    /// Their size, with a newline before each.
    bytes: u64,
    /// The tokens of the frame and these items, if tokens are counted.
    tokens: u64,
}

impl ItemBudget {
    /// Returns the longest prefix of items that fits with its mark: the number of items, their size, and the mark.
    /// Returns `None` if not even the items that must be kept fit.
    pub(super) fn fitting(
        &mut self,
        budget: spec::Budget,
    ) -> Result<Option<(u64, u64, Option<String>)>, Raise> {
        let limit = self.limit();
        let least = self.least();
        let frame = self.frame.len();
        let prefixes = self.prefixes(budget)?;
        for ItemPrefix { count, bytes, tokens } in prefixes.into_iter().rev() {
            if count < least {
                break;
            }
            let mark = self.mark_text(count);
            let length =
                frame + bytes.saturating_sub(1) + mark.as_ref().map_or(0, String::len) as u64;
            if length <= limit && self.pays(budget, tokens, mark.as_deref()) {
                return Ok(Some((count, bytes, mark)));
            }
        }
        Ok(None)
    }

    /// Returns the longest prefixes that fit without a mark.
    fn prefixes(&mut self, budget: spec::Budget) -> Result<VecDeque<ItemPrefix>, Raise> {
        let (limit, frame) = (self.limit(), self.frame.len());
        let (stay, complete, upto) = (self.stay, self.complete, self.complete_bytes);
        let mut prefixes = VecDeque::new();
        #[cfg(feature = "tokens")]
        let mut purse =
            TokenTally { counter: TokenCounter::default(), spent: self.frame_tokens(budget)? };
        #[cfg(not(feature = "tokens"))]
        let _ = budget;
        let most = match budget {
            #[cfg(feature = "tokens")]
            spec::Budget::Tokens(tokens) => tokens,
            _ => u64::MAX,
        };
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
        let mut more = true;
        each_part(&mut self.items, 0, upto, |piece| {
            test_work::count(WorkKind::Tail, words(piece.len()));
            #[cfg(feature = "tokens")]
            let mut from = 0;
            for newline in memchr::memchr_iter(b'\n', piece) {
                let bytes = at + newline as u64;
                #[cfg(feature = "tokens")]
                if most < u64::MAX && bytes > stay {
                    purse.counter.push(piece.get(from..newline).unwrap_or_default());
                    purse.pay();
                }
                #[cfg(feature = "tokens")]
                {
                    from = newline + 1;
                    if most < u64::MAX && bytes >= stay && bytes > 0 {
                        purse.counter.push(b",");
                    }
                }
                #[cfg(feature = "tokens")]
                let tokens = purse.spent;
                #[cfg(not(feature = "tokens"))]
                let tokens = 0;
                more = bytes < stay || add(count, bytes, tokens);
                if !more {
                    return Ok(false);
                }
                count += 1;
            }
            #[cfg(feature = "tokens")]
            if most < u64::MAX && at + piece.len() as u64 > stay {
                purse.counter.push(piece.get(from..).unwrap_or_default());
            }
            at += piece.len() as u64;
            Ok(true)
        })?;
        if more {
            #[cfg(feature = "tokens")]
            if most < u64::MAX && upto > stay {
                purse.pay();
            }
            #[cfg(feature = "tokens")]
            let tokens = purse.spent;
            #[cfg(not(feature = "tokens"))]
            let tokens = 0;
            add(complete, upto, tokens);
        }
        Ok(prefixes)
    }

    /// Returns whether the budget has enough tokens for the mark as well.
    #[cfg(feature = "tokens")]
    #[expect(clippy::unused_self, reason = "as where tokens are not counted")]
    fn pays(&self, budget: spec::Budget, spent: u64, mark: Option<&str>) -> bool {
        let spec::Budget::Tokens(limit) = budget else { return true };
        let mut counter = TokenCounter::default();
        counter.push(mark.unwrap_or_default().as_bytes());
        spent + counter.finish() <= limit
    }

    #[cfg(not(feature = "tokens"))]
    #[expect(clippy::unused_self, reason = "as where tokens are counted")]
    fn pays(&self, _: spec::Budget, _: u64, _: Option<&str>) -> bool {
        true
    }

    /// Returns the tokens of the frame and of the items that must be kept, or 0 for a budget in bytes.
    #[cfg(feature = "tokens")]
    fn frame_tokens(&mut self, budget: spec::Budget) -> Result<u64, Raise> {
        if matches!(budget, spec::Budget::Bytes(_)) {
            return Ok(0);
        }
        let items = self.points.iter().find(|(_, point)| *point == FramePoint::Items);
        let (length, stay) = (self.frame.len(), self.stay);
        let place = items.map_or(length, |(place, _)| *place);
        let mut counter = TokenCounter::default();
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

/// Counts the tokens of items.
#[cfg(feature = "tokens")]
struct TokenTally {
    counter: TokenCounter,
    spent: u64,
}

#[cfg(feature = "tokens")]
impl TokenTally {
    /// Adds the tokens of a complete item.
    fn pay(&mut self) {
        self.spent += self.counter.finish();
    }
}
