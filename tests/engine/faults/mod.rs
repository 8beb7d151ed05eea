//! What is around a filter fails: readers and writers, at every call, in every way; tasks that wait at every poll; limits of
//! nothing; a full disk; a file that changes. Never a wrong success.

mod calls;
mod changed;
#[cfg(target_os = "linux")]
mod disk;
mod drivers;
mod limits;
mod polls;
mod trouble;
