//! Where a message goes, and what is remembered for its response.
//!
//! | file | decides |
//! |---|---|
//! | `session`, `from_client`, `from_server` | where a message goes |
//! | `call` | options and parameters of a call |
//! | `put_back` | which values of personal data a call gets |
//! | `open_calls` | which request a response belongs to |
//! | `exchange`, `headers` | what the transport knows, and whether headers and body agree |
//! | `overflow` | what is sent for a message that is too long to be read |

pub(crate) mod call;
pub(crate) mod exchange;
pub(crate) mod from_client;
pub(crate) mod from_server;
pub(crate) mod headers;
pub(crate) mod open_calls;
pub(crate) mod overflow;
mod put_back;
mod session;
mod target;

pub use exchange::Exchange;
pub use overflow::OverflowScan;
pub use session::Session;
pub use target::Route;
