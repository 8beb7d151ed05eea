//! Carries messages between the client and the server.

pub mod spool;
