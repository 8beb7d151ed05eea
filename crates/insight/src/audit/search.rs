//! The search: which documents are tried, in which order, and what becomes of a leak.
//!
//! ```text
//! for each place     the plain documents, in every way to call a filter
//!                    each single shape, whole and in one other way
//! then               two or three shapes at random
//! ```

use std::collections::HashSet;
use std::time::Instant;

use super::calls::CallForm;
use super::minimise::minimise;
use super::places::Plan;
use super::planted::{Canary, Place, Planted};
use super::random::Random;
use super::remedies::{Remedies, Remedy};
use super::report::{AuditReport, Finding, Weakness};
use super::shapes::Shape;
use tamis::{Program, WhenBranch};

/// The most leaks of one place that are examined.
const MAX_EXAMINED: usize = 60;
/// The number of documents with several shapes.
const COMBINATIONS: u64 = 2000;
/// The longest input and output in a finding, in bytes.
const MAX_SHOWN: usize = 2000;

/// One search over a spec.
pub(super) struct Search<'a> {
    pub(super) plan: Plan<'a>,
    program: &'a Program,
    canary: &'a Canary,
    random: Random,
    remedies: Option<Remedies>,
    report: AuditReport,
    known: HashSet<(Weakness, String)>,
    /// The leaks that were examined: place, shapes and call.
    examined: HashSet<(usize, Vec<std::mem::Discriminant<Shape>>, CallForm)>,
    examined_of: Vec<usize>,
    max_documents: u64,
    deadline: Option<Instant>,
}

impl<'a> Search<'a> {
    pub(super) fn new(
        plan: Plan<'a>,
        program: &'a Program,
        canary: &'a Canary,
        random: Random,
    ) -> Self {
        let places = plan.places.len();
        let attacked: HashSet<usize> = plan.planted.iter().map(|planted| planted.place).collect();
        let attacked = attacked.len();
        Self {
            plan,
            program,
            canary,
            random,
            remedies: None,
            report: AuditReport { places: attacked as u64, ..AuditReport::default() },
            known: HashSet::new(),
            examined: HashSet::new(),
            examined_of: vec![0; places],
            max_documents: u64::MAX,
            deadline: None,
        }
    }

    /// Sets the limits of the search.
    pub(super) fn within(mut self, max_documents: u64, deadline: Option<Instant>) -> Self {
        self.max_documents = max_documents;
        self.deadline = deadline;
        self
    }

    /// Searches, and returns what was found.
    pub(super) fn run(mut self) -> AuditReport {
        let planted = std::mem::take(&mut self.plan.planted);
        let is_complete = self.plain(&planted) && self.shaped(&planted);
        self.mixed(&planted);
        self.report.complete = is_complete && self.plan.skipped == 0;
        self.report.findings.sort_by_key(|finding| finding.weakness);
        self.report
    }

    /// Tries the documents without shapes. Returns whether there was time for all of them.
    fn plain(&mut self, planted: &[Planted]) -> bool {
        planted.iter().all(|base| CallForm::ALL.iter().all(|form| self.attempt(base, base, *form)))
    }

    /// Tries each shape by itself.
    fn shaped(&mut self, planted: &[Planted]) -> bool {
        planted.iter().all(|base| {
            self.shapes(base).iter().all(|shape| {
                let Some(changed) = shape.apply(base, self.canary) else { return true };
                let other = self.random.below(CallForm::ALL.len());
                let other = CallForm::ALL.get(other).copied().unwrap_or(CallForm::Bytes);
                self.attempt(base, &changed, CallForm::Whole) && self.attempt(base, &changed, other)
            })
        })
    }

    /// Tries combinations of shapes.
    fn mixed(&mut self, planted: &[Planted]) {
        let mut tries = COMBINATIONS;
        while tries > 0 && !planted.is_empty() {
            tries -= 1;
            let Some(base) = planted.get(self.random.below(planted.len())) else { return };
            let mut changed = base.clone();
            for _ in 0..2 + self.random.below(2) {
                let shapes = self.shapes(&changed);
                let Some(shape) = shapes.get(self.random.below(shapes.len())) else { break };
                let Some(next) = shape.apply(&changed, self.canary) else { continue };
                changed = next;
                if shape.copies() {
                    break;
                }
            }
            let form = CallForm::ALL.get(self.random.below(CallForm::ALL.len()));
            if !self.attempt(base, &changed, form.copied().unwrap_or(CallForm::Whole)) {
                return;
            }
        }
    }

    fn shapes(&self, planted: &Planted) -> Vec<Shape> {
        let place = self.plan.places.get(planted.place);
        place.map(|place| Shape::of(planted, place)).unwrap_or_default()
    }

    /// Runs a document. Returns whether there is time for another one.
    fn attempt(&mut self, base: &Planted, planted: &Planted, form: CallForm) -> bool {
        let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        if is_late || self.report.documents >= self.max_documents {
            return false;
        }
        self.report.documents += 1;
        let ran = form.run(self.program, &planted.document.text());
        self.report.refused += u64::from(ran.is_error);
        let is_expected = match (&ran.branch, planted.branch) {
            (Some(branch), Some(number)) => {
                matches!(branch, WhenBranch::Otherwise) || *branch == WhenBranch::Number(number)
            }
            _ => true,
        };
        if is_expected && self.canary.is_in(&ran.output) {
            self.examine(base, planted, form);
        }
        true
    }

    /// Finds out why a value leaves, and adds a finding if that is new.
    fn examine(&mut self, base: &Planted, planted: &Planted, form: CallForm) {
        let shapes = planted.shapes.iter().map(std::mem::discriminant).collect();
        let Some(count) = self.examined_of.get_mut(planted.place) else { return };
        if *count == MAX_EXAMINED || !self.examined.insert((planted.place, shapes, form)) {
            return;
        }
        *count += 1;
        let Some(place) = self.plan.places.get(planted.place).cloned() else { return };
        // The simplest call is the easiest to understand.
        let document = planted.document.text();
        let leaks_whole = CallForm::Whole.leaks(self.program, &document, self.canary);
        let form = if leaks_whole { CallForm::Whole } else { form };
        let remedies = self.remedies.get_or_insert_with(|| Remedies::new(self.program));
        let remedy = remedies.find(&place, planted, base, form, self.canary);
        let (weakness, text) = match &remedy {
            Some(remedy) => (remedy.weakness, remedy.text.clone()),
            None => unexplained(&place, planted, form),
        };
        if !self.known.insert((weakness, place.rule.clone())) {
            return;
        }
        let (program, canary) = (self.program, self.canary);
        let smallest =
            minimise(planted.clone(), &canary.value(place.kind), &|candidate: &Planted| {
                let document = candidate.document.text();
                form.leaks(program, &document, canary)
                    && is_stopped(remedy.as_ref(), form, &document, canary)
            });
        let document = smallest.document.text();
        let output = form.run(program, &document).output;
        let mut how: Vec<String> = planted.shapes.iter().map(ToString::to_string).collect();
        if form != CallForm::Whole {
            how.push(form.to_string());
        }
        self.report.findings.push(Finding {
            weakness,
            rule: place.rule,
            path: place.path,
            document: shown(form.input(&document)),
            output: shown(String::from_utf8_lossy(&output).into_owned()),
            how,
            remedy: text,
        });
    }
}

fn is_stopped(remedy: Option<&Remedy>, form: CallForm, document: &str, canary: &Canary) -> bool {
    remedy.is_none_or(|remedy| !form.leaks(&remedy.program, document, canary))
}

/// Returns the weakness of a leak that no change of a setting stops.
fn unexplained(place: &Place, planted: &Planted, form: CallForm) -> (Weakness, String) {
    if planted.shapes.iter().any(Shape::is_string) {
        let text = "name the strings that hold JSON (`json_strings`), or list what may leave (`retain`, or `select` \
                    with `on_error: closed`)";
        return (Weakness::JsonString, text.to_owned());
    }
    if place.has_index && planted.shapes.iter().any(Shape::moves_elements) {
        let text =
            "name no single element: a path without the index also reaches the elements of arrays";
        return (Weakness::OneElement, text.to_owned());
    }
    let text = "list what may leave (`retain`, or `select` with `on_error: closed`)";
    if form == CallForm::Failed {
        return (Weakness::FailedCall, text.to_owned());
    }
    (Weakness::Unexplained, text.to_owned())
}

/// Shortens a text for a report.
fn shown(text: String) -> String {
    if text.len() <= MAX_SHOWN {
        return text;
    }
    let end = (0..=MAX_SHOWN).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    format!("{}…", text.get(..end).unwrap_or_default())
}
