//! Searches each string, key and number of a JSON document while its bytes arrive.

use std::fmt;

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, Raise};
use tamis_json::key::RawKey;
use tamis_json::limits::Limits;
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::{Scanner, Window};
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};
use tamis_text::secrets::TextForm;

use super::places::{FoundPlaces, push_name};
use super::search::Search;
use crate::suggest::credentials::is_credential;

/// The kind of a value that only its name shows, such as `password`.
const NAMED: &str = "named";
/// The deepest container that is entered. Deeper ones are searched as one text.
const MAX_DEPTH: usize = 64;
/// The bytes of `""`, `{}` and `[]`.
const EMPTY: u64 = 2;

/// Reads documents as JSON, as long as they are.
pub(super) struct JsonScan {
    machine: Machine,
    config: MachineConfig,
    scanner: Scanner,
    window: Box<Window>,
    bom: BomSkipper,
    values: Values,
    failed: bool,
}

impl JsonScan {
    pub(super) fn new() -> Self {
        let limits = Limits::new();
        let config = MachineConfig {
            depth: limits.depth(),
            key: limits.key(),
            structure: false,
            keep_white: false,
            detect_empty_strings: false,
        };
        Self {
            machine: Machine::new(config.clone()),
            config,
            scanner: Scanner::new(),
            window: Window::new(),
            bom: BomSkipper::new(),
            values: Values::new(),
            failed: false,
        }
    }

    /// Reads the next bytes of a document.
    pub(super) fn write(&mut self, chunk: &[u8]) {
        if !self.failed {
            self.failed = self.feed(chunk).is_err();
        }
    }

    fn feed(&mut self, chunk: &[u8]) -> Result<(), Error> {
        let (document, prefix) = self.bom.skip(chunk)?;
        self.machine.skip_prefix(prefix.unwrap_or(0));
        // The handler never stops a run.
        self.machine
            .feed::<dyn Handler>(self.scanner, &mut self.window, document, &mut self.values)
            .map(|_| ())
    }

    /// Ends a document. Returns its places, or nothing if it is not JSON. The next bytes begin another one.
    pub(super) fn end(&mut self) -> Option<FoundPlaces> {
        let is_json = !self.failed
            && self.bom.end().is_ok()
            && self.machine.end::<dyn Handler>(&mut self.values).is_ok();
        let places = self.values.restart();
        self.machine.restart(self.config.clone());
        (self.bom, self.failed) = (BomSkipper::new(), false);
        is_json.then_some(places)
    }
}

impl fmt::Debug for JsonScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("JsonScan").field("failed", &self.failed).finish_non_exhaustive()
    }
}

/// The handler: follows the path along the document.
struct Values {
    search: Search,
    /// The path of the value that is read.
    path: String,
    /// The lengths of the paths of the containers that were entered.
    open: Vec<usize>,
    /// Whether the name of the value is that of a credential.
    is_named: bool,
    /// The bytes of the value so far, and those of an empty one.
    bytes: u64,
    empty: u64,
    places: FoundPlaces,
}

impl Values {
    fn new() -> Self {
        Self {
            search: Search::new(TextForm::Json),
            path: String::new(),
            open: Vec::new(),
            is_named: false,
            bytes: 0,
            empty: EMPTY,
            places: FoundPlaces::default(),
        }
    }

    /// Forgets the document, and returns its places.
    fn restart(&mut self) -> FoundPlaces {
        // It may have ended within a value.
        drop(self.search.end());
        self.path.clear();
        self.open.clear();
        std::mem::take(&mut self.places)
    }

    /// Ends a string, a key or a number. Returns the kind that was found first in the order of kinds.
    fn end_text(&mut self) -> Option<String> {
        let found = self.search.end();
        for (kind, count) in &found {
            self.places.add(&self.path, kind, *count);
        }
        found.into_iter().next().map(|(kind, _)| kind)
    }

    /// Searches a key, and appends its name to the path, or a mark if the name is itself a credential or personal.
    fn enter_member(&mut self, key: RawKey<'_>) {
        for part in [b"\"", key.raw(), b"\""] {
            self.search.write(part);
        }
        let kind = self.end_text();
        let (path, is_named) = (&mut self.path, &mut self.is_named);
        key.with_name(|name| {
            // A key with half a pair of surrogates has no name.
            let name = String::from_utf8_lossy(name.unwrap_or(key.raw()));
            *is_named = is_credential(&name);
            match kind {
                Some(kind) => push_name(path, &format!("[redacted:{kind}]")),
                None => push_name(path, &name),
            }
        });
    }
}

impl Handler for Values {
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        self.path.truncate(self.open.last().copied().unwrap_or(0));
        self.is_named = false;
        match slot {
            ValueSlot::Top => {}
            ValueSlot::Element(_) => self.path.push_str("[]"),
            ValueSlot::Member(key) => self.enter_member(key),
        }
        if matches!(kind, ValueKind::Null | ValueKind::Bool) {
            return Ok(Interest::Skip);
        }
        if kind.is_container() && self.open.len() < MAX_DEPTH {
            self.open.push(self.path.len());
            return Ok(Interest::Inspect);
        }
        (self.bytes, self.empty) = (0, if kind == ValueKind::Number { 0 } else { EMPTY });
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        self.open.pop();
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.search.write(bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        if self.end_text().is_none() && self.is_named && self.bytes > self.empty {
            self.places.add(&self.path, NAMED, 1);
        }
        Ok(())
    }
}
