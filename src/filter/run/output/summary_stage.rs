//! The stage that replaces the payload with a summary. It holds the document; `summary.rs` reads it.

use std::sync::Arc;

use crate::filter::templates::{Templates, Totals};
use tamis_json::error::Error;
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::machine::MachineConfig;
use tamis_json::scan::Scanner;

use super::facts::OutputFacts;
use super::size::OutputSize;
use super::summary::{RenderedItems, SummaryCounts, SummarySource};
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::filter::run::stage::StageMachine;
use crate::report::Report;

/// Holds the filtered document until its end.
#[derive(Debug)]
pub(super) struct SummaryStage {
    /// The header, the item and the footer.
    templates: Arc<Templates>,
    /// The settings of the machine, which is restarted for each reading.
    config: MachineConfig,
    scanner: Scanner,
    /// The limits of the call. `held` and `spill` apply to the document and again to the text, `item` to one item.
    limits: Limits,
    policy: SizePolicy,
    /// Reads the document. Created for the first one.
    engine: Option<StageMachine>,
    /// The location of the payload in the held document, once it is known.
    place: Option<RootPath>,
    /// The filtered document so far.
    document: Hold,
    /// Charged for the document and the text.
    meter: Meter,
    /// The reason why the document was not summarized.
    error: Option<String>,
}

impl Stage for SummaryStage {
    fn restart(&mut self) {
        self.place = None;
    }

    fn begin(&mut self, place: &RootPath, _: &mut OutputFacts) {
        self.place = Some(place.clone());
        (self.document, self.meter) = (Hold::default(), Meter::default());
        self.error = None;
    }

    /// Holds more of the filtered document.
    fn write(&mut self, bytes: &[u8], _: &mut Next<'_>) -> Result<(), Error> {
        let Self { document, limits, meter, .. } = self;
        document.push(bytes, limits, meter).map_err(|raise| Hold::place(limits, raise))
    }

    /// Writes the document with the rendered text. It is rendered, measured and compared with the budget before its first
    /// byte is written, so that an error leaves no output.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        // A shorter form may have fewer children before the payload.
        let Some(place) = next.facts.place.take().or_else(|| self.place.clone()) else {
            return Ok(());
        };
        let mark = next.facts.mark.take();
        let (kept, original) = (next.facts.kept, next.facts.original);
        let counts = SummaryCounts {
            totals: Totals::new(kept, original),
            items: kept,
            mark: mark.as_deref(),
        };
        let Self { config, scanner, policy, engine, document, meter, .. } = self;
        let engine = engine.get_or_insert_with(|| StageMachine::new(config.clone(), *scanner));
        let mut source = SummarySource { engine, config, place, document };
        let mut rendered = source.render(&self.templates, &self.limits, counts, meter)?;
        // The budget applies to the document with the summary in place of the payload. That document is measured by
        // writing it to a sink that only counts.
        if let (Some(_), RenderedItems::Text(text)) = (policy.budget, &mut rendered) {
            let mut size = OutputSize::new(policy);
            source.swap(text, counts, &mut size)?;
            size.end();
            next.facts.exceeded = size.exceeds(policy);
            next.facts.size = size;
        }
        policy.check(next.facts.exceeded, next.facts.filtered)?;
        self.error = source.finish(rendered, policy.only_summary, counts, meter, next)?;
        Ok(())
    }

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        if self.place.is_none() {
            return;
        }
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_none() {
            report.compact_error.clone_from(&self.error);
        }
    }

    #[cfg(test)]
    fn steps(&self) -> u64 {
        self.engine.as_ref().map_or(0, StageMachine::steps)
    }
}

impl SummaryStage {
    pub(super) fn new(
        templates: Arc<Templates>,
        config: MachineConfig,
        scanner: Scanner,
        limits: Limits,
        policy: SizePolicy,
    ) -> Self {
        Self {
            templates,
            config,
            scanner,
            limits,
            policy,
            engine: None,
            place: None,
            document: Hold::default(),
            meter: Meter::default(),
            error: None,
        }
    }
}
