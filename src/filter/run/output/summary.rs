//! Replaces the payload of a held document with a summary (seed: kimbap's `compact`; SPEC §7).
//!
//! The filtered document is held, because a template that fails leaves it unchanged. It is then read once to render
//! its items, one at a time, and once to write everything around them. With a budget it is read once more in between,
//! to measure the result.
//!
//! ```text
//! write ──▶ held document ── render ──▶ no array of items ──▶ pass: unchanged
//!                              │ └──▶ a template failed ────▶ pass: unchanged, with the reason in the report
//!                              └───▶ text ── swap into a counter, if there is a budget ── swap into the sink
//! ```
//!
//! Example with the item template `#{{.n}}`:
//!
//! ```text
//! {"items":[{"n":1},{"n":2}],"total":2}
//! {"summary":"#1\n#2","_compact":true,"_original_items":2,"total":2}
//! ```
//!
//! A payload that is not a member, such as the document itself, becomes an object with these members.

use crate::filter::templates::{Templates, Totals};
use tamis_json::error::{Error, LimitName, Raise};
use tamis_json::hold::Hold;
use tamis_json::limits::{Limits, Meter};
use tamis_json::machine::MachineConfig;
use tamis_json::sink::Sink;
use tamis_json::test_work::{WorkKind, count, words};
use tamis_json::writer::JsonWriter;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};
use tamis_text::notice;

use crate::filter::run::root_path::{RootPath, RootStep, RootTracker};
use crate::filter::run::stage::{DiscardSink, StageHandler, StageMachine, StageState};

/// The largest number of rendered bytes. More is a failure of the template.
const RENDERED: usize = 64 << 20;
/// The members that replace the payload. Siblings of these names are removed.
const SUMMARY: [&[u8]; 3] = [b"summary", b"_compact", b"_original_items"];

/// The number of items that reached this stage, and of the response.
#[derive(Clone, Copy)]
pub(super) struct SummaryCounts<'a> {
    /// The counts that templates see.
    pub(super) totals: Totals,
    /// The items present. An element after them is their mark.
    pub(super) items: u64,
    /// The text of that mark.
    pub(super) mark: Option<&'a str>,
}

/// The complete document with the machine that reads it.
pub(super) struct SummarySource<'a> {
    pub(super) engine: &'a mut StageMachine,
    pub(super) config: &'a MachineConfig,
    pub(super) place: RootPath,
    pub(super) document: &'a mut Hold,
}

impl SummarySource<'_> {
    /// Writes the document with the rendered text, and releases both. Returns the reason if it was left unchanged. `only`:
    /// the text is written without the document.
    ///
    /// # Errors
    /// The temporary file of a large document cannot be read.
    pub(super) fn finish(
        &mut self,
        rendered: RenderedItems,
        only: bool,
        counts: SummaryCounts<'_>,
        meter: &mut Meter,
        sink: &mut dyn Sink,
    ) -> Result<Option<String>, Error> {
        match rendered {
            RenderedItems::Text(mut text) if only => {
                sink.write(b"\"");
                let written = text.visit(
                    |piece| {
                        sink.write(piece);
                        Ok(!sink.is_closed())
                    },
                    at_the_end(self.document),
                );
                sink.write(b"\"");
                self.document.clear(meter);
                text.clear(meter);
                written.map(|()| None)
            }
            RenderedItems::Text(mut text) => {
                self.swap(&mut text, counts, sink)?;
                self.document.clear(meter);
                text.clear(meter);
                Ok(None)
            }
            RenderedItems::NoItems => self.pass(meter, sink).map(|()| None),
            RenderedItems::Failed(message) => self.pass(meter, sink).map(|()| Some(message)),
        }
    }

    /// Writes the document unchanged and releases it.
    fn pass(&mut self, meter: &mut Meter, sink: &mut dyn Sink) -> Result<(), Error> {
        let take = |_: &mut Meter, piece: &[u8]| {
            sink.write(piece);
            Ok(!sink.is_closed())
        };
        let place = at_the_end(self.document);
        self.document.drain(meter, take, place)
    }

    /// Renders the items of the complete document. Writes no output.
    ///
    /// # Errors
    /// An item exceeds the limit `item`, or the text is too large to be held. The failure of a template is not an error
    /// but [`RenderedItems::Failed`].
    pub(super) fn render(
        &mut self,
        templates: &Templates,
        limits: &Limits,
        counts: SummaryCounts<'_>,
        meter: &mut Meter,
    ) -> Result<RenderedItems, Error> {
        let SummaryCounts { totals, items, .. } = counts;
        let Self { engine, config, place, document } = self;
        let mut render = ItemRenderer {
            way: RootTracker::new(place.clone()),
            templates,
            totals,
            items,
            limits,
            meter,
            text: Hold::default(),
            scratch: Vec::new(),
            item: Vec::new(),
            in_items: false,
            any: false,
            begun: false,
            left: RENDERED,
            failed: None,
        };
        let at_the_end = at_the_end(document);
        engine.restart((*config).clone());
        document.visit(
            |piece| {
                engine.feed(&mut render, piece, &mut DiscardSink)?;
                // The rest is not read after a failure.
                Ok(render.failed.is_none())
            },
            at_the_end,
        )?;
        if !render.any {
            return Ok(RenderedItems::NoItems);
        }
        // Adds nothing after a failure.
        render.footer();
        Ok(match render.failed {
            Some(RenderFailure::Template(message)) => RenderedItems::Failed(message),
            Some(RenderFailure::Limit(raise)) => return Err(at_the_end(raise)),
            None => RenderedItems::Text(render.text),
        })
    }

    /// Writes the document with the summary in place of the payload. May be called again, because document and text are
    /// kept.
    pub(super) fn swap(
        &mut self,
        text: &mut Hold,
        counts: SummaryCounts<'_>,
        sink: &mut dyn Sink,
    ) -> Result<(), Error> {
        let mut swap = SummarySwap {
            way: RootTracker::new(self.place.clone()),
            writer: JsonWriter::default(),
            text,
            counts,
            failed: None,
        };
        let at_the_end = at_the_end(self.document);
        let Self { engine, config, document, .. } = self;
        engine.restart((*config).clone());
        document.visit(
            |piece| {
                engine.feed(&mut swap, piece, sink)?;
                Ok(!sink.is_closed())
            },
            at_the_end,
        )?;
        match swap.failed {
            Some(raise) => Err(at_the_end(raise)),
            None => Ok(()),
        }
    }
}

/// Returns a function that places errors at the end of the complete document.
fn at_the_end(document: &Hold) -> impl Fn(Raise) -> Error + Copy + use<> {
    let length = document.len();
    move |raise| Error::at(raise, length, String::new())
}

/// The result of rendering the items.
pub(super) enum RenderedItems {
    /// The rendered lines, as the inside of a JSON string.
    Text(Hold),
    /// The payload is not an array.
    NoItems,
    /// A template failed, with this message.
    Failed(String),
}

/// The reason why rendering ended early.
enum RenderFailure {
    /// The document passes unchanged.
    Template(String),
    /// The run fails.
    Limit(Raise),
}

/// The handler of the first reading: copies one item after the other and renders it.
struct ItemRenderer<'a> {
    /// Finds the payload.
    way: RootTracker,
    templates: &'a Templates,
    /// The counts that templates see.
    totals: Totals,
    /// The number of items. Elements after them are a mark.
    items: u64,
    limits: &'a Limits,
    meter: &'a mut Meter,
    /// The rendered text, as the inside of a JSON string. Held within the limits, because it may be long.
    text: Hold,
    /// The text of one template, before it is escaped. Empty between two lines.
    scratch: Vec<u8>,
    /// The JSON of the item that is being copied, at most `limits.item()` bytes.
    item: Vec<u8>,
    /// The payload is open.
    in_items: bool,
    /// The document has a payload that is an array.
    any: bool,
    /// A line was rendered, so that the next one needs a line break before it.
    begun: bool,
    /// The number of bytes that may still be rendered.
    left: usize,
    /// The first failure. Nothing is rendered after it.
    failed: Option<RenderFailure>,
}

impl ItemRenderer<'_> {
    /// Renders the header. Called at the start of the payload.
    fn header(&mut self) {
        let Self { templates, totals, left, scratch, .. } = self;
        let rendered = templates.header(totals, *left, scratch);
        self.line(rendered.map_err(|error| error.to_string()));
    }

    /// Renders the footer. Called after the document was read.
    fn footer(&mut self) {
        let Self { templates, totals, left, scratch, .. } = self;
        let rendered = templates.footer(totals, *left, scratch);
        self.line(rendered.map_err(|error| error.to_string()));
    }

    /// Renders the item that was copied.
    fn line_of_item(&mut self) {
        let Self { templates, totals, limits, left, scratch, item, .. } = self;
        count(WorkKind::Tail, words(item.len()));
        let rendered = match templates.read(item, limits.item()) {
            Ok(Some(read)) => {
                // The template has read all it needs from the item.
                item.clear();
                let rendered = templates.read_item(read, totals, *left, scratch);
                rendered.map_err(|error| error.to_string())
            }
            // Only objects are rendered.
            Ok(None) => Ok(false),
            Err(unread) => Err(unread.to_string()),
        };
        self.line(rendered);
    }

    /// Adds the rendered text as a line, if there is any, and empties `scratch`. `Ok(false)`: nothing was rendered.
    fn line(&mut self, rendered: Result<bool, String>) {
        if self.failed.is_some() {
            return;
        }
        match rendered {
            Err(message) => self.failed = Some(RenderFailure::Template(message)),
            Ok(false) => {}
            Ok(true) => {
                count(WorkKind::Tail, self.scratch.len());
                self.left = self.left.saturating_sub(self.scratch.len() + 1);
                // Lines are separated by an escaped line break. The text of a template may have several lines.
                let mut quoted = if self.begun { b"\\n".to_vec() } else { Vec::new() };
                self.begun = true;
                // Data may look like a notice of tamis.
                for (number, line) in self.scratch.split(|byte| *byte == b'\n').enumerate() {
                    if number > 0 {
                        quoted.extend_from_slice(b"\\n");
                    }
                    escape(&notice::marked(line), &mut quoted);
                }
                if let Err(raise) = self.text.push(&quoted, self.limits, self.meter) {
                    self.failed = Some(RenderFailure::Limit(raise));
                }
            }
        }
        self.scratch.clear();
    }
}

/// Appends `text` as the inside of a JSON string. Only quotes, backslashes and control characters are escaped.
fn escape(text: &[u8], quoted: &mut Vec<u8>) {
    for byte in text {
        match byte {
            b'"' => quoted.extend_from_slice(b"\\\""),
            b'\\' => quoted.extend_from_slice(b"\\\\"),
            b'\n' => quoted.extend_from_slice(b"\\n"),
            b'\r' => quoted.extend_from_slice(b"\\r"),
            b'\t' => quoted.extend_from_slice(b"\\t"),
            0..0x20 => quoted.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
            _ => quoted.push(*byte),
        }
    }
}

impl StageState for ItemRenderer<'_> {
    // Writes no output.
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, ItemRenderer<'_>> {
    /// Copies items, and skips everything outside the payload.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let render = &mut *self.stage;
        if render.failed.is_some() {
            return Ok(Interest::Stop);
        }
        if render.in_items {
            if matches!(slot, ValueSlot::Element(index) if index >= render.items) {
                return Ok(Interest::Skip);
            }
            // Other elements have no fields, so they are not rendered.
            let is_object = kind == ValueKind::Object;
            return Ok(if is_object { Interest::Copy } else { Interest::Skip });
        }
        let step = render.way.step(slot, kind);
        if step == RootStep::Outside {
            return Ok(Interest::Skip);
        }
        render.way.enter(kind);
        render.in_items = step == RootStep::Items;
        if render.in_items {
            render.any = true;
            render.header();
        }
        Ok(Interest::Inspect)
    }

    /// Ends the payload or a container on the path.
    fn close(&mut self, _: u64) -> Result<(), Raise> {
        self.stage.way.leave();
        self.stage.in_items = false;
        Ok(())
    }

    /// Adds to the item that is being copied.
    fn raw(&mut self, bytes: &[u8]) {
        let render = &mut *self.stage;
        let limit = render.limits.item();
        if render.failed.is_none() {
            count(WorkKind::Tail, words(bytes.len()));
            render.item.extend_from_slice(bytes);
            if render.item.len() as u64 > limit {
                let message = format!("an item exceeds {limit} bytes");
                render.failed = Some(RenderFailure::Limit(Raise::limit(LimitName::Item, message)));
            }
        }
    }

    /// Renders the complete item.
    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        self.stage.line_of_item();
        self.stage.item.clear();
        Ok(())
    }
}

/// The handler of the other readings: writes the document with the summary in place of the payload.
struct SummarySwap<'a> {
    /// Finds the payload.
    way: RootTracker,
    /// Writes the new document.
    writer: JsonWriter,
    /// The rendered text, which is kept.
    text: &'a mut Hold,
    counts: SummaryCounts<'a>,
    /// The error of reading the text.
    failed: Option<Raise>,
}

impl SummarySwap<'_> {
    /// Writes the three members of the summary in place of the payload, which is the value at `slot`.
    fn summary(&mut self, slot: ValueSlot<'_>, sink: &mut dyn Sink) {
        let Self { writer, text, counts, failed, .. } = self;
        writer.begin(sink);
        // Outside an object, the members need an object of their own.
        let alone = !matches!(slot, ValueSlot::Member(_));
        if alone {
            writer.raw(sink, b"{");
        }
        writer.raw(sink, b"\"summary\":\"");
        let taken = text.visit(
            |piece| {
                writer.raw(sink, piece);
                Ok(true)
            },
            |raise| raise,
        );
        if let Err(raise) = taken {
            *failed = Some(raise);
        }
        let items = counts.items;
        writer.raw(sink, format!("\",\"_compact\":true,\"_original_items\":{items}").as_bytes());
        if alone {
            // The mark of an array that is not a member was an element of it.
            if let Some(mark) = counts.mark {
                writer.raw(sink, format!(",\"_omitted\":{mark}").as_bytes());
            }
            writer.raw(sink, b"}");
        }
    }
}

impl StageState for SummarySwap<'_> {
    fn flush(&mut self, sink: &mut dyn Sink) {
        self.writer.flush(sink);
    }
}

impl Handler for StageHandler<'_, SummarySwap<'_>> {
    /// Replaces the payload, drops siblings with the names of its members, and copies everything else.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let Self { stage, sink } = self;
        // Whether the value is a sibling of the payload, or the payload itself.
        let is_sibling = stage.way.is_at_parent();
        match stage.way.step(slot, kind) {
            RootStep::Items => {
                stage.summary(slot, *sink);
                return Ok(Interest::Skip);
            }
            RootStep::OnPath => {
                if let ValueSlot::Member(key) = slot {
                    stage.writer.spelled(*sink, key.raw());
                }
                stage.writer.open(*sink, if kind == ValueKind::Object { b'{' } else { b'[' });
                stage.way.enter(kind);
                return Ok(Interest::Inspect);
            }
            RootStep::Outside => {}
        }
        if let ValueSlot::Member(key) = slot {
            if is_sibling && key.with_name(|name| name.is_some_and(|name| SUMMARY.contains(&name)))
            {
                return Ok(Interest::Skip);
            }
            stage.writer.begin(*sink);
            return Ok(Interest::CopyMember);
        }
        stage.writer.begin(*sink);
        Ok(Interest::Copy)
    }

    /// Ends a container on the path. Others are copied, and the payload is skipped.
    fn close(&mut self, _: u64) -> Result<(), Raise> {
        let object = self.stage.way.is_in_object();
        self.stage.writer.close(self.sink, if object { b'}' } else { b']' });
        self.stage.way.leave();
        Ok(())
    }

    /// Writes copied bytes.
    fn raw(&mut self, bytes: &[u8]) {
        self.stage.writer.raw(self.sink, bytes);
    }
}
