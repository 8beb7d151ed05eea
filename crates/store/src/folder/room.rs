//! Counts what a folder holds, and makes room in it.
//!
//! Runs under the lock of the folder. Where the count is not known, the work is one call of the system for each file.

use std::collections::BTreeMap;
use std::time::SystemTime;

use super::count::{Count, FolderLock, seconds};
use super::place::{FileData, PrivateFolder, try_lock};
use super::{EntryHeader, Handle, PART, Scope, StoreError, StoreLimits, is_file_name, read_header};

/// Entries that a folder may have, so that counting stays fast. More count as a full store.
const MAX_ENTRIES: u64 = 10_000;

/// A complete entry.
struct EntryFile {
    created: SystemTime,
    bytes: u64,
    name: String,
}

/// The room that is about to be taken.
#[derive(Clone, Copy)]
pub(super) struct Added {
    pub(super) bytes: u64,
    /// The number of new entries.
    pub(super) entries: u64,
}

/// Removes expired entries and the files of writers that no longer exist. Then makes sure that more fits, and removes
/// the oldest entries of the session that holds most for it.
///
/// A count that is known and says that they fit is enough. With 0 bytes, all names are read.
pub(super) fn make(
    folder: &PrivateFolder,
    lock: &FolderLock,
    Added { bytes, entries: new }: Added,
    limits: &StoreLimits,
    now: SystemTime,
) -> Result<(), StoreError> {
    let fits = |taken: u64, entries: u64| {
        taken.saturating_add(bytes) <= limits.total() && entries.saturating_add(new) <= MAX_ENTRIES
    };
    let with_new = |count: Count| Count {
        made: count.made,
        taken: count.taken.saturating_add(bytes),
        entries: count.entries.saturating_add(new),
        parts: count.parts.saturating_add(new),
    };
    // An entry that grows is itself being written.
    let known = lock.count(now).filter(|count| bytes > 0 && count.parts + new <= 1);
    if let Some(count) = known.filter(|count| fits(count.taken, count.entries)) {
        lock.set(with_new(count));
        return Ok(());
    }
    let made = seconds(now);
    let (mut taken, mut parts) = (0_u64, 0_u64);
    let mut entries = Vec::new();
    folder.names(|name| {
        let Some(complete) = is_complete(name) else { return };
        // A file that vanished was complete a moment ago, or was removed: it counts under its other name, or not at all.
        let Some(FileData { size, modified: created }) = folder.data(name) else { return };
        let gone =
            if complete { limits.is_expired(created, now) } else { is_abandoned(folder, name) };
        if gone && folder.remove(name) {
            return;
        }
        taken = taken.saturating_add(size);
        parts += u64::from(!complete);
        if complete {
            entries.push(EntryFile { created, bytes: size, name: name.to_owned() });
        }
    })?;
    let count = entries.len() as u64;
    if bytes == 0 || fits(taken, count) {
        lock.set(with_new(Count { made, taken, entries: count + parts, parts }));
        return Ok(());
    }
    // Nothing is removed if it does not help.
    let removable = entries.iter().fold(0, |sum: u64, entry| sum.saturating_add(entry.bytes));
    if !fits(taken.saturating_sub(removable), 0) {
        return Err(StoreError::Full(limits.total()));
    }
    let mut count = count;
    let mut sessions = by_session(folder, entries);
    while !fits(taken, count) {
        let most = sessions.values_mut().filter(|session| !session.entries.is_empty());
        let Some(most) = most.max_by_key(|session| session.bytes) else { break };
        let Some(oldest) = most.entries.pop() else { break };
        most.bytes = most.bytes.saturating_sub(oldest.bytes);
        if folder.remove(&oldest.name) {
            taken = taken.saturating_sub(oldest.bytes);
            count -= 1;
        }
    }
    if !fits(taken, count) {
        return Err(StoreError::Full(limits.total()));
    }
    lock.set(with_new(Count { made, taken, entries: count + parts, parts }));
    Ok(())
}

/// The complete entries of a session, the newest first.
#[derive(Default)]
struct SessionFiles {
    bytes: u64,
    entries: Vec<EntryFile>,
}

/// Sorts entries by the session in their headers. Files whose headers cannot be read count as one more session.
fn by_session(
    folder: &PrivateFolder,
    entries: Vec<EntryFile>,
) -> BTreeMap<Option<Scope>, SessionFiles> {
    let mut sessions: BTreeMap<Option<Scope>, SessionFiles> = BTreeMap::new();
    for entry in entries {
        let session = sessions.entry(scope_of(folder, &entry.name)).or_default();
        session.bytes = session.bytes.saturating_add(entry.bytes);
        session.entries.push(entry);
    }
    for session in sessions.values_mut() {
        session.entries.sort_by(|a, b| (b.created, &b.name).cmp(&(a.created, &a.name)));
    }
    sessions
}

fn scope_of(folder: &PrivateFolder, name: &str) -> Option<Scope> {
    Some(header_of(folder, name)?.scope)
}

/// Reads the header of a file. `None`: it is not an entry, or vanished.
fn header_of(folder: &PrivateFolder, name: &str) -> Option<EntryHeader> {
    let (mut file, _) = folder.read(name).ok()??;
    read_header(&mut file).ok()?
}

/// Returns the handle of the newest complete entry whose header is accepted.
pub(super) fn newest(
    folder: &PrivateFolder,
    accepts: &dyn Fn(&EntryHeader) -> bool,
) -> std::io::Result<Option<Handle>> {
    let mut found = Vec::new();
    folder.names(|name| {
        // A file that vanished in between was removed.
        if is_complete(name) == Some(true)
            && let Some(data) = folder.data(name)
        {
            found.push((data.modified, name.to_owned()));
        }
    })?;
    found.sort_unstable_by(|a, b| b.cmp(a));
    let mut headers = found.iter().filter_map(|(_, name)| header_of(folder, name));
    Ok(headers.find(|header| accepts(header)).map(|header| header.handle))
}

/// Returns whether a name is that of a complete entry, or of one that is being written. `None` for other files.
fn is_complete(name: &str) -> Option<bool> {
    let part = name.strip_prefix(PART.0).and_then(|name| name.strip_suffix(PART.1));
    is_file_name(part.unwrap_or(name)).then_some(part.is_none())
}

/// Returns whether the writer of a file no longer exists: writers hold a lock, and the system releases it when they
/// end.
fn is_abandoned(folder: &PrivateFolder, name: &str) -> bool {
    folder.open_to_lock(name).and_then(|file| try_lock(&file)).unwrap_or(false)
}
