//! A call of a tool.

use std::sync::Arc;

use tamis::CallOptions;
use tamis_text::cut::Query;

use crate::rules::ToolFilter;

/// A call of a tool, as far as its result needs it.
#[derive(Clone, Debug)]
pub(crate) struct ToolCall {
    pub(crate) tool: Arc<str>,
    pub(crate) filter: Arc<ToolFilter>,
    pub(crate) options: CallOptions,
    /// The words of the arguments: passages of a text that have them are kept first.
    pub(crate) query: Query,
    /// A hash of the tool and the arguments, and how many calls ago the result of the same call may be of which this one only
    /// says what has changed.
    pub(crate) delta: Option<(u64, u64)>,
    /// The schema that clients know of the result.
    pub(crate) listed: ListedSchema,
    /// Whether the call is made from a script, which decides what the model is shown of the result.
    pub(crate) in_script: bool,
}

/// The schema that clients know of the results of a tool, where results have a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListedSchema {
    /// None that results are made to fit.
    Nothing,
    /// That of the server.
    Servers {
        /// Whether it allows our member in an object.
        is_open: bool,
    },
    /// That of the filter.
    Ours,
}
