//! Recognises the teasers of other articles in the main part of an article: they lead to other pages, as navigation does.
//!
//! Such a list has at least three elements of one kind outside of tables. Each one has a heading that is a link, and none
//! has text that was found by the search for an article. On other pages, such as the results of a search, these lists are the content, and so
//! are the cards of an overview, which many sites call an article too, but which has little text besides.

use std::collections::HashMap;

use super::{Choosing, Sum};

/// The minimum number of teasers.
const TEASERS: u64 = 3;
/// The minimum number of words that were found, to be an article rather than an overview.
const ARTICLE: u64 = 250;
/// The minimum share of teasers among the words of an element, in percent, to be one with teasers.
const SHARE: u64 = 80;

impl Choosing<'_> {
    /// Counts the words of the teasers in each block.
    pub(super) fn count_teasers(&mut self) {
        let blocks = self.blocks.iter().zip(self.found);
        let found: u64 = blocks.filter(|(_, found)| **found).map(|(block, _)| block.words).sum();
        if !self.is_article || found < ARTICLE {
            return;
        }
        // For each block, the kinds of its children: their number, their words, and whether all of them are teasers.
        let mut kinds: HashMap<(usize, u64), (u64, u64, bool)> = HashMap::new();
        for number in (1..self.blocks.len()).rev() {
            let Some(block) = self.blocks.get(number) else { continue };
            let sum = self.sum(number);
            if sum.words == 0 {
                continue;
            }
            let is_teaser = sum.has_linked_heading && !sum.found && !block.is_cell;
            let kind = kinds.entry((block.parent, block.kind)).or_insert((0, 0, true));
            *kind = (kind.0 + 1, kind.1 + sum.words, kind.2 && is_teaser);
        }
        let mut words = vec![0_u64; self.blocks.len()];
        for ((parent, _), (count, of_kind, all)) in kinds {
            if count >= TEASERS
                && all
                && let Some(words) = words.get_mut(parent)
            {
                *words += of_kind;
            }
        }
        // Teasers in teasers are counted once: never more than the words of the block.
        for number in (1..self.blocks.len()).rev() {
            let parent = self.blocks.get(number).map_or(0, |block| block.parent);
            let own = words.get(number).copied().unwrap_or(0).min(self.sum(number).words);
            if let Some(words) = words.get_mut(parent) {
                *words += own;
            }
            if let Some(sum) = self.sums.get_mut(number) {
                sum.teasers = own;
            }
        }
    }

    /// Whether a block of an article has hardly anything but teasers.
    pub(super) fn has_teasers(sum: &Sum) -> bool {
        !sum.found && sum.teasers > 0 && sum.teasers * 100 >= sum.words * SHARE
    }
}
