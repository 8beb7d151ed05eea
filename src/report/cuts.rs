//! The parts that a budget left out which prefers information.

use std::fmt;

use serde::Serialize;

/// The parts that a budget left out with [`Prefer::Information`](crate::spec::Prefer::Information). Each number is exact. Only
/// containers that are shown count, and not what is in children that are missing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct BudgetCuts {
    /// The number of elements that are missing from arrays.
    pub items: u64,
    /// The number of members that are missing from objects.
    pub members: u64,
    /// The number of strings that are shown in part.
    pub strings: u64,
    /// The place with the most bytes left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest: Option<CutPlace>,
    /// The parts that were kept, by the reason why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<KeptParts>,
}

impl BudgetCuts {
    /// Adds what was left out of another document.
    pub(crate) fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.members += other.members;
        self.strings += other.strings;
        if self.largest.is_none() {
            self.largest.clone_from(&other.largest);
        }
        for parts in &other.kept {
            match self.kept.iter_mut().find(|kept| kept.reason == parts.reason) {
                Some(kept) => {
                    kept.parts += parts.parts;
                    kept.bytes += parts.bytes;
                    kept.has_more |= parts.has_more || parts.at != kept.at;
                }
                None => self.kept.push(parts.clone()),
            }
        }
    }
}

/// The most places that are named for a reason.
const MOST_PLACES: usize = 3;

/// Parts of a document that a budget kept for one reason: values, short values that follow each other, and passages of strings.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct KeptParts {
    /// Why they were kept.
    pub reason: KeptReason,
    /// Their number.
    pub parts: u64,
    /// Their size in the filtered document.
    pub bytes: u64,
    /// Where the first of them are, as JSON Pointers: at most three places.
    pub at: Vec<String>,
    /// Whether some are at other places.
    #[serde(skip)]
    pub(crate) has_more: bool,
}

/// One line: `kept 12 parts (810 bytes) at /items/0, /items/4, /items/8 and on: evenly spread`.
impl fmt::Display for KeptParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { reason, parts, bytes, at, has_more } = self;
        let noun = if *parts == 1 { "part" } else { "parts" };
        write!(f, "kept {parts} {noun} ({bytes} bytes)")?;
        let places: Vec<&str> = at.iter().map(String::as_str).filter(|at| !at.is_empty()).collect();
        if !places.is_empty() {
            write!(f, " at {}", places.join(", "))?;
        }
        if *has_more {
            f.write_str(" and on")?;
        }
        write!(f, ": {}", reason.description())
    }
}

impl KeptParts {
    /// The most places that are named.
    pub(crate) const MOST_PLACES: usize = MOST_PLACES;

    pub(crate) fn new(reason: KeptReason) -> Self {
        Self { reason, parts: 0, bytes: 0, at: Vec::new(), has_more: false }
    }
}

/// Why a budget kept a part of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum KeptReason {
    /// It is around the list whose items are spread.
    Around,
    /// It is in one of the items that are evenly spread over a list.
    Spread,
    /// It reports a failure, in a log.
    Failure,
    /// It is the beginning or the end of a long string.
    End,
    /// It has a word of the call.
    Query,
    /// It has the most new names, numbers and words for each byte.
    Information,
}

impl KeptReason {
    /// Describes the reason.
    #[must_use]
    pub fn description(self) -> &'static str {
        match self {
            Self::Around => "around the list",
            Self::Spread => "evenly spread",
            Self::Failure => "failures",
            Self::End => "beginning or end of a text",
            Self::Query => "words of the call",
            Self::Information => "most new words",
        }
    }
}

/// A container or a string of which a part was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct CutPlace {
    /// Its place in the filtered document, as a JSON Pointer.
    pub pointer: String,
    /// The unit of the numbers.
    pub unit: CutPlaceUnit,
    /// How many of them are shown, and of how many.
    pub shown: u64,
    /// The number before the cut.
    pub of: u64,
    /// The numbers of the first and the last one that is left out, counted from 0. Others between them may be shown.
    pub gap: (u64, u64),
}

/// The parts of a place that are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CutPlaceUnit {
    /// Elements of an array.
    Items,
    /// Members of an object.
    Members,
    /// Bytes of the text of a string, without escapes.
    Bytes,
}
