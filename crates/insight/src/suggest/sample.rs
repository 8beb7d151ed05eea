//! Reads sample documents and counts what is at each path: values, bytes, shapes, distinct values.
//!
//! Paths are merged over the elements of arrays. The number of paths, and what is kept of each, is bounded, so memory
//! does not grow with the samples.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, ErrorKind, Raise};
use tamis_json::key::unescape_any;
use tamis_json::limits::Limits;
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::Scanner;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};
use tamis_text::secrets::SecretFinder;

use super::personal::PersonalFinder;
use super::shape::{READ, Shape, tenths_of_tokens};
use super::template::Siblings;

/// The paths that are counted one by one. Values at other paths count only for the containers around them.
const MAX_PATHS: usize = 20_000;

/// The distinct values that are counted for each path.
const MAX_DISTINCT: usize = 64;

/// The shortest text in which a credential is looked for.
const SHORTEST_CREDENTIAL: u64 = 12;
/// The shortest e-mail address.
const SHORTEST_PERSONAL: u64 = 6;

/// The longest example that is kept, in characters.
const EXAMPLE: usize = 60;

/// The objects at each path in which addresses are compared with the other members.
const COMPARED_OBJECTS: u64 = 32;

/// The values of the samples at one path.
#[derive(Debug, Default)]
pub(super) struct PathNode {
    pub(super) parent: Option<usize>,
    /// The name of the member. `None` for the elements of an array, and for the document.
    pub(super) name: Option<Box<str>>,
    pub(super) children: Vec<usize>,
    members: HashMap<Box<str>, usize>,
    elements: Option<usize>,
    pub(super) objects: u64,
    pub(super) arrays: u64,
    /// Scalars that are neither null nor `""`.
    pub(super) scalars: u64,
    pub(super) nulls: u64,
    /// `""`, `[]` and `{}`.
    pub(super) empties: u64,
    /// The bytes of the values, with their names.
    pub(super) bytes: u64,
    /// Tenths of estimated tokens of the names and scalars here, without the values inside containers.
    pub(super) cost: u64,
    /// Like `cost`, for the values that are null or empty.
    pub(super) empty_cost: u64,
    name_cost: u64,
    shapes: [u64; Shape::ALL.len()],
    distinct: HashSet<u64>,
    /// The scalars that have a credential.
    pub(super) credentials: u64,
    /// Values with personal data.
    personal: u64,
    /// A hash of all scalars, in order.
    pub(super) sequence: u64,
    /// The length of the shortest scalar.
    pub(super) shortest: u64,
    pub(super) example: Option<Box<str>>,
    /// How addresses here follow from other members of the same objects.
    pub(super) template: super::template::TemplateGuess,
}

impl PathNode {
    /// The number of different scalars, at most one more than are counted.
    pub(super) fn distinct(&self) -> usize {
        self.distinct.len()
    }

    /// Returns the shape of most scalars here, or `None` if there are no scalars.
    pub(super) fn shape(&self) -> Option<Shape> {
        let count = |shape: Shape| self.shapes.get(shape as usize).copied().unwrap_or(0);
        if self.scalars == 0 {
            return None;
        }
        if count(Shape::Long) * 5 >= self.scalars {
            return Some(Shape::Long);
        }
        let mut most = Shape::Short;
        for shape in Shape::ALL {
            if count(shape) > count(most) {
                most = shape;
            }
        }
        Some(if count(most) * 10 >= self.scalars * 6 { most } else { Shape::Short })
    }

    /// Whether there are scalars here, and all of them have this shape.
    pub(super) fn all_are(&self, shape: Shape) -> bool {
        self.scalars > 0 && self.shapes.get(shape as usize) == Some(&self.scalars)
    }

    /// Whether this is an object in most places.
    pub(super) fn is_object(&self) -> bool {
        self.objects > 0 && self.objects >= self.arrays
    }

    /// Whether many values here are credentials. Texts in which one occurs now and then are not.
    pub(super) fn has_credentials(&self) -> bool {
        self.credentials > 0 && self.credentials * 4 >= self.scalars
    }

    /// Whether many values here are personal data, as for credentials.
    pub(super) fn is_personal(&self) -> bool {
        self.personal > 0 && self.personal * 4 >= self.scalars
    }

    /// Returns the child that all elements share.
    pub(super) fn elements(&self) -> Option<usize> {
        self.elements
    }

    /// Returns the member of this name.
    pub(super) fn member(&self, name: &str) -> Option<usize> {
        self.members.get(name).copied()
    }
}

/// Counts over sample documents, from which a filter is suggested.
///
/// Samples are pushed in one after the other, in chunks cut anywhere. Memory does not grow with them.
///
/// ```
/// use tamis_insight::suggest::Samples;
/// use tamis_manifest::Manifest;
///
/// let mut samples = Samples::new();
/// samples.read(br#"{"items": [
///     {"id": 7, "title": "one", "node_id": "MDU6SXNzdWUxMjM0NTY3", "url": "https://api.example/7"},
///     {"id": 8, "title": "two", "node_id": "MDU6SXNzdWUxMjM0NTY4", "url": "https://api.example/8"}]}"#)?;
/// let suggestion = samples.suggest("crm.list");
/// let manifest = Manifest::parse("suggested.yaml", suggestion.manifest()).unwrap();
/// let program = manifest.program("crm.list").unwrap();
/// let (output, _) = tamis::filter_slice(&program, br#"{"items": [{"id": 9, "url": "x", "new": 1}]}"#)?;
/// assert_eq!(output, br#"{"items":[{"id":9,"new":1}]}"#);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Debug)]
pub struct Samples {
    pub(super) nodes: Vec<PathNode>,
    pub(super) documents: u64,
    pub(super) bytes: u64,
    /// Values at paths that are not counted.
    pub(super) uncounted: u64,
}

impl Default for Samples {
    fn default() -> Self {
        Self::new()
    }
}

impl Samples {
    /// Creates counts without samples.
    #[must_use]
    pub fn new() -> Self {
        Self { nodes: vec![PathNode::default()], documents: 0, bytes: 0, uncounted: 0 }
    }

    /// Begins a sample.
    pub fn document(&mut self) -> SampleReader<'_> {
        let limits = Limits::new();
        let config = MachineConfig::new(&limits);
        SampleReader {
            machine: Machine::new(config),
            scanner: Scanner::new(),
            bom: BomSkipper::new(),
            collector: Collector {
                samples: self,
                open: Vec::new(),
                scalar: None,
                scalar_bytes: 0,
                start: Vec::with_capacity(READ),
                finder: SecretFinder::new(),
                personal: PersonalFinder::new(),
            },
            state: ReaderState::Open,
        }
    }

    /// Adds a complete sample.
    ///
    /// # Errors
    /// The document is not valid JSON, or is nested too deep.
    pub fn read(&mut self, document: &[u8]) -> Result<(), Error> {
        let mut reader = self.document();
        reader.write(document)?;
        reader.end()
    }

    /// Returns the number of complete samples.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns whether some samples are arrays and others are objects, which one filter cannot have as its root.
    #[must_use]
    pub fn is_mixed(&self) -> bool {
        self.nodes.first().is_some_and(|root| root.arrays > 0 && root.objects > 0)
    }

    /// Returns the number of bytes that were read.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(super) fn node(&self, index: usize) -> Option<&PathNode> {
        self.nodes.get(index)
    }

    /// Returns the child of a node, which is created if there is room.
    fn child(&mut self, parent: usize, name: Option<&str>) -> Option<usize> {
        let index = self.nodes.len();
        let node = self.nodes.get_mut(parent)?;
        let known = match name {
            Some(name) => node.members.get(name).copied(),
            None => node.elements,
        };
        if known.is_some() || index >= MAX_PATHS {
            return known;
        }
        match name {
            Some(name) => _ = node.members.insert(name.into(), index),
            None => node.elements = Some(index),
        }
        node.children.push(index);
        self.nodes.push(PathNode {
            parent: Some(parent),
            name: name.map(Box::from),
            // The quotes, the colon and the comma.
            name_cost: name.map_or(0, |name| tenths_of_tokens(name) + 13),
            ..PathNode::default()
        });
        Some(index)
    }
}

/// One sample that is being read.
pub struct SampleReader<'a> {
    machine: Machine,
    scanner: Scanner,
    bom: BomSkipper,
    collector: Collector<'a>,
    state: ReaderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReaderState {
    Open,
    Closed,
}

impl std::fmt::Debug for SampleReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SampleReader").field("state", &self.state).finish_non_exhaustive()
    }
}

impl SampleReader<'_> {
    /// Reads the next bytes of the document.
    ///
    /// # Errors
    /// The document is not valid JSON, or is nested too deep. After an error all further calls fail.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.check_open()?;
        self.collector.samples.bytes += chunk.len() as u64;
        let read = self.bom.skip(chunk).and_then(|(document, prefix)| {
            self.machine.skip_prefix(prefix.unwrap_or(0));
            let collector = &mut self.collector;
            self.machine.feed::<dyn Handler>(self.scanner, document, collector).map(|_| ())
        });
        if read.is_err() {
            self.state = ReaderState::Closed;
        }
        read
    }

    /// Ends the document.
    ///
    /// # Errors
    /// The document is not complete, or an earlier call failed.
    pub fn end(&mut self) -> Result<(), Error> {
        self.check_open()?;
        self.state = ReaderState::Closed;
        self.bom.end().and_then(|()| self.machine.end::<dyn Handler>(&mut self.collector))?;
        self.collector.samples.documents += 1;
        Ok(())
    }

    fn check_open(&self) -> Result<(), Error> {
        match self.state {
            ReaderState::Open => Ok(()),
            ReaderState::Closed => Err(Error::new(ErrorKind::Failed, "the sample has ended")),
        }
    }
}

/// A container whose members or elements are being read.
struct OpenContainer {
    node: usize,
    start: u64,
    key_bytes: u64,
    is_object: bool,
    is_empty: bool,
    siblings: Option<Siblings>,
}

/// The handler: counts the values of one document.
struct Collector<'a> {
    samples: &'a mut Samples,
    open: Vec<OpenContainer>,
    /// The scalar that is being read, and the bytes of its name.
    scalar: Option<(usize, u64)>,
    scalar_bytes: u64,
    /// The first bytes of the scalar.
    start: Vec<u8>,
    finder: SecretFinder,
    personal: PersonalFinder,
}

impl Collector<'_> {
    fn find(&mut self, slot: &ValueSlot<'_>) -> (Option<usize>, u64) {
        let parent = self.open.last().map_or(0, |open| open.node);
        match slot {
            ValueSlot::Top => (Some(0), 0),
            ValueSlot::Element(_) => (self.samples.child(parent, None), 1),
            ValueSlot::Member(key) => {
                let node = key.with_name(|name| {
                    let name = std::str::from_utf8(name?).ok()?;
                    self.samples.child(parent, Some(name))
                });
                (node, key.raw().len() as u64 + 4)
            }
        }
    }

    fn end_scalar(&mut self, index: usize, key_bytes: u64) {
        let Some(node) = self.samples.nodes.get_mut(index) else { return };
        let raw = self.start.as_slice();
        node.bytes += key_bytes + self.scalar_bytes;
        match raw.first() {
            Some(b'n') => {
                node.nulls += 1;
                node.empty_cost += node.name_cost + 10;
                return;
            }
            Some(b'"') if self.scalar_bytes == 2 => {
                node.empties += 1;
                node.empty_cost += node.name_cost + 10;
                return;
            }
            _ => {}
        }
        let text = match raw {
            [b'"', inside @ ..] => {
                let inside = match inside {
                    [inside @ .., b'"'] if self.scalar_bytes == raw.len() as u64 => inside,
                    inside => inside,
                };
                String::from_utf8_lossy(&unescape_any(inside).0).into_owned()
            }
            raw => String::from_utf8_lossy(raw).into_owned(),
        };
        let len = self.scalar_bytes.saturating_sub(2);
        let (shape, quotes) = match raw.first() {
            Some(b'"') => (Shape::of_text(&text, len), 10),
            Some(b't' | b'f') => (Shape::Bool, 0),
            _ => (Shape::Number, 0),
        };
        let read = (raw.len() as u64).max(1);
        let tokens = tenths_of_tokens(&text).saturating_mul(self.scalar_bytes.max(read)) / read;
        node.cost += node.name_cost + 5 + quotes + tokens;
        if let Some(count) = node.shapes.get_mut(shape as usize) {
            *count += 1;
        }
        node.shortest = if node.scalars == 0 { len } else { node.shortest.min(len) };
        node.scalars += 1;
        let mut hasher = DefaultHasher::new();
        (raw, self.scalar_bytes).hash(&mut hasher);
        let hash = hasher.finish();
        node.sequence.hash(&mut hasher);
        node.sequence = hasher.finish();
        if node.distinct.len() <= MAX_DISTINCT {
            node.distinct.insert(hash);
        }
        if quotes > 0 && len >= SHORTEST_CREDENTIAL && self.finder.finds(text.as_bytes()) {
            node.credentials += 1;
        }
        if quotes > 0 && len >= SHORTEST_PERSONAL && self.personal.finds(text.as_bytes()) {
            node.personal += 1;
        }
        if node.example.is_none() {
            node.example = Some(text.chars().take(EXAMPLE).collect::<String>().into());
        }
        if let Some(OpenContainer { siblings: Some(siblings), .. }) = self.open.last_mut() {
            siblings.push(index, text, shape);
        }
    }
}

impl Handler for Collector<'_> {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let (node, key_bytes) = self.find(&slot);
        if let Some(open) = self.open.last_mut() {
            open.is_empty = false;
        }
        let Some(index) = node else {
            self.samples.uncounted += 1;
            return Ok(Interest::Skip);
        };
        if !kind.is_container() {
            self.scalar = Some((index, key_bytes));
            self.scalar_bytes = 0;
            self.start.clear();
            return Ok(Interest::Copy);
        }
        let is_object = kind == ValueKind::Object;
        let mut siblings = None;
        if let Some(node) = self.samples.nodes.get_mut(index) {
            if is_object {
                node.objects += 1;
                siblings = (node.objects <= COMPARED_OBJECTS).then(Siblings::default);
            } else {
                node.arrays += 1;
            }
        }
        self.open.push(OpenContainer {
            node: index,
            start: offset,
            key_bytes,
            is_object,
            is_empty: true,
            siblings,
        });
        Ok(Interest::Inspect)
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        if let Some(node) = self.samples.nodes.get_mut(open.node) {
            node.bytes += open.key_bytes + (offset + 1).saturating_sub(open.start);
            if open.is_empty {
                node.empties += 1;
                node.empty_cost += node.name_cost + 10;
                if open.is_object {
                    node.objects -= 1;
                } else {
                    node.arrays -= 1;
                }
            } else {
                node.cost += node.name_cost + 10;
            }
        }
        if let Some(siblings) = open.siblings {
            siblings.compare(&mut self.samples.nodes);
        }
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        let room = READ.saturating_sub(self.start.len()).min(bytes.len());
        self.start.extend_from_slice(bytes.get(..room).unwrap_or_default());
        self.scalar_bytes += bytes.len() as u64;
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        if let Some((node, key_bytes)) = self.scalar.take() {
            self.end_scalar(node, key_bytes);
        }
        Ok(())
    }

    fn takes_long_keys(&self, _: usize) -> bool {
        true
    }
}
