//! Filters the messages between an MCP client and an MCP server, with [tamis](https://docs.rs/tamis).
//!
//! **Internal: no stable API.** The commands `tamis` and `tamis-gateway` use it. It deliberately has no input and output of
//! messages, no processes, no connections and no runtime: those are in `tamis-gateway`. It reads configuration files.
//!
//! A [`Session`] is given each message of the client and of the server, and says where it goes ([`Route`]). Messages
//! that have to be rewritten are rewritten by a [`Job`], which runs without the session. Everything that is not replaced
//! is forwarded as the bytes that came.
//!
//! ```text
//!  client ──▶ from_client ──▶ Forward | Run(Job) | Answer | Reject | Drop
//!                 │ notes what the response will be (open_calls)
//!  server ──▶ from_server ──▶ Forward | Run(Job) | Drop
//!                                        │
//!                                        ├─ listing    tools/list: schemas, parameters, tamis_retrieve
//!                                        ├─ result     the result of a tool, wherever it arrives
//!                                        │    └─ blocks, block_text, wrapped, unreached, copies, stored, assemble
//!                                        ├─ resource   resources/read of what a result named
//!                                        └─ retrieve   tamis_retrieve, from the store
//! ```
//!
//! A filter that only saves never breaks a session: if it fails, the message is forwarded unchanged. A filter that
//! removes for safety fails closed: the client gets a result that says that the output is withheld (`failure`).
//!
//! | module | for |
//! |---|---|
//! | [`spool`] | a message, in memory or in a temporary file |
//! | [`jsonrpc`] | the parts of a message, as ranges of its bytes |
//! | [`record`] | the record of one call |
//! | `schema_check` | whether a value fits a JSON Schema |
//! | [`rules`] | which filter a tool gets |
//! | `policy` | what applies to a message: settings, the call it belongs to, and what may pass that no filter has seen |
//! | `rewrite` | the new bytes of a message |
//! | `route` | where a message goes, and what is remembered for its response |
//! | [`config`] | files and flags that choose filters, profile and store |
//! | [`gateway_yaml`] | the file of `tamis serve`: routes, and the filter of each |
//! | [`tool_result`] | one result of a tool, outside of a proxy |
//! | `program` | the flags of the programs (feature `program`) |

pub mod config;
pub mod gateway_yaml;
pub mod jsonrpc;
mod policy;
#[cfg(feature = "program")]
pub mod program;
pub mod record;
mod rewrite;
mod route;
pub mod rules;
mod schema_check;
pub mod spool;
pub mod tool_result;

pub use policy::{
    ClientReads, MessageLimits, Proxy, ProxyOptions, ServerRules, UnknownClientReads,
};
pub use rewrite::{Action, DropReason, Job, Outcome, PlainError, read_plain};
pub use route::{Exchange, OverflowScan, Route, Session};
pub use schema_check::{SchemaCheck, SchemaCompiler, SchemaViolation};
