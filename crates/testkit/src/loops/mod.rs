//! Inputs for the comparison of the JSON machine's loops with its walk: documents, specs and cuts.
//!
//! The loops handle plain members and elements faster than the walk does. They must not change a result. So the documents mostly
//! consist of what the loops handle, and everything that must stop a loop occurs at any place of it.

pub mod documents;
pub mod specs;

use crate::prng::Choices;

/// Names that are frequent in a document and in its spec, so that most objects have the members that the rules name.
#[derive(Clone, Copy, Debug)]
pub struct Focus([&'static str; 3]);

impl Focus {
    pub fn new(choices: &mut impl Choices) -> Self {
        Self([(); 3].map(|()| choices.pick(&documents::NAMES)))
    }

    /// Returns one of these names or, less often, any other.
    pub fn name(self, choices: &mut impl Choices) -> &'static str {
        if choices.one_in(4) { choices.pick(&documents::NAMES) } else { choices.pick(&self.0) }
    }
}

/// One comparison.
#[derive(Clone, Debug)]
pub struct LoopTrial {
    pub focus: Focus,
    pub document: Vec<u8>,
    /// The spec as JSON.
    pub spec: String,
    /// The limit for the length of keys, if it is not the default.
    pub key: Option<usize>,
    /// The limit for nested containers, if it is not the default.
    pub depth: Option<usize>,
    /// Where to cut the document, once for each run. The first run is not cut.
    pub cuts: Vec<Vec<usize>>,
}

impl LoopTrial {
    /// Generates a comparison.
    pub fn new(choices: &mut impl Choices) -> Self {
        let key = key_limit(choices);
        let focus = Focus::new(choices);
        let document = documents::document(choices, focus, key.unwrap_or(documents::LONG_KEY));
        Self::about(choices, focus, document, key)
    }

    /// Generates the rest of a comparison from a document.
    fn about(
        choices: &mut impl Choices,
        focus: Focus,
        document: Vec<u8>,
        key: Option<usize>,
    ) -> Self {
        let spec = specs::spec(choices, focus);
        let depth = choices.pick(&[None, None, None, None, None, None, Some(1), Some(3), Some(64)]);
        let cuts = cuts(choices, document.len());
        Self { focus, document, spec, key, depth, cuts }
    }

    /// Reads a comparison from the input of a fuzzer: the number of bytes with choices, these bytes, and a document. If there is
    /// no document, it is generated.
    pub fn from_bytes(data: &[u8]) -> Self {
        let (length, data) = data.split_first().unwrap_or((&0, &[]));
        let (choices, rest) = data.split_at(data.len().min(usize::from(*length)));
        let mut choices = ByteChoices { rest: choices };
        let key = key_limit(&mut choices);
        let focus = Focus::new(&mut choices);
        let document = if rest.is_empty() || choices.one_in(3) {
            let limit = key.unwrap_or(documents::LONG_KEY);
            documents::document(&mut ByteChoices { rest }, focus, limit)
        } else if choices.one_in(4) {
            // The document begins anywhere in a window.
            let mut shifted = vec![b' '; choices.below(4200)];
            shifted.extend_from_slice(rest);
            shifted
        } else {
            rest.to_vec()
        };
        Self::about(&mut choices, focus, document, key)
    }
}

/// Loops require that no key of a window can exceed the limit, so limits around the length of a window matter.
fn key_limit(choices: &mut impl Choices) -> Option<usize> {
    match choices.below(12) {
        0..=8 => None,
        9 => Some(4095),
        10 => Some(4096),
        _ => Some(choices.pick(&[8, 1, 3, 12, 40])),
    }
}

/// No cut, single bytes in a stretch, one cut, and a few cuts.
fn cuts(choices: &mut impl Choices, length: usize) -> Vec<Vec<usize>> {
    const STRETCH: usize = 100;
    let from = 1 + choices.below(length.saturating_sub(STRETCH));
    let mut few: Vec<usize> =
        (0..1 + choices.below(6)).map(|_| choices.below(length + 1)).collect();
    few.sort_unstable();
    let bytes = (from..(from + STRETCH).min(length)).collect();
    vec![vec![], bytes, vec![choices.below(length + 1)], few]
}

/// The bytes of a fuzzer as choices. After the last byte every choice is the first one.
struct ByteChoices<'a> {
    rest: &'a [u8],
}

impl Choices for ByteChoices<'_> {
    fn next_u64(&mut self) -> u64 {
        let (taken, rest) = self.rest.split_at(self.rest.len().min(8));
        self.rest = rest;
        taken.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn below(&mut self, bound: usize) -> usize {
        let bytes = if bound > 256 { 2 } else { 1 };
        let (taken, rest) = self.rest.split_at(self.rest.len().min(bytes));
        self.rest = rest;
        let number = taken.iter().fold(0, |number, byte| number << 8 | usize::from(*byte));
        if bound == 0 { 0 } else { number % bound }
    }

    fn one_in(&mut self, odds: usize) -> bool {
        !self.rest.is_empty() && self.below(odds) == 0
    }
}
