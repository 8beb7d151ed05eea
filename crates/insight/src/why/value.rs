//! One value: whether it is still at its place after each rule.

use std::hash::{DefaultHasher, Hasher};

use tamis::{CallOptions, Filter, Limits, Program, Sink, Spec};
use tamis_json::error::Error;
use tamis_json::path::Path;

use super::{RuleEffect, ValueFate, ValueOutcome};

/// The value that is asked about.
#[derive(Debug)]
pub(super) struct TracedValue {
    asked: String,
    /// Its place in the document after the last rule.
    pointer: Path,
    /// The value there.
    value: Option<Fingerprint>,
    /// `None`: the input is not read yet.
    outcome: Option<ValueOutcome>,
    /// The rule that decided it.
    rule: Option<String>,
}

/// The parts of a document that a rule may have changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentChange {
    /// Values at their places.
    Members,
    /// The places of elements, too.
    Elements,
    /// Its form.
    Form,
}

/// Enough of a value to see that it is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint {
    first: u8,
    hash: u64,
}

impl Fingerprint {
    /// Returns whether a rule replaced or cut the value. A container is the same one without some of its members.
    fn is_another(self, before: Self) -> bool {
        self.first != before.first || !matches!(self.first, b'{' | b'[') && self != before
    }
}

impl TracedValue {
    pub(super) fn new(pointer: &str) -> Result<Self, Error> {
        let path =
            Path::pointer(pointer).map_err(|error| Error::spec(error.line("why", pointer)))?;
        Ok(Self {
            asked: pointer.to_owned(),
            pointer: path,
            value: None,
            outcome: None,
            rule: None,
        })
    }

    /// Records that the document is now the value at a path.
    pub(super) fn enter(&mut self, path: &Path, rule: &str) {
        match self.pointer.0.strip_prefix(path.0.as_slice()) {
            Some(rest) => self.pointer = Path(rest.to_vec()),
            None if self.value.take().is_some() => {
                (self.outcome, self.rule) = (Some(ValueOutcome::Removed), Some(rule.to_owned()));
            }
            None => {}
        }
    }

    /// Returns a search for the value, unless its fate is known.
    pub(super) fn probe(&self, limits: &Limits) -> Option<ValueProbe> {
        let is_open = self.value.is_some() || self.outcome.is_none();
        is_open.then(|| ValueProbe::new(&self.pointer, limits)).flatten()
    }

    /// Records the value that is at the place after a rule.
    pub(super) fn step(&mut self, now: Option<Fingerprint>, rule: &str, change: DocumentChange) {
        let is_other_form = change == DocumentChange::Form;
        let has_index = self.pointer.0.iter().any(|step| step.index().is_some());
        let is_elsewhere = change == DocumentChange::Elements && has_index;
        let outcome = match (self.value, now) {
            (None, _) if self.outcome.is_some() => return,
            (Some(_), _) if is_elsewhere => ValueOutcome::Unfollowed,
            (None, None) if !is_other_form => ValueOutcome::Missing,
            (None, Some(_)) if !is_other_form => ValueOutcome::Kept,
            (Some(before), Some(now)) if !now.is_another(before) => return,
            (Some(_), Some(_)) => ValueOutcome::Changed,
            (Some(_), None) if !is_other_form => ValueOutcome::Removed,
            (_, _) => ValueOutcome::Rewritten,
        };
        self.outcome = Some(outcome);
        let is_decided = !matches!(outcome, ValueOutcome::Missing | ValueOutcome::Kept);
        self.rule = is_decided.then(|| rule.to_owned());
        self.value = now.filter(|_| outcome != ValueOutcome::Unfollowed);
    }

    /// Returns what became of the value.
    pub(super) fn fate(self, rules: &[RuleEffect]) -> ValueFate {
        let effect = rules.iter().find(|effect| Some(&effect.rule) == self.rule.as_ref());
        let text = effect.map(|effect| effect.text.clone()).filter(|text| !text.is_empty());
        let outcome = self.outcome.unwrap_or(ValueOutcome::Missing);
        let output_pointer = self.value.map(|_| self.pointer.to_pointer());
        ValueFate { pointer: self.asked, outcome, rule: self.rule, text, output_pointer }
    }
}

/// Looks for a value in a document while it is written.
pub(super) struct ValueProbe {
    filter: Filter<ValueHash>,
    failed: bool,
}

/// The value, as far as it is read.
#[derive(Default)]
struct ValueHash {
    first: Option<u8>,
    hasher: DefaultHasher,
}

impl Sink for ValueHash {
    fn write(&mut self, bytes: &[u8]) {
        self.first = self.first.or(bytes.first().copied());
        self.hasher.write(bytes);
    }
}

impl ValueProbe {
    fn new(pointer: &Path, limits: &Limits) -> Option<Self> {
        let at = pointer.to_pointer();
        let spec = if at.is_empty() { Spec::new() } else { Spec::new().extract(at) };
        let program = Program::compile(&spec).ok()?;
        let options = CallOptions::new().with_limits(limits.clone());
        let filter = Filter::new(program.with_options(&options), ValueHash::default());
        Some(Self { filter, failed: false })
    }

    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.failed = self.failed || self.filter.write(bytes).is_err();
    }

    /// Returns the value, if there is one.
    pub(super) fn end(mut self) -> Option<Fingerprint> {
        if self.failed || self.filter.end().is_err() {
            return None;
        }
        let ValueHash { first, hasher } = self.filter.into_sink();
        first.map(|first| Fingerprint { first, hash: hasher.finish() })
    }
}
