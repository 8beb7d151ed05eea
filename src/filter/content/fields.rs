//! The texts of a JSON answer: selects its fields with a filter, then reads what that left.
//!
//! Knows the selection's output alone: an object, or an array of objects, whose members are numbered as the fields were
//! declared. Of a field that is a list or an object the text is that of the members `content`, `text` and `body` in it, and of
//! the strings of lists; if it has none, its JSON. Holds what was selected, within the limit `item`.

use super::USUAL;
use crate::error::{Error, ErrorKind, Raise};
use crate::filter::hold::Hold;
use crate::filter::program::Program;
use crate::filter::stage::{Engine, Stage, With, config, failed};
use crate::filter::{CallOptions, Filter};
use crate::json::key::text_of;
use crate::json::{Halt, Handler, Interest, Kind, Slot};
use crate::limits::Limits;
use crate::scan::Scanner;
use crate::sink::Sink;
use crate::spec::Spec;

/// What was selected, in the order in which it is read.
#[derive(Debug, Default)]
pub(super) struct Fields {
    fields: Vec<Field>,
    /// Of each item the first field with text counts, alone.
    first: bool,
    bytes: u64,
}

#[derive(Debug)]
struct Field {
    /// Which object it is of, and which of the fields that were declared it is.
    item: u64,
    number: usize,
    kind: Kind,
    json: Vec<u8>,
}

/// Takes no more than it may.
struct Capped {
    json: Vec<u8>,
    limit: u64,
    over: bool,
}

impl Sink for Capped {
    fn write(&mut self, bytes: &[u8]) {
        self.over = self.over || (self.json.len() + bytes.len()) as u64 > self.limit;
        if self.over {
            self.json = Vec::new();
        } else {
            self.json.extend_from_slice(bytes);
        }
    }
}

impl Fields {
    /// Reads the fields that `program` selects.
    ///
    /// # Errors
    /// [`ErrorKind::Miss`] if there are none; that the document is no JSON, or the fields are too much.
    pub(super) fn read(
        program: &Program,
        first: bool,
        document: &mut Hold,
        limits: &Limits,
    ) -> Result<Self, Error> {
        let options = CallOptions::new().limits(limits.clone());
        let capped = Capped { json: Vec::new(), limit: limits.item(), over: false };
        let mut filter = Filter::new(program.with_options(&options), capped);
        document.visit(
            |piece| filter.write(piece).map(|()| true),
            |raise| Hold::place(limits, raise),
        )?;
        if !filter.end()?.filter_applied {
            return Err(Error::new(ErrorKind::Miss, "the answer has none of the fields"));
        }
        let Capped { json, over, .. } = filter.into_sink();
        if over {
            return Err(Error::at(too_much(limits.item()), 0, String::new()));
        }
        let mut found = Found { limit: limits.item(), ..Found::default() };
        run(&mut found, &json, limits)?;
        let Found { mut fields, bytes, .. } = found;
        fields.sort_by_key(|field| (field.item, field.number));
        Ok(Self { fields, first, bytes })
    }

    /// Bytes that are held.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The texts, item by item, in the order of the fields.
    pub(super) fn texts(self) -> impl Iterator<Item = String> {
        let Self { fields, first, .. } = self;
        let mut last = None;
        fields.into_iter().filter_map(move |field| {
            let item = field.item;
            if first && last == Some(item) {
                return None;
            }
            let text = field.text();
            let there = !text.trim().is_empty();
            if there {
                last = Some(item);
            }
            there.then_some(text)
        })
    }
}

/// More was selected than may be held.
fn too_much(limit: u64) -> Raise {
    Raise::new(
        ErrorKind::Limit,
        format!(
            "the fields that are the content have more than {limit} bytes (limit `item` of content)"
        ),
    )
}

impl Field {
    fn text(self) -> String {
        match self.kind {
            Kind::String | Kind::EmptyString => text_of(&self.json),
            Kind::Null => String::new(),
            Kind::Array | Kind::Object => {
                let mut inner = Inner::default();
                let limits = Limits::new().with_depth(usize::MAX);
                // What was selected is valid.
                _ = run(&mut inner, &self.json, &limits);
                if inner.text.trim().is_empty() { string_of(&self.json) } else { inner.text }
            }
            Kind::Number | Kind::Bool => string_of(&self.json),
        }
    }
}

fn run<S: Stage>(stage: &mut S, json: &[u8], limits: &Limits) -> Result<(), Error>
where
    for<'a> With<'a, S>: Handler,
{
    let mut engine = Engine::new(config(&Spec::new(), limits, false), Scanner::new());
    let mut nowhere = Vec::new();
    let fed = engine.feed(stage, json, &mut nowhere).map(|_| ());
    let ended = fed.and_then(|()| engine.end(stage, &mut nowhere));
    ended.map_err(|failure| failed(failure, &engine.machine))
}

fn string_of(json: &[u8]) -> String {
    String::from_utf8_lossy(json).into_owned()
}

/// What a field takes beside its JSON.
const OVERHEAD: u64 = 2 * size_of::<Field>() as u64;

/// Reads a selection's output.
#[derive(Debug, Default)]
struct Found {
    fields: Vec<Field>,
    open: Option<Field>,
    items: u64,
    bytes: u64,
    limit: u64,
}

impl Stage for Found {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for With<'_, Found> {
    fn value(&mut self, slot: Slot<'_>, kind: Kind, _: u64) -> Result<Interest, Halt> {
        let found = &mut *self.stage;
        let mut number = 0;
        match slot {
            Slot::Member(key) => {
                let read = key.with_name(|name| std::str::from_utf8(name?).ok()?.parse().ok());
                number = read.unwrap_or(usize::MAX);
            }
            // The document, or an element of it.
            _ if kind == Kind::Object => {
                found.items += 1;
                return Ok(Interest::Inspect);
            }
            Slot::Top if kind == Kind::Array => return Ok(Interest::Inspect),
            // Strings alone are texts.
            _ if matches!(kind, Kind::String | Kind::EmptyString) => found.items += 1,
            _ => return Ok(Interest::Skip),
        }
        found.open = Some(Field { item: found.items, number, kind, json: Vec::new() });
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        if let Some(field) = &mut self.stage.open {
            field.json.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
        let found = &mut *self.stage;
        let Some(field) = found.open.take() else { return Ok(()) };
        found.bytes += field.json.len() as u64 + OVERHEAD;
        if found.bytes > found.limit {
            return Err(too_much(found.limit).into());
        }
        found.fields.push(field);
        Ok(())
    }
}

/// Reads the texts inside a field.
#[derive(Debug, Default)]
struct Inner {
    text: String,
    open: Option<Vec<u8>>,
}

impl Stage for Inner {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for With<'_, Inner> {
    fn value(&mut self, slot: Slot<'_>, kind: Kind, _: u64) -> Result<Interest, Halt> {
        if kind.is_container() {
            return Ok(Interest::Inspect);
        }
        let usual = match slot {
            Slot::Member(key) => {
                key.with_name(|name| USUAL.iter().any(|usual| Some(usual.as_bytes()) == name))
            }
            _ => true,
        };
        if !usual || !matches!(kind, Kind::String | Kind::EmptyString) {
            return Ok(Interest::Skip);
        }
        self.stage.open = Some(Vec::new());
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Halt> {
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        if let Some(json) = &mut self.stage.open {
            json.extend_from_slice(bytes);
        }
    }

    fn copied(&mut self, _: u64) -> Result<(), Halt> {
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
