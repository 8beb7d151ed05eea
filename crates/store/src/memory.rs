//! A store in the memory of this process.
//!
//! Entries are lists of pieces, so that growing never copies or needs twice the memory. Readers share a complete entry,
//! and keep its memory until they are done, even if it is removed in between.
//!
//! Invariant: `charged` is the sum of the sizes of all entries, of all reservations, and of a header for each. It is
//! changed only under the lock, together with the table, so that threads never exceed the limit. The same holds for the bytes of
//! each session.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::backend::{Backend, PendingEntry, StoreError, StoredEntry, sought};
use super::entry::{EntryHeader, HEADER};
use super::handle::Handle;
use super::limits::StoreLimits;
use super::scope::Scope;

/// Bytes of a piece of an entry.
const PIECE: usize = 64 << 10;

/// A store in memory.
#[derive(Debug)]
pub(crate) struct MemoryBackend {
    limits: StoreLimits,
    table: Arc<Mutex<Table>>,
}

/// All entries, and what they take.
#[derive(Debug, Default)]
struct Table {
    entries: HashMap<Handle, Arc<MemoryEntry>>,
    /// The entries by age, oldest first.
    ages: BTreeSet<(SystemTime, Handle)>,
    /// Handles of entries that are being written.
    pending: BTreeSet<Handle>,
    /// Bytes of all entries with their headers, and of all reservations.
    charged: u64,
    sessions: HashMap<Scope, SessionEntries>,
    /// The sessions with entries, by the bytes of these.
    by_size: BTreeSet<(u64, Scope)>,
}

/// The entries and reservations of a session.
#[derive(Debug, Default)]
struct SessionEntries {
    /// The entries by age, oldest first.
    ages: BTreeSet<(SystemTime, Handle)>,
    /// Bytes of the entries with their headers.
    stored: u64,
    /// Bytes of the reservations.
    reserved: u64,
}

#[derive(Debug)]
struct MemoryEntry {
    header: EntryHeader,
    pieces: Vec<Vec<u8>>,
}

impl MemoryBackend {
    pub(crate) fn new(limits: StoreLimits) -> Self {
        Self { limits, table: Arc::default() }
    }
}

/// Locks the table. A thread that panicked while it held the lock left a consistent table: each change is complete
/// before anything that can panic.
fn lock(table: &Mutex<Table>) -> MutexGuard<'_, Table> {
    table.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Removes expired entries, then makes room for `bytes` of a session and charges them.
    fn charge(
        &mut self,
        session: &Scope,
        bytes: u64,
        limits: &StoreLimits,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        self.remove_expired(limits, now);
        let full = || StoreError::Full(limits.total());
        let stored: u64 = self.by_size.iter().map(|(bytes, _)| bytes).sum();
        // Nothing is removed if it does not help.
        if (self.charged - stored).saturating_add(bytes) > limits.total() {
            return Err(full());
        }
        if session.is_one_of_several() && self.sessions.keys().any(|other| other != session) {
            let share = limits.session();
            let reserved = self.sessions.get(session).map_or(0, |session| session.reserved);
            if reserved.saturating_add(bytes) > share {
                return Err(full());
            }
            while self.held(session).saturating_add(bytes) > share && self.remove_oldest(session) {}
        }
        while self.charged.saturating_add(bytes) > limits.total() {
            let Some((_, largest)) = self.by_size.last().cloned() else { return Err(full()) };
            if !self.remove_oldest(&largest) {
                return Err(full());
            }
        }
        self.charged += bytes;
        self.sessions.entry(session.clone()).or_default().reserved += bytes;
        Ok(())
    }

    /// Releases reserved bytes of a session.
    fn release(&mut self, session: &Scope, bytes: u64) {
        self.charged -= bytes;
        if let Some(entries) = self.sessions.get_mut(session) {
            entries.reserved -= bytes;
        }
        self.forget_empty(session);
    }

    /// Returns the bytes of a session.
    fn held(&self, session: &Scope) -> u64 {
        self.sessions.get(session).map_or(0, |session| session.stored + session.reserved)
    }

    fn forget_empty(&mut self, session: &Scope) {
        if self.sessions.get(session).is_some_and(|it| it.ages.is_empty() && it.reserved == 0) {
            self.sessions.remove(session);
        }
    }

    /// Adds a complete entry.
    fn insert(&mut self, handle: Handle, entry: Arc<MemoryEntry>) {
        let (bytes, created) = (entry.charge(), entry.header.created);
        let session = entry.header.scope.clone();
        let entries = self.sessions.entry(session.clone()).or_default();
        self.by_size.remove(&(entries.stored, session.clone()));
        entries.stored += bytes;
        entries.ages.insert((created, handle));
        self.by_size.insert((entries.stored, session));
        self.charged += bytes;
        self.ages.insert((created, handle));
        self.entries.insert(handle, entry);
    }

    /// Removes expired entries: the oldest ones, and those from the far future, which a clock that was set back left.
    fn remove_expired(&mut self, limits: &StoreLimits, now: SystemTime) {
        while let Some((created, handle)) = self.ages.first().copied()
            && limits.is_expired(created, now)
        {
            self.remove(created, handle);
        }
        while let Some((created, handle)) = self.ages.last().copied()
            && limits.is_expired(created, now)
        {
            self.remove(created, handle);
        }
    }

    /// Removes the oldest entry of a session. Returns whether it had one.
    fn remove_oldest(&mut self, session: &Scope) -> bool {
        let oldest = self.sessions.get(session).and_then(|session| session.ages.first().copied());
        let Some((created, handle)) = oldest else { return false };
        self.remove(created, handle);
        true
    }

    fn remove(&mut self, created: SystemTime, handle: Handle) {
        self.ages.remove(&(created, handle));
        let Some(entry) = self.entries.remove(&handle) else { return };
        let (bytes, session) = (entry.charge(), &entry.header.scope);
        self.charged -= bytes;
        if let Some(entries) = self.sessions.get_mut(session) {
            self.by_size.remove(&(entries.stored, session.clone()));
            entries.stored -= bytes;
            entries.ages.remove(&(created, handle));
            if !entries.ages.is_empty() {
                self.by_size.insert((entries.stored, session.clone()));
            }
        }
        self.forget_empty(session);
    }
}

impl MemoryEntry {
    /// Returns the bytes that the entry counts for. The header stands in for what the table itself takes.
    fn charge(&self) -> u64 {
        HEADER + self.header.size
    }
}

impl Backend for MemoryBackend {
    fn reserve(
        &self,
        handle: Handle,
        session: &Scope,
        bytes: u64,
        now: SystemTime,
    ) -> Result<Box<dyn PendingEntry>, StoreError> {
        let mut table = lock(&self.table);
        if table.entries.contains_key(&handle) || !table.pending.insert(handle) {
            return Err(StoreError::HandleTaken);
        }
        let charged = HEADER.saturating_add(bytes);
        if let Err(error) = table.charge(session, charged, &self.limits, now) {
            table.pending.remove(&handle);
            return Err(error);
        }
        Ok(Box::new(PendingMemory {
            table: Arc::clone(&self.table),
            limits: self.limits.clone(),
            session: session.clone(),
            handle,
            charged,
            pieces: Vec::new(),
        }))
    }

    fn end_session(&self, session: &Scope) {
        let mut table = lock(&self.table);
        while table.remove_oldest(session) {}
    }

    fn open(&self, handle: Handle) -> io::Result<Option<StoredEntry>> {
        let entry = lock(&self.table).entries.get(&handle).map(Arc::clone);
        Ok(entry.map(|entry| StoredEntry {
            header: entry.header.clone(),
            bytes: Box::new(MemoryReader { entry, position: 0 }),
        }))
    }

    fn newest(&self, accepts: &dyn Fn(&EntryHeader) -> bool) -> io::Result<Option<Handle>> {
        let table = lock(&self.table);
        let newest = table.ages.iter().rev().map(|(_, handle)| *handle);
        let is_accepted =
            |handle: &Handle| table.entries.get(handle).is_some_and(|it| accepts(&it.header));
        Ok(newest.into_iter().find(is_accepted))
    }

    fn sweep(&self, now: SystemTime) -> Result<(), StoreError> {
        lock(&self.table).remove_expired(&self.limits, now);
        Ok(())
    }
}

/// An entry that is being written. Dropping it releases its reservation.
#[derive(Debug)]
struct PendingMemory {
    table: Arc<Mutex<Table>>,
    limits: StoreLimits,
    session: Scope,
    handle: Handle,
    /// Bytes of the reservation and the header. 0 once the entry is complete.
    charged: u64,
    pieces: Vec<Vec<u8>>,
}

impl PendingEntry for PendingMemory {
    fn grow(&mut self, bytes: u64, now: SystemTime) -> Result<(), StoreError> {
        let charged = HEADER.saturating_add(bytes);
        let more = charged.saturating_sub(self.charged);
        lock(&self.table).charge(&self.session, more, &self.limits, now)?;
        self.charged = self.charged.max(charged);
        Ok(())
    }

    fn append(&mut self, mut bytes: &[u8]) -> Result<(), StoreError> {
        while !bytes.is_empty() {
            // A full piece is followed by a new one, so all pieces but the last one have the same length.
            let room = self.pieces.last().map_or(0, |piece| PIECE - piece.len());
            let Some((now, later)) = bytes.split_at_checked(room.min(bytes.len())) else { break };
            match self.pieces.last_mut().filter(|_| room > 0) {
                Some(piece) => piece.extend_from_slice(now),
                // Growing would copy. The end of the last piece is given back when the entry is complete.
                None => self.pieces.push(Vec::with_capacity(PIECE)),
            }
            bytes = later;
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>, header: EntryHeader) -> Result<(), StoreError> {
        if let Some(last) = self.pieces.last_mut() {
            last.shrink_to_fit();
        }
        let entry = Arc::new(MemoryEntry { header, pieces: std::mem::take(&mut self.pieces) });
        let mut table = lock(&self.table);
        // From here on the entry counts with its own size, and everyone with the handle can open it.
        table.release(&self.session, self.charged);
        table.pending.remove(&self.handle);
        table.insert(self.handle, entry);
        drop(table);
        self.charged = 0;
        Ok(())
    }
}

impl Drop for PendingMemory {
    fn drop(&mut self) {
        if self.charged > 0 {
            let mut table = lock(&self.table);
            table.release(&self.session, self.charged);
            table.pending.remove(&self.handle);
        }
    }
}

/// Reads the pieces of an entry.
struct MemoryReader {
    entry: Arc<MemoryEntry>,
    position: u64,
}

impl Read for MemoryReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // All pieces but the last one are full.
        let piece = usize::try_from(self.position / PIECE as u64).unwrap_or(usize::MAX);
        let at = (self.position % PIECE as u64) as usize;
        let rest = self.entry.pieces.get(piece).and_then(|piece| piece.get(at..));
        let count = rest.unwrap_or_default().read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for MemoryReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = sought(self.position, self.entry.header.size, to)?;
        Ok(self.position)
    }
}
