//! The first step of a budget: how many items fit.

use std::collections::VecDeque;

#[cfg(feature = "tokens")]
use super::budget::Point;
use super::budget::{Budget, each_part};
use crate::error::Raise;
use crate::spec;
use crate::test_work::{self, WorkKind, words};
#[cfg(feature = "tokens")]
use crate::tokens::TokenCounter;

/// Prefixes that are remembered: a mark has fewer tokens than these have commas.
const REMEMBERED: usize = 64;

/// The first items.
#[derive(Clone, Copy, Debug)]
struct Prefix {
    count: u64,
    /// Their size, with a newline before each.
    bytes: u64,
    /// Tokens of the frame and of them, where tokens are counted.
    tokens: u64,
}

impl Budget {
    /// The longest prefix of items that fits with its mark: how many they are, the bytes that they take, and the mark.
    /// `None`: not even those that stay fit.
    pub(super) fn fitting(
        &mut self,
        budget: spec::Budget,
    ) -> Result<Option<(u64, u64, Option<String>)>, Raise> {
        let limit = self.limit();
        let least = self.least();
        let frame = self.frame.len();
        let prefixes = self.prefixes(budget)?;
        for Prefix { count, bytes, tokens } in prefixes.into_iter().rev() {
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

    /// Prefixes that fit without a mark; of many the longest ones.
    fn prefixes(&mut self, budget: spec::Budget) -> Result<VecDeque<Prefix>, Raise> {
        let (limit, frame) = (self.limit(), self.frame.len());
        let (stay, complete, upto) = (self.stay, self.complete, self.complete_bytes);
        let mut prefixes = VecDeque::new();
        #[cfg(feature = "tokens")]
        let mut purse =
            Purse { counter: TokenCounter::default(), spent: self.frame_tokens(budget)? };
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
                prefixes.push_back(Prefix { count, bytes, tokens });
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

    /// Whether there are tokens for a mark, too.
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

    /// The tokens of the frame and of the items that stay; 0 where tokens are not counted.
    #[cfg(feature = "tokens")]
    fn frame_tokens(&mut self, budget: spec::Budget) -> Result<u64, Raise> {
        if matches!(budget, spec::Budget::Bytes(_)) {
            return Ok(0);
        }
        let items = self.points.iter().find(|(_, point)| *point == Point::Items);
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

/// The tokens that items take.
#[cfg(feature = "tokens")]
struct Purse {
    counter: TokenCounter,
    spent: u64,
}

#[cfg(feature = "tokens")]
impl Purse {
    /// The item whose bytes were counted is complete.
    fn pay(&mut self) {
        self.spent += self.counter.finish();
    }
}
