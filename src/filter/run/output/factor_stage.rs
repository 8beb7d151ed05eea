//! The stage that writes once what items share.
//!
//! The document is held until it ends, and the factored text until it is known to be shorter. A document that is too long
//! to be held leaves as it is.

use tamis_factor::{FactorSkip, Factored, factor};
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;

use super::facts::OutputFacts;
use super::size::OutputSize;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::report::Report;

/// The stage.
#[derive(Debug)]
pub(super) struct FactorStage {
    limits: Limits,
    policy: SizePolicy,
    /// The payload of the document is located.
    begun: bool,
    document: Hold,
    /// Charged for the document and the factored text.
    meter: Meter,
    /// What the document has become. `None` before its end.
    result: Option<Result<Factored, FactorSkip>>,
}

impl FactorStage {
    pub(super) fn new(limits: Limits, policy: SizePolicy) -> Self {
        Self {
            limits,
            policy,
            begun: false,
            document: Hold::default(),
            meter: Meter::default(),
            result: None,
        }
    }

    /// Passes the document on as it is.
    fn pass(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let length = self.document.len();
        self.document.drain(
            &mut self.meter,
            |_, piece| {
                next.write(piece);
                Ok(!next.is_closed())
            },
            |raise: Raise| Error::at(raise, length, String::new()),
        )
    }

    /// Returns the length of the mark that is the last element of the document.
    fn mark_length(&self, facts: &OutputFacts) -> Result<u64, Raise> {
        let mut last = Vec::new();
        let Some(mark) = facts.mark.as_deref().filter(|mark| mark.starts_with(",{")) else {
            return Ok(0);
        };
        let length = mark.len() as u64;
        let start = self.document.len().saturating_sub(length + 1);
        self.document.read_part(0, 1, &mut last)?;
        self.document.read_part(start, mark.len() + 1, &mut last)?;
        Ok(if last.strip_suffix(b"]") == Some(mark.as_bytes()) { length } else { 0 })
    }
}

impl Stage for FactorStage {
    fn restart(&mut self) {
        self.begun = false;
    }

    fn begin(&mut self, _: &RootPath, _: &mut OutputFacts) {
        self.begun = true;
        (self.document, self.meter, self.result) = (Hold::default(), Meter::default(), None);
    }

    /// Holds more of the filtered document, or passes it on if it is too long.
    fn write(&mut self, bytes: &[u8], next: &mut Next<'_>) -> Result<(), Error> {
        if self.result.is_some() {
            next.write(bytes);
            return Ok(());
        }
        let before = self.document.len();
        let Err(raise) = self.document.push(bytes, &self.limits, &mut self.meter) else {
            return Ok(());
        };
        if raise.kind != ErrorKind::Limit {
            return Err(Hold::place(&self.limits, raise));
        }
        self.result = Some(Err(FactorSkip::Size));
        let stored = usize::try_from(self.document.len() - before).unwrap_or(0);
        self.pass(next)?;
        next.write(bytes.get(stored..).unwrap_or_default());
        Ok(())
    }

    /// Writes the factored text, or the document if that is not longer.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        if !self.begun || self.result.is_some() {
            return Ok(());
        }
        let length = self.document.len();
        let place = |raise: Raise| Error::at(raise, length, String::new());
        let mark = self.mark_length(next.facts).map_err(place)?;
        let factored = factor(&mut self.document, mark, &self.limits, &mut self.meter);
        let mut text = match factored.map_err(place)? {
            Ok(text) => text,
            Err(skip) => {
                self.result = Some(Err(skip));
                self.policy.check(next.facts.exceeded, next.facts.filtered)?;
                return self.pass(next);
            }
        };
        self.result = Some(Ok(text.factored()));
        self.document.clear(&mut self.meter);
        let mut size = OutputSize::new(&self.policy);
        let written = text.write(&mut self.meter, |piece| {
            size.write(piece);
            next.write(piece);
            !next.is_closed()
        });
        written.map_err(place)?;
        size.end();
        next.facts.exceeded = size.exceeds(&self.policy);
        next.facts.size = size;
        self.policy.check(next.facts.exceeded, next.facts.filtered)
    }

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        if !self.begun {
            return;
        }
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_some() {
            return;
        }
        match self.result {
            Some(Ok(factored)) => report.factored = Some(factored),
            Some(Err(skip)) => report.factor_skipped = Some(skip.into()),
            None => {}
        }
    }
}
