//! Extracts text from the fields of a JSON response: selects the fields with the items stage, then reads its output.
//!
//! The output is an object, or an array of objects, whose members have the numbers of the declared fields. The text
//! of a list or an object consists of its members `content`, `text` and `body`, and the strings of lists. Without
//! these, it is the JSON itself. The selected fields are held within the limit `item`.
//!
//! Example with `extract: [title, body]`, of which `title` has the number 0 and `body` the number 1:
//!
//! ```text
//! document     [{"id":1,"body":[{"type":"text","text":"x"},"y"],"title":"T"}]
//! selected     [{"1":[{"type":"text","text":"x"},"y"],"0":"T"}]
//! fields       item 1, number 0: "T"       item 1, number 1: [{"type":"text","text":"x"},"y"]
//! texts        T                           x, a blank line, y
//! ```
//!
//! The run reads the complete document, which it holds. It calls [`ContentFields::read`] once for each program.

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, ErrorKind, LimitName, Raise};
use tamis_json::hold::Hold;
use tamis_json::key::text_of;
use tamis_json::limits::{Limits, Meter};
use tamis_json::scan::Scanner;
use tamis_json::sink::Sink;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};
use tamis_text::controls::has_text;

use crate::filter::compile::content::USUAL;
use crate::filter::compile::program::Program;
use crate::filter::options::CallOptions;
use crate::filter::run::output::facts::OutputFacts;
use crate::filter::run::payload::PayloadStage;
use crate::filter::run::pipe::{Next, Stage};
use crate::filter::run::stage::{StageHandler, StageMachine, StageState, machine_config};
use crate::spec::Spec;

/// The selected fields, in the order in which they are read.
#[derive(Debug, Default)]
pub(super) struct ContentFields {
    /// Sorted by item, then by the order in which the spec declares the fields.
    fields: Vec<ContentField>,
    /// Only the first field with text is used of each item.
    first: bool,
    /// The memory of the fields, for the limit `item`.
    bytes: u64,
}

/// A selected value.
#[derive(Debug)]
struct ContentField {
    /// The number of its item, which is an object or a string outside objects, from 1.
    item: u64,
    /// Its number in the declaration. 0 for a string that is not in an object.
    number: usize,
    /// Decides how `json` is turned into text.
    kind: ValueKind,
    /// The value as selected: valid, minified JSON.
    json: Vec<u8>,
}

/// Collects output up to a limit, so that the selected fields of a large document are not held without bound.
struct CappedSink {
    /// The output, or nothing after it was too long.
    json: Vec<u8>,
    /// The limit `item`, in bytes.
    limit: u64,
    /// The output was too long. The stage is not stopped, and the caller reports the error.
    over: bool,
}

impl Sink for CappedSink {
    fn write(&mut self, bytes: &[u8]) {
        self.over = self.over || (self.json.len() + bytes.len()) as u64 > self.limit;
        if self.over {
            self.json = Vec::new();
        } else {
            self.json.extend_from_slice(bytes);
        }
    }
}

impl ContentFields {
    /// Reads the fields that `program` selects.
    ///
    /// # Errors
    /// [`ErrorKind::Miss`] if there are none. Also fails if the document is not JSON, or if the fields exceed the
    /// limit.
    pub(super) fn read(
        program: &Program,
        first: bool,
        document: &mut Hold,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let options = CallOptions::new().with_limits(limits.clone());
        // First reading: the items stage selects the fields of the held document.
        let mut selected = CappedSink { json: Vec::new(), limit: limits.item(), over: false };
        let (mut meter, mut facts) = (Meter::default(), OutputFacts::default());
        let mut bom = BomSkipper::new();
        let mut stage = PayloadStage::new(program, &options, None, None);
        document.visit(
            |piece| {
                let (text, settled) = bom.skip(piece)?;
                if let Some(prefix) = settled {
                    stage.skip_prefix(prefix);
                }
                let mut next = Next::sink(&mut facts, &mut meter, &mut selected);
                stage.write(text, &mut next).map(|()| true)
            },
            |raise| Hold::place(limits, raise),
        )?;
        bom.end()?;
        stage.end(&mut Next::sink(&mut facts, &mut meter, &mut selected))?;
        // After a total miss the output is the unselected document.
        if stage.is_total_miss() {
            return Err(Error::new(ErrorKind::Miss, "the response has none of the fields"));
        }
        let CappedSink { json, over, .. } = selected;
        if over {
            return Err(Error::at(too_much(limits.item()), 0, String::new()));
        }
        // Second reading: the selected output is split into its fields.
        let mut found = FieldReader { limit: limits.item(), ..FieldReader::default() };
        run(&mut found, &json, limits)?;
        let FieldReader { mut fields, bytes, .. } = found;
        fields.sort_by_key(|field| (field.item, field.number));
        Ok(Self { fields, first, bytes })
    }

    /// Returns the number of held bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the texts, item by item, in the order of the fields. Fields without text are left out. With `first` each
    /// item has at most one text.
    pub(super) fn texts(self) -> impl Iterator<Item = String> {
        let Self { fields, first, .. } = self;
        let mut last = None;
        fields.into_iter().filter_map(move |field| {
            let item = field.item;
            if first && last == Some(item) {
                return None;
            }
            let text = field.text();
            let is_there = has_text(&text);
            if is_there {
                last = Some(item);
            }
            is_there.then_some(text)
        })
    }
}

/// Returns the error of fields that exceed the limit.
fn too_much(limit: u64) -> Raise {
    Raise::limit(LimitName::Item, format!("the fields of the content exceed {limit} bytes"))
}

impl ContentField {
    /// Returns the text of the value, which is empty for `null` and `""`.
    fn text(self) -> String {
        match self.kind {
            ValueKind::String | ValueKind::EmptyString => text_of(&self.json),
            ValueKind::Null => String::new(),
            ValueKind::Array | ValueKind::Object => {
                let mut inner = InnerTextReader::default();
                let limits = Limits::new().with_depth(usize::MAX);
                // The selected output is valid JSON.
                _ = run(&mut inner, &self.json, &limits);
                // A container without any usual text is shown as it is written.
                if has_text(&inner.text) { inner.text } else { string_of(&self.json) }
            }
            ValueKind::Number | ValueKind::Bool => string_of(&self.json),
        }
    }
}

/// Reads JSON that is in memory with a handler.
fn run<S: StageState>(stage: &mut S, json: &[u8], limits: &Limits) -> Result<(), Error>
where
    for<'a> StageHandler<'a, S>: Handler,
{
    let mut engine = StageMachine::new(machine_config(&Spec::new(), limits, false), Scanner::new());
    let mut nowhere = Vec::new();
    let fed = engine.feed(stage, json, &mut nowhere).map(|_| ());
    fed.and_then(|()| engine.end(stage, &mut nowhere))
}

/// Returns JSON as text. It is valid UTF-8, because a stage wrote it.
fn string_of(json: &[u8]) -> String {
    String::from_utf8_lossy(json).into_owned()
}

/// The memory of a field in addition to its JSON. Twice the size, because the list of fields grows by doubling.
const OVERHEAD: u64 = 2 * size_of::<ContentField>() as u64;

/// Reads the fields from the selected output.
#[derive(Debug, Default)]
struct FieldReader {
    /// The complete fields, in document order.
    fields: Vec<ContentField>,
    /// The field that is being copied.
    open: Option<ContentField>,
    /// The number of items that have begun.
    items: u64,
    /// The memory of the complete fields, and its limit.
    bytes: u64,
    limit: u64,
}

impl StageState for FieldReader {
    // Writes no output.
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, FieldReader> {
    /// Copies the values of members, and strings outside objects. Each object or string outside an object is an item.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let found = &mut *self.stage;
        let mut number = 0;
        match slot {
            ValueSlot::Member(key) => {
                // The selection uses the numbers of the fields as keys.
                let read = key.with_name(|name| std::str::from_utf8(name?).ok()?.parse().ok());
                number = read.unwrap_or(usize::MAX);
            }
            // The document, or an element of it.
            _ if kind == ValueKind::Object => {
                found.items += 1;
                return Ok(Interest::Inspect);
            }
            ValueSlot::Top if kind == ValueKind::Array => return Ok(Interest::Inspect),
            // Only strings are text.
            _ if matches!(kind, ValueKind::String | ValueKind::EmptyString) => found.items += 1,
            _ => return Ok(Interest::Skip),
        }
        found.open = Some(ContentField { item: found.items, number, kind, json: Vec::new() });
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        if let Some(field) = &mut self.stage.open {
            field.json.extend_from_slice(bytes);
        }
    }

    /// Adds the complete field, unless the fields exceed the limit.
    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        let found = &mut *self.stage;
        let Some(field) = found.open.take() else { return Ok(()) };
        found.bytes += field.json.len() as u64 + OVERHEAD;
        if found.bytes > found.limit {
            return Err(too_much(found.limit));
        }
        found.fields.push(field);
        Ok(())
    }
}

/// Reads the text inside a field: the strings of arrays, and of members with a usual name, at any depth.
#[derive(Debug, Default)]
struct InnerTextReader {
    /// The strings so far, with blank lines between them.
    text: String,
    /// The JSON of the string that is being copied.
    open: Option<Vec<u8>>,
}

impl StageState for InnerTextReader {
    // Writes no output.
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for StageHandler<'_, InnerTextReader> {
    /// Inspects all containers and copies the strings that are text.
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        if kind.is_container() {
            return Ok(Interest::Inspect);
        }
        let usual = match slot {
            ValueSlot::Member(key) => {
                key.with_name(|name| USUAL.iter().any(|usual| Some(usual.as_bytes()) == name))
            }
            _ => true,
        };
        if !usual || !matches!(kind, ValueKind::String | ValueKind::EmptyString) {
            return Ok(Interest::Skip);
        }
        self.stage.open = Some(Vec::new());
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        if let Some(json) = &mut self.stage.open {
            json.extend_from_slice(bytes);
        }
    }

    /// Appends the complete string to the text.
    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        if let Some(json) = self.stage.open.take() {
            let text = &mut self.stage.text;
            if !text.is_empty() {
                text.push_str("\n\n");
            }
            text.push_str(&text_of(&json));
        }
        Ok(())
    }
}
