//! Decides where the payload of `root: auto` is (seed: kimbap's DetectPayloadRoot; SPEC §5).
//!
//! Reads the members of the document's object, skips their values, and writes nothing. It stops when an array `items`
//! begins; otherwise the object's end decides.

use super::stage::{Stage, With};
use crate::json::key::is_too_long_for;
use crate::json::{Halt, Handler, Interest, Kind, Slot};
use crate::sink::Sink;

/// Where the payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// The document itself.
    Document,
    /// The member of the document's object with this number, counted from 0.
    Member(u64),
    /// The document itself, an object that carries plain text in its member `raw`.
    RawText,
}

/// Members that may stand beside `raw`.
const BESIDE_RAW: [&[u8]; 5] =
    [b"_exit_code", b"_text_filtered", b"_compact", b"_original_items", b"stderr"];

#[derive(Debug, Default)]
pub(super) struct Probe {
    members: u64,
    items: Option<u64>,
    result: Option<u64>,
    data: Option<u64>,
    first: Option<u64>,
    raw: bool,
    not_raw: bool,
    /// What no later byte can change, and where it was decided.
    decided: Option<(Payload, u64)>,
}

impl Probe {
    /// The decision, if no later byte can change it.
    pub(super) fn decided(&self) -> Option<Payload> {
        self.decided.map(|(payload, _)| payload)
    }

    /// The offset of the byte that decided.
    pub(super) fn decided_at(&self) -> Option<u64> {
        self.decided.map(|(_, at)| at)
    }

    /// The decision for an object that ends with the members that were seen.
    fn decision(&self) -> Payload {
        match self.items.or(self.result).or(self.data).or(self.first) {
            Some(member) => Payload::Member(member),
            None if self.raw && !self.not_raw => Payload::RawText,
            None => Payload::Document,
        }
    }

    fn member(&mut self, name: Option<&[u8]>, kind: Kind) {
        let number = self.members;
        self.members += 1;
        if kind == Kind::Array {
            self.first.get_or_insert(number);
            match name {
                Some(b"items") => self.items = Some(number),
                Some(b"result") => _ = self.result.get_or_insert(number),
                Some(b"data") => _ = self.data.get_or_insert(number),
                _ => {}
            }
        }
        let string = matches!(kind, Kind::String | Kind::EmptyString);
        match name {
            // That is settled.
            _ if self.not_raw => {}
            Some(b"raw") if string && !self.raw => self.raw = true,
            Some(name) if BESIDE_RAW.contains(&name) => {}
            _ => self.not_raw = true,
        }
    }
}

impl Stage for Probe {
    fn flush(&mut self, _: &mut dyn Sink) {}
}

impl Handler for With<'_, Probe> {
    fn value(&mut self, slot: Slot<'_>, kind: Kind, offset: u64) -> Result<Interest, Halt> {
        let probe = &mut *self.stage;
        match slot {
            Slot::Top if kind == Kind::Object => return Ok(Interest::Inspect),
            Slot::Top => {
                probe.decided = Some((Payload::Document, offset));
                return Ok(Interest::Stop);
            }
            Slot::Member(key) => key.with_name(|name| probe.member(name, kind)),
            Slot::Element(_) => {}
        }
        if let Some(items) = probe.items {
            probe.decided = Some((Payload::Member(items), offset));
            return Ok(Interest::Stop);
        }
        Ok(Interest::Skip)
    }

    fn close(&mut self, offset: u64) -> Result<(), Halt> {
        self.stage.decided = Some((self.stage.decision(), offset));
        Ok(())
    }

    fn raw(&mut self, _: &[u8]) {}

    fn takes_long_keys(&self, limit: usize) -> bool {
        let longest = BESIDE_RAW.iter().map(|name| name.len()).max();
        is_too_long_for(limit, longest.unwrap_or(0))
    }
}
