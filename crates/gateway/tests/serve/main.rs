//! `tamis serve` on loopback, with clients that play the parts of Envoy and agentgateway.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test may panic"
)]

#[cfg(feature = "cloud")]
mod cloud;
mod config;
mod envoy;
mod ext_mcp;
mod ext_proc;
mod hostile;
mod operation;
#[cfg(all(feature = "otel", unix))]
mod otel;
mod pool;
mod recall;
mod server;
#[cfg(feature = "tracing")]
mod traced;
