//! Google Cloud Storage, whose interface for objects is that of S3 with other headers, Azure Blob Storage, and places that
//! cannot be used.

use std::io::Write as _;

use tamis_store::{
    CloudPlace, EntryMeta, ReadError, Scope, Store, StoreConfig, StoreError, Window,
};

use super::server::{S3Server, free_port};

fn google(port: u16) -> StoreConfig {
    let address = format!("http://127.0.0.1:{port}");
    let settings = [("GOOGLE_BASE_URL", address.as_str()), ("GOOGLE_BEARER_TOKEN", "any")];
    StoreConfig::cloud(CloudPlace::new("gs://results/tamis", settings).unwrap())
}

/// The account and the key are those that Azure's emulators have.
fn azure(port: u16) -> StoreConfig {
    let address = format!("http://127.0.0.1:{port}/devstoreaccount1");
    let key =
        "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";
    let settings = [
        ("AZURE_STORAGE_ENDPOINT", address.as_str()),
        ("AZURE_STORAGE_ACCOUNT_NAME", "devstoreaccount1"),
        ("AZURE_STORAGE_ACCOUNT_KEY", key),
    ];
    StoreConfig::cloud(CloudPlace::new("az://results/tamis", settings).unwrap())
}

/// Writes entries of one part and of several, and reads them through another store.
fn is_shared(config: impl Fn() -> StoreConfig) {
    let (one, other) = (Store::open(config()), Store::open(config()));
    let scope = Scope::authorization(Some(b"Bearer a"));
    for length in [0, 1, 700_000, 12 << 20] {
        let text: String = (0..).map(|at| format!("line {at}\n")).take(1 + length / 7).collect();
        let text = &text[..length];
        let mut writer = one.begin(scope.clone(), EntryMeta::text("x")).unwrap();
        writer.write_all(text.as_bytes()).unwrap();
        let handle = writer.finish().unwrap().to_string();
        let read = |scope: &Scope, window: &Window| {
            let mut out = Vec::new();
            other.read(scope, &handle, window, &mut out).map(|_| out)
        };
        let all = read(&scope, &Window::new().with_limit(None)).unwrap();
        assert!(all == text.as_bytes(), "{length}: {} bytes", all.len());
        let end = Window::new().with_offset(length as u64 - length.min(5) as u64);
        assert_eq!(read(&scope, &end).unwrap(), &text.as_bytes()[length - length.min(5)..]);
        let foreign = read(&Scope::authorization(Some(b"Bearer b")), &Window::new());
        assert!(matches!(foreign, Err(ReadError::Unknown)), "{foreign:?}");
    }
    let unknown =
        other.read(&scope, "tm_aaaaaaaaaaaaaaaaaaaaaaaaaa", &Window::new(), &mut Vec::new());
    assert!(matches!(unknown, Err(ReadError::Unknown)), "{unknown:?}");
    assert!(other.sweep().is_ok());
}

#[test]
#[ignore = "needs an S3 server: crates/gateway/tests/cloud/run"]
fn entries_are_shared_through_google() {
    let server = S3Server::start();
    is_shared(|| google(server.port));
}

#[test]
#[ignore = "needs Azurite: crates/gateway/tests/cloud/run"]
fn entries_are_shared_through_azure() {
    let port = std::env::var("TAMIS_AZURITE_PORT").expect("crates/gateway/tests/cloud/run sets it");
    let port = port.parse().unwrap();
    is_shared(|| azure(port));
}

#[test]
fn a_service_that_is_away_is_unreachable() {
    for config in [google(free_port()), azure(free_port())] {
        let reserved = Store::open(config).reserve();
        assert!(matches!(reserved, Err(StoreError::Unreachable(_))), "{reserved:?}");
    }
}

#[test]
fn places_that_cannot_be_used_are_errors() {
    for url in ["s3://", "gs:///x", "az:/results", "results", "https://results", "S3://results"] {
        let error = CloudPlace::new(url, []).unwrap_err().to_string();
        assert!(error.contains(url), "{error}");
    }
    // The settings of one service are not those of another.
    let key = [("AWS_ACCESS_KEY_ID", "not-shown"), ("AZURE_STORAGE_ACCOUNT_KEY", "not-shown")];
    let error = CloudPlace::new("az://results", key).unwrap_err().to_string();
    assert!(error.contains("az://results") && !error.contains("not-shown"), "{error}");
}
