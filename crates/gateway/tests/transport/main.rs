//! The proxy as a process, with real servers and clients of raw bytes. The servers need `python3`.

#![cfg(unix)]
#![allow(
    clippy::indexing_slicing,
    clippy::map_err_ignore,
    clippy::needless_pass_by_value,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report, and values are written where they are used"
)]

mod bridge;
mod death;
mod figures;
mod http;
mod load;
mod pages;
mod stdio;
mod support;
