//! The log of calls, and what they saved: one line of JSON for each call of a tool or run of a command.
//!
//! `tamis run` and the hooks of agents append to [`UserLog`]; the proxy writes to the file of its flag `--log`. `tamis
//! savings` sums both. Savings are the difference to what the agent would have shown without tamis ([`ShownBy`]), less what was read
//! again. A line has names, sizes and durations, and never data of an output or arguments of a command.
//!
//! ```
//! use std::time::Duration;
//! use tamis_store::calls::{CallLine, Savings, UserLog};
//!
//! let folder = tempfile::tempdir()?;
//! let log = UserLog::in_folder(folder.path());
//! log.append(&CallLine::new("cargo", "cargo-test", [40_000, 4_000]).with_exit_code(Some(101)))?;
//! let mut savings = Savings::default();
//! let [_older, current] = log.files();
//! savings.read_file(&current)?;
//! let table = savings.table();
//! assert!(table.contains("cargo      1       0   40,000  4,000           0          9,000    90%"), "{table}");
//! # Ok::<(), std::io::Error>(())
//! ```

mod line;
mod savings;
mod shown_by;
mod user_log;

pub use line::CallLine;
pub use savings::{RedactedKind, Savings, SavingsBy, UnusedTool};
pub use shown_by::{OutputKind, ShownBy, ShownWhole, TextSize};
pub use user_log::UserLog;
