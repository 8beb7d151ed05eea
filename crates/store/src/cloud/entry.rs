//! Entries in an object store: writing in parts, and reading in ranges.

use std::fmt;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use object_store::{
    GetOptions, GetRange, MultipartUpload, ObjectStore as _, ObjectStoreExt as _, PutPayload,
};

use super::shared::{CloudShared, PATIENCE};
use crate::backend::{PendingEntry, StoreError, sought};
use crate::entry::{EntryHeader, HEADER};
use crate::handle::Handle;

/// Bytes of a part. S3 accepts no smaller one, except at the end.
const PART: usize = 5 << 20;

/// Bytes of the first range that a reader requests, and of all others. Most entries need one request.
const FIRST_RANGE: u64 = 256 << 10;
const RANGE: u64 = 2 << 20;

/// An entry that is being written. At most one part is in memory, while another one is sent. Dropping it removes the
/// parts.
pub(super) struct PendingCloud {
    shared: Arc<CloudShared>,
    handle: Handle,
    /// Bytes of the reservation.
    reserved: u64,
    part: Vec<u8>,
    upload: Option<Box<dyn MultipartUpload>>,
}

impl fmt::Debug for PendingCloud {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PendingCloud").field("reserved", &self.reserved).finish_non_exhaustive()
    }
}

impl PendingCloud {
    pub(super) fn new(shared: Arc<CloudShared>, handle: Handle, reserved: u64) -> Self {
        Self { shared, handle, reserved, part: Vec::new(), upload: None }
    }

    /// Sends the part in memory.
    fn send_part(&mut self) -> Result<(), StoreError> {
        let payload = PutPayload::from(std::mem::take(&mut self.part));
        let mut upload = match self.upload.take() {
            Some(upload) => upload,
            None => {
                let shared = Arc::clone(&self.shared);
                let path = shared.path(self.handle);
                self.shared.send(async move { shared.objects.put_multipart(&path).await })?
            }
        };
        let sent = upload.put_part(payload);
        self.upload = Some(upload);
        self.shared.send(sent)
    }
}

impl PendingEntry for PendingCloud {
    fn grow(&mut self, bytes: u64, _now: SystemTime) -> Result<(), StoreError> {
        let more = HEADER.saturating_add(bytes).saturating_sub(self.reserved);
        self.reserved += self.shared.usage.grow(more)?;
        Ok(())
    }

    fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let room = PART - self.part.len();
            let (now, later) = rest.split_at(room.min(rest.len()));
            self.part.extend_from_slice(now);
            rest = later;
            if self.part.len() == PART {
                self.send_part()?;
            }
        }
        Ok(())
    }

    fn commit(mut self: Box<Self>, header: EntryHeader) -> Result<(), StoreError> {
        self.part.extend_from_slice(&header.encode());
        if self.upload.is_some() {
            self.send_part()?;
            let Some(mut upload) = self.upload.take() else { return Ok(()) };
            self.shared.send(async move { upload.complete().await })?;
        } else {
            let payload = PutPayload::from(std::mem::take(&mut self.part));
            let shared = Arc::clone(&self.shared);
            let path = shared.path(self.handle);
            self.shared.send(async move { shared.objects.put(&path, payload).await })?;
        }
        let kept = HEADER.saturating_add(header.size);
        self.shared.usage.release(std::mem::take(&mut self.reserved), kept);
        Ok(())
    }
}

impl Drop for PendingCloud {
    fn drop(&mut self) {
        self.shared.usage.release(self.reserved, 0);
        if let Some(mut upload) = self.upload.take() {
            let shared = Arc::clone(&self.shared);
            self.shared.worker.spawn(async move {
                // The thread has to live as long as this.
                let _shared = shared;
                // If this fails, the bucket's own rule for incomplete uploads removes them.
                _ = tokio::time::timeout(PATIENCE, upload.abort()).await;
            });
        }
    }
}

/// Reads ranges of an entry.
pub(super) struct CloudReader {
    shared: Arc<CloudShared>,
    handle: Handle,
    size: u64,
    /// The version of the object: another one is not read.
    tag: Option<String>,
    position: u64,
    /// The bytes of the last request, and the position of the first one.
    range: Bytes,
    start: u64,
}

impl CloudReader {
    pub(super) fn new(
        shared: Arc<CloudShared>,
        handle: Handle,
        size: u64,
        tag: Option<String>,
    ) -> Self {
        Self { shared, handle, size, tag, position: 0, range: Bytes::new(), start: 0 }
    }

    /// Returns the bytes in memory from the position on.
    fn held(&self) -> &[u8] {
        let skipped = self.position.checked_sub(self.start).map(usize::try_from);
        let Some(Ok(skipped)) = skipped else { return &[] };
        self.range.get(skipped..).unwrap_or_default()
    }

    fn fetch(&mut self) -> io::Result<()> {
        let length = if self.range.is_empty() { FIRST_RANGE } else { RANGE };
        let (start, end) = (self.position, self.size.min(self.position.saturating_add(length)));
        let (shared, path) = (Arc::clone(&self.shared), self.shared.path(self.handle));
        let options = GetOptions {
            range: Some(GetRange::Bounded(start..end)),
            if_match: self.tag.clone(),
            ..GetOptions::default()
        };
        let fetched = self
            .shared
            .wait(async move { shared.objects.get_opts(&path, options).await?.bytes().await })?;
        if fetched.len() as u64 != end - start {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        (self.range, self.start) = (fetched, start);
        Ok(())
    }
}

impl Read for CloudReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() || self.position >= self.size {
            return Ok(0);
        }
        if self.held().is_empty() {
            self.fetch()?;
        }
        let count = self.held().read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for CloudReader {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.position = sought(self.position, self.size, to)?;
        Ok(self.position)
    }
}
