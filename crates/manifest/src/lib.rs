//! Files that map the names of tools to specs.
//!
//! Use it to keep the rules for all tools of a server in one file that users can edit. A [`Manifest`] reads tamis' own
//! format and those of kimbap, reShapr and AIOS, and compiles every filter. A [`ManifestError`] lists all problems with
//! line, column and a caret. [`Manifest::catalog`] has filters for common APIs.
//!
//! ```
//! use tamis::filter_slice;
//! use tamis_manifest::Manifest;
//!
//! let manifest = Manifest::parse("tools.yaml", "
//! version: 1
//! filters:
//!   crm.list-users:
//!     select: {id: id, login: owner.login}
//! ")?;
//! let program = manifest.program("crm.list-users")?;
//! let (output, _) = filter_slice(&program, br#"[{"id": 1, "owner": {"login": "mira"}, "x": 2}]"#)?;
//! assert_eq!(output, br#"[{"id":1,"login":"mira"}]"#);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Manifests: files that map the names of tools to specs, in the formats of several systems.
//
// Knows specs and programs, but no documents and no file system (`Manifest::load` is in
// `files`). The format is recognised by content. Each format is one file in this folder and one row of `FORMATS`: how
// it is recognised, and how its entries are made. Everything is compiled while it is read, so that errors are
// reported then, with their places.

mod aios;
mod building;
mod builtin;
mod catalog;
mod commands;
mod delivery;
mod entry;
#[doc(hidden)]
pub mod error;
#[doc(hidden)]
pub mod files;
mod inherit;
mod kimbap;
mod lookup;
mod manifest;
#[doc(hidden)]
pub mod name;
mod native;
#[doc(hidden)]
pub mod node;
mod parse;
#[doc(hidden)]
pub mod placed;
mod profile;
mod renamed;
mod reshapr;
#[doc(hidden)]
pub mod rule_place;
mod scalar;
mod schema;
mod server;
mod service;
mod settings;
mod store;
#[doc(hidden)]
pub mod suggest;
#[doc(hidden)]
pub mod yaml;

#[cfg(test)]
mod tests;
mod weakened;

pub use building::SpecWarning;
pub use commands::{CommandSettings, NativeTools};
pub use delivery::{Structured, UnreadText};
pub use entry::{Level, ManifestEntry};
pub use error::{Diagnostic, ManifestError, ManifestErrorKind};
pub use manifest::Manifest;
pub use profile::{Profile, UnknownProfile};
pub use server::{DeltaRule, DescriptionLimit, HandleUse, NoticeRules, ServerSettings, ToolAccess};
pub use settings::Settings;
pub use store::{StorePlace, StoreScope, StoreSettings};

pub(crate) use yaml::MAX_BYTES;
