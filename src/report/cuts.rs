//! The parts that a budget left out which prefers information.

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
    /// The numbers of the first and the last one in the first gap, counted from 0.
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
