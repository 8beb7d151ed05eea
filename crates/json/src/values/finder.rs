//! One run of the finder: the places of the open containers, and the values that were found.

use std::fmt;
use std::ops::Range;

use smallvec::{SmallVec, smallvec};

use super::{FoundValue, ValuePaths};
use crate::bom::BomSkipper;
use crate::error::{Error, ErrorKind, LimitName, Raise};
use crate::key::{RawKey, is_too_long_for};
use crate::machine::{Machine, MachineConfig};
use crate::path::trie::NodeId;
use crate::policy::{Action, Policy};
use crate::scan::Scanner;
use crate::{Handler, Interest, ValueKind, ValueSlot};

/// One run over a document: finds the values at the paths of a [`ValuePaths`].
///
/// Use it to route or to edit a message of which only the places of a few values matter. Bytes are pushed in, in chunks
/// cut anywhere. No tree is built, and nothing of the document is kept but the places.
///
/// The whole document is validated (RFC 8259). A byte order mark at its start is skipped and counts for offsets.
/// Every member at a path is found, also if an object has several of one name. A value at two paths is found twice.
///
/// Memory: the places of the values ([`ValuePaths::with_max_values`]), a few words for each path and each open
/// container. The windows for reading belong to the thread, about 13 KiB each. Work is linear in the document.
///
/// ```
/// use tamis::json::{ValueFinder, ValuePaths};
///
/// let paths = ValuePaths::new(["id", "result.isError"])?;
/// let mut finder = ValueFinder::new(&paths);
/// for chunk in [r#"{"result": {"isEr"#, r#"ror": tr"#, r#"ue}, "id": 1}"#] {
///     finder.write(chunk.as_bytes())?;
/// }
/// finder.end()?;
/// let found: Vec<_> = finder.found().map(|value| (value.path, value.span.clone())).collect();
/// assert_eq!(found, [(1, 23..27), (0, 36..37)]);
/// # Ok::<(), tamis::Error>(())
/// ```
pub struct ValueFinder {
    pub(super) machine: Machine,
    scanner: Scanner,
    bom: BomSkipper,
    search: PathSearch,
    state: FinderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FinderState {
    Open,
    Ended,
    Failed,
}

impl ValueFinder {
    /// Creates a run over one document.
    #[must_use]
    pub fn new(paths: &ValuePaths) -> Self {
        let config = MachineConfig::new(&paths.limits);
        Self {
            machine: Machine::new(config),
            scanner: Scanner::new(),
            bom: BomSkipper::new(),
            search: PathSearch::new(paths.clone()),
            state: FinderState::Open,
        }
    }

    /// Reads the next bytes of the document.
    ///
    /// # Errors
    /// The document is not valid JSON, is nested too deep, or has too many values at the paths. After an error all
    /// further calls fail, and [`found`](Self::found) still returns the values that were found before it.
    pub fn write(&mut self, chunk: &[u8]) -> Result<(), Error> {
        self.check_open()?;
        let read = self.read(chunk);
        if read.is_err() {
            self.state = FinderState::Failed;
        }
        read
    }

    fn read(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let (document, prefix) = self.bom.skip(chunk)?;
        self.machine.skip_prefix(prefix.unwrap_or(0));
        // The search never stops a run.
        self.machine.feed(self.scanner, document, &mut self.search).map(|_| ())
    }

    /// Ends the document.
    ///
    /// # Errors
    /// The document is not complete, or an earlier call failed.
    pub fn end(&mut self) -> Result<(), Error> {
        self.check_open()?;
        let ended = self.bom.end().and_then(|()| self.machine.end(&mut self.search));
        self.state = if ended.is_ok() { FinderState::Ended } else { FinderState::Failed };
        ended
    }

    fn check_open(&self) -> Result<(), Error> {
        let message = match self.state {
            FinderState::Open => return Ok(()),
            FinderState::Ended => "the finder has ended",
            FinderState::Failed => "the finder has failed",
        };
        Err(Error::new(ErrorKind::Failed, message))
    }

    /// Returns the values that are complete so far, in the order of their first bytes.
    pub fn found(&self) -> impl Iterator<Item = &FoundValue> {
        self.search.found.iter().filter(|value| is_complete(value))
    }

    /// Consumes the finder and returns the values that are complete, in the order of their first bytes.
    #[must_use]
    pub fn into_found(self) -> Vec<FoundValue> {
        let mut found = self.search.found;
        found.retain(is_complete);
        found
    }
}

impl fmt::Debug for ValueFinder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ValueFinder")
            .field("offset", &self.machine.offset())
            .field("found", &self.search.found.len())
            .field("state", &self.state)
            .finish_non_exhaustive()
    }
}

/// Whether the end of a value is known. A value that has not ended has the end 0.
fn is_complete(value: &FoundValue) -> bool {
    value.span.end > 0
}

/// The handler: follows the paths along the document.
struct PathSearch {
    paths: ValuePaths,
    open: Vec<OpenContainer>,
    found: Vec<FoundValue>,
    /// The positions in `found` of the scalar that is being read, and the number of its bytes so far.
    scalar: Range<usize>,
    scalar_bytes: u64,
}

/// A container that is itself at a path, or in which paths continue.
struct OpenContainer {
    is_object: bool,
    /// Its places in the trie.
    places: Places,
    /// Its positions in `found`, without those of the values inside it.
    found: Range<usize>,
}

/// Usually one. There are more if an index and a wildcard lead to one element.
type Places = SmallVec<[PathPlace; 1]>;

/// A node of the trie, and the elements that the wildcards on the way to it stand for.
#[derive(Clone)]
struct PathPlace {
    node: NodeId,
    indices: SmallVec<[u64; 2]>,
}

impl PathSearch {
    fn new(paths: ValuePaths) -> Self {
        Self { paths, open: Vec::new(), found: Vec::new(), scalar: 0..0, scalar_bytes: 0 }
    }

    /// Returns the places of a value.
    fn places(&self, slot: ValueSlot<'_>) -> Places {
        let (trie, mut places) = (&self.paths.trie, Places::new());
        let parent = self.open.last().map(|open| open.places.as_slice()).unwrap_or_default();
        match slot {
            ValueSlot::Top => places.push(PathPlace { node: 0, indices: SmallVec::new() }),
            ValueSlot::Member(key) => {
                // The machine looks names up only if there is one place, so that there is one table.
                if let (Some(node), [place]) = (key.entry(), parent) {
                    return smallvec![PathPlace { node, indices: place.indices.clone() }];
                }
                let children = |name: Option<&[u8]>| {
                    for place in parent {
                        if let Some(node) = name.and_then(|name| trie.member(place.node, name)) {
                            places.push(PathPlace { node, indices: place.indices.clone() });
                        }
                    }
                };
                key.with_name(children);
            }
            ValueSlot::Element(index) => {
                for place in parent {
                    if let Some(node) = trie.element(place.node, index) {
                        places.push(PathPlace { node, indices: place.indices.clone() });
                    }
                    if let Some(node) = trie.any(place.node) {
                        let mut indices = place.indices.clone();
                        indices.push(index);
                        places.push(PathPlace { node, indices });
                    }
                }
            }
        }
        places
    }

    /// Records a value for each path that ends at it. Returns its positions in `found`.
    fn record(
        &mut self,
        places: &[PathPlace],
        kind: ValueKind,
        offset: u64,
        key: Option<&RawKey<'_>>,
    ) -> Result<Range<usize>, Raise> {
        let begin = self.found.len();
        for place in places {
            for path in self.paths.trie.ends(place.node) {
                if self.found.len() >= self.paths.max_values {
                    let message =
                        format!("more than {} values at the paths", self.paths.max_values);
                    return Err(Raise::limit(LimitName::MaxValues, message));
                }
                self.found.push(FoundValue {
                    path: *path as usize,
                    kind: kind.into(),
                    // The end is known later.
                    span: offset..0,
                    key: key.map(RawKey::span),
                    indices: place.indices.clone(),
                });
            }
        }
        Ok(begin..self.found.len())
    }

    /// Sets the end of values.
    fn complete(&mut self, found: Range<usize>, end: u64) {
        for value in self.found.get_mut(found).unwrap_or_default() {
            value.span.end = end;
        }
    }
}

impl Handler for PathSearch {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let mut places = self.places(slot);
        let key = match &slot {
            ValueSlot::Member(key) => Some(key),
            ValueSlot::Top | ValueSlot::Element(_) => None,
        };
        let found = self.record(&places, kind, offset, key)?;
        if !kind.is_container() {
            if found.is_empty() {
                return Ok(Interest::Skip);
            }
            (self.scalar, self.scalar_bytes) = (found, 0);
            return Ok(Interest::Copy);
        }
        places.retain(|place| !self.paths.trie.children(place.node).is_empty());
        if places.is_empty() && found.is_empty() {
            return Ok(Interest::Skip);
        }
        // Its end is needed, even if no path continues in it.
        self.open.push(OpenContainer { is_object: kind == ValueKind::Object, places, found });
        Ok(Interest::Inspect)
    }

    fn policy(&mut self) -> Policy<'_> {
        let trie = &self.paths.trie;
        let Some(OpenContainer { is_object, places, .. }) = self.open.last() else {
            return Policy::ASK;
        };
        match places.as_slice() {
            [] => Policy::SKIP,
            [place] if *is_object => match trie.names(place.node) {
                Some(names) => Policy::ask_named(names, Action::Skip),
                None => Policy::SKIP,
            },
            _ if *is_object => Policy::ASK,
            places if places.iter().any(|place| trie.takes_elements(place.node)) => Policy::ASK,
            _ => Policy::SKIP,
        }
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        if let Some(open) = self.open.pop() {
            self.complete(open.found, offset + 1);
        }
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.scalar_bytes += bytes.len() as u64;
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        // White space after the value is not passed on, so the bytes are those of the value.
        let start = self.found.get(self.scalar.start).map_or(0, |value| value.span.start);
        self.complete(self.scalar.clone(), start + self.scalar_bytes);
        Ok(())
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        is_too_long_for(limit, self.paths.trie.longest_name())
    }
}
