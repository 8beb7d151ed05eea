//! Lets coding agents filter the output of their tools.
//!
//! ```text
//! accepted   files of projects whose rules the user accepted
//! agent      the agents: their names, their files
//! install    the changes to the files of an agent, and how they are undone
//! doctor     whether what is installed works
//! recorder   full outputs of commands, in the store
//! session_files  full outputs as files that an agent opens without asking (Unix)
//! hook       what an agent calls: reads an event, writes the filtered output in the agent's shape
//! program    the path of this program, in the lines that start it
//! ```

pub mod accepted;
pub mod agent;
pub mod doctor;
pub mod hook;
pub mod install;
#[cfg(not(unix))]
mod no_session_files;
mod program;
#[cfg(any(unix, windows))]
pub mod recorder;
#[cfg(unix)]
pub mod session_files;
