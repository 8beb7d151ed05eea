//! draft
mod error;
mod filter;
mod io;
mod json;
mod limits;
mod path;
mod report;
mod scan;
mod sink;
mod spec;

pub use error::{Error, ErrorKind, Fault};
pub use filter::{CallOptions, Filter, Program};
pub use io::{Tee, WriteSink, filter_file, filter_reader, filter_slice, filter_slice_with, pump};
pub use limits::Limits;
pub use report::{Failed, Report};
pub use sink::Sink;
pub use spec::{
    DuplicateKeys, OnError, Root, Select, Siblings, Source, Spec, Validation, Whitespace,
};
