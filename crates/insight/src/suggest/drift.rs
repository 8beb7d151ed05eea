//! Compares samples with a filter: selected paths that no longer occur, and new heavy members in the output.

use std::collections::BTreeMap;

use serde::Serialize;

use super::rank::{Reason, candidates};
use super::root;
use super::sample::Samples;
use super::sources::path_from;
use tamis::Report;

/// The share of the output from which a member is heavy, in percent.
const HEAVY: u64 = 5;

/// A member that is a large part of the output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct HeavyMember {
    /// The path in an item of the output.
    pub path: String,
    /// The bytes of all its values in the output.
    pub bytes: u64,
    /// Its share of the output, in percent.
    pub percent: u64,
    /// Why a model does not need it.
    pub reason: String,
}

/// How samples differ from what a filter expects.
///
/// Run the filter over each sample, then add its report and push its output into [`outputs`](Self::outputs).
#[derive(Debug, Default)]
pub struct Drift {
    outputs: Samples,
    /// The runs in which each selected path was missed.
    missed: BTreeMap<String, u64>,
    runs: u64,
    unfiltered: u64,
}

/// The differences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct DriftReport {
    /// Selected paths that no sample has.
    pub missing: Vec<String>,
    /// Members of the output that the filter was not written for.
    pub heavy: Vec<HeavyMember>,
    /// The number of samples that the rules did not apply to, because nothing that they select was found.
    pub unfiltered: u64,
}

impl DriftReport {
    /// Whether there is a difference.
    #[must_use]
    pub fn is_drift(&self) -> bool {
        !self.missing.is_empty() || !self.heavy.is_empty() || self.unfiltered > 0
    }
}

impl Drift {
    /// Creates a comparison without samples.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the counts that the outputs of the filter are pushed into.
    pub fn outputs(&mut self) -> &mut Samples {
        &mut self.outputs
    }

    /// Adds the report of the run over one sample.
    pub fn add(&mut self, report: &Report) {
        self.runs += 1;
        if report.fallback.is_some() {
            self.unfiltered += 1;
        }
        for missed in &report.missed {
            *self.missed.entry(missed.path.clone()).or_default() += 1;
        }
    }

    /// Returns the differences.
    #[must_use]
    pub fn report(&self) -> DriftReport {
        let compared = self.runs - self.unfiltered;
        let missing = self.missed.iter().filter(|(_, runs)| compared > 0 && **runs >= compared);
        DriftReport {
            missing: missing.map(|(path, _)| path.clone()).collect(),
            heavy: self.heavy(),
            unfiltered: self.unfiltered,
        }
    }

    fn heavy(&self) -> Vec<HeavyMember> {
        let samples = &self.outputs;
        let payload = root::find(samples);
        let mut heavy = Vec::new();
        for this in candidates(samples, &payload) {
            let reason = match &this.reason {
                Some(Reason::Address | Reason::Template(_)) => "address",
                Some(Reason::Opaque) => "base64 or an id for programs",
                Some(Reason::Hash) => "hash",
                Some(Reason::Technical) => "for programs",
                _ => continue,
            };
            let Some(node) = samples.node(this.node).filter(|_| this.score < 1.0) else { continue };
            let percent = node.bytes * 100 / samples.bytes().max(1);
            if percent >= HEAVY {
                heavy.push(HeavyMember {
                    path: path_from(samples, payload.item, this.node),
                    bytes: node.bytes,
                    percent,
                    reason: reason.to_owned(),
                });
            }
        }
        heavy
    }
}
