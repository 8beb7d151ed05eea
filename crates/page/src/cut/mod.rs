//! Cuts a text at about a number of tokens (SPEC §10).
//!
//! ```text
//! limit │ none          │ small: the beginning, up to the     │ larger: first and last parts, and the
//!       │ the text      │ end of a paragraph, else a sentence │ passages that are likely to be needed
//! ```
//!
//! The result never exceeds the limit, apart from the last line, which states how much was left out.

mod beginning;
mod passages;
mod tables;

use tamis_json::tokens::{CountTokens, TokenCounter};
use tamis_text::cut::CutUnit;
use tamis_text::notice;

use beginning::Beginning;
use passages::Passages;

/// The least limit in bytes, at four for each token, that has room for passages and the lines between them that report gaps.
/// The longest passage that is kept or left out as a whole has 400 bytes.
const LEAST_FOR_PASSAGES: u64 = 1600;

/// The size of a text in the unit of its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// The size of the whole text.
    pub original: u64,
    /// The size of the result, including the mark.
    pub result: u64,
    /// The size of the whole text in bytes.
    pub bytes: u64,
    /// Whether something was left out.
    pub cut: bool,
}

/// The largest size of a text.
#[derive(Clone, Copy, Debug)]
pub enum TextLimit {
    /// A number of bytes.
    Bytes(u64),
    /// A number of tokens of a vocabulary; without one, a token has four bytes.
    Tokens(u64, Option<&'static dyn CountTokens>),
}

/// Takes a text in parts and writes the part of it that is kept.
#[derive(Debug)]
pub struct Cut(CutForm);

#[derive(Debug)]
enum CutForm {
    /// The whole text, of which this many bytes have arrived.
    Whole(u64),
    Beginning(Box<Beginning>),
    Passages(Box<Passages>),
}

impl Cut {
    /// Creates a cut at a limit; `None` keeps the whole text.
    pub fn new(limit: Option<TextLimit>) -> Self {
        let (limit, unit) = match limit {
            None => return Self(CutForm::Whole(0)),
            Some(TextLimit::Tokens(tokens, vocabulary)) => (tokens, Unit::Tokens(vocabulary)),
            Some(TextLimit::Bytes(bytes)) => (bytes, Unit::Bytes),
        };
        Self(match unit.bytes(limit) < LEAST_FOR_PASSAGES {
            true => CutForm::Beginning(Box::new(Beginning::new(limit, unit))),
            false => CutForm::Passages(Box::new(Passages::new(limit, unit))),
        })
    }

    /// Adds more of the text; the part that is certain to be kept is appended to `to`.
    pub fn push(&mut self, text: &str, to: &mut dyn FnMut(&str)) {
        match &mut self.0 {
            CutForm::Whole(bytes) => {
                *bytes += text.len() as u64;
                to(text);
            }
            CutForm::Beginning(beginning) => beginning.push(text, to),
            CutForm::Passages(passages) => passages.push(text, to),
        }
    }

    /// Ends the text.
    pub fn end(&mut self, to: &mut dyn FnMut(&str)) -> Sizes {
        match &mut self.0 {
            CutForm::Whole(bytes) => Sizes { original: 0, result: 0, bytes: *bytes, cut: false },
            CutForm::Beginning(beginning) => beginning.end(to),
            CutForm::Passages(passages) => passages.end(to),
        }
    }
}

/// The unit in which a text is measured.
#[derive(Clone, Copy, Debug)]
enum Unit {
    /// Tokens of a vocabulary; `None`: four bytes each.
    Tokens(Option<&'static dyn CountTokens>),
    Bytes,
}

impl Unit {
    /// Returns the size of a text in this unit.
    fn of(self, text: &str) -> u64 {
        let mut measure = Measure::new(self);
        measure.push(text);
        measure.finish()
    }

    /// Returns a number of this unit in bytes, at four for each token.
    fn bytes(self, number: u64) -> u64 {
        match self {
            Self::Bytes => number,
            Self::Tokens(_) => number.saturating_mul(4),
        }
    }

    /// Returns a number of bytes, at four for each token, in this unit.
    fn number(self, bytes: u64) -> u64 {
        match self {
            Self::Bytes => bytes,
            Self::Tokens(_) => bytes.div_ceil(4),
        }
    }

    /// Returns the unit of a cut whose limits are in bytes, at four for each token.
    fn of_cut(self) -> CutUnit {
        match self {
            Self::Bytes | Self::Tokens(None) => CutUnit::Bytes,
            Self::Tokens(Some(vocabulary)) => CutUnit::Tokens(vocabulary),
        }
    }

    /// Returns the mark that replaces the rest.
    fn mark(self, out: u64, alone: bool) -> String {
        let gap = if alone { "" } else { "\n\n" };
        let (about, unit) = match self {
            Self::Bytes => ("", "byte"),
            Self::Tokens(Some(_)) => ("", "token"),
            Self::Tokens(None) => ("about ", "token"),
        };
        format!("{gap}{}", notice::text_left_out(about, out, unit))
    }
}

/// Measures a text that arrives in parts.
#[derive(Debug)]
struct Measure {
    unit: Unit,
    bytes: u64,
    counter: Option<TokenCounter>,
}

impl Measure {
    fn new(unit: Unit) -> Self {
        let counter = match unit {
            Unit::Tokens(vocabulary) => vocabulary.map(TokenCounter::new),
            Unit::Bytes => None,
        };
        Self { unit, bytes: 0, counter }
    }

    fn push(&mut self, text: &str) {
        self.bytes += text.len() as u64;
        if let Some(counter) = &mut self.counter {
            counter.push(text.as_bytes());
        }
    }

    fn finish(&mut self) -> u64 {
        match (&mut self.counter, self.unit) {
            (Some(counter), _) => counter.finish(),
            (None, Unit::Tokens(_)) => self.bytes.div_ceil(4),
            (None, Unit::Bytes) => self.bytes,
        }
    }
}

#[cfg(test)]
mod tests;
