//! A store in the memory of this process.
//!
//! Entries are lists of pieces, so that growing never copies or needs twice the memory. Readers share a complete entry,
//! and keep its memory until they are done, even if it is removed in between.
//!
//! Invariant: `charged` is the sum of the sizes of all entries, of all reservations, and of a header for each. It is
//! changed only under the lock, together with the table, so that threads never exceed the limit.

use std::collections::{BTreeSet, HashMap};
use std::io::{self, Read, Seek, SeekFrom};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use super::backend::{Backend, PendingEntry, StoreError, StoredEntry, sought};
use super::entry::{EntryHeader, HEADER};
use super::handle::Handle;
use super::limits::StoreLimits;

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
    /// Removes expired entries, then makes room for `bytes` and charges them.
    fn charge(
        &mut self,
        bytes: u64,
        limits: &StoreLimits,
        now: SystemTime,
    ) -> Result<(), StoreError> {
        self.remove_expired(limits, now);
        let fits = |charged: u64| charged.saturating_add(bytes) <= limits.total();
        // Nothing is removed if it does not help.
        if !fits(self.charged - self.removable(limits, now)) {
            return Err(StoreError::Full(limits.total()));
        }
        self.remove_while(|created, charged| !fits(charged) && limits.may_make_room(created, now));
        self.charged += bytes;
        Ok(())
    }

    /// Returns the bytes of all entries that may be removed.
    fn removable(&self, limits: &StoreLimits, now: SystemTime) -> u64 {
        let old = self.ages.iter().take_while(|(created, _)| limits.may_make_room(*created, now));
        old.filter_map(|(_, handle)| self.entries.get(handle)).map(|entry| entry.charge()).sum()
    }

    /// Removes expired entries: the oldest ones, and those from the far future, which a clock that was set back left.
    fn remove_expired(&mut self, limits: &StoreLimits, now: SystemTime) {
        self.remove_while(|created, _| limits.is_expired(created, now));
        while let Some((created, handle)) = self.ages.last().copied()
            && limits.is_expired(created, now)
        {
            self.ages.pop_last();
            self.remove(handle);
        }
    }

    /// Removes the oldest entries while the condition, on their age and all charged bytes, holds.
    fn remove_while(&mut self, condition: impl Fn(SystemTime, u64) -> bool) {
        while let Some((created, handle)) = self.ages.first().copied()
            && condition(created, self.charged)
        {
            self.ages.pop_first();
            self.remove(handle);
        }
    }

    /// Removes an entry whose age was removed.
    fn remove(&mut self, handle: Handle) {
        if let Some(entry) = self.entries.remove(&handle) {
            self.charged -= entry.charge();
        }
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
        bytes: u64,
        now: SystemTime,
    ) -> Result<Box<dyn PendingEntry>, StoreError> {
        let mut table = lock(&self.table);
        if table.entries.contains_key(&handle) || !table.pending.insert(handle) {
            return Err(StoreError::HandleTaken);
        }
        let charged = HEADER.saturating_add(bytes);
        if let Err(error) = table.charge(charged, &self.limits, now) {
            table.pending.remove(&handle);
            return Err(error);
        }
        Ok(Box::new(PendingMemory {
            table: Arc::clone(&self.table),
            limits: self.limits.clone(),
            handle,
            charged,
            pieces: Vec::new(),
        }))
    }

    fn open(&self, handle: Handle) -> io::Result<Option<StoredEntry>> {
        let entry = lock(&self.table).entries.get(&handle).map(Arc::clone);
        Ok(entry.map(|entry| StoredEntry {
            header: entry.header.clone(),
            bytes: Box::new(MemoryReader { entry, position: 0 }),
        }))
    }

    fn newest(&self) -> io::Result<Vec<Handle>> {
        Ok(lock(&self.table).ages.iter().rev().map(|(_, handle)| *handle).collect())
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
    handle: Handle,
    /// Bytes of the reservation and the header. 0 once the entry is complete.
    charged: u64,
    pieces: Vec<Vec<u8>>,
}

impl PendingEntry for PendingMemory {
    fn grow(&mut self, bytes: u64, now: SystemTime) -> Result<(), StoreError> {
        let charged = HEADER.saturating_add(bytes);
        lock(&self.table).charge(charged.saturating_sub(self.charged), &self.limits, now)?;
        self.charged = charged;
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
        let created = header.created;
        let entry = Arc::new(MemoryEntry { header, pieces: std::mem::take(&mut self.pieces) });
        let mut table = lock(&self.table);
        // From here on the entry counts with its own size, and everyone with the handle can open it.
        table.charged = table.charged - self.charged + entry.charge();
        table.pending.remove(&self.handle);
        table.ages.insert((created, self.handle));
        table.entries.insert(self.handle, entry);
        drop(table);
        self.charged = 0;
        Ok(())
    }
}

impl Drop for PendingMemory {
    fn drop(&mut self) {
        if self.charged > 0 {
            let mut table = lock(&self.table);
            table.charged -= self.charged;
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
