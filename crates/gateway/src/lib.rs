//! Filters the results of tools on their way to a model, and stores what was cut.
//!
//! This crate has what surrounds the engine of [`tamis`]: a store for what a filter left out, and a proxy in front of an
//! MCP server that filters the results of its tools. The binary `tamis-gateway` is started by `tamis mcp`.
//!
//! | module | for | feature |
//! |---|---|---|
//! | [`store`] | results that can be fetched back; in an object store with `store-cloud` | `store` |
//! | [`calls`] | the log of calls, and what they saved | `log` |
//! | [`state`] | the folder for what is kept between runs | |
//! | [`config`] | files and flags that choose filters, profile and store | `filter` |
//! | [`rules`] | which filter a tool gets | `filter` |
//! | [`jsonrpc`] | the parts of a message, as ranges of its bytes | `filter` |
//! | [`mcp`] | the protocol of the proxy, without input and output | `filter` |
//! | [`tool_result`] | one result of a tool, outside of a proxy | `filter` |
//! | [`spool`] | a message, in memory or in a temporary file | `filter` |
//! | [`record`] | the record of one call | `filter` |
//! | [`transport`] | messages between the client and the server | `mcp` |
//! | [`routes`] | the format of `gateway.yaml` | `routes` |
//! | `serve` | servers for Envoy and agentgateway; their spans and events with `tracing` | `serve` |
//! | [`process`] | the environment of this process, and the way in which it was started | |
//! | [`observe`] | the log and the metrics of the proxy | `mcp` |

#[cfg(feature = "log")]
pub mod calls;
#[cfg(feature = "filter")]
pub mod config;
#[cfg(feature = "filter")]
pub mod jsonrpc;
#[cfg(feature = "filter")]
pub mod mcp;
#[cfg(feature = "mcp")]
pub mod observe;
pub mod process;
#[cfg(feature = "filter")]
pub mod record;
#[cfg(feature = "mcp")]
mod report;
#[cfg(feature = "routes")]
pub mod routes;
#[cfg(feature = "filter")]
pub mod rules;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "filter")]
pub mod spool;
pub mod state;
#[cfg(feature = "store")]
pub mod store;
#[cfg(feature = "filter")]
pub mod tool_result;
#[cfg(feature = "mcp")]
pub mod transport;
