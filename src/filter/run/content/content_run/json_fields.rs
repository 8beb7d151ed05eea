//! The end of a JSON response: the text of its fields, or the document itself.

use std::sync::Arc;

use tamis_json::error::{Error, ErrorKind, LimitName};
use tamis_json::hold::Hold;
use tamis_json::sink::Sink;
use tamis_text::controls::has_text;

use super::super::fields::ContentFields;
use super::ContentRun;
use crate::filter::page::{Decoder, Page, SNIFFED, is_html};
use crate::report::ContentSource;

impl ContentRun {
    /// Emits the text of the fields of a JSON response: of those that `extract` names, or else of the usual ones.
    ///
    /// The held document is read at most once for each of the two programs, and once more if it is emitted unchanged.
    pub(super) fn end_json(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let mut hold = std::mem::take(&mut self.hold);
        let compiled = Arc::clone(&self.compiled);
        let Some(rules) = compiled.content_rules() else { return Ok(()) };
        let limits = self.limits.clone();
        let extract = rules.extract.as_ref().map(|program| (program, false));
        for (program, first) in extract.into_iter().chain([(&rules.usual, true)]) {
            // Fields without text count as a miss: the usual fields are tried next.
            match ContentFields::read(program, first, &mut hold, &limits) {
                Ok(fields) => {
                    let peak = fields.bytes();
                    self.meter
                        .charge(LimitName::Item, limits.item(), 0, peak)
                        .map_err(|raise| Error::at(raise, 0, String::new()))?;
                    for text in fields.texts() {
                        self.field(&text, sink);
                    }
                    self.meter.release(peak);
                    if self.spoke {
                        self.from = Some(ContentSource::Fields);
                        return Ok(());
                    }
                }
                Err(error) if error.kind() == ErrorKind::Miss => {}
                // Plain text may begin like JSON.
                Err(error) if is_no_json(&error) => {
                    // A spec that names fields expects JSON. An invalid or truncated document is then an error.
                    if rules.extract.is_some() {
                        return Err(error);
                    }
                    let offset = error.offset().unwrap_or_default();
                    self.note = Some(format!(
                        "the document begins like JSON, but is invalid at byte {offset}: it is treated as text"
                    ));
                    // The encoding is declared near the beginning, as for any other text.
                    let mut beginning = Vec::new();
                    hold.visit(
                        |piece| {
                            let room = SNIFFED.saturating_sub(beginning.len());
                            beginning.extend_from_slice(piece.get(..room).unwrap_or(piece));
                            Ok(beginning.len() < SNIFFED)
                        },
                        |raise| Hold::place(&limits, raise),
                    )?;
                    self.whole(hold, Decoder::new(&beginning), sink)?;
                    self.from = Some(ContentSource::Text);
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        self.note = Some("no text was found in the response: it is unchanged".to_owned());
        // Nothing was emitted. The document is not separated from anything.
        self.apart = false;
        self.whole(hold, Decoder::new(b""), sink)
    }

    /// Emits the text of a field, which may be a page. A page is emitted as a document would be: its content, else all
    /// of its visible text, else the notice that its text is hidden, else its source.
    fn field(&mut self, text: &str, sink: &mut dyn Sink) {
        if !has_text(text) {
            return;
        }
        if !is_html(text) {
            self.say(text.trim_end(), sink);
            self.apart = true;
            return;
        }
        // For this field only.
        let spoke = std::mem::take(&mut self.spoke);
        let mut hid = false;
        for mut page in [Page::new(self.markdown()), Page::again(self.markdown())] {
            let early = page.push(text);
            self.say(&early, sink);
            hid = self.end_page(page, sink);
            if self.spoke {
                break;
            }
        }
        if !self.spoke && hid {
            self.hidden(sink);
        } else if !self.spoke {
            self.say(text.trim_end(), sink);
        }
        self.apart = true;
        self.spoke |= spoke;
    }
}

/// Returns whether an error means that the document is not JSON.
fn is_no_json(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Syntax | ErrorKind::UnexpectedEnd | ErrorKind::Encoding)
}
