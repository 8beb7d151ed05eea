//! Keeps what comes before a conversation: the story, the question or the status that is discussed.
//!
//! It is often an element of another kind than the posts, and may be too short for the search for an article. Seen in the
//! templates of Hacker News, Lobsters and Mastodon.

use std::collections::HashMap;

use super::super::outline::Role;
use super::{Choosing, FORM, Field};

/// The minimum number of posts.
const POSTS: usize = 3;

impl Choosing<'_> {
    /// Keeps the element before the largest group of kept posts, if it has text of its own.
    pub(super) fn keep_opening(&mut self) {
        let Some(mut at) = self.first_post() else { return };
        while at > 0 {
            let parent = self.blocks.get(at).map_or(0, |block| block.parent);
            let before = self.children(parent).iter().take_while(|child| **child < at);
            let before: Vec<usize> =
                before.copied().filter(|child| self.sum(*child).words > 0).collect();
            if before.is_empty() {
                at = parent;
                continue;
            }
            // A notice or a choice of the order may stand between it and the posts.
            let openings = before.into_iter().filter(|child| self.is_opening(*child));
            let opening = openings.max_by_key(|child| {
                let sum = self.sum(*child);
                (sum.has_title || sum.has_heading, sum.words)
            });
            if let Some(opening) = opening.filter(|opening| !self.keeps(*opening)) {
                self.keep_post(opening);
            }
            return;
        }
    }

    /// Returns the first of the posts that have the most words.
    fn first_post(&self) -> Option<usize> {
        let mut best = None;
        for parent in 0..self.blocks.len() {
            if !self.keeps(parent) {
                continue;
            }
            // The first one of a kind, their number and their words.
            let mut kinds: HashMap<u64, (usize, usize, u64)> = HashMap::new();
            for child in self.children(parent) {
                let (Some(block), sum) = (self.blocks.get(*child), self.sum(*child)) else {
                    continue;
                };
                // A post has parts, such as its author and its text.
                let is_post = block.has_class || block.is_item;
                if is_post && sum.kinds != 0 && sum.words > 0 && self.keeps(*child) {
                    let (_, count, words) = kinds.entry(block.kind).or_insert((*child, 0, 0));
                    (*count, *words) = (*count + 1, *words + sum.words);
                }
            }
            for (first, count, words) in kinds.into_values() {
                let is_more =
                    best.is_none_or(|(at, most)| words > most || (words == most && first < at));
                if count >= POSTS && is_more {
                    best = Some((first, words));
                }
            }
        }
        best.map(|(first, _)| first)
    }

    fn is_opening(&self, number: usize) -> bool {
        let Some(block) = self.blocks.get(number) else { return false };
        let sum = self.sum(number);
        let is_text = !sum.is_links() || sum.has_title;
        is_text && sum.prose() > 0 && !block.is_outside && !matches!(block.role, Role::Heading(_))
    }

    /// Keeps a block, without its forms, its navigation and what a reader can do with it.
    fn keep_post(&mut self, number: usize) {
        self.set(number, true);
        let mut next = vec![number];
        while let Some(number) = next.pop() {
            for child in self.children(number).to_vec() {
                let Some(block) = self.blocks.get(child) else { continue };
                let sum = self.sum(child);
                let is_menu = block.role == Role::List && sum.is_links() && !sum.has_title;
                let is_form = sum.field != Field::None && sum.words < FORM;
                if !block.is_outside && !block.is_action && !is_menu && !is_form {
                    self.set(child, true);
                    next.push(child);
                }
            }
        }
    }
}
