//! The messages, generated from `ext_mcp.proto`.

#![allow(
    missing_docs,
    unreachable_pub,
    unused_qualifications,
    clippy::all,
    clippy::allow_attributes_without_reason,
    clippy::doc_markdown,
    reason = "the file is generated"
)]

include!(concat!(env!("OUT_DIR"), "/agentgateway.dev.ext_mcp.rs"));
