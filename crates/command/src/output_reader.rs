//! Reads the bytes of an output before they are filtered.

use tamis::text::TextReport;

use super::line_prefix::{IsBeginning, PrefixReader};
use super::text_decoder::{TextDecoder, encoding_of_locale};

/// Reads the bytes of an output as text: decodes them, and removes a prefix that all lines have.
#[derive(Default)]
pub(super) struct OutputReader {
    decoder: TextDecoder,
    prefix: PrefixReader,
}

impl OutputReader {
    /// Creates a reader that decodes. The default one changes nothing.
    pub(super) fn new() -> Self {
        Self { decoder: TextDecoder::new(None), prefix: PrefixReader::default() }
    }

    /// Removes a prefix that all lines have. `begins` says which lines begin the output of the command.
    pub(super) fn without_prefixes(mut self, begins: IsBeginning) -> Self {
        self.prefix = PrefixReader::new(Some(begins));
        self
    }

    pub(super) fn set_locale(&mut self, locale: &str) {
        self.decoder = TextDecoder::new(encoding_of_locale(locale));
    }

    pub(super) fn write(&mut self, bytes: &[u8], next: &mut dyn FnMut(&[u8])) {
        self.decoder.write(bytes, &mut |text| self.prefix.write(text, next));
    }

    pub(super) fn release(&mut self, next: &mut dyn FnMut(&[u8])) {
        self.decoder.release(&mut |text| self.prefix.write(text, next));
        self.prefix.release(next);
    }

    pub(super) fn end(&mut self, next: &mut dyn FnMut(&[u8])) {
        self.decoder.end(&mut |text| self.prefix.write(text, next));
        self.prefix.end(next);
    }

    /// Adds to a report what was read otherwise.
    pub(super) fn report(&self, text: TextReport) -> TextReport {
        let mut text = self.prefix.report(text);
        text.bytes_in = text.bytes_in.wrapping_add(self.decoder.difference());
        text.changed |= self.decoder.has_decoded();
        text
    }
}
