//! The stage that writes the filtered document in another form than JSON.
//!
//! The document is held until it ends. It is then read as a tree, which the limit `item` bounds, and encoded. A document
//! that cannot be written in the form remains JSON.

use tamis_json::error::{Error, LimitName, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_json::test_work::{WorkKind, count, words};

use super::facts::OutputFacts;
use super::size::OutputSize;
use crate::encode::encode;
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::root_path::RootPath;
use crate::report::{EncodeSkip, Report};
use crate::spec::Encode;

/// The stage.
#[derive(Debug)]
pub(super) struct EncodeStage {
    form: Encode,
    limits: Limits,
    policy: SizePolicy,
    /// The place of the payload, once it is known.
    place: Option<RootPath>,
    document: Hold,
    /// Charged for the document.
    meter: Meter,
    /// Why the document remained JSON.
    skipped: Option<EncodeSkip>,
}

impl EncodeStage {
    pub(super) fn new(form: Encode, limits: Limits, policy: SizePolicy) -> Self {
        Self {
            form,
            limits,
            policy,
            place: None,
            document: Hold::default(),
            meter: Meter::default(),
            skipped: None,
        }
    }

    /// Encodes the complete document. Returns `None` if it remains JSON.
    ///
    /// # Errors
    /// The document exceeds the limit `item`, or its temporary file cannot be read.
    fn encode(&mut self, place: &RootPath) -> Result<Option<String>, Error> {
        let length = self.document.len();
        let limit = self.limits.item();
        if length > limit {
            let message = format!("a document to be encoded has more than {limit} bytes");
            let raise = Raise::limit(LimitName::Item, message);
            return Err(Error::at(raise, limit, String::new()));
        }
        let mut text = Vec::new();
        self.document.visit(
            |piece| {
                text.extend_from_slice(piece);
                Ok(true)
            },
            |raise: Raise| Error::at(raise, length, String::new()),
        )?;
        count(WorkKind::Tail, words(text.len()));
        match encode(self.form, &text, place.depth(&text)) {
            Ok(encoded) => Ok(Some(encoded)),
            Err(reason) => {
                self.skipped = Some(reason);
                Ok(None)
            }
        }
    }
}

impl Stage for EncodeStage {
    fn restart(&mut self) {
        self.place = None;
    }

    fn begin(&mut self, place: &RootPath, _: &mut OutputFacts) {
        self.place = Some(place.clone());
        (self.document, self.meter) = (Hold::default(), Meter::default());
        self.skipped = None;
    }

    /// Holds more of the filtered document.
    fn write(&mut self, bytes: &[u8], _: &mut Next<'_>) -> Result<(), Error> {
        let Self { document, limits, meter, .. } = self;
        document.push(bytes, limits, meter).map_err(|raise| Hold::place(limits, raise))
    }

    /// Writes the encoded text, or the document if there is none, and releases both.
    fn end(&mut self, next: &mut Next<'_>) -> Result<(), Error> {
        let Some(place) = self.place.clone() else { return Ok(()) };
        // After a miss the payload was not selected from, so the document remains JSON.
        let encoded = if next.facts.missed { None } else { self.encode(&place)? };
        if let Some(encoded) = &encoded {
            let mut size = OutputSize::new(&self.policy);
            size.write(encoded.as_bytes());
            size.end();
            next.facts.exceeded = size.exceeds(&self.policy);
            next.facts.size = size;
        }
        self.policy.check(next.facts.exceeded, next.facts.filtered)?;
        if let Some(encoded) = encoded {
            next.write(encoded.as_bytes());
            self.document.clear(&mut self.meter);
            return Ok(());
        }
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

    fn report(&self, report: &mut Report, _: &OutputFacts) {
        if self.place.is_none() {
            return;
        }
        report.held_peak_bytes += self.meter.peak();
        if report.error.is_none() {
            report.encode_skipped = self.skipped;
        }
    }
}
