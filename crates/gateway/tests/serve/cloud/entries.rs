//! Entries that one store writes and another one reads.

use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use tamis::text::TextRedactor;
use tamis_store::{EntryMeta, Handle, ReadError, Scope, Store, StoreConfig, StoreLimits, Window};

use super::server::S3Server;

const MIB: u64 = 1 << 20;

fn put(store: &Store, scope: &Scope, meta: EntryMeta, bytes: &[u8]) -> Handle {
    let mut writer = store.begin(scope.clone(), meta).unwrap();
    for piece in bytes.chunks(70_000) {
        writer.write_all(piece).unwrap();
    }
    writer.finish().unwrap()
}

fn read(
    store: &Store,
    scope: &Scope,
    handle: Handle,
    window: &Window,
) -> Result<String, ReadError> {
    let mut out = Vec::new();
    store.read(scope, &handle.to_string(), window, &mut out)?;
    Ok(String::from_utf8(out).unwrap())
}

fn is_unknown(store: &Store, scope: &Scope, handle: Handle) -> bool {
    matches!(read(store, scope, handle, &Window::new()), Err(ReadError::Unknown))
}

/// The time of the system, moved by what a test says.
fn clock(config: StoreConfig) -> (StoreConfig, Arc<AtomicU64>) {
    let ahead = Arc::new(AtomicU64::new(0));
    let seconds = Arc::clone(&ahead);
    let now = move || SystemTime::now() + Duration::from_secs(seconds.load(Ordering::Relaxed));
    (config.with_clock(now), ahead)
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn what_one_store_writes_another_one_reads() {
    let server = S3Server::start();
    let (one, other) = (Store::open(server.store()), Store::open(server.store()));
    assert!(one.is_remote());
    let scope = Scope::authorization(Some(b"Bearer a"));
    let items: Vec<String> =
        (0..60).map(|at| format!(r#"{{"id":{at},"title":"error {at}"}}"#)).collect();
    let json = format!(r#"{{"issues":[{}]}}"#, items.join(","));
    let handle = put(&one, &scope, EntryMeta::json("issues").with_items("issues"), json.as_bytes());
    assert_eq!(read(&other, &scope, handle, &Window::new().with_limit(None)).unwrap(), json);
    let window = Window::new().with_items("25-26").unwrap();
    assert_eq!(
        read(&other, &scope, handle, &window).unwrap(),
        format!("[{}]", items[25..27].join(","))
    );
    let window = Window::new().with_pointer("/issues/3/title").unwrap();
    assert_eq!(read(&other, &scope, handle, &window).unwrap(), "error 3");

    // Neither another caller nor another handle.
    assert!(is_unknown(&other, &Scope::authorization(Some(b"Bearer b")), handle));
    assert!(is_unknown(&other, &Scope::authorization(None), handle));
    assert!(is_unknown(&other, &scope, "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa".parse().unwrap()));
    let open = put(&one, &Scope::authorization(None), EntryMeta::text("x"), b"open");
    assert_eq!(read(&other, &scope, open, &Window::new()).unwrap(), "open");
    // An entry without bytes is an entry.
    let empty = put(&one, &scope, EntryMeta::text("x"), b"");
    assert_eq!(read(&other, &scope, empty, &Window::new()).unwrap(), "");
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn long_entries_are_sent_in_parts_and_read_in_ranges() {
    let server = S3Server::start();
    let (one, other) = (Store::open(server.store()), Store::open(server.store()));
    let scope = Scope::user();
    // Lengths around a part, with and without the header.
    for length in [5 * MIB - 1024, 5 * MIB - 1, 5 * MIB, 5 * MIB + 1, 12 * MIB + 7] {
        let mut text = String::new();
        let mut line = 0;
        while (text.len() as u64) < length {
            line += 1;
            text.push_str(&format!("line {line} of a long output\n"));
        }
        text.truncate(length as usize);
        let handle = put(&one, &scope, EntryMeta::text("x"), text.as_bytes());
        let all = read(&other, &scope, handle, &Window::new().with_limit(None)).unwrap();
        assert!(all == text, "{length}: {} bytes", all.len());
        let window = Window::new().with_lines("100000").unwrap();
        assert_eq!(
            read(&other, &scope, handle, &window).unwrap(),
            "line 100000 of a long output\n"
        );
    }
    // Nothing remains of an entry that is given up, neither readable nor as parts.
    let mut writer = one.begin(scope.clone(), EntryMeta::text("x")).unwrap();
    let handle = writer.handle();
    writer.write_all(&vec![b'x'; 6 << 20]).unwrap();
    assert!(server.http("GET", "/results?uploads").contains("<UploadId>"));
    drop(writer);
    assert!(is_unknown(&other, &scope, handle));
    let deadline = std::time::Instant::now() + Duration::from_secs(20);
    while server.http("GET", "/results?uploads").contains("<UploadId>") {
        assert!(std::time::Instant::now() < deadline, "the parts remain");
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn credentials_are_replaced_before_they_are_sent() {
    const KEY: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let server = S3Server::start();
    for redacts in [true, false] {
        let store = Store::open(server.store());
        let mut writer = store.begin(Scope::user(), EntryMeta::text("x")).unwrap();
        if redacts {
            writer.redact_text(TextRedactor::new());
        }
        write!(writer, "token: {KEY}\nrest\n").unwrap();
        let handle = writer.finish().unwrap();
        let object = server.http("GET", &format!("/results/tamis/{handle}"));
        assert!(object.contains("rest\n"), "{object}");
        assert_eq!(object.contains(KEY), !redacts, "{object}");
    }
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn expired_entries_are_unknown_and_removed() {
    let server = S3Server::start();
    let (config, ahead) = clock(server.store());
    let store = Store::open(config);
    let scope = Scope::user();
    let handle = put(&store, &scope, EntryMeta::text("x"), b"old");
    let path = format!("/results/tamis/{handle}");
    assert_eq!(server.http("PUT", "/results/tamis/other").split(' ').nth(1), Some("200"));
    ahead.store(23 * 60 * 60, Ordering::Relaxed);
    assert_eq!(read(&store, &scope, handle, &Window::new()).unwrap(), "old");
    ahead.store(24 * 60 * 60 + 5, Ordering::Relaxed);
    assert!(is_unknown(&store, &scope, handle));
    assert!(server.http("GET", &path).starts_with("HTTP/1.1 200"));
    store.sweep().unwrap();
    assert!(server.http("GET", &path).starts_with("HTTP/1.1 404"));
    // Objects that are not ours stay.
    assert!(server.http("GET", "/results/tamis/other").starts_with("HTTP/1.1 200"));
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn the_limit_holds_for_all_stores_together() {
    let server = S3Server::start();
    let limits = StoreLimits::folder().with_total(3 * MIB).with_entry(3 * MIB);
    let scope = Scope::user();
    let one = Store::open(server.store().with_limits(limits.clone()));
    let old = put(&one, &scope, EntryMeta::text("x"), &vec![b'a'; 2 << 20]);
    // Another process counts what the first one wrote, and the oldest entry makes room.
    let other = Store::open(server.store().with_limits(limits));
    let new = put(&other, &scope, EntryMeta::text("x"), b"new");
    assert_eq!(read(&other, &scope, new, &Window::new()).unwrap(), "new");
    assert!(is_unknown(&one, &scope, old));
}
