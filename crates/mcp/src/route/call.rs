//! The parameters of a call that are ours, `_output_mode` and `_budget`, and marks in its arguments.

use std::borrow::Cow;
use std::hash::{Hash as _, Hasher as _};
use std::ops::Range;
use std::sync::Arc;

use tamis::{CallOptions, MarkTable};
use tamis_text::cut::Query;

use super::open_calls::Expected;
use super::put_back::put_back;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::{MessagePart, Parts};
use crate::jsonrpc::reply;
use crate::jsonrpc::splice::Splice;
use crate::policy::proxy::Proxy;
use crate::policy::tool_call::ToolCall;
use crate::rewrite::arguments;
use crate::rewrite::task::ArgumentCheck;
use crate::rules::ToolFilter;
use crate::spool::Spool;

/// The longest arguments that are read, if one of our parameters is in them.
const LONGEST_ARGUMENTS: usize = 64 << 20;

/// The most bytes of the arguments that are read for words.
const LONGEST_QUERY: u64 = 2000;

/// The code and the message of the error that a request gets.
pub(crate) type Refusal = (i32, Cow<'static, str>);

/// Returns the refusal of a request whose parameters are not valid.
pub(crate) fn refusal(why: &'static str) -> Refusal {
    (reply::INVALID_PARAMS, why.into())
}

/// A request of the client, and what has to be cut from it.
#[derive(Debug)]
pub(crate) struct RequestedCall {
    pub(crate) expected: Expected,
    /// The arguments, and the members to cut from them.
    pub(crate) cuts: Vec<(Range<u64>, Vec<Found>)>,
    /// The values to put back into the arguments.
    pub(crate) values: Splice,
    /// The arguments have to be checked before they are sent.
    pub(crate) check: Option<ArgumentCheck>,
}

impl From<Expected> for RequestedCall {
    fn from(expected: Expected) -> Self {
        Self { expected, cuts: Vec::new(), values: Splice::default(), check: None }
    }
}

/// Reads our parameters from the arguments of a call. A parameter that the tool itself has is left alone.
pub(crate) fn requested(
    proxy: &Proxy,
    message: &Spool,
    parts: &Parts<MessagePart>,
    tool: &str,
    filter: Arc<ToolFilter>,
    marks: Option<&MarkTable>,
) -> Result<RequestedCall, Refusal> {
    let own = proxy.own_parameters(tool);
    let offered = filter.parameters;
    let takes_any = offered.raw || offered.budget;
    // Where raw output is not allowed, the parameter is not listed, but a caller may know it.
    let ours = [
        (MessagePart::OutputMode, "_output_mode", own.raw),
        (MessagePart::Budget, "_budget", own.budget),
    ];
    let ours = ours.into_iter().filter(|(.., is_of_tool)| takes_any && !is_of_tool);
    let cut: Vec<Found> =
        ours.clone().flat_map(|(part, ..)| parts.all(part).iter().cloned()).collect();
    let mut options =
        marks.map_or_else(CallOptions::new, |marks| CallOptions::new().with_marks(marks));
    let arguments = parts.last(MessagePart::Arguments).filter(|it| it.kind == ValueKind::Object);
    let query = arguments.map(|arguments| query(message, &arguments.span)).unwrap_or_default();
    let in_script = is_of_script(message, parts);
    let delta = match proxy.delta_calls() {
        0 => None,
        // A script reads data, not what has changed since.
        _ if in_script => None,
        calls => {
            key(message, tool, arguments, ours.map(|(_, name, _)| name)).map(|key| (key, calls))
        }
    };
    let Some(arguments) = arguments.filter(|_| !cut.is_empty()) else {
        return Ok(call(proxy, tool, filter, options, query, delta, in_script).into());
    };
    let text = message
        .to_vec(arguments.span.clone(), LONGEST_ARGUMENTS)
        .map_err(|_error| refusal("the arguments are too long"))?;
    let asked =
        CallOptions::from_json(&text).map_err(|_error| refusal("the arguments cannot be read"))?;
    if offered.raw && !own.raw {
        options = options.with_raw(asked.raw());
    }
    if offered.budget
        && !own.budget
        && let Some(budget) = asked.budget()
    {
        options = options.with_budget(budget);
    }
    let cuts = vec![(arguments.span.clone(), cut)];
    // Raw output is sent whole. Later results are compared with it, since it is what the client has got last.
    let delta = delta.map(|(key, calls)| (key, if options.raw() { 0 } else { calls }));
    Ok(RequestedCall { cuts, ..call(proxy, tool, filter, options, query, delta, in_script).into() })
}

impl RequestedCall {
    /// Puts the values of the session's marks into the arguments, if the tool gets them.
    pub(crate) fn with_values(
        mut self,
        proxy: &Proxy,
        message: &Spool,
        parts: &Parts<MessagePart>,
        tool: &str,
        marks: Option<&MarkTable>,
    ) -> Result<Self, Refusal> {
        let arguments = parts.last(MessagePart::Arguments);
        let (Some(marks), Some(arguments)) = (marks.filter(|_| proxy.puts_back(tool)), arguments)
        else {
            return Ok(self);
        };
        let text = message
            .to_vec(arguments.span.clone(), LONGEST_ARGUMENTS)
            .map_err(|_error| refusal("the arguments are too long"))?;
        let mut cut: Vec<_> =
            self.cuts.iter().flat_map(|(_, cut)| cut).map(|found| found.span.clone()).collect();
        cut.sort_unstable_by_key(|span| span.start);
        put_back(&text, arguments.span.start, marks, &cut, &mut self.values);
        Ok(self)
    }
}

impl RequestedCall {
    /// Has the arguments checked if they may have a handle.
    pub(crate) fn with_check(
        mut self,
        proxy: &Proxy,
        message: &Spool,
        parts: &Parts<MessagePart>,
        tool: &str,
        in_batch: bool,
    ) -> Result<Self, Refusal> {
        let arguments = parts.last(MessagePart::Arguments);
        let Some(arguments) = arguments.filter(|_| proxy.checks_arguments()) else {
            return Ok(self);
        };
        let may_have = arguments::may_have_handle(message, arguments.span.clone());
        if !may_have.map_err(|_error| refusal("the arguments cannot be read"))? {
            return Ok(self);
        }
        if in_batch {
            // A batch is either sent or refused, and this is decided before its calls are checked.
            return Err(refusal("a call with a handle in its arguments cannot be in a batch"));
        }
        let cuts = self.cuts.iter().flat_map(|(_, cut)| cut);
        let cuts = cuts.map(|found| found.start..found.span.end).collect();
        let arguments = arguments.span.clone();
        self.check = Some(ArgumentCheck { tool: tool.into(), arguments, cuts });
        Ok(self)
    }
}

/// Returns a hash of a tool and of the arguments that it gets, whatever the order of their members. `ours`: our own parameters. `None`:
/// they are too long.
fn key(
    message: &Spool,
    tool: &str,
    arguments: Option<&Found>,
    ours: impl Iterator<Item = &'static str>,
) -> Option<u64> {
    const LONGEST: usize = 64 << 10;
    let arguments = match arguments {
        Some(found) => message.to_vec(found.span.clone(), LONGEST).ok()?,
        None => b"{}".to_vec(),
    };
    let mut arguments: serde_json::Value = serde_json::from_slice(&arguments).ok()?;
    if let Some(members) = arguments.as_object_mut() {
        ours.for_each(|name| drop(members.remove(name)));
    }
    let mut hasher = std::hash::DefaultHasher::new();
    (tool, arguments.to_string()).hash(&mut hasher);
    Some(hasher.finish())
}

/// Returns the words of the arguments.
fn query(message: &Spool, arguments: &Range<u64>) -> Query {
    let end = arguments.end.min(arguments.start + LONGEST_QUERY);
    let text = message.to_vec(arguments.start..end, LONGEST_QUERY as usize).unwrap_or_default();
    Query::of(&String::from_utf8_lossy(&text))
}

/// Returns whether a script makes the call. Codex names calls of its model `call_…`, and those of a script of its model `exec-…` (seen in
/// version 0.171.0).
fn is_of_script(message: &Spool, parts: &Parts<MessagePart>) -> bool {
    parts.text(message, MessagePart::CallId).is_some_and(|id| id.starts_with("exec-"))
}

/// The tokens of a profile's limit are estimated, those of a budget that somebody wrote are counted.
fn call(
    proxy: &Proxy,
    tool: &str,
    filter: Arc<ToolFilter>,
    options: CallOptions,
    query: Query,
    delta: Option<(u64, u64)>,
    in_script: bool,
) -> Expected {
    let options = match filter.is_own() {
        true => options.with_token_counter(tamis_tokens::o200k_base()),
        false => options,
    };
    let listed = proxy.listed_schema(tool, &filter);
    let tool = tool.into();
    Expected::ToolResult(ToolCall { tool, filter, options, query, delta, listed, in_script })
}
