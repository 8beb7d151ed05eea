//! Templates: strings that follow from other members of the same item.

use smallvec::SmallVec;
use tamis_json::test_work::{WorkKind, count, words};

use super::trie::Trie;
use crate::reader::{Span, push};

/// A part of a template.
#[derive(Debug, PartialEq)]
pub(super) enum Segment {
    Literal(Span),
    /// The text of a member. All of the sources have had the text in each item so far.
    Slot {
        sources: SmallVec<[u32; 8]>,
        /// So has this literal.
        literal: Option<Span>,
    },
}

/// A template of a member, which has made all of its values so far.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Template {
    pub(super) segments: Vec<Segment>,
    pub(super) literals: Vec<u8>,
}

impl Template {
    pub(super) fn literal(&mut self, text: &[u8]) {
        if !text.is_empty() {
            let span = push(&mut self.literals, text);
            self.segments.push(Segment::Literal(span));
        }
    }

    pub(super) fn slot(&mut self, sources: SmallVec<[u32; 8]>, literal: Option<&[u8]>) {
        let literal = literal.map(|text| push(&mut self.literals, text));
        self.segments.push(Segment::Slot { sources, literal });
    }

    /// Returns whether the string is the text of another member.
    pub(super) fn is_copy(&self) -> bool {
        matches!(self.segments.as_slice(), [Segment::Slot { .. }])
    }

    /// Compares the text of the current item with what this template makes, and forgets sources that have another text.
    /// Returns whether the template still makes the text.
    pub(super) fn makes(&mut self, trie: &Trie, text: &[u8]) -> bool {
        count(WorkKind::Tree, words(text.len()) + self.segments.len());
        let mut rest = text;
        for segment in &mut self.segments {
            match segment {
                Segment::Literal(span) => {
                    let Some(after) = rest.strip_prefix(span.of(&self.literals)) else {
                        return false;
                    };
                    rest = after;
                }
                Segment::Slot { sources, literal } => {
                    let text_of = |source: u32| {
                        let node = trie.node(source)?;
                        (node.text_of == trie.item).then(|| node.text.of(&trie.texts))
                    };
                    let constant = literal.map(|span| span.of(&self.literals));
                    // Sources with different texts cannot all be right. The longest one that matches is.
                    let matching = sources.iter().filter_map(|source| text_of(*source));
                    let matching = matching.chain(constant).filter(|text| rest.starts_with(text));
                    let Some(longest) = matching.max_by_key(|text| text.len()) else {
                        return false;
                    };
                    sources.retain(|source| text_of(*source) == Some(longest));
                    *literal = literal.filter(|_| constant == Some(longest));
                    count(WorkKind::Tree, sources.len());
                    rest = rest.get(longest.len()..).unwrap_or_default();
                }
            }
        }
        rest.is_empty()
    }
}
