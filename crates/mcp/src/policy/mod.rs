//! The settings, limits and earlier calls that apply to a message.
//!
//! | file | decides |
//! |---|---|
//! | `proxy` | the settings that all sessions of a process share |
//! | `server_rules` | which settings of the files hold for the server |
//! | `memory` | which call a task or a resource belongs to |
//! | `earlier_results` | which results a client has in full |
//! | `retrieval` | which tool reads from the store, if the server is another proxy |
//! | `clients` | which part of a result a client shows |
//! | `allowed` | which members of a message no filter has to see |
//! | `failure` | what replaces a result that is withheld |

pub(crate) mod allowed;
pub(crate) mod clients;
pub(crate) mod earlier_results;
pub(crate) mod failure;
pub(crate) mod memory;
pub(crate) mod proxy;
pub(crate) mod retrieval;
pub(crate) mod server_rules;
pub(crate) mod tool_call;

pub use clients::{ClientReads, UnknownClientReads};
pub use proxy::{MessageLimits, Proxy, ProxyOptions};
pub use server_rules::ServerRules;
