//! JSON-RPC messages as ranges of their bytes.
//!
//! A message is never parsed into a tree: what is not replaced is forwarded as the bytes that came in, so unknown
//! members, `1.10` and large integers survive. This module finds the few members that decide where a message goes
//! (`head`), compares ids ([`Id`]), and replaces ranges (`splice`). It does not know what a method means.

pub(crate) mod find;
pub(crate) mod head;
mod id;
pub(crate) mod members;
pub mod reply;
pub(crate) mod similar;
pub(crate) mod splice;
pub mod text;
pub(crate) mod unique;

pub use id::{Id, LONGEST_ID};
