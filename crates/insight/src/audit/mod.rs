//! Attacks a filter with hostile documents, to find values that leave although a rule removes them.
//!
//! A person who writes `exclude: [ssn]` relies on it. Whether they can depends on the other rules: on the root, on what
//! happens to a document that the rules do not fit, on JSON inside strings. An [`Audit`] tries it out. It plants a unique
//! value at every place that the rules remove, in documents made from the paths of the rules and in samples. It changes
//! these documents as an attacker could: escapes in keys, duplicate members, another order, arrays in place of objects and
//! the reverse, JSON in strings, lines of NDJSON, other arrays for an automatic root, missing members, failed calls. If a
//! planted value leaves, it looks for the change of the rules that stops it, and makes the document as small as
//! possible.
//!
//! ```
//! use tamis::Spec;
//! use tamis_insight::audit::{Audit, Weakness};
//!
//! let report = Audit::new(&Spec::new().exclude("ssn")).run()?;
//! assert!(report.findings.iter().any(|finding| finding.weakness == Weakness::AutoRoot));
//!
//! let report = Audit::new(&Spec::new().retain("/users/id")).run()?;
//! assert!(report.places > 0 && report.findings.is_empty());
//! # Ok::<(), tamis::Error>(())
//! ```
//!
//! Audited are the rules that remove for safety: `exclude`, the paths of `redact`, `retain`, operations of `patches` that remove, all of these in
//! branches of `when` and in `json_strings`, and `select` with `on_error: closed`. Rules that only save, such as
//! `max_items` and an open `select`, are not. Raw output is requested as a model would request it (see
//! [`Spec::allows_raw_for_models`](tamis::Spec::allows_raw_for_models)).
//!
//! An audit without findings is not a proof. It shows that none of the known ways was open.

// ```text
// Spec ─▶ places ─▶ planted documents ─▶ shapes ─▶ calls ─▶ leak? ─▶ remedies ─▶ minimise ─▶ Finding
//                                          └── search decides the order ──┘
// ```

mod calls;
mod minimise;
mod places;
mod planted;
mod random;
mod remedies;
mod report;
mod search;
mod shapes;
#[cfg(test)]
mod tests;
mod value;

use std::time::{Duration, Instant};

use calls::CallForm;
use places::Plan;
use planted::{Canary, Planted};
use random::Random;
pub use report::{AuditReport, Finding, PlantedDocument, Weakness};
use search::Search;
use tamis_json::error::Error;
use value::Json;

use tamis::Program;
use tamis::Spec;

/// The most samples that are used.
const MAX_SAMPLES: usize = 8;

/// An attack on one spec. Equal settings have equal results, unless the time is too short.
#[derive(Clone, Debug)]
pub struct Audit {
    spec: Spec,
    seed: u64,
    max_documents: u64,
    time: Option<Duration>,
    samples: Vec<Json>,
}

impl Audit {
    /// Creates an attack on a spec.
    #[must_use]
    pub fn new(spec: &Spec) -> Self {
        let spec = spec.clone();
        Self { spec, seed: 0, max_documents: 50_000, time: None, samples: Vec::new() }
    }

    /// Sets the seed of the planted values and of combinations.
    ///
    /// ### Default
    /// 0.
    #[must_use]
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// Sets the maximum number of documents that are filtered.
    ///
    /// ### Default
    /// 50,000.
    #[must_use]
    pub fn with_max_documents(mut self, documents: u64) -> Self {
        self.max_documents = documents;
        self
    }

    /// Sets the time after which no further document is tried.
    ///
    /// ### Default
    /// None.
    #[must_use]
    pub fn with_time(mut self, time: Duration) -> Self {
        self.time = Some(time);
        self
    }

    /// Adds a response of the tool, in which values are planted as well. Long arrays, objects and strings are shortened.
    /// A text that is not one JSON document is ignored, and so is every sample after the eighth.
    #[must_use]
    pub fn with_sample(mut self, sample: &str) -> Self {
        if self.samples.len() < MAX_SAMPLES {
            self.samples.extend(Json::parse(sample));
        }
        self
    }

    /// Returns the plain documents of the attack, one for each place and form of the payload, for programs that apply
    /// the same rules in another way, such as a gateway.
    ///
    /// ```
    /// use tamis::Spec;
    /// use tamis_insight::audit::Audit;
    ///
    /// let documents = Audit::new(&Spec::new().retain("/id")).documents()?;
    /// assert!(documents.iter().any(|one| one.text == format!("{{\"secret\":\"canary-{}\",\"id\":1}}", one.canary)));
    /// # Ok::<(), tamis::Error>(())
    /// ```
    ///
    /// # Errors
    /// The spec cannot be compiled.
    pub fn documents(&self) -> Result<Vec<PlantedDocument>, Error> {
        let program = Program::compile(&self.spec)?;
        let canary = Canary::new(&mut Random::new(self.seed));
        let plan = Plan::new(&self.spec, &self.samples, &canary);
        let document = |planted: &Planted| {
            let place = plan.places.get(planted.place)?;
            let text = planted.document.text();
            Some(PlantedDocument {
                rule: place.rule.clone(),
                path: place.path.clone(),
                leaks: CallForm::ALL.iter().any(|form| form.leaks(&program, &text, &canary)),
                text,
                value: canary.text(place.kind),
                canary: canary.digits().to_owned(),
            })
        };
        Ok(plan.planted.iter().filter_map(document).collect())
    }

    /// Runs the attack.
    ///
    /// # Errors
    /// The spec cannot be compiled.
    pub fn run(&self) -> Result<AuditReport, Error> {
        let program = Program::compile(&self.spec)?;
        let deadline = self.time.and_then(|time| Instant::now().checked_add(time));
        let mut random = Random::new(self.seed);
        let canary = Canary::new(&mut random);
        let plan = Plan::new(&self.spec, &self.samples, &canary);
        let search = Search::new(plan, &program, &canary, random);
        Ok(search.within(self.max_documents, deadline).run())
    }
}
