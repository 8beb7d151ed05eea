//! The protocol of the proxy, without input and output.
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
//! | file | decides |
//! |---|---|
//! | `session`, `from_client`, `from_server` | where a message goes |
//! | `task` | what has to be done with a message, which `job` does |
//! | `open_calls` | which request a response belongs to |
//! | `memory` | which tool a task or a resource belongs to |
//! | `call` | options and parameters of a call |
//! | `clients` | which part of a result a client shows |
//! | `headers` | whether headers and body agree |
//! | `allowed` | which members of a message no filter has to see |

mod allowed;
mod assemble;
mod block_text;
mod blocks;
mod call;
mod clients;
mod copies;
mod exchange;
mod failure;
mod from_client;
mod from_server;
mod headers;
mod invisible;
mod job;
mod listing;
mod memory;
mod notice;
mod open_calls;
mod overflow;
mod proxy;
mod resource;
mod result;
mod retrieve;
mod route;
mod run;
mod session;
mod stored;
mod task;
mod text_cut;
mod unreached;
mod wrapped;

pub use clients::{ClientReads, UnknownClientReads};
pub use exchange::Exchange;
pub use job::Job;
pub use overflow::OverflowScan;
pub use proxy::{MessageLimits, Proxy, ProxyOptions};
pub use route::{Action, DropReason, Outcome, Route};
pub use session::Session;

pub(crate) use job::withheld_call;
#[cfg(feature = "serve")]
pub(crate) use retrieve::{PlainError, read_plain};
