//! Writing an entry: a reservation, then bytes in any number of pieces, then a handle.

use std::io::{self, Write};
use std::time::SystemTime;

use tamis::Sink;
use tamis::text::TextRedactor;

use super::backend::{PendingEntry, StoreError};
use super::entry::{EntryHeader, EntryMeta};
use super::handle::Handle;
use super::scope::Scope;
use crate::config::StoreShared;

/// Room for an entry, reserved before anything is cut. Dropping it releases the room.
///
/// A filter reserves room before it cuts anything, so that the omitted part can be stored. If
/// [`Store::reserve`](super::Store::reserve) fails, it cuts nothing.
#[derive(Debug)]
pub struct Reservation {
    pending: Box<dyn PendingEntry>,
    handle: Handle,
    created: SystemTime,
    /// The bytes that are reserved.
    size: u64,
    shared: StoreShared,
}

impl Reservation {
    pub(super) fn new(
        pending: Box<dyn PendingEntry>,
        handle: Handle,
        created: SystemTime,
        size: u64,
        shared: StoreShared,
    ) -> Self {
        Self { pending, handle, created, size, shared }
    }

    /// Begins the entry. Callers in `scope` will be able to read it.
    #[must_use]
    pub fn begin(self, scope: Scope, meta: EntryMeta) -> EntryWriter {
        let Self { pending, handle, created, size: reserved, shared } = self;
        EntryWriter {
            pending,
            handle,
            created,
            scope,
            meta,
            shared,
            reserved,
            written: 0,
            redactor: None,
            failed: None,
        }
    }
}

/// An entry that is being written. Nobody can read it before [`finish`](Self::finish), and dropping it removes it.
///
/// It is a [`Write`]r, and a [`Sink`] for filters. After the first failed write, such as one beyond the limit, nothing
/// more is written. `finish` then returns the error and drops the entry, so that an incomplete entry is never taken for
/// a complete one.
///
/// ```
/// use std::io::Write;
/// use tamis_store::{EntryMeta, Scope, Store, StoreConfig, Window};
///
/// let store = Store::open(StoreConfig::memory());
/// let mut writer = store.begin(Scope::process(), EntryMeta::text("ls"))?;
/// writer.write_all(b"Cargo.toml\nsrc\n")?;
/// let handle = writer.finish()?;
///
/// let mut out = Vec::new();
/// let window = Window::new().with_lines("2")?;
/// store.read(&Scope::process(), &handle.to_string(), &window, &mut out)?;
/// assert_eq!(out, b"src\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct EntryWriter {
    pending: Box<dyn PendingEntry>,
    handle: Handle,
    created: SystemTime,
    scope: Scope,
    meta: EntryMeta,
    shared: StoreShared,
    reserved: u64,
    written: u64,
    /// Replaces credentials in what is written.
    redactor: Option<TextRedactor>,
    failed: Option<StoreError>,
}

impl EntryWriter {
    /// Returns the name that the entry will have. Nothing can be read under it before the entry is finished.
    #[must_use]
    pub fn handle(&self) -> Handle {
        self.handle
    }

    /// Replaces what a redactor looks for in the text that is written from now on. Its rule must be the one that the shown
    /// text was searched with, so that positions in both are the same.
    pub fn redact_text(&mut self, redactor: TextRedactor) {
        self.redactor = Some(redactor);
    }

    /// Sets how many values of the result were replaced, such as credentials. Readers learn it:
    /// [`EntryMeta::with_redacted`].
    pub fn set_redacted(&mut self, count: u64) {
        self.meta = self.meta.clone().with_redacted(count);
    }

    /// Notes that what was written differs from what the tool returned: [`EntryMeta::with_altered`].
    pub fn set_altered(&mut self) {
        self.meta = self.meta.clone().with_altered(true);
    }

    /// Returns the number of written bytes.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.written
    }

    /// Returns whether a write failed, so that [`finish`](Self::finish) will fail.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed.is_some()
    }

    /// Sets the path of the items, if it became known while the entry was written: see
    /// [`EntryMeta::with_items`].
    pub fn set_items(&mut self, path: &str) {
        self.meta = self.meta.clone().with_items(path);
    }

    /// Makes the entry readable and returns its handle.
    ///
    /// # Errors
    /// The first error of a write, or the error of completing the entry. The entry is dropped.
    pub fn finish(mut self) -> Result<Handle, StoreError> {
        self.end_redactor();
        match self.failed.take() {
            Some(error) => Err(error),
            None => self.commit(true),
        }
    }

    /// Makes the entry readable as far as it was written. Windows say that it is not complete.
    ///
    /// # Errors
    /// The error of completing the entry.
    pub fn finish_incomplete(mut self) -> Result<Handle, StoreError> {
        self.end_redactor();
        self.commit(false)
    }

    fn commit(self, complete: bool) -> Result<Handle, StoreError> {
        let Self { pending, handle, created, scope, meta, written, .. } = self;
        pending.commit(EntryHeader { meta, handle, scope, created, size: written, complete })?;
        Ok(handle)
    }

    fn try_append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let limits = &self.shared.limits;
        let size = self.written.saturating_add(bytes.len() as u64);
        if size > self.reserved {
            let next = limits.next_size(self.reserved, size);
            let next = next.ok_or_else(|| StoreError::TooLarge(limits.entry()))?;
            let now = self.shared.clock.now();
            // If there is no room for a generous step, the exact size may still fit.
            self.reserved = match self.pending.grow(next, now) {
                Err(StoreError::Full(_)) if next > size => {
                    self.pending.grow(size, now)?;
                    size
                }
                grown => grown.map(|()| next)?,
            };
        }
        self.pending.append(bytes)?;
        self.written = size;
        Ok(())
    }

    /// Appends bytes, unless a write failed before.
    fn append(&mut self, bytes: &[u8]) {
        let Some(mut redactor) = self.redactor.take() else { return self.append_safe(bytes) };
        redactor.write(bytes, &mut SafeBytes(self));
        self.redactor = Some(redactor);
    }

    /// Appends bytes without credentials.
    fn append_safe(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.failed = self.try_append(bytes).err();
        }
    }

    fn end_redactor(&mut self) {
        if let Some(mut redactor) = self.redactor.take() {
            redactor.end(&mut SafeBytes(self));
        }
    }
}

/// The writer as the sink of its redactor.
struct SafeBytes<'a>(&'a mut EntryWriter);

impl Sink for SafeBytes<'_> {
    fn write(&mut self, bytes: &[u8]) {
        self.0.append_safe(bytes);
    }
}

impl Write for EntryWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.append(bytes);
        match &self.failed {
            None => Ok(bytes.len()),
            Some(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for EntryWriter {
    fn write(&mut self, bytes: &[u8]) {
        self.append(bytes);
    }

    /// A sink whose entry cannot be completed needs no more output.
    fn is_closed(&self) -> bool {
        self.has_failed()
    }
}
