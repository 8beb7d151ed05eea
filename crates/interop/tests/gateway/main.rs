//! Gateways on loopback: responses of real servers pass through the layer, the body and the examples to real clients.
//!
//! Each test runs on a single-threaded and on a multi-threaded runtime, and fails if it hangs.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    // The examples share the module of their signals.
    clippy::duplicate_mod,
    reason = "a test may panic"
)]

mod answers;
mod axum_app;
mod codings;
mod failures;
mod fits;
mod leaks;
mod proxy;
mod servers;
mod streams;
mod tenants_app;
mod traced;

#[path = "../../../../examples/axum_layer.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod axum_layer;
#[path = "../../../../examples/reverse_proxy.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod reverse_proxy;
#[path = "../../../../examples/tenants.rs"]
#[allow(dead_code, reason = "its main is not run")]
mod tenants;
