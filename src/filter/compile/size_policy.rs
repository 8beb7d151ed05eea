//! The size of the output that a spec and a call ask for.

use tamis_json::error::{Error, ErrorKind, Raise};

use tamis_json::tokens::{CountTokens, TokenCounter};

use super::call::CallPolicy;
use crate::spec::{self, Encode, Omitted, OnOver, Prefer, Spec};

/// The budget and its settings.
#[derive(Clone, Copy, Debug)]
pub(in crate::filter) struct SizePolicy {
    pub(in crate::filter) budget: Option<spec::Budget>,
    /// Counts the tokens of the budget. `None`: they are estimated.
    pub(in crate::filter) tokens: Option<&'static dyn CountTokens>,
    /// The number of items that are kept whatever the budget.
    pub(in crate::filter) min_items: u64,
    /// `None`: omissions of a budget are marked, omissions of `max_items` are not.
    pub(in crate::filter) omitted: Option<Omitted>,
    pub(in crate::filter) on_over: OnOver,
    /// The part that the budget keeps of a document that is too long.
    pub(in crate::filter) prefer: Prefer,
    /// The elements of the payload are written as lines. A mark is not one of them.
    pub(in crate::filter) lines: bool,
    /// A summary is written without the document around it.
    pub(in crate::filter) only_summary: bool,
    /// The output has once what its items share.
    pub(in crate::filter) factor: bool,
}

/// A budget in tokens that are counted.
#[derive(Clone, Copy, Debug)]
pub(in crate::filter) struct TokenLimit {
    pub(in crate::filter) most: u64,
    vocabulary: &'static dyn CountTokens,
}

impl TokenLimit {
    /// Creates a counter for a text.
    pub(in crate::filter) fn counter(self) -> TokenCounter {
        TokenCounter::new(self.vocabulary)
    }
}

/// The estimated number of bytes of a token, if tokens are not counted.
pub(in crate::filter) const BYTES_PER_TOKEN: u64 = 4;

impl SizePolicy {
    /// Returns the budget, if it is in tokens that are counted.
    pub(in crate::filter) fn token_limit(&self) -> Option<TokenLimit> {
        match (self.budget, self.tokens) {
            (Some(spec::Budget::Tokens(most)), Some(vocabulary)) => {
                Some(TokenLimit { most, vocabulary })
            }
            _ => None,
        }
    }

    /// Returns the largest number of bytes that the budget allows.
    pub(in crate::filter) fn most_bytes(&self) -> u64 {
        match self.budget {
            None => u64::MAX,
            Some(spec::Budget::Bytes(bytes)) => bytes,
            Some(spec::Budget::Tokens(tokens)) => {
                let longest =
                    self.tokens.map_or(BYTES_PER_TOKEN, |vocabulary| vocabulary.longest());
                tokens.saturating_mul(longest)
            }
        }
    }

    /// Returns the policy of the spec, overridden by that of the call.
    pub(in crate::filter) fn new(spec: &Spec, call: CallPolicy) -> Self {
        Self {
            budget: call.budget.or(spec.budget),
            tokens: call.tokens,
            min_items: call.min_items.or(spec.min_items).unwrap_or(1),
            // Tables have no marks.
            omitted: if matches!(spec.encode, Encode::Csv | Encode::Markdown) {
                Some(Omitted::Silent)
            } else {
                let silent = || spec.foreign.then_some(Omitted::Silent);
                call.omitted.or(spec.omitted).or_else(silent)
            },
            on_over: call.on_over.or(spec.on_over).unwrap_or_default(),
            prefer: call.prefer.or(spec.prefer).unwrap_or_default(),
            lines: call.lines,
            only_summary: call.only_summary,
            factor: call.factor.unwrap_or(spec.factor),
        }
    }

    /// Returns whether the output is limited or has marks.
    pub(in crate::filter) fn applies(&self, spec: &Spec) -> bool {
        self.budget.is_some() || self.marks_max_items(spec)
    }

    /// Returns an error if the output exceeds its budget and `on_over` is `error`. `bytes`: the size of the filtered
    /// document.
    pub(in crate::filter) fn check(&self, exceeded: bool, bytes: u64) -> Result<(), Error> {
        if !exceeded || self.on_over == OnOver::Warn {
            return Ok(());
        }
        let message = "the output exceeds its budget and cannot be shortened further";
        Err(Error::at(Raise::new(ErrorKind::Budget, message), bytes, String::new()))
    }

    /// Returns whether a mark reports the items that `max_items` left out.
    pub(in crate::filter) fn marks_max_items(&self, spec: &Spec) -> bool {
        self.omitted == Some(Omitted::Mark) && spec.max_items > 0
    }
}
