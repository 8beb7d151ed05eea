//! The stage that writes the filtered document in another form than JSON.
//!
//! The document is held until it ends. It is then read as a tree, which the limit `item` bounds, and encoded. A document
//! that cannot be written in the form remains JSON.

use tamis_json::error::{Error, LimitName, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::sink::Sink;
use tamis_json::test_work::{WorkKind, count, words};

use super::size::OutputSize;
use crate::encode::{SkipReason, encode};
use crate::filter::run::root_path::RootPath;
use crate::spec::{Budget, Encode};

/// The stage. One per document.
#[derive(Debug)]
pub(super) struct EncodeStage {
    form: Encode,
    /// The payload was not selected from, so the document remains JSON.
    pub(super) is_off: bool,
    place: RootPath,
    limits: Limits,
    document: Hold,
    /// The document in the other form.
    encoded: Option<String>,
    /// Why the document remained JSON.
    pub(super) skipped: Option<SkipReason>,
}

impl EncodeStage {
    /// Creates the stage for one document.
    pub(super) fn new(form: Encode, place: RootPath, limits: Limits) -> Self {
        Self {
            form,
            is_off: false,
            place,
            limits,
            document: Hold::default(),
            encoded: None,
            skipped: None,
        }
    }

    /// Adds more of the filtered document.
    ///
    /// # Errors
    /// The document is too large to be held.
    pub(super) fn write(&mut self, bytes: &[u8], meter: &mut Meter) -> Result<(), Error> {
        let Self { document, limits, .. } = self;
        document.push(bytes, limits, meter).map_err(|raise| Hold::place(limits, raise))
    }

    /// Encodes the complete document, and measures the result. `None` if the document remains JSON.
    ///
    /// # Errors
    /// The document exceeds the limit `item`, or its temporary file cannot be read.
    pub(super) fn measure(
        &mut self,
        budget: Option<Budget>,
    ) -> Result<Option<(OutputSize, bool)>, Error> {
        if self.is_off {
            return Ok(None);
        }
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
        match encode(self.form, &text, self.place.depth(&text)) {
            Ok(encoded) => {
                let mut size = OutputSize::new(budget);
                size.write(encoded.as_bytes());
                size.end();
                let exceeds = budget.is_some_and(|budget| size.exceeds(budget));
                self.encoded = Some(encoded);
                Ok(Some((size, exceeds)))
            }
            Err(reason) => {
                self.skipped = Some(reason);
                Ok(None)
            }
        }
    }

    /// Writes the encoded text, or the document if there is none, and releases both.
    ///
    /// # Errors
    /// The temporary file of a large document cannot be read.
    pub(super) fn finish(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        if let Some(text) = self.encoded.take() {
            sink.write(text.as_bytes());
            self.document.clear(meter);
            return Ok(());
        }
        let length = self.document.len();
        self.document.drain(
            meter,
            |_, piece| {
                sink.write(piece);
                Ok(!sink.is_closed())
            },
            |raise: Raise| Error::at(raise, length, String::new()),
        )
    }
}
