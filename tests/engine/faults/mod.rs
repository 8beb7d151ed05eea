//! Failures around a filter: readers and writers that fail at every call, in every way; tasks that wait at every poll;
//! limits of 0; a full disk; a file that changes. No failure may be reported as a success.

mod calls;
mod changed;
#[cfg(target_os = "linux")]
mod disk;
mod drivers;
mod limits;
mod polls;
mod trouble;
