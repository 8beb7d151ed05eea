//! Filters the results of tools on their way to a model, and stores what was cut.
//!
//! This crate has what surrounds the engine of [`tamis`]: a store for what a filter left out, and a proxy in front of an
//! MCP server that filters the results of its tools. The binary `tamis-gateway` is started by `tamis mcp`.
//!
//! | module | for | feature |
//! |---|---|---|
//! | `store` | results that can be fetched back | `store` |
//! | `mcp` | the proxy in front of an MCP server | `mcp` |

#[cfg(feature = "store")]
pub mod store;
