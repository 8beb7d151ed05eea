//! The store through its public interface: windows, scopes, limits, folders that several processes share.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

mod large;
mod limits;
mod oracle;
#[cfg(unix)]
mod processes;
mod windows;

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tamis_store::{EntryMeta, Handle, ReadError, Scope, Store, StoreConfig, Window, WindowReport};

/// A clock that a test sets.
#[derive(Clone, Default)]
struct TestClock(Arc<AtomicU64>);

impl TestClock {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_000_000 + self.0.load(Ordering::Relaxed))
    }

    fn advance(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

/// A store of each kind, with the folder of the second one.
fn stores(
    change: impl Fn(StoreConfig) -> StoreConfig,
) -> (Vec<(&'static str, Store)>, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let stores = [
        ("memory", StoreConfig::memory()),
        ("folder", StoreConfig::folder(folder.path().join("store"))),
    ];
    let stores = stores.map(|(name, config)| (name, Store::open(change(config))));
    (stores.into(), folder)
}

/// Stores an entry, in pieces of any size.
fn put(store: &Store, scope: &Scope, meta: EntryMeta, bytes: &[u8]) -> Handle {
    let mut writer = store.begin(scope.clone(), meta).unwrap();
    let handle = writer.handle();
    for piece in bytes.chunks(bytes.len() / 3 + 1) {
        writer.write_all(piece).unwrap();
    }
    assert_eq!(writer.written(), bytes.len() as u64);
    assert_eq!(writer.finish().unwrap(), handle);
    handle
}

/// Reads a window as text.
fn read(
    store: &Store,
    scope: &Scope,
    handle: Handle,
    window: &Window,
) -> Result<(String, WindowReport), ReadError> {
    let mut out = Vec::new();
    let report = store.read(scope, &handle.to_string(), window, &mut out)?;
    Ok((String::from_utf8_lossy(&out).into_owned(), report))
}

/// Whether reading reports the handle as unknown.
fn is_unknown(store: &Store, scope: &Scope, handle: Handle) -> bool {
    match read(store, scope, handle, &Window::new()) {
        Ok(_) => false,
        Err(ReadError::Unknown) => true,
        Err(error) => panic!("{error}"),
    }
}
