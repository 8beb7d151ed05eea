//! The store in an object store. Tests that need a server with the interface of S3 are ignored unless `tests/cloud/run`
//! runs them; the others show what happens without one.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

mod away;
mod entries;
#[path = "../serve/envoy.rs"]
#[allow(dead_code, reason = "this test uses a part of it")]
mod envoy;
mod providers;
mod replicas;
mod server;
