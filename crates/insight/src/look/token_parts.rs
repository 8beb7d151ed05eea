//! Counts the tokens of a text of which each part belongs to a path.
//!
//! The text is counted as a whole, in the pieces of [`TokenCounter`](tamis::tokens::TokenCounter), so that the sum is that
//! of the counter. A token belongs to the path of its first byte.

use std::collections::VecDeque;

use super::paths::PathId;
use super::tree::TokenFigures;
use tamis::tokens::{PIECE, piece_end};
use tamis_tokens::token_lengths;

/// The text that is not counted yet, and the paths of its parts.
#[derive(Debug, Default)]
pub(super) struct TokenParts {
    text: Vec<u8>,
    /// The path and the length of each part of the text.
    parts: VecDeque<(PathId, usize)>,
    /// A piece had to end where a token may continue, so that the count may be too large.
    cut: bool,
}

impl TokenParts {
    pub(super) fn figures(&self) -> TokenFigures {
        if self.cut { TokenFigures::Counted } else { TokenFigures::Exact }
    }

    /// Adds text of a path. `counted` receives tokens of paths.
    pub(super) fn push(
        &mut self,
        path: PathId,
        mut bytes: &[u8],
        mut counted: impl FnMut(PathId, u64),
    ) {
        while !bytes.is_empty() {
            let room = PIECE.saturating_sub(self.text.len()).max(1);
            let (now, later) = bytes.split_at(bytes.len().min(room));
            self.text.extend_from_slice(now);
            match self.parts.back_mut() {
                Some((last, length)) if *last == path => *length += now.len(),
                _ => self.parts.push_back((path, now.len())),
            }
            bytes = later;
            if self.text.len() >= PIECE {
                let (end, cut) = piece_end(&self.text);
                self.cut |= cut;
                self.count(end, &mut counted);
            }
        }
    }

    /// Counts the rest of the text.
    pub(super) fn finish(&mut self, mut counted: impl FnMut(PathId, u64)) {
        self.count(self.text.len(), &mut counted);
    }

    /// Replaces paths that were merged.
    pub(super) fn moved(&mut self, now: impl Fn(PathId) -> PathId) {
        for (path, _) in &mut self.parts {
            *path = now(*path);
        }
    }

    /// Counts the first bytes of the text.
    fn count(&mut self, bytes: usize, counted: &mut impl FnMut(PathId, u64)) {
        let text = String::from_utf8_lossy(self.text.get(..bytes).unwrap_or_default());
        let (mut at, mut part_end) = (0, 0);
        let mut path = None;
        let mut left = bytes;
        for length in token_lengths(&text) {
            while at >= part_end
                && let Some((next, length)) = self.parts.pop_front()
            {
                // A part may go on after the bytes that are counted.
                let now = length.min(left);
                if now < length {
                    self.parts.push_front((next, length - now));
                }
                (path, part_end, left) = (Some(next), part_end + now, left - now);
                if now == 0 {
                    break;
                }
            }
            if let Some(path) = path {
                counted(path, 1);
            }
            at += length;
        }
        // Parts in which no token begins.
        while left > 0
            && let Some((next, length)) = self.parts.pop_front()
        {
            let now = length.min(left);
            if now < length {
                self.parts.push_front((next, length - now));
            }
            left -= now;
        }
        self.text.drain(..bytes);
    }
}
