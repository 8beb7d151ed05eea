//! An object store that cannot be reached, does not respond, or denies access.

use std::io::Write as _;
use std::net::TcpListener;
use std::time::Duration;

use tamis_store::{EntryMeta, ReadError, Scope, Store, StoreError, Window};

use super::server::{S3Server, free_port, store_at};

const HANDLE: &str = "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Reserves room, which must fail.
fn refused(store: &Store) {
    let reserved = store.reserve();
    assert!(matches!(reserved, Err(StoreError::Unreachable(_))), "{reserved:?}");
}

#[test]
fn a_reservation_fails_soon_and_then_at_once() {
    refused(&Store::open(store_at(free_port())));
    // Somebody listens, and never responds.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    silent.set_nonblocking(true).unwrap();
    let connections = || std::iter::from_fn(|| silent.accept().ok()).count();
    let store = Store::open(store_at(silent.local_addr().unwrap().port()));
    refused(&store);
    assert!(connections() > 0);
    // The store remembers the failure, and does not even connect.
    refused(&store);
    assert_eq!(connections(), 0);
}

#[test]
fn reading_fails_with_an_error_of_its_own() {
    let store = Store::open(store_at(free_port()));
    let error = store.read(&Scope::user(), HANDLE, &Window::new(), &mut Vec::new());
    assert!(matches!(error, Err(ReadError::Io(_))), "{error:?}");
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn a_store_is_used_again_once_it_is_back() {
    let server = S3Server::start();
    let port = server.port;
    let store = Store::open(server.store());
    let mut writer = store.begin(Scope::user(), EntryMeta::text("x")).unwrap();
    writer.write_all(b"lost").unwrap();
    drop(server);
    assert!(matches!(writer.finish(), Err(StoreError::Unreachable(_))));
    refused(&store);

    let server = S3Server::start_at(port);
    assert!(server.http("PUT", "/results").starts_with("HTTP/1.1 200"));
    std::thread::sleep(Duration::from_secs(6));
    let mut writer = store.begin(Scope::user(), EntryMeta::text("x")).unwrap();
    writer.write_all(b"kept").unwrap();
    let handle = writer.finish().unwrap();
    let mut out = Vec::new();
    store.read(&Scope::user(), &handle.to_string(), &Window::new(), &mut out).unwrap();
    assert_eq!(out, b"kept");
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn a_bucket_that_does_not_exist_stores_nothing() {
    let server = S3Server::start_at(free_port());
    refused(&Store::open(server.store()));
}
