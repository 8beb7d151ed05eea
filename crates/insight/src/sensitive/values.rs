//! Searches each string, key and number of a JSON document while its bytes arrive.

use std::fmt;

use tamis_json::bom::BomSkipper;
use tamis_json::error::{Error, Raise};
use tamis_json::key::RawKey;
use tamis_json::limits::Limits;
use tamis_json::machine::{Machine, MachineConfig};
use tamis_json::scan::Scanner;
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};
use tamis_text::secrets::TextForm;

use super::places::{FoundPlaces, push_name};
use super::search::Search;
use crate::suggest::credentials::{counts_tokens, is_credential};

/// The kind of a value that only its name shows, such as `password`.
const NAMED: &str = "named";
/// The deepest container that is entered. Deeper ones are searched as one text.
const MAX_DEPTH: usize = 64;
/// The bytes of `""`, `{}` and `[]`.
const EMPTY: u64 = 2;
/// The beginning of a string that is a mark in place of a value: `"[redacted]"`, `"[redacted:password]"`.
const MARK: &[u8] = b"\"[redacted";

/// Reads documents as JSON, as long as they are.
pub(super) struct JsonScan {
    machine: Machine,
    config: MachineConfig,
    scanner: Scanner,
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
            longest_key: limits.longest_key(),
            structure: false,
            keep_white: false,
            detect_empty_strings: false,
        };
        Self {
            machine: Machine::new(config.clone()),
            config,
            scanner: Scanner::new(),
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
        self.machine.feed::<dyn Handler>(self.scanner, document, &mut self.values).map(|_| ())
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

/// The meaning of a name for its value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Named {
    #[default]
    Anything,
    /// It is a credential.
    Credential,
    /// It is one unless it is a number, as in `max_tokens`.
    Tokens,
}

impl Named {
    fn of(name: &str) -> Self {
        match is_credential(name) {
            true if counts_tokens(name) => Self::Tokens,
            true => Self::Credential,
            false => Self::Anything,
        }
    }
}

/// A container that was entered.
#[derive(Clone, Copy, Debug)]
struct Entered {
    /// The length of its path.
    path: usize,
    /// The meaning of its name, which holds for its elements if it is an array.
    named: Named,
}

/// The handler: follows the path along the document.
struct Values {
    search: Search,
    /// The path of the value that is read.
    path: String,
    open: Vec<Entered>,
    named: Named,
    /// The bytes of the value so far, and those of an empty one.
    bytes: u64,
    empty: u64,
    /// The first of these bytes, as many as a mark has.
    first: Vec<u8>,
    places: FoundPlaces,
}

impl Values {
    fn new() -> Self {
        Self {
            search: Search::new(TextForm::Json),
            path: String::new(),
            open: Vec::new(),
            named: Named::default(),
            bytes: 0,
            empty: EMPTY,
            first: Vec::with_capacity(MARK.len()),
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
        let (path, named) = (&mut self.path, &mut self.named);
        key.with_name(|name| {
            // A key with half a pair of surrogates has no name.
            let name = String::from_utf8_lossy(name.unwrap_or(key.raw()));
            *named = Named::of(&name);
            match kind {
                Some(kind) => push_name(path, &format!("[redacted:{kind}]")),
                None => push_name(path, &name),
            }
        });
    }
}

impl Handler for Values {
    fn value(&mut self, slot: ValueSlot<'_>, kind: ValueKind, _: u64) -> Result<Interest, Raise> {
        let around = self.open.last().copied();
        self.path.truncate(around.map_or(0, |around| around.path));
        self.named = Named::default();
        match slot {
            ValueSlot::Top => {}
            ValueSlot::Element(_) => {
                self.path.push_str("[]");
                self.named = around.map(|around| around.named).unwrap_or_default();
            }
            ValueSlot::Member(key) => self.enter_member(key),
        }
        if matches!(kind, ValueKind::Null | ValueKind::Bool) {
            return Ok(Interest::Skip);
        }
        if kind.is_container() && self.open.len() < MAX_DEPTH {
            self.open.push(Entered { path: self.path.len(), named: self.named });
            return Ok(Interest::Inspect);
        }
        let is_number = kind == ValueKind::Number;
        if is_number && self.named == Named::Tokens {
            self.named = Named::Anything;
        }
        (self.bytes, self.empty) = (0, if is_number { 0 } else { EMPTY });
        self.first.clear();
        Ok(Interest::Copy)
    }

    fn close(&mut self, _: u64) -> Result<(), Raise> {
        self.open.pop();
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let wanted = MARK.len().saturating_sub(self.first.len()).min(bytes.len());
        self.first.extend_from_slice(bytes.get(..wanted).unwrap_or_default());
        self.search.write(bytes);
    }

    fn copied(&mut self, _: u64) -> Result<(), Raise> {
        let is_value = self.bytes > self.empty && self.first != MARK;
        if self.end_text().is_none() && self.named != Named::Anything && is_value {
            self.places.add(&self.path, NAMED, 1);
        }
        Ok(())
    }
}
