//! The store in an object store. Tests that need a server with the interface of S3 are ignored unless `tests/cloud/run`
//! runs them; the others show what happens without one.

mod away;
mod entries;
mod providers;
mod replicas;
mod server;
