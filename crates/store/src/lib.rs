//! Keeps what outlives a run of [tamis](https://docs.rs/tamis): results that a filter shortened, so that the rest can be
//! fetched for a day, and the log of calls.
//!
//! **Internal: no stable API.** The commands `tamis` and `tamis-gateway` use it. It deliberately does not know MCP, HTTP or how
//! a result is cut, and it has no runtime: only the feature `cloud` brings one.
//!
//! A proxy or a command runner that shortens a result first writes the whole of it here, and then names the entry in
//! its notice. The reader of the shortened result asks for a part of the rest by that name.
//!
//! ```text
//! reserve ─▶ Reservation ─begin─▶ EntryWriter ─finish─▶ Handle ──(notice)──▶ reader
//!                                                                              │
//!                          bytes of a Window ◀─────── read ◀── scope, handle ──┘
//! ```
//!
//! - [`Store::reserve`] makes room before anything is cut. If it fails, nothing may be cut.
//! - [`EntryWriter`] streams the entry. An entry that outgrows the limits is dropped.
//! - [`Store::read`] checks the [`Scope`] and writes a [`Window`] of the entry: a value, items, lines, matches of a
//!   pattern. Memory does not grow with the entry.
//! - [`OmissionNotice`] is the line that reports what was left out, and how to get it.
//! - [`calls`] has the log of calls and its sums, [`state`] the folder for both, [`process`] how this process was started.
//!
//! Entries are in memory, in a folder that any number of processes share, or in an object store (feature `cloud`)
//! that any number of machines share. A failed or unfinished write leaves nothing that can be read.

mod backend;
pub mod calls;
#[cfg(feature = "cloud")]
mod cloud;
mod config;
mod entry;
mod folder;
mod handle;
mod limits;
mod memory;
#[cfg(not(feature = "cloud"))]
mod no_cloud;
mod notice;
pub mod process;
mod scope;
pub mod state;
mod store;
mod value;
mod window;
mod writer;

pub use backend::StoreError;
#[cfg(feature = "cloud")]
pub use cloud::{CloudPlace, CloudPlaceError};
pub use config::StoreConfig;
pub use entry::{EntryKind, EntryMeta, EntryShape};
pub use handle::{Handle, InvalidHandle};
pub use limits::StoreLimits;
#[cfg(not(feature = "cloud"))]
pub use no_cloud::{CloudPlace, CloudPlaceError};
pub use notice::{LostReason, OmissionNotice, OmittedUnit, Remedy};
pub use scope::Scope;
pub use store::Store;
pub use value::StoredValue;
pub use window::{ReadError, Window, WindowError, WindowReport, replaced};
pub use writer::{EntryWriter, Reservation};
