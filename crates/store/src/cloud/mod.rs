//! A store in an object store (S3, Google Cloud Storage, Azure Blob Storage), which any number of machines share.
//!
//! ```text
//! s3://bucket/prefix/tm_…     the bytes of an entry, then its header
//! ```
//!
//! The header follows the bytes, so that an entry can be uploaded while it is written. A reader first
//! requests the last bytes of the object. Object stores show an object only when its upload is complete, so nothing else
//! has to mark an entry as complete.
//!
//! Differences from a folder, which come from the network:
//! - A full store loses its oldest entries, of whatever session: a list of objects does not have these.
//! - Limits of all entries are not exact. Each process counts what others wrote once a minute (`usage.rs`).
//! - The place may be unreachable. Then a reservation fails at once for a few seconds, so that results are not delayed
//!   by a store that does not respond.
//! - An entry that is removed while it is read cannot be read further. A changed object is not read at all.
//! - Handles are not compared with existing ones: two of 128 random bits are never the same.

mod connector;
mod entry;
mod place;
mod usage;
mod worker;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use futures_util::TryStreamExt as _;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt as _};

use super::backend::{Backend, PendingEntry, StoreError, StoredEntry};
use super::entry::{EntryHeader, HEADER};
use super::handle::Handle;
use super::limits::StoreLimits;
use super::scope::Scope;
use entry::{CloudReader, PendingCloud};
pub use place::{CloudPlace, CloudPlaceError};
use usage::Usage;
use worker::Worker;

/// How long one request may take, with a second attempt. A response waits for a reservation and for the last request;
/// agentgateway waits 10 seconds for a response.
const PATIENCE: Duration = Duration::from_secs(5);

/// The most handles that [`Backend::newest`] returns.
const NEWEST: usize = 1000;

/// A store in an object store.
#[derive(Debug)]
pub(crate) struct CloudBackend {
    shared: Arc<CloudShared>,
}

/// The parts that entries use as well.
#[derive(Debug)]
struct CloudShared {
    objects: Arc<dyn ObjectStore>,
    prefix: Path,
    /// The last bytes of an object can be requested without its length.
    reads_ends: bool,
    usage: Arc<Usage>,
    worker: Worker,
}

impl CloudBackend {
    pub(crate) fn new(place: &CloudPlace, limits: StoreLimits) -> Self {
        let (objects, prefix) = place.objects();
        let shared = CloudShared {
            usage: Arc::new(Usage::new(limits)),
            worker: Worker::new(),
            objects,
            prefix,
            reads_ends: place.reads_ends(),
        };
        Self { shared: Arc::new(shared) }
    }
}

impl CloudShared {
    /// Returns the name of the object of an entry.
    fn path(&self, handle: Handle) -> Path {
        self.prefix.clone().join(handle.to_string())
    }

    /// Waits for a request, and remembers whether the place could be reached.
    fn wait<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        self.wait_at_most(PATIENCE, request)
    }

    fn wait_at_most<T: Send + 'static>(
        &self,
        limit: Duration,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> io::Result<T> {
        let done = self.worker.run(limit, request);
        let done = done.and_then(|done| done.map_err(of_objects));
        match &done {
            Err(error) if error.kind() != ErrorKind::NotFound => self.usage.failed(error),
            _ => self.usage.reached(),
        }
        done
    }

    /// Waits for a request that writes.
    fn send<T: Send + 'static>(
        &self,
        request: impl Future<Output = object_store::Result<T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.wait(request).map_err(StoreError::Unreachable)
    }

    /// Counts entries again if that was long ago, and waits for it if nothing is known yet.
    fn refresh(self: &Arc<Self>, needed: u64, now: SystemTime) {
        if !self.usage.begins_refresh(needed) {
            return;
        }
        let shared = Arc::clone(self);
        self.worker.spawn(async move {
            let done = usage::refresh(&shared.usage, &*shared.objects, &shared.prefix, now, needed);
            let done = tokio::time::timeout(usage::LONGEST, done).await;
            let error = match done {
                Ok(Ok(())) => None,
                Ok(Err(error)) => Some(of_objects(error)),
                Err(_) => Some(ErrorKind::TimedOut.into()),
            };
            shared.usage.end_refresh(error.as_ref());
        });
    }
}

/// Translates an error, with the kind that callers tell apart. It names neither the bucket nor the object.
fn of_objects(error: object_store::Error) -> io::Error {
    match error {
        object_store::Error::NotFound { .. } => ErrorKind::NotFound.into(),
        object_store::Error::PermissionDenied { .. }
        | object_store::Error::Unauthenticated { .. } => {
            io::Error::new(ErrorKind::PermissionDenied, "the object store denies access")
        }
        error => io::Error::other(error),
    }
}

impl Backend for CloudBackend {
    fn reserve(
        &self,
        handle: Handle,
        _: &Scope,
        bytes: u64,
        now: SystemTime,
    ) -> Result<Box<dyn PendingEntry>, StoreError> {
        let shared = &self.shared;
        let needed = HEADER.saturating_add(bytes);
        shared.refresh(0, now);
        let charge = shared.usage.charge(needed).or_else(|error| {
            if !matches!(error, StoreError::Full(_)) {
                return Err(error);
            }
            // Others may have removed something, and old entries make room.
            shared.refresh(needed, now);
            shared.usage.charge_refreshed(needed)
        })?;
        Ok(Box::new(PendingCloud::new(Arc::clone(shared), handle, charge)))
    }

    fn open(&self, handle: Handle) -> io::Result<Option<StoredEntry>> {
        let (objects, path) = (Arc::clone(&self.shared.objects), self.shared.path(handle));
        let reads_ends = self.shared.reads_ends;
        let found = self.shared.wait(async move {
            let mut options =
                GetOptions { range: Some(GetRange::Suffix(HEADER)), ..GetOptions::default() };
            if !reads_ends {
                let meta = objects.head(&path).await?;
                let start = meta.size.saturating_sub(HEADER);
                options.range = Some(GetRange::Bounded(start..meta.size));
                options.if_match = meta.e_tag;
            }
            let found = objects.get_opts(&path, options).await?;
            let (size, tag) = (found.meta.size, found.meta.e_tag.clone());
            Ok((size, tag, found.bytes().await?))
        });
        let (size, tag, header) = match found {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            found => found?,
        };
        // An object of another length is not ours.
        let header = EntryHeader::decode(&header)
            .filter(|header| HEADER.checked_add(header.size) == Some(size));
        Ok(header.map(|header| {
            let bytes = CloudReader::new(Arc::clone(&self.shared), handle, header.size, tag);
            StoredEntry { header, bytes: Box::new(bytes) }
        }))
    }

    fn newest(&self) -> io::Result<Vec<Handle>> {
        let shared = Arc::clone(&self.shared);
        self.shared.wait_at_most(usage::LONGEST, async move {
            let mut found = std::collections::BTreeSet::new();
            let mut listed = shared.objects.list(Some(&shared.prefix));
            while let Some(object) = listed.try_next().await? {
                let Some(handle) = usage::handle_of(&object) else { continue };
                found.insert((object.last_modified, handle));
                if found.len() > NEWEST {
                    found.pop_first();
                }
            }
            Ok(found.into_iter().rev().map(|(_, handle)| handle).collect())
        })
    }

    fn sweep(&self, now: SystemTime) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        Ok(self.shared.wait_at_most(usage::LONGEST, async move {
            usage::refresh(&shared.usage, &*shared.objects, &shared.prefix, now, 0).await
        })?)
    }
}
