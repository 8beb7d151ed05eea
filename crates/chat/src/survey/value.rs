//! The output of a tool in a document, and the change that removes it.
//!
//! This module handles spans and texts; the survey handles the message around them.
//!
//! ```text
//! "text"                          Inside: the text between the quotes, or a part of it
//! [{"type":"text","text":"…"}]    Inside, of its only text; any other list becomes a list with one text
//! [{"text":"…"}]                  the same of Bedrock
//! {"type":"text","value":"…"}     Inside, of its value; any other output of the AI SDK becomes one like this
//! {"output":"…"}                  an object of Gemini's has to remain an object; Inside, if a part of its only text is kept
//! 12, null, {…}                   Text: replaced by a string
//! ```

use std::ops::Range;

use tamis_json::test_work::{WorkKind, count};

use super::super::findings::{Edit, EditKind};
use super::super::placeholder::Facts;
use super::super::program::CompiledPrune;
use super::super::text::ValueFacts;
use super::message::List;
use super::shape::Member;

/// A string that is an output, or the only text in one.
#[derive(Clone, Debug)]
pub(super) struct Text {
    at: u64,
    found: ValueFacts,
    /// The text, if it is no longer than a placeholder.
    short: Option<Vec<u8>>,
}

impl Text {
    pub(super) fn new(at: u64, found: ValueFacts, text: Option<&[u8]>) -> Self {
        Self { at, found, short: text.map(<[u8]>::to_vec) }
    }
}

#[derive(Clone, Debug)]
pub(super) struct Value {
    pub(super) from: u64,
    pub(super) to: u64,
    pub(super) kind: ValueKind,
    /// The string, or the only text in the list or the object.
    pub(super) text: Option<Text>,
    /// The member whose value it is.
    pub(super) member: Member,
    /// For the texts in a list or an object: their tokens, if they were counted, and their bytes.
    pub(super) counted: (u64, u64),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueKind {
    Text,
    List,
    /// A list in an item of OpenAI's Responses.
    InputList,
    /// A list of Bedrock's, whose texts have no type.
    BareList,
    /// The object that Gemini requires for a response.
    Object,
    /// The object that the AI SDK requires for an output.
    ToolOutput,
    Other,
}

/// The decision whether an output can be pruned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PruneVerdict {
    /// It was pruned before.
    Compacted,
    /// It would not become shorter, but has to, because of `only_shorter` or because a part of it is kept.
    Short,
    Prune {
        edit: Edit,
        tokens: u64,
        /// Not all tokens were counted.
        estimated: bool,
    },
}

impl Value {
    /// Creates the output for a scalar, or for a container that was not entered.
    pub(super) fn plain(
        at: Range<u64>,
        member: Member,
        string: bool,
        found: ValueFacts,
        text: Option<&[u8]>,
    ) -> Self {
        let text = string.then(|| Text::new(at.start, found, text));
        let kind = if string { ValueKind::Text } else { ValueKind::Other };
        Self { from: at.start, to: at.end, kind, text, member, counted: (0, 0) }
    }

    /// Creates the output for a list of parts, or for an object.
    pub(super) fn list(at: Range<u64>, kind: ValueKind, list: &mut List) -> Self {
        let text = list.only();
        // Two types of the AI SDK's outputs have a text as their value.
        let text =
            text.filter(|_| kind != ValueKind::ToolOutput || (list.is_text && list.types == 1));
        let member = list.member.unwrap_or(Member::Content);
        Self { from: at.start, to: at.end, kind, text, member, counted: list.counted }
    }

    /// Returns the bytes that it occupies while its message is open.
    pub(super) fn memory(&self) -> u64 {
        let texts = self.text.iter().flat_map(|text| [&text.short, &text.found.middle]);
        let texts: usize = texts.flatten().map(Vec::len).sum();
        (size_of::<Self>() + texts) as u64
    }

    pub(super) fn verdict(&self, program: &CompiledPrune, tool: &str, id: &str) -> PruneVerdict {
        let verdict = self.change(program, tool, id);
        let PruneVerdict::Prune { edit, tokens, .. } = verdict else { return verdict };
        let bytes = edit.to - edit.from;
        let is_shorter = || {
            let facts = Facts { tool, id, bytes, tokens };
            (program.replacement(edit, facts, 0).len() as u64) < bytes
        };
        match program.spec.only_shorter && !is_shorter() {
            true => PruneVerdict::Short,
            false => verdict,
        }
    }

    /// Returns the change that removes it.
    fn change(&self, program: &CompiledPrune, tool: &str, id: &str) -> PruneVerdict {
        count(WorkKind::History, 1);
        if let Some(text) = &self.text {
            let mut texts = [&text.short, &text.found.middle].into_iter().flatten();
            if texts.any(|text| program.is_placeholder(text, tool, id)) {
                return PruneVerdict::Compacted;
            }
        }
        match (self.kind, &self.text) {
            // In a list, the members next to its only text are kept, such as a `cache_control`.
            (
                ValueKind::Text
                | ValueKind::List
                | ValueKind::InputList
                | ValueKind::BareList
                | ValueKind::ToolOutput,
                Some(text),
            ) => inside(text, program, tool, id),
            (_, Some(text)) if program.is_partial() => inside(text, program, tool, id),
            (ValueKind::List, _) => self.whole(EditKind::TextList),
            (ValueKind::InputList, _) => self.whole(EditKind::InputTextList),
            (ValueKind::BareList, _) => self.whole(EditKind::BareTextList),
            (ValueKind::Object, _) => self.whole(EditKind::Output),
            (ValueKind::ToolOutput, _) => self.whole(EditKind::ToolOutput),
            (ValueKind::Text | ValueKind::Other, _) => self.whole(EditKind::Text),
        }
    }

    fn whole(&self, act: EditKind) -> PruneVerdict {
        let edit = Edit { from: self.from, to: self.to, act };
        let (tokens, bytes) = self.counted;
        let rest = (edit.to - edit.from).saturating_sub(bytes);
        PruneVerdict::Prune { edit, tokens: tokens + estimate(rest), estimated: true }
    }
}

/// Removes the whole inside of a text, or its middle.
fn inside(text: &Text, program: &CompiledPrune, tool: &str, id: &str) -> PruneVerdict {
    let Text { at, found, .. } = text;
    let edit = Edit { from: at + found.from, to: at + found.to, act: EditKind::Inside };
    let bytes = edit.to - edit.from;
    let tokens = found.tokens.unwrap_or_else(|| estimate(bytes));
    if program.is_partial() {
        let facts = Facts { tool, id, bytes, tokens };
        if bytes <= program.inside(facts).len() as u64 {
            return PruneVerdict::Short;
        }
    }
    PruneVerdict::Prune { edit, tokens, estimated: found.tokens.is_none() }
}

/// Estimates the tokens of a number of bytes, at four bytes each.
fn estimate(bytes: u64) -> u64 {
    bytes.div_ceil(4)
}
