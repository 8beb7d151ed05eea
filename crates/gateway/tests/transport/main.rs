//! The proxy as a process, with real servers and clients of raw bytes. The servers need `python3`.

#![cfg(unix)]

mod bridge;
mod death;
mod figures;
mod http;
mod load;
mod stdio;
mod support;
