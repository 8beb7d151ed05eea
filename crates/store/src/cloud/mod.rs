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
mod shared;
mod usage;
mod worker;

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::TryStreamExt as _;
use object_store::{GetOptions, GetRange, ObjectStoreExt as _};

use super::backend::{Backend, PendingEntry, StoreError, StoredEntry};
use super::entry::{EntryHeader, HEADER};
use super::handle::Handle;
use super::limits::StoreLimits;
use super::scope::Scope;
use entry::{CloudReader, PendingCloud};
pub use place::{CloudPlace, CloudPlaceError};
use shared::CloudShared;
use usage::Usage;
use worker::Worker;

/// The most entries that [`Backend::newest`] looks at.
const NEWEST: usize = 1000;

/// A store in an object store.
#[derive(Debug)]
pub(crate) struct CloudBackend {
    shared: Arc<CloudShared>,
}

impl CloudPlace {
    /// Opens the store. Nothing is sent.
    pub(crate) fn open(self, limits: StoreLimits) -> Arc<dyn Backend> {
        let (objects, prefix) = self.objects();
        let shared = CloudShared {
            usage: Arc::new(Usage::new(limits)),
            worker: Worker::new(),
            objects,
            prefix,
            reads_ends: self.reads_ends(),
        };
        Arc::new(CloudBackend { shared: Arc::new(shared) })
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

    fn newest(&self, accepts: &dyn Fn(&EntryHeader) -> bool) -> io::Result<Option<Handle>> {
        let shared = Arc::clone(&self.shared);
        let found = self.shared.wait_at_most(usage::LONGEST, async move {
            let mut found = std::collections::BTreeSet::new();
            let mut listed = shared.objects.list(Some(&shared.prefix));
            while let Some(object) = listed.try_next().await? {
                let Some(handle) = usage::handle_of(&object) else { continue };
                found.insert((object.last_modified, handle));
                if found.len() > NEWEST {
                    found.pop_first();
                }
            }
            Ok(found)
        })?;
        for (_, handle) in found.into_iter().rev() {
            if self.open(handle)?.is_some_and(|entry| accepts(&entry.header)) {
                return Ok(Some(handle));
            }
        }
        Ok(None)
    }

    fn sweep(&self, now: SystemTime) -> Result<(), StoreError> {
        let shared = Arc::clone(&self.shared);
        Ok(self.shared.wait_at_most(usage::LONGEST, async move {
            usage::refresh(&shared.usage, &*shared.objects, &shared.prefix, now, 0).await
        })?)
    }
}
