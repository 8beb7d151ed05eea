//! The stage that writes once what items share, and applies the budget together with that.
//!
//! The document is held until it ends. A document that is too long to be held is written without factoring it.
//!
//! With a budget, the whole document is factored first. If that is too long, the budget cuts the plain document, which is
//! then factored. That leaves room, so larger budgets for the plain document are tried, and the largest one whose factored
//! document fits is written. None of them shows less than the budget of the call. While only whole items are left out,
//! what the others share is what all items of the document share.
//!
//! ```text
//! budget                                     plain document
//! ├───────────────────┼──────────────────────────┤
//! 100 B               240 B: factored 99 B       600 B: factored 210 B
//! ```

use std::fmt;

use tamis_factor::{FactorSkip, FactoredText, Survey, factor_by, survey};
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;

use super::facts::OutputFacts;
use super::omission::element;
use super::size::OutputSize;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::report::{self, Report};
use crate::spec::Budget;

/// The budgets for the plain document that are tried at most.
const TRIES: u32 = 12;

/// Creates a stage that fits a document into a budget, or only marks what `max_items` left out.
pub(super) type CreateFit = Box<dyn Fn(Option<Budget>) -> Box<dyn Stage> + Send>;

/// A form of the document.
#[derive(Debug)]
struct OutputForm {
    /// The stage that has fitted the plain document, and what it found out.
    fit: Option<Box<dyn Stage>>,
    facts: OutputFacts,
    plain: Hold,
    plain_bytes: u64,
    factored: Result<FactoredText, FactorSkip>,
    /// The size of what is written.
    size: OutputSize,
}

/// A budget for the plain document, and the size of the text that was written for it.
#[derive(Clone, Copy, Debug)]
struct Tried {
    budget: u64,
    written: u64,
}

impl Tried {
    /// Returns the budget for a text of this size, on the line through this budget, which fits, and one which does not.
    fn between(self, failed: Self, size: u64) -> u64 {
        let wide = u128::from(failed.budget.saturating_sub(self.budget));
        let rise = u128::from(failed.written.saturating_sub(self.written).max(1));
        let more = wide * u128::from(size.saturating_sub(self.written)) / rise;
        self.budget.saturating_add(u64::try_from(more).unwrap_or(u64::MAX))
    }
}

/// The stage.
pub(super) struct FactorStage {
    limits: Limits,
    policy: SizePolicy,
    create_fit: Option<CreateFit>,
    /// The place of the payload, once it is known.
    place: Option<RootPath>,
    document: Hold,
    /// Charged for the document and its forms.
    meter: Meter,
    /// The form that was chosen. `None` before the end.
    chosen: Option<OutputForm>,
    /// The document is too long: it is passed on, to a stage that fits it if there is one.
    passing: Option<Option<Box<dyn Stage>>>,
}

impl fmt::Debug for FactorStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FactorStage").field("chosen", &self.chosen).finish_non_exhaustive()
    }
}

/// A sink that holds what is written.
struct HeldOutput<'a> {
    held: Hold,
    limits: &'a Limits,
    meter: &'a mut Meter,
    failed: Option<Raise>,
}

impl Sink for HeldOutput<'_> {
    fn write(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.held.push(bytes, self.limits, self.meter).err();
        }
    }
}

impl OutputForm {
    fn is_cut(&self) -> bool {
        let mut report = Report::default();
        if let Some(fit) = &self.fit {
            fit.report(&mut report, &self.facts);
        }
        report.budget_applied
    }

    /// Returns the size of the text in the unit of the budget.
    fn measured(&self) -> u64 {
        self.size.counted.unwrap_or(self.size.bytes)
    }

    /// Returns about how many bytes or tokens the plain text has.
    fn plain_in_unit(&self) -> u64 {
        let Some(tokens) = self.size.counted else { return self.plain_bytes };
        let part =
            u128::from(self.plain_bytes) * u128::from(tokens) / u128::from(self.size.bytes.max(1));
        u64::try_from(part).unwrap_or(u64::MAX)
    }

    /// Returns whether this form has one item more than another, and nothing else is cut.
    fn follows(&self, other: &Self) -> bool {
        let are_prefixes = self.facts.prefix_mark.is_some() && other.facts.prefix_mark.is_some();
        are_prefixes && self.facts.kept == other.facts.kept + 1
    }

    /// Passes the text on.
    fn visit(&mut self, mut take: impl FnMut(&[u8]) -> bool) -> Result<(), Raise> {
        match &mut self.factored {
            Ok(text) => text.visit(take),
            Err(_) => self.plain.visit(|piece| Ok(take(piece)), |raise| raise),
        }
    }

    fn clear(&mut self, meter: &mut Meter) {
        self.plain.clear(meter);
        if let Ok(text) = &mut self.factored {
            text.clear(meter);
        }
    }
}

impl FactorStage {
    pub(super) fn new(limits: Limits, policy: SizePolicy) -> Self {
        Self {
            limits,
            policy,
            create_fit: None,
            place: None,
            document: Hold::default(),
            meter: Meter::default(),
            chosen: None,
            passing: None,
        }
    }

    /// Also fits the document into the budget.
    pub(super) fn with_fit(mut self, create: CreateFit) -> Self {
        self.create_fit = Some(create);
        self
    }

    /// Returns the form of the document for a budget of the plain document. `whole`: the survey of the document.
    fn form(
        &mut self,
        budget: Option<Budget>,
        whole: Option<&Survey>,
    ) -> Result<OutputForm, Error> {
        let length = self.document.len();
        let placed = |raise: Raise| Error::at(raise, length, String::new());
        let mut facts = OutputFacts::default();
        let Self { create_fit, place, document, limits, meter, .. } = self;
        let mut fit = create_fit.as_ref().map(|create| create(budget));
        let mut plain = if let (Some(fit), Some(place)) = (&mut fit, place) {
            let mut out = HeldOutput { held: Hold::default(), limits, meter, failed: None };
            fit.begin(place, &mut facts);
            let mut fit_meter = Meter::default();
            document.visit(
                |piece| {
                    fit.write(piece, &mut Next::sink(&mut facts, &mut fit_meter, &mut out))?;
                    Ok(true)
                },
                placed,
            )?;
            fit.end(&mut Next::sink(&mut facts, &mut fit_meter, &mut out))?;
            if let Some(raise) = out.failed {
                return Err(placed(raise));
            }
            out.held
        } else {
            // There is only this form.
            facts.filtered = length;
            std::mem::take(document)
        };
        let mark = mark_length(&plain, &facts).map_err(placed)?;
        let survey = match (whole, facts.prefix_mark) {
            (Some(whole), Some(added)) => whole.shortened(document, &plain, added),
            _ => survey(&mut plain, mark),
        };
        let factored = survey.and_then(|survey| factor_by(&mut plain, mark, survey, limits, meter));
        let factored = factored.map_err(placed)?;
        let size = OutputSize::new(&self.policy);
        let plain_bytes = plain.len();
        let mut form = OutputForm { fit, facts, plain, plain_bytes, factored, size };
        if form.factored.is_ok() {
            form.plain.clear(meter);
        }
        let mut size = OutputSize::new(&self.policy);
        form.visit(|piece| {
            size.write(piece);
            true
        })
        .map_err(placed)?;
        size.end();
        form.size = size;
        Ok(form)
    }

    /// Returns the form that shows the most.
    fn best(&mut self) -> Result<OutputForm, Error> {
        let Some(budget) = self.policy.budget.filter(|_| self.create_fit.is_some()) else {
            return self.form(None, None);
        };
        let length = self.document.len();
        let whole = survey(&mut self.document, 0)
            .map_err(|raise| Error::at(raise, length, String::new()))?;
        let mut best = self.form(Some(budget), Some(&whole))?;
        if !best.is_cut() || whole.skip().is_some() {
            return Ok(best);
        }
        let (limit, unit): (u64, fn(u64) -> Budget) = match budget {
            Budget::Bytes(bytes) => (bytes, Budget::Bytes),
            Budget::Tokens(tokens) => (tokens, Budget::Tokens),
        };
        // A whole document has no more tokens than bytes.
        let mut low = Tried { budget: limit, written: best.measured().min(limit) };
        let mut high = length.saturating_add(1).max(limit);
        let mut failed: Option<Tried> = None;
        let mut next = high;
        for tries in 0..TRIES {
            if next <= low.budget || next > high {
                break;
            }
            let mut form = self.form(Some(unit(next)), Some(&whole))?;
            let tried = Tried { budget: next, written: form.measured() };
            let fits = !form.size.exceeds(&self.policy);
            // A plain form is a choice only for the budget of the call.
            let is_better = fits && form.factored.is_ok() && !form.facts.exceeded;
            if is_better {
                std::mem::swap(&mut best, &mut form);
                low = tried;
                if !best.is_cut() {
                    form.clear(&mut self.meter);
                    break;
                }
            } else {
                high = next.saturating_sub(1);
                // A document that was not cut needs less than this budget.
                let plain = form.plain_in_unit().min(next);
                failed = Some(Tried { budget: plain, ..tried });
            }
            let is_largest = !is_better && form.follows(&best);
            form.clear(&mut self.meter);
            if is_largest {
                break;
            }
            // The next guess is right if all parts become shorter alike.
            let guess = failed.map(|failed| low.between(failed, limit));
            let middle = low.budget + (high.saturating_sub(low.budget)).div_ceil(2);
            next = match guess {
                Some(guess) if tries % 3 != 2 => guess.min(high).max(low.budget.saturating_add(1)),
                _ => middle,
            };
        }
        Ok(best)
    }

    /// Passes bytes of a document on that is too long.
    fn pass(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        match &mut self.passing {
            Some(Some(fit)) => fit.write(bytes, next),
            _ => {
                next.facts.filtered += bytes.len() as u64;
                next.write(bytes);
                Ok(())
            }
        }
    }

    /// Passes the document on that was held so far, and then all that follows.
    fn pass_held(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let length = self.document.len();
        let mut fit = self.create_fit.as_ref().map(|create| create(self.policy.budget));
        if let (Some(fit), Some(place)) = (&mut fit, &self.place) {
            fit.begin(place, next.facts);
        }
        self.passing = Some(fit);
        let mut document = std::mem::take(&mut self.document);
        let mut meter = std::mem::take(&mut self.meter);
        let drained = document.drain(
            &mut meter,
            |_, piece| self.pass(piece, next).map(|()| true),
            |raise: Raise| Error::at(raise, length, String::new()),
        );
        self.meter = meter;
        drained
    }

    /// Ends a document that was passed on.
    fn end_passed(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        match &mut self.passing {
            Some(Some(fit)) => fit.end(next),
            _ => Ok(()),
        }
    }
}

/// Returns the length of the mark that is the last element of a document, with its comma.
fn mark_length(document: &Hold, facts: &OutputFacts) -> Result<u64, Raise> {
    let Some(body) = &facts.mark else { return Ok(0) };
    let mark = element(body, false);
    let mut last = Vec::new();
    let length = mark.len() as u64;
    let start = document.len().saturating_sub(length + 1);
    while last.len() <= mark.len() {
        let mut part = Vec::new();
        let most = mark.len() + 1 - last.len();
        document.read_part(start + last.len() as u64, most, &mut part)?;
        if part.is_empty() {
            break;
        }
        last.append(&mut part);
    }
    Ok(if last.strip_suffix(b"]") == Some(mark.as_bytes()) { length } else { 0 })
}

impl Stage for FactorStage {
    fn restart(&mut self) {
        self.place = None;
    }

    fn begin(&mut self, place: &RootPath, _: &mut OutputFacts) {
        self.place = Some(place.clone());
        (self.document, self.meter) = (Hold::default(), Meter::default());
        (self.chosen, self.passing) = (None, None);
    }

    /// Holds more of the filtered document, or passes it on if it is too long.
    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        if self.passing.is_some() {
            return self.pass(bytes, next);
        }
        let before = self.document.len();
        let Err(raise) = self.document.push(bytes, &self.limits, &mut self.meter) else {
            return Ok(());
        };
        if raise.kind != ErrorKind::Limit {
            return Err(Hold::place(&self.limits, raise));
        }
        let stored = usize::try_from(self.document.len() - before).unwrap_or(0);
        self.pass_held(next)?;
        self.pass(bytes.get(stored..).unwrap_or_default(), next)
    }

    /// Writes the form that shows the most.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if self.place.is_none() {
            return Ok(());
        }
        if self.passing.is_some() {
            return self.end_passed(next);
        }
        let length = self.document.len();
        let mut form = match self.best() {
            // Another form does not fit.
            Err(error) if error.kind() == ErrorKind::Limit => {
                self.pass_held(next)?;
                return self.end_passed(next);
            }
            form => form?,
        };
        let placed = |raise: Raise| Error::at(raise, length, String::new());
        self.document.clear(&mut self.meter);
        let facts = &mut *next.facts;
        facts.filtered = form.facts.filtered;
        facts.exceeded = form.size.exceeds(&self.policy);
        if form.fit.is_some() {
            facts.kept = form.facts.kept;
        }
        self.policy.check(facts.exceeded, facts.filtered)?;
        form.visit(|piece| {
            next.write(piece);
            !next.is_closed()
        })
        .map_err(placed)?;
        form.clear(&mut self.meter);
        self.chosen = Some(form);
        Ok(())
    }

    fn report(&self, report: &mut Report, facts: &OutputFacts) {
        if self.place.is_none() {
            return;
        }
        report.held_peak_bytes += self.meter.peak();
        let (fit, factored) = match (&self.chosen, &self.passing) {
            (Some(form), _) => {
                (form.fit.as_ref(), Some(form.factored.as_ref().map(FactoredText::factored)))
            }
            (None, Some(fit)) => (fit.as_ref(), Some(Err(&FactorSkip::Size))),
            (None, None) => (None, None),
        };
        if let Some(fit) = fit {
            fit.report(report, facts);
        }
        if report.error.is_some() {
            return;
        }
        match factored {
            Some(Ok(factored)) => report.factored = Some(factored),
            Some(Err(skip)) => report.factor_skipped = Some(report::FactorSkip::of(*skip)),
            None => {}
        }
    }
}
