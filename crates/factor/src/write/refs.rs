//! References in place of containers that were written before.
//!
//! Containers are compared by a hash, which is verified with the bytes of the text. A container inside another one that is
//! found, too, is not replaced on its own. So a container that is found is verified only when it is known that the one
//! around it is not: each byte is verified once.
//!
//! ```text
//! closed container ── its hash is known ──▶ pending; what was found or remembered inside it is forgotten
//!                  └─ new ──▶ remembered; what is pending inside it is verified
//! ```

use std::collections::hash_map::Entry;

use tamis_json::error::Raise;
use tamis_json::hold::Hold;
use tamis_json::test_work::{WorkKind, count, words};

use crate::hash::HashedMap;
use crate::reader::{Span, push};

/// The bytes of the shortest container that is replaced.
pub(super) const LEAST: u64 = 96;
/// The containers that are remembered.
const REMEMBERED: usize = 1 << 16;
/// The longest pointer, and the length of all pointers.
const POINTER: usize = 1 << 10;
const POINTERS: usize = 8 << 20;
/// The most references.
const MOST: usize = 1 << 20;
/// The bytes that are compared at once.
const COMPARED: usize = 16 << 10;
/// The text around a pointer.
const BEFORE: &[u8] = b"{\"$ref\":\"";
const AFTER: &[u8] = b"\"}";

/// A container in the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Container {
    pub(super) at: u64,
    pub(super) length: u64,
    pub(super) hash: u64,
}

/// A container that is replaced by a reference.
#[derive(Clone, Copy, Debug)]
struct Found {
    at: u64,
    length: u64,
    /// The container that was written before.
    target: u64,
    pointer: Span,
}

/// A container that was written.
#[derive(Clone, Copy, Debug)]
struct Remembered {
    container: Container,
    pointer: Span,
}

/// The state when a container was opened.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    pending: usize,
    found: usize,
    remembered: usize,
}

/// The references of a document.
#[derive(Debug, Default)]
pub(super) struct Refs {
    /// No container is replaced.
    off: bool,
    remembered: Vec<Remembered>,
    by_hash: HashedMap<u32>,
    pointers: Vec<u8>,
    pending: Vec<Found>,
    found: Vec<Found>,
    compared: [Vec<u8>; 2],
    /// The number of references, and the bytes that they save. Known at the end.
    pub(super) count: u64,
    pub(super) saved: u64,
}

impl Refs {
    pub(super) fn new(on: bool) -> Self {
        Self { off: !on, ..Self::default() }
    }

    #[inline]
    pub(super) fn marks(&self) -> Marks {
        Marks {
            pending: self.pending.len(),
            found: self.found.len(),
            remembered: self.remembered.len(),
        }
    }

    /// Finds a container that was closed. Returns whether it is known.
    pub(super) fn find(&mut self, container: Container, marks: Marks) -> bool {
        if self.off || self.pending.len() + self.found.len() >= MOST {
            return false;
        }
        count(WorkKind::Names, 1);
        let Some(index) = self.by_hash.get(&container.hash) else { return false };
        let Some(known) = self.remembered.get(*index as usize).copied() else { return false };
        let is_shorter = reference_length(known.pointer) < container.length;
        let ends_before = known.container.at + known.container.length <= container.at;
        if known.container.length != container.length || !is_shorter || !ends_before {
            return false;
        }
        self.pending.truncate(marks.pending);
        self.found.truncate(marks.found);
        while self.remembered.len() > marks.remembered
            && let Some(inside) = self.remembered.pop()
        {
            self.by_hash.remove(&inside.container.hash);
            self.pointers.truncate(inside.pointer.start);
        }
        let Container { at, length, .. } = container;
        self.pending.push(Found { at, length, target: known.container.at, pointer: known.pointer });
        true
    }

    /// Returns whether containers inside one are not yet verified.
    pub(super) fn has_pending(&self, marks: Marks) -> bool {
        self.pending.len() > marks.pending
    }

    /// Verifies the containers found inside one that was closed. `out`: the text after that which is held.
    pub(super) fn verify(&mut self, marks: Marks, text: &Hold, out: &[u8]) -> Result<(), Raise> {
        for index in marks.pending..self.pending.len() {
            let Some(found) = self.pending.get(index).copied() else { break };
            if self.is_equal(found, text, out)? {
                self.found.push(found);
            }
        }
        self.pending.truncate(marks.pending);
        Ok(())
    }

    fn is_equal(&mut self, found: Found, text: &Hold, out: &[u8]) -> Result<bool, Raise> {
        let mut done = 0;
        let [one, other] = &mut self.compared;
        while done < found.length {
            let left = usize::try_from(found.length - done).unwrap_or(COMPARED).min(COMPARED);
            read(text, out, found.target + done, left, one)?;
            read(text, out, found.at + done, left, other)?;
            let length = one.len().min(other.len());
            count(WorkKind::Tree, words(length));
            if length == 0 || one.get(..length) != other.get(..length) {
                return Ok(false);
            }
            done += length as u64;
        }
        Ok(true)
    }

    /// Remembers a container that was closed and is not known.
    pub(super) fn remember(&mut self, container: Container, pointer: &[u8]) {
        let has_room = self.remembered.len() < REMEMBERED
            && pointer.len() <= POINTER
            && self.pointers.len() < POINTERS;
        let is_shorter = ((BEFORE.len() + pointer.len() + AFTER.len()) as u64) < container.length;
        if self.off || !has_room || !is_shorter {
            return;
        }
        let Entry::Vacant(slot) = self.by_hash.entry(container.hash) else { return };
        slot.insert(u32::try_from(self.remembered.len()).unwrap_or(u32::MAX));
        let pointer = push(&mut self.pointers, pointer);
        self.remembered.push(Remembered { container, pointer });
    }

    /// Ends the document.
    pub(super) fn end(&mut self) {
        self.found.sort_unstable_by_key(|found| found.at);
        self.count = self.found.len() as u64;
        self.saved =
            self.found.iter().map(|found| found.length - reference_length(found.pointer)).sum();
        self.remembered = Vec::new();
        self.by_hash = HashedMap::default();
    }

    /// Passes the text on with its references. Ends early when `take` returns `false`.
    pub(super) fn write(
        &self,
        text: &mut Hold,
        mut take: impl FnMut(&[u8]) -> bool,
    ) -> Result<(), Raise> {
        let mut found = self.found.iter().peekable();
        let mut base = 0;
        let pointers = &self.pointers;
        text.visit(
            |piece| {
                let end = base + piece.len() as u64;
                let mut at = base;
                let part = |from: u64, to: u64| {
                    let place = |offset: u64| usize::try_from(offset - base).unwrap_or(0);
                    piece.get(place(from)..place(to)).unwrap_or_default()
                };
                let mut more = true;
                while at < end && more {
                    let next = found.peek().map_or(u64::MAX, |found| found.at);
                    if at < next {
                        more = take(part(at, next.min(end)));
                        at = next.min(end);
                        continue;
                    }
                    let Some(replaced) = found.peek() else { break };
                    if at == replaced.at {
                        more = take(BEFORE) && take(replaced.pointer.of(pointers)) && take(AFTER);
                    }
                    let after = replaced.at + replaced.length;
                    if after <= end {
                        found.next();
                    }
                    at = after.min(end);
                }
                base = end;
                Ok(more)
            },
            |raise: Raise| raise,
        )
    }
}

fn reference_length(pointer: Span) -> u64 {
    (BEFORE.len() + pointer.len() + AFTER.len()) as u64
}

/// Replaces `into` with bytes of the text: at least one, unless there is none.
fn read(text: &Hold, out: &[u8], at: u64, most: usize, into: &mut Vec<u8>) -> Result<(), Raise> {
    into.clear();
    match at.checked_sub(text.len()) {
        None => text.read_part(at, most, into),
        Some(place) => {
            let place = usize::try_from(place).unwrap_or(usize::MAX);
            let rest = out.get(place..).unwrap_or_default();
            into.extend_from_slice(rest.get(..most).unwrap_or(rest));
            Ok(())
        }
    }
}
