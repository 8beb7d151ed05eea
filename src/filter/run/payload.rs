//! The stage on the payload: finds the root, waits for the first hit, and runs the rules on items.
//!
//! ```text
//! Looking ──root decided──▶ Running ──must wait──▶ Waiting ──hit or miss──▶ Running ──stop_early──▶ Stopped
//! ```
//!
//! | phase | who reads the input | ends |
//! |---|---|---|
//! | `Looking` | a [`Lookahead`] with a [`RootProbe`] | with the payload, or with the document |
//! | `Running` | the machine of the items stage | if the stage stops before a value |
//! | `Waiting` | a [`Lookahead`] with a copy of the items stage, from that value on | with the first hit, or if there is none |
//! | `Stopped` | nothing: the rest of the input does not matter | – |
//!
//! In `Looking` and `Waiting` nothing is written. After the decision the rules read the held input first. A phase that is
//! not needed is left out.
//!
//! Example: `root: auto`, `select: id`, and two chunks.
//!
//! ```text
//! write {"items":[{"a":1},    Looking   the probe decides at `[`: the payload is member 0
//!                             Running   the rules write `{` and stop before the member `items`
//!                             Waiting   the probe reads `[{"a":1},` and is undecided: these bytes are held
//! write {"id":2}]}            Waiting   the value 2 is a hit
//!                             Running   the rules read the held bytes, then this chunk
//!                                       output: {"items":[{},{"id":2}]}
//! ```

use tamis_json::error::Error;
use tamis_json::limits::Limits;
use tamis_json::machine::{FeedResult, MachineConfig};
use tamis_json::nearest::ComparisonBudget;
use tamis_json::scan::Scanner;

use super::items::ItemsStage;
use super::items::first_hit::HitOutcome;
use super::lookahead::{Decided, HeldInput, Input, Lookahead, Probe};
use super::output::facts::OutputFacts;
use super::payload_length::PayloadLength;
use super::pipe::{Next, Stage};
use super::root::{Payload, RootProbe};
use super::root_path::RootPath;
use super::stage::{StageMachine, StageState, machine_config};
use super::wrap_in_array::ArrayWrap;
use crate::filter::compile::program::Program;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::options::CallOptions;
use crate::report::{PayloadPath, Report, SkipReason};

/// The stage on the payload, reused for all documents of a run.
#[derive(Debug)]
pub(super) struct PayloadStage {
    program: Program,
    /// The limits of the run, such as those of held bytes.
    limits: Limits,
    /// Names are kept, to suggest corrections.
    suggests: bool,
    /// The document is one of many, which `where` may drop.
    is_record: bool,
    /// Marks report the members that `max_items` leaves out.
    marks_members: bool,
    /// Only `factor` reads the payload.
    is_for_factor: bool,
    /// The part of the stage that reads the next bytes.
    phase: PayloadPhase,
    /// Looks for the root, if it needs a search.
    root: Option<Lookahead<RootProbe>>,
    /// The stage on items and its machine, once the root is known. Kept for the next document.
    running: Option<Box<ItemsRun>>,
    /// The input comes in one chunk and can be read again, so nothing is held.
    again: bool,
    scanner: Scanner,
    /// The length of the payload, for the stages that read what the rules write. `None` if there are none.
    length: Option<PayloadLength>,
    /// The payload, if those stages do not know its place yet.
    unannounced: Option<Option<Payload>>,
    /// Wraps a document that is not an array.
    wrap: ArrayWrap,
    /// Bytes before the document.
    prefix: u64,
}

/// The phases of a document; see the table at the top of this file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PayloadPhase {
    /// The root is unknown.
    Looking,
    /// The rules run.
    Running,
    /// The rules have stopped before a value until it is known whether there is a hit.
    Waiting,
    /// The rules need no more input.
    Stopped,
}

/// The rules on items with their machine, and the search for the first hit.
#[derive(Debug)]
struct ItemsRun {
    /// Its offset is the first byte that the rules have not read.
    engine: StageMachine,
    /// The state of the rules. The probe of the search begins as a copy of it.
    items: ItemsStage,
    /// Looks for the first hit. Made when it is needed.
    hit: Option<Lookahead<ItemsStage>>,
}

/// Returns the input of a search, which is held unless it can be read again.
fn input(again: bool) -> Input {
    if again { Input::Again } else { Input::once() }
}

impl ItemsRun {
    /// Starts to look for the first hit where the stage has stopped. The probe continues with a copy of the machine,
    /// so it reads from the middle of the document with all containers open.
    fn begin_search(&mut self, config: MachineConfig, scanner: Scanner, again: bool) {
        // The probe and its window are reused in later documents.
        let Self { engine, items, hit } = self;
        let hit = match hit {
            Some(hit) => {
                items.begin_probe_in(hit.probe_mut());
                hit
            }
            None => {
                let probe = items.begin_probe();
                hit.insert(Lookahead::new(config, scanner, probe, Input::Again))
            }
        };
        hit.begin_at(&engine.machine, input(again));
    }
}

impl PayloadStage {
    /// `payload` is its place if a first pass has found it. `length`: counters for the stages that read what the rules
    /// write.
    pub(super) fn new(
        program: &Program,
        options: &CallOptions,
        payload: Option<Payload>,
        length: Option<PayloadLength>,
    ) -> Self {
        let compiled = program.compiled();
        let policy = SizePolicy::new(&compiled.spec, options.policy());
        let mut stage = Self {
            program: program.clone(),
            limits: options.limits().clone(),
            suggests: options.suggestions(),
            is_record: options.policy().is_record,
            marks_members: policy.marks_max_items(&compiled.spec) && !policy.lines,
            is_for_factor: compiled.only_factors(&policy),
            phase: PayloadPhase::Looking,
            root: None,
            running: None,
            again: false,
            scanner: options.scanner(),
            length,
            unannounced: None,
            wrap: ArrayWrap::new(program),
            prefix: 0,
        };
        stage.begin(payload);
        stage
    }

    /// Looks for the payload, or starts the rules if it is known or needs no search.
    fn begin(&mut self, payload: Option<Payload>) {
        if payload.is_some() || !self.program.compiled().items.looks() {
            return self.run(payload);
        }
        self.phase = PayloadPhase::Looking;
        let config = self.config(false);
        let probe = RootProbe::new(self.program.compiled());
        match &mut self.root {
            Some(root) => {
                root.restart(config, input(self.again));
                *root.probe_mut() = probe;
            }
            None => {
                self.root = Some(Lookahead::new(config, self.scanner, probe, input(self.again)))
            }
        }
    }

    /// Returns the configuration of a machine. Only the rules need `drops_empty`: a search for the root does not depend on
    /// empty strings. The stages on the filtered document read minified text, so white space is dropped before them.
    fn config(&self, drops_empty: bool) -> MachineConfig {
        let config = machine_config(&self.program.compiled().spec, &self.limits, drops_empty);
        MachineConfig { keep_white: config.keep_white && self.length.is_none(), ..config }
    }

    /// Returns the offset of the first byte that the rules have not read.
    fn offset(&self) -> u64 {
        self.running.as_ref().map_or(self.prefix, |running| running.engine.machine.offset())
    }

    /// Starts the rules, because the payload is known.
    fn run(&mut self, payload: Option<Payload>) {
        let compiled = self.program.compiled();
        let config = self.config(compiled.items.drop_empty);
        self.unannounced = Some(payload);
        let running = match &mut self.running {
            Some(running) => {
                running.engine.restart(config);
                running.items.restart(payload);
                running
            }
            None => {
                let length = self.length.clone();
                let items = ItemsStage::new(compiled, payload, &self.limits, self.scanner, length);
                let items = items.suggest(self.suggests).for_record(self.is_record);
                let items = items.for_factor(self.is_for_factor).mark_members(self.marks_members);
                let engine = StageMachine::new(config, self.scanner);
                self.running.insert(Box::new(ItemsRun { engine, items, hit: None }))
            }
        };
        running.engine.machine.skip_prefix(self.prefix);
        self.phase = PayloadPhase::Running;
    }

    /// Gives the stages on the filtered document the place of the payload, because they find it again in what the rules
    /// write.
    fn announce(&mut self, payload: Option<Payload>, next: &mut Next<'_>) {
        let Some(length) = &self.length else { return };
        length.reset();
        length.set_missed(false);
        let items = &self.program.compiled().items;
        next.begin(&RootPath::new(&items.root, payload, items.keep_siblings));
    }

    /// Reads on to find the root. Without a decision the chunk is held.
    fn look(&mut self, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let Some(root) = &mut self.root else { return Ok(()) };
        let Some(decided) = root.write(chunk, &self.limits, next.meter)? else { return Ok(()) };
        if self.again {
            // A first pass is finished.
            return Ok(());
        }
        self.run(Some(decided.decision));
        self.replay(decided.held, chunk, next)
    }

    /// Runs the rules over the held input, then over `chunk`. Ends early if the rules need no more input.
    fn replay(&mut self, held: HeldInput, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        // The phase may change within the held input: after the root is found, the rules may wait for a hit.
        // The held input and the rules charge the same meter.
        let mut meter = std::mem::take(next.meter);
        let replayed = held.replay(&mut meter, |meter, piece| {
            std::mem::swap(meter, next.meter);
            let written = self.write(piece, next);
            std::mem::swap(meter, next.meter);
            written.map(|()| self.phase != PayloadPhase::Stopped)
        });
        *next.meter = meter;
        replayed?;
        self.write(chunk, next)
    }

    /// Runs the rules over a chunk. If the stage stops, either it has what it needs, or the search for the first hit
    /// begins with the rest of the chunk. In both cases everything before that value was written.
    ///
    /// # Errors
    /// The input is invalid or a rule fails. An error of an output stage comes first, because it has only read what
    /// was written before.
    fn run_chunk(&mut self, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        if self.stops_at_once(chunk) {
            return self.begin_wait(chunk, next);
        }
        if let Some(payload) = self.unannounced.take() {
            self.announce(payload, next);
        }
        let Self { wrap, running: Some(running), .. } = self else { return Ok(()) };
        let ItemsRun { engine, items, .. } = &mut **running;
        let begin = engine.machine.offset();
        // A document that passes after a miss is not wrapped.
        wrap.unless(items.miss().is_some());
        let fed = match wrap {
            ArrayWrap::No => items.feed(engine, chunk, next),
            _ => items.feed(engine, chunk, &mut wrap.around(next)),
        };
        // The stages after the rules have only read what was written before an error of the rules.
        next.check()?;
        if fed? == FeedResult::All {
            return Ok(());
        }
        // `stop_early`: the open containers are closed, so that the output is complete.
        if !items.must_probe() {
            self.phase = PayloadPhase::Stopped;
            items.close_all(next);
            self.count(next);
            return next.stop(self.offset());
        }
        // The machine's offset is that of the value at which it stopped.
        let read = engine.machine.offset().saturating_sub(begin);
        let rest = chunk.get(usize::try_from(read).unwrap_or(usize::MAX)..);
        self.begin_wait(rest.unwrap_or_default(), next)
    }

    /// Returns whether the rules would stop at the first byte of this chunk, because the document begins there. Then
    /// they need not read it, which matters for small documents.
    fn stops_at_once(&self, chunk: &[u8]) -> bool {
        matches!(chunk.first(), Some(b'{' | b'['))
            && self.running.as_ref().is_some_and(|running| {
                running.engine.machine.offset() == self.prefix && running.items.stops_at_document()
            })
    }

    /// Begins to wait for the first hit. The rules have read everything before `rest`. The phase becomes `Waiting`,
    /// and the probe reads `rest` at once.
    fn begin_wait(&mut self, rest: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let config = self.config(self.program.compiled().items.drop_empty);
        if let Some(running) = &mut self.running {
            running.begin_search(config, self.scanner, self.again);
        }
        self.phase = PayloadPhase::Waiting;
        self.wait(rest, next)
    }

    /// Reads on to find the first hit. Until the outcome is known, the chunk is held, and nothing is written.
    ///
    /// # Errors
    /// The probe fails, as the rules would with the same input, or too much has to be held.
    fn wait(&mut self, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        let Self { limits, running: Some(running), .. } = self else { return Ok(()) };
        let ItemsRun { items, hit: Some(hit), .. } = &mut **running else { return Ok(()) };
        let found = hit.write(chunk, limits, next.meter);
        // The report of a failed run has the counts up to the error, which only the probe knows.
        if found.is_err() && hit.has_failed() {
            items.fail_as(hit.probe());
        }
        match found? {
            None => Ok(()),
            Some(decided) => self.end_wait(decided, chunk, next),
        }
    }

    /// Continues with the rules, because the outcome is known. The rules then read the held bytes, and `chunk` after
    /// them.
    ///
    /// # Errors
    /// The outcome is `Refused`, or the rules fail.
    fn end_wait(
        &mut self,
        decided: Decided<HitOutcome>,
        chunk: &[u8],
        next: &mut Next<'_>,
    ) -> Result<(), Error> {
        let Self { running: Some(running), .. } = self else { return Ok(()) };
        let ItemsRun { items, hit: Some(hit), .. } = &mut **running else { return Ok(()) };
        let Decided { decision, held, later, .. } = decided;
        // The error of the probe is that of the run.
        if decision == HitOutcome::Refused {
            items.fail_as(hit.probe());
            later?;
        }
        items.end_search(decision, hit.probe());
        if items.gave_up_array() {
            // The stages on the filtered document have read nothing.
            self.unannounced = None;
            self.announce(Some(Payload::Document), next);
            if let Some(length) = &self.length {
                length.set_missed(true);
            }
        }
        self.phase = PayloadPhase::Running;
        self.replay(held, chunk, next)
    }

    /// Returns the stage on items, unless the document has no root yet.
    fn items(&self) -> Option<&ItemsStage> {
        let running = self.running.as_ref().filter(|_| !self.is_looking())?;
        Some(&running.items)
    }

    /// Leaves the counts of items for the stages on the filtered document, whose marks and summaries name them.
    fn count(&self, next: &mut Next<'_>) {
        let Some(running) = &self.running else { return };
        let counts = running.items.counts();
        next.facts.missed = running.items.miss().is_some();
        (next.facts.kept, next.facts.original) = (counts.kept, counts.seen.unwrap_or(0));
    }

    /// Returns whether no selected value was found, so that the payload passed unselected.
    pub(super) fn is_total_miss(&self) -> bool {
        self.items().is_some_and(|items| items.miss().is_some())
    }
}

impl Stage for PayloadStage {
    /// A first pass has not read the new document, so its payload is searched for if it needs a search.
    fn restart(&mut self) {
        self.prefix = 0;
        self.wrap = ArrayWrap::new(&self.program);
        self.begin(None);
    }

    fn skip_prefix(&mut self, bytes: u64) {
        self.prefix = bytes;
        match (self.phase, &mut self.root, &mut self.running) {
            (PayloadPhase::Looking, Some(root), _) => root.skip_prefix(bytes),
            (_, _, Some(running)) => running.engine.machine.skip_prefix(bytes),
            _ => {}
        }
    }

    /// Reads the next bytes in the current phase.
    fn write(&mut self, chunk: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        match self.phase {
            PayloadPhase::Looking => self.look(chunk, next),
            PayloadPhase::Running => self.run_chunk(chunk, next),
            PayloadPhase::Waiting => self.wait(chunk, next),
            PayloadPhase::Stopped => Ok(()),
        }
    }

    /// Ends the search that is still undecided, then the rules.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        match (self.phase, &mut self.root, &mut self.running) {
            (PayloadPhase::Stopped, ..) => return Ok(()),
            (PayloadPhase::Looking, Some(root), _) => {
                // The search is undecided, so the document is incomplete.
                return root.end().map(|_| ());
            }
            (PayloadPhase::Waiting, _, Some(running)) => {
                let ItemsRun { items, hit: Some(hit), .. } = &mut **running else { return Ok(()) };
                let ended = hit.end();
                if ended.is_err() {
                    items.fail_as(hit.probe());
                }
                if let Some(decided) = ended? {
                    self.end_wait(decided, b"", next)?;
                }
            }
            _ => {}
        }
        if let Some(payload) = self.unannounced.take() {
            self.announce(payload, next);
        }
        let Self { wrap, running: Some(running), .. } = self else { return Ok(()) };
        let ItemsRun { engine, items, .. } = &mut **running;
        let mut wrapped = wrap.around(next);
        items.end(engine, &mut wrapped)?;
        wrapped.end();
        self.count(next);
        Ok(())
    }

    /// Takes over the counts of the probe. Without this the report of the failed run would lack the items that only the
    /// probe has counted.
    fn fail_before(&mut self) {
        if let (PayloadPhase::Waiting, Some(running)) = (self.phase, &mut self.running)
            && let ItemsRun { items, hit: Some(hit), .. } = &mut **running
        {
            items.fail_as(hit.probe());
        }
    }

    /// Adds the counts and messages of the rules on items and of the output stages. Adds nothing if the root was not
    /// found.
    fn report(&self, report: &mut Report, facts: &OutputFacts) {
        let Some(items) = self.items() else { return };
        if facts.output_failed {
            return;
        }
        let counts = items.counts();
        report.held_peak_bytes += counts.captured_peak;
        report.root = counts.root.clone().map(PayloadPath::new);
        report.duplicates_dropped = counts.duplicates;
        report.items_seen = counts.seen;
        report.where_dropped = counts.dropped;
        report.kind_kept = counts.other_kinds;
        report.omitted_members = counts.omitted;
        report.projection_skipped = counts.projection_skipped;
        report.items_kept = counts.seen.map(|_| counts.kept);
        // The rest was not read, so the number of items is a minimum.
        if counts.stopped {
            report.items_at_least = counts.seen;
            report.items_seen = None;
            report.tail_unread = true;
        } else if let Some(seen) = counts.seen
            && seen > counts.kept
        {
            report.items_truncated_from = Some(seen);
        }
        report.select_judged = items.is_judged();
        report.is_dropped = counts.is_document_dropped;
        report.partial_miss = items.partial_miss();
        if items.is_raw_text() && self.program.compiled().items.select.is_some() {
            report.skipped = Some(SkipReason::RawOutput);
        }
        // After a miss the document was written without the select, so the rules did not apply.
        if let Some(missed) = items.miss() {
            report.applied = false;
            // A failure of the patches is reported even if the rules on items miss as well.
            report.fallback = Some(match report.fallback.take() {
                Some(passed) => format!("{passed}; {missed}"),
                None => missed,
            });
        }
    }

    fn is_looking(&self) -> bool {
        self.phase == PayloadPhase::Looking
    }

    fn never_hold(&mut self) {
        self.again = true;
        if let Some(root) = &mut self.root {
            root.read_again();
        }
    }

    fn decided(&self) -> Option<Payload> {
        let root = self.root.as_ref().filter(|_| self.is_looking())?;
        root.probe().decided().map(|(payload, _)| payload)
    }

    fn correction(&self, path: &str, pairs: &mut ComparisonBudget) -> Option<String> {
        // Also between two documents.
        self.running.as_ref()?.items.correction(path, pairs)
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        let root = self.root.as_ref().map_or(0, Lookahead::steps);
        let Some(ItemsRun { engine, items, hit }) = self.running.as_deref() else { return root };
        let hit = hit.as_ref().map_or(0, |hit| hit.steps() + hit.probe().steps());
        root + engine.steps() + items.steps() + hit
    }
}
