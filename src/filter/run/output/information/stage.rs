//! [`InformationStage`]: holds the document, and writes the largest choice of its parts that fits.

use std::fmt;
use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_text::words::Query;

use super::super::facts::OutputFacts;
use super::super::size::OutputSize;
use super::document::ValueList;
use super::layout::{Layout, PayloadFacts, Shown};
use super::ranking::Ranking;
use super::scored::{LastScored, ScoredDocument};
use crate::filter::compile::size_policy::{SizePolicy, TokenLimit};
use crate::filter::run::payload_length::{PayloadItems, PayloadLength};
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::report::{PreferSkip, Report};
use crate::spec::Omitted;

/// Creates the stage that keeps the first items.
pub(in crate::filter::run::output) type CreateOrder = Box<dyn Fn() -> Box<dyn Stage> + Send>;

/// The most bytes of a document: offsets have 32 bits.
const LONGEST: u64 = 1 << 30;
/// The least share of a budget in tokens, in thousandths, with which the search for a larger choice ends, and its most tries.
const FULL: u64 = 985;
const TRIES: u32 = 8;
/// The bytes of a token that are tried first.
const BYTES_OF_TOKEN: u64 = 4;

/// The stage.
pub(in crate::filter::run::output) struct InformationStage {
    policy: SizePolicy,
    query: Query,
    length: PayloadLength,
    create_order: CreateOrder,
    /// The last document, if others of these stages fit it, too.
    last: Option<LastScored>,
    /// The limits of what is held: only memory is used.
    limits: Limits,
    meter: Meter,
    place: Option<RootPath>,
    held: Hold,
    /// The stage that the document is left to, and why.
    order: Option<Box<dyn Stage>>,
    skipped: Option<PreferSkip>,
    shown: Option<Shown>,
}

impl fmt::Debug for InformationStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InformationStage").field("skipped", &self.skipped).finish_non_exhaustive()
    }
}

impl InformationStage {
    pub(in crate::filter::run::output) fn new(
        policy: SizePolicy,
        query: Query,
        length: PayloadLength,
        limits: &Limits,
        create_order: CreateOrder,
        last: Option<LastScored>,
    ) -> Self {
        let limits = limits.clone().with_spill(0).with_held(limits.held().min(LONGEST));
        Self {
            policy,
            query,
            length,
            create_order,
            last,
            limits,
            meter: Meter::default(),
            place: None,
            held: Hold::default(),
            order: None,
            skipped: None,
            shown: None,
        }
    }

    /// Leaves the document to the budget that keeps the first items.
    fn leave(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let mut order = (self.create_order)();
        if let Some(place) = &self.place {
            order.begin(place, next.facts);
        }
        let length = self.held.len();
        let mut held = std::mem::take(&mut self.held);
        let drained = held.drain(
            &mut self.meter,
            |_, piece| order.write(piece, next).map(|()| true),
            |raise: Raise| Error::at(raise, length, String::new()),
        );
        self.order = Some(order);
        drained
    }

    /// Returns about how many bytes a choice may have.
    fn room(&self) -> u64 {
        match self.policy.token_limit() {
            Some(limit) => limit.most.saturating_mul(BYTES_OF_TOKEN),
            None => self.policy.most_bytes(),
        }
    }

    /// Reads the document, unless it fits.
    fn read(&mut self) -> Result<Option<Arc<ScoredDocument>>, Error> {
        let length = self.held.len();
        if length <= self.policy.most_bytes() {
            let mut size = OutputSize::new(&self.policy);
            self.held.visit(
                |piece| {
                    size.write(piece);
                    Ok(true)
                },
                |raise| Error::at(raise, length, String::new()),
            )?;
            size.end();
            if !size.exceeds(&self.policy) {
                return Ok(None);
            }
        }
        let room = self.room();
        let Some(place) = &self.place else { return Ok(None) };
        let (held, query) = (&mut self.held, &self.query);
        match &self.last {
            Some(last) => last.get(held, place, room, query),
            None => ScoredDocument::read(held, place, room, query).map(Arc::new),
        }
        .map(Some)
    }

    /// Returns the largest choice that fits, laid out. `None`: the smallest choice does not.
    fn choose<'a>(&mut self, document: &'a ScoredDocument) -> Option<(Layout<'a>, u32)> {
        let ScoredDocument { list, scores, .. } = document;
        let room = self.room();
        let payload = self.payload(list);
        let items = self.policy.min_items;
        let ranking = Ranking::new(list, scores, room, items, payload.marks_earlier);
        let has_marks = self.policy.omitted != Some(Omitted::Silent);
        let mut layout = Layout::new(list, ranking, has_marks, payload);
        let least = layout.ranking.least.max(1);
        let parts = match self.policy.token_limit() {
            None => largest(&mut layout, room, least),
            Some(limit) => largest_in_tokens(&mut layout, limit, least),
        };
        let parts = parts.or_else(|| {
            self.skipped = Some(PreferSkip::Room);
            None
        })?;
        Some((layout, parts))
    }

    /// Returns what the mark of the payload says.
    fn payload(&self, list: &ValueList) -> PayloadFacts {
        let payload = list.payload.and_then(|payload| list.entry(payload));
        let came = payload.map_or(0, |payload| u64::from(payload.children));
        let unread = PayloadItems { seen: came, kept: came, more: false };
        let PayloadItems { seen, more, .. } = self.length.get().unwrap_or(unread);
        let of = seen.max(came);
        let has_mark = !self.policy.lines && self.policy.omitted != Some(Omitted::Silent);
        let marks_earlier = has_mark && self.policy.omitted == Some(Omitted::Mark) && of > came;
        PayloadFacts { has_mark, marks_earlier, of, more }
    }
}

/// Returns the largest choice of at most `room` bytes.
fn largest(layout: &mut Layout<'_>, room: u64, least: u32) -> Option<u32> {
    let (mut fits, mut fails) = (None, layout.ranking.within(room) + 1);
    let mut low = least;
    let mut guess = fails;
    let mut turn = 0;
    while low < fails {
        let parts = guess.clamp(low, fails - 1);
        let size = layout.size(parts);
        if size <= room {
            fits = Some(parts);
            low = parts + 1;
        } else {
            fails = parts;
        }
        // The bytes around the parts change little from one choice to the next.
        let besides = size.saturating_sub(layout.ranking.bytes(parts));
        turn += 1;
        guess = match turn % 3 {
            0 => low + fails.saturating_sub(low) / 2,
            _ => layout.ranking.within(room.saturating_sub(besides)),
        };
    }
    fits
}

/// Returns about the largest choice within a limit of tokens.
fn largest_in_tokens(layout: &mut Layout<'_>, limit: TokenLimit, least: u32) -> Option<u32> {
    let mut found: Option<u32> = None;
    let mut room = limit.most.saturating_mul(BYTES_OF_TOKEN);
    let mut failed = u64::MAX;
    for _ in 0..TRIES {
        let parts = largest(layout, room, least).unwrap_or(least);
        if found == Some(parts) {
            break;
        }
        let mut counter = TokenSize { counter: limit.counter(), bytes: 0 };
        layout.write(parts, &mut counter);
        let (bytes, tokens) = (counter.bytes.max(1), counter.counter.finish().max(1));
        let fits = tokens <= limit.most;
        let aim = u128::from(bytes) * u128::from(limit.most) / u128::from(tokens);
        let aim = u64::try_from(aim).unwrap_or(u64::MAX);
        if fits {
            found = found.max(Some(parts));
            if tokens * 1000 >= limit.most * FULL || parts == layout.ranking.parts {
                break;
            }
            room = aim.min(failed.saturating_sub(1)).max(room.saturating_add(1));
        } else {
            if parts == least {
                break;
            }
            failed = failed.min(bytes);
            room = aim.min(bytes - 1);
        }
    }
    found
}

/// Counts the tokens of what is written.
struct TokenSize {
    counter: tamis_json::tokens::TokenCounter,
    bytes: u64,
}

impl Sink for TokenSize {
    fn write(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.counter.push(bytes);
    }
}

impl Stage for InformationStage {
    fn restart(&mut self) {
        self.place = None;
    }

    fn begin(&mut self, place: &RootPath, _: &mut OutputFacts) {
        self.place = Some(place.clone());
        (self.held, self.meter) = (Hold::default(), Meter::default());
        (self.order, self.skipped, self.shown) = (None, None, None);
    }

    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        if let Some(order) = &mut self.order {
            return order.write(bytes, next);
        }
        let before = self.held.len();
        let Err(raise) = self.held.push(bytes, &self.limits, &mut self.meter) else {
            return Ok(());
        };
        if raise.kind != ErrorKind::Limit {
            return Err(Hold::place(&self.limits, raise));
        }
        let stored = usize::try_from(self.held.len() - before).unwrap_or(0);
        self.skipped = Some(PreferSkip::Size);
        self.leave(next)?;
        let rest = bytes.get(stored..).unwrap_or_default();
        self.order.as_mut().map_or(Ok(()), |order| order.write(rest, next))
    }

    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if self.place.is_none() {
            return Ok(());
        }
        if let Some(order) = &mut self.order {
            return order.end(next);
        }
        let length = self.held.len();
        let document = self.read()?;
        let chosen = document.as_deref().and_then(|document| self.choose(document));
        let Some((mut layout, parts)) = chosen else {
            self.leave(next)?;
            return self.order.as_mut().map_or(Ok(()), |order| order.end(next));
        };
        self.held.clear(&mut self.meter);
        let mut shown = layout.write(parts, next);
        let facts = &mut *next.facts;
        facts.filtered += length;
        facts.exceeded = false;
        let has_payload = layout.list.payload.is_some();
        facts.kept = if has_payload { shown.items.unwrap_or(0) } else { facts.kept };
        facts.place = has_payload.then(|| RootPath::Steps(shown.steps.clone()));
        facts.mark = shown.mark.clone();
        facts.prefix_mark = None;
        shown.items = has_payload.then_some(facts.kept);
        self.shown = Some(shown);
        Ok(())
    }

    fn report(&self, report: &mut Report, facts: &OutputFacts) {
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_some() {
            return;
        }
        if let Some(order) = &self.order {
            order.report(report, facts);
            // A document that fits is the same either way.
            let is_cut = report.budget_applied || facts.exceeded;
            report.prefer_skipped = self.skipped.filter(|_| is_cut);
            return;
        }
        if let Some(shown) = &self.shown {
            report.items_kept = shown.items.or(report.items_kept);
            report.budget_applied = true;
            report.budget_cuts = Some(shown.cuts.clone());
        }
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.order.as_ref().map_or(0, |order| order.steps())
    }

    #[cfg(test)]
    fn work(&self) -> u64 {
        self.order.as_ref().map_or(0, |order| order.work())
    }
}
