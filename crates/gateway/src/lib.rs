//! Carries messages between MCP clients and servers and filters them, and serves gateways: all of tamis that has a runtime.
//!
//! **Internal: no stable API.** It is the library of the binary `tamis-gateway`, which `tamis mcp` and `tamis serve` start. It
//! deliberately does not decide what is filtered: rules, sessions and the rewriting of messages are in [`tamis_mcp`], stored
//! results in [`tamis_store`].
//!
//! | module | for |
//! |---|---|
//! | [`callers`] | who may use a listener |
//! | [`transport`] | messages between the client and the server |
//! | [`observe`] | the log and the metrics of the proxy |
//! | `serve` | servers for Envoy and agentgateway (feature `serve`); their spans and events with `tracing`, sent to a collector with `otel` |

pub mod callers;
pub mod observe;
mod report;
#[cfg(feature = "serve")]
pub mod serve;
pub mod transport;
