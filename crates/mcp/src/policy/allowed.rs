//! Removes members that no rule covers from messages about tools whose filter removes for safety.
//!
//! The filter of a tool knows the payload of a result, not the message around it. A server may repeat data in members
//! that the protocol does not define, or that hold free text. So such a message is sent with the members on these lists
//! only; everything else is cut out. Names, addresses and messages are searched for credentials, if the filter does that.

use std::ops::Range;

use tamis::MarkTable;
use tamis::spec::Redact;
use tamis::text::TextRedactor;

use super::failure::Failure;
use crate::jsonrpc::find::{Found, ValueKind};
use crate::jsonrpc::head::short_text;
use crate::jsonrpc::members::members;
use crate::jsonrpc::splice::{Piece, Splice, cut_members};
use crate::spool::Spool;

/// A message whose members are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Envelope {
    /// The response with the result of a tool.
    ToolResult,
    /// The response that asks the client for input before the tool can go on.
    InputRequired,
    /// The response that says that a task was started.
    TaskStarted,
    /// The response with the state of a task.
    Task,
    /// The response with the state of a task that waits for input.
    WaitingTask,
    /// The notification with the state of a task.
    TaskNotification,
    /// The notification with the state of a task that waits for input.
    WaitingTaskNotification,
    /// The response with a list of tasks.
    TaskList,
    /// The response with the contents of a resource.
    Contents,
}

/// The rule with which names and messages are searched, and the marks of the session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Redaction<'a> {
    pub(crate) rule: &'a Redact,
    pub(crate) marks: Option<&'a MarkTable>,
}

/// The values that a member may have.
#[derive(Clone, Copy, Debug)]
enum Allowed {
    /// Any value: a filter has seen it, or it is data for the server.
    Any,
    /// A string, a number, a boolean or null.
    Scalar,
    /// Any value, which is searched for credentials if the filter does that.
    Searched,
    /// An object with the members of these lists.
    Object(&'static [Members]),
    /// An array of such values.
    Each(&'static Allowed),
    /// A block of `content`. Its `type` decides.
    Block,
}

type Members = &'static [(&'static str, Allowed)];

use Allowed::{Any, Block, Each, Object, Scalar, Searched};

const META: Allowed = Object(&[&[
    ("progressToken", Scalar),
    ("io.modelcontextprotocol/related-task", Object(&[&[("taskId", Scalar)]])),
    ("io.modelcontextprotocol/subscriptionId", Scalar),
    ("io.modelcontextprotocol/protocolVersion", Scalar),
    (
        "io.modelcontextprotocol/serverInfo",
        Object(&[&[("name", Scalar), ("title", Scalar), ("version", Scalar)]]),
    ),
]]);

const ANNOTATIONS: Allowed =
    Object(&[&[("audience", Each(&Scalar)), ("priority", Scalar), ("lastModified", Scalar)]]);

const OF_ALL: Members = &[("_meta", META), ("resultType", Scalar)];

const OF_BLOCKS: Members = &[("type", Scalar), ("annotations", ANNOTATIONS), ("_meta", META)];

const OF_TASKS: Members = &[
    ("taskId", Scalar),
    ("status", Scalar),
    ("createdAt", Scalar),
    ("lastUpdatedAt", Scalar),
    ("ttl", Scalar),
    ("ttlMs", Scalar),
    ("pollInterval", Scalar),
    ("pollIntervalMs", Scalar),
];

const RESULT: Allowed = Object(&[
    OF_ALL,
    &[("content", Each(&Block)), ("structuredContent", Any), ("isError", Scalar)],
]);

/// The messages of a task are replaced before.
const TASK: Allowed = Object(&[
    OF_ALL,
    OF_TASKS,
    &[
        ("statusMessage", Searched),
        ("result", RESULT),
        ("error", ERROR),
        ("task", Object(&[OF_TASKS])),
    ],
]);

const WAITING_TASK: Allowed =
    Object(&[OF_ALL, OF_TASKS, &[("statusMessage", Searched), ("inputRequests", Any)]]);

const INPUT_REQUIRED: Allowed = Object(&[OF_ALL, &[("inputRequests", Any), ("requestState", Any)]]);

const TASK_STARTED: Allowed = Object(&[OF_ALL, OF_TASKS, &[("task", Object(&[OF_TASKS]))]]);

const TASK_LIST: Allowed =
    Object(&[OF_ALL, &[("tasks", Each(&Object(&[OF_TASKS]))), ("nextCursor", Scalar)]]);

const CONTENTS: Allowed = Object(&[
    OF_ALL,
    &[
        (
            "contents",
            Each(&Object(&[&[("uri", Searched), ("mimeType", Scalar), ("text", Scalar)]])),
        ),
        ("ttlMs", Scalar),
        ("cacheScope", Scalar),
    ],
]);

/// An error has been replaced before, unless its text may pass.
const ERROR: Allowed = Object(&[&[("code", Scalar), ("message", Searched), ("data", Searched)]]);

const RESPONSE: Members = &[("jsonrpc", Scalar), ("id", Scalar), ("error", ERROR)];

const NOTIFICATION: Members = &[("jsonrpc", Scalar), ("method", Scalar)];

impl Envelope {
    fn allowed(self) -> Allowed {
        match self {
            Self::ToolResult => Object(&[RESPONSE, &[("result", RESULT)]]),
            Self::InputRequired => Object(&[RESPONSE, &[("result", INPUT_REQUIRED)]]),
            Self::TaskStarted => Object(&[RESPONSE, &[("result", TASK_STARTED)]]),
            Self::Task => Object(&[RESPONSE, &[("result", TASK)]]),
            Self::WaitingTask => Object(&[RESPONSE, &[("result", WAITING_TASK)]]),
            Self::TaskNotification => Object(&[NOTIFICATION, &[("params", TASK)]]),
            Self::WaitingTaskNotification => Object(&[NOTIFICATION, &[("params", WAITING_TASK)]]),
            Self::TaskList => Object(&[RESPONSE, &[("result", TASK_LIST)]]),
            Self::Contents => Object(&[RESPONSE, &[("result", CONTENTS)]]),
        }
    }

    /// Returns the changes that leave only known members of the message that is a range of `spool`, without what `redact`
    /// looks for in names and messages. New bytes are written to `scratch`.
    pub(crate) fn changes(
        self,
        spool: &Spool,
        range: &Range<u64>,
        redact: Option<Redaction<'_>>,
        scratch: &mut Spool,
    ) -> Result<Splice, Failure> {
        let mut changes = Changes { spool, redact, scratch, splice: Splice::default() };
        changes.cut_unknown(range, ValueKind::Object, self.allowed())?;
        Ok(changes.splice)
    }
}

/// The changes to a message, while its members are read.
struct Changes<'a> {
    spool: &'a Spool,
    redact: Option<Redaction<'a>>,
    scratch: &'a mut Spool,
    splice: Splice,
}

impl Changes<'_> {
    /// Cuts unknown members out of a value. Returns whether the value itself may stay.
    fn cut_unknown(
        &mut self,
        span: &Range<u64>,
        kind: ValueKind,
        allowed: Allowed,
    ) -> Result<bool, Failure> {
        let is_scalar = !matches!(kind, ValueKind::Object | ValueKind::Array);
        match (allowed, kind) {
            (Any, _) | (_, ValueKind::Null) => return Ok(true),
            (Scalar, _) => return Ok(is_scalar),
            (Searched, _) => return self.search(span).map(|()| true),
            (Object(_) | Block, ValueKind::Object) | (Each(_), ValueKind::Array) => {}
            _ => return Ok(false),
        }
        let all = members(self.spool, span, usize::MAX)?;
        let lists = match allowed {
            Object(lists) => lists,
            Block => {
                let kind = all.iter().rfind(|member| member.name.as_deref() == Some("type"));
                let kind = kind.and_then(|kind| short_text(self.spool, &kind.found));
                match kind.and_then(|kind| of_block(&kind)) {
                    Some(lists) => lists,
                    None => return Ok(false),
                }
            }
            _ => &[],
        };
        let mut removed: Vec<&Found> = Vec::new();
        for member in &all {
            let own = match (allowed, member.name.as_deref()) {
                (Each(element), _) => Some(*element),
                (_, Some(name)) => {
                    let mut known = lists.iter().flat_map(|list| list.iter());
                    known.find(|(known, _)| *known == name).map(|(_, allowed)| *allowed)
                }
                (_, None) => None,
            };
            let Found { span, kind, .. } = &member.found;
            let stays = match own {
                Some(own) => self.cut_unknown(span, *kind, own)?,
                None => false,
            };
            if !stays {
                removed.push(&member.found);
            }
        }
        cut_members(self.spool, span, removed, &mut self.splice)?;
        Ok(true)
    }

    /// Replaces what is looked for in a value.
    fn search(&mut self, span: &Range<u64>) -> Result<(), Failure> {
        let Some(redact) = self.redact else { return Ok(()) };
        let redactor =
            TextRedactor::json_of(redact.rule).map_err(|_error| Failure::UNKNOWN_FORM)?;
        let mut redactor = redactor.with_marks(redact.marks);
        let start = self.scratch.len();
        self.spool.each_chunk(span.clone(), |chunk| {
            redactor.write(chunk, self.scratch);
            Ok::<_, Failure>(())
        })?;
        if redactor.end(self.scratch).is_empty() {
            self.scratch.truncate(start);
            return Ok(());
        }
        if self.scratch.error().is_some() {
            return Err(Failure::TOO_COMPLEX);
        }
        self.splice.replace(span.clone(), Piece::Scratch(start..self.scratch.len()));
        Ok(())
    }
}

/// Returns the members of a block of a kind. `None`: the protocol does not define the kind.
fn of_block(kind: &str) -> Option<&'static [Members]> {
    const RESOURCE: Allowed = Object(&[&[
        ("uri", Searched),
        ("mimeType", Scalar),
        ("text", Scalar),
        ("blob", Scalar),
        ("_meta", META),
    ]]);
    Some(match kind {
        "text" => &[OF_BLOCKS, &[("text", Scalar)]],
        "image" | "audio" => &[OF_BLOCKS, &[("data", Scalar), ("mimeType", Scalar)]],
        "resource" => &[OF_BLOCKS, &[("resource", RESOURCE)]],
        // A name is required, a title and a description are not.
        "resource_link" => &[
            OF_BLOCKS,
            &[("uri", Searched), ("name", Searched), ("mimeType", Scalar), ("size", Scalar)],
        ],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use tamis::spec::Redact;

    use super::{Envelope, Redaction};
    use crate::spool::{Spool, SpoolLimits};

    fn left(envelope: Envelope, rule: Option<&Redact>, text: &str) -> String {
        let redact = rule.map(|rule| Redaction { rule, marks: None });
        let message = Spool::from_vec(text.as_bytes().to_vec());
        let mut scratch = Spool::new(SpoolLimits::default());
        let range = 0..message.len();
        let changes = envelope.changes(&message, &range, redact, &mut scratch).unwrap();
        let mut out = Spool::new(SpoolLimits::default());
        changes.write(&message, range, &scratch, &mut out).unwrap();
        String::from_utf8(out.into_vec().unwrap()).unwrap()
    }

    #[test]
    fn names_and_messages_are_searched() {
        let redact = Redact::new().secrets(true).pattern("badge", "E-[0-9]+|32[0-9]+");
        for (envelope, text, expected) in [
            (
                Envelope::ToolResult,
                r#"{"id":1,"result":{"content":[{"type":"resource_link","uri":"https://a:tide@x.org","name":"E-1"},{"type":"resource","resource":{"uri":"https:\/\/a:tide@x.org","text":"E-1"}}]}}"#,
                r#"{"id":1,"result":{"content":[{"type":"resource_link","uri":"https://a:[redacted:url-password]@x.org","name":"[redacted:badge]"},{"type":"resource","resource":{"uri":"https:\/\/a:[redacted:url-password]@x.org","text":"E-1"}}]}}"#,
            ),
            (
                Envelope::ToolResult,
                r#"{"id":32,"error":{"code":-32000,"message":"E-1 https://a:tide@x.org","data":{"E-2":[32]},"more":1}}"#,
                r#"{"id":32,"error":{"code":-32000,"message":"[redacted:badge] https://a:[redacted:url-password]@x.org","data":{"[redacted:badge]":[32]}}}"#,
            ),
            (
                Envelope::Task,
                r#"{"id":1,"result":{"taskId":"E-1","statusMessage":"at https://a:tide@x.org"}}"#,
                r#"{"id":1,"result":{"taskId":"E-1","statusMessage":"at https://a:[redacted:url-password]@x.org"}}"#,
            ),
        ] {
            assert_eq!(left(envelope, Some(&redact), text), expected);
        }
    }

    #[test]
    fn only_known_members_are_left() {
        let tool = Envelope::ToolResult;
        for (envelope, text, expected) in [
            (
                tool,
                r#"{"x":1,"id":1, "result" : {"data":1,"content":[{"type":"text","text":"a","data":2,"annotations":{"x":1,"priority":1}},"x",{"type":"y"}],"_meta":{"a":1}},"jsonrpc":"2.0","y":{}}"#,
                r#"{"id":1, "result" : {"content":[{"type":"text","text":"a","annotations":{"priority":1}}],"_meta":{}},"jsonrpc":"2.0"}"#,
            ),
            (
                tool,
                r#"{"id":1,"result":{"structuredContent":{"any":[1]},"Content":1,"isError":{"a":1}}}"#,
                r#"{"id":1,"result":{"structuredContent":{"any":[1]}}}"#,
            ),
            (
                tool,
                r#"{"id":1,"result":{"content":[{"type":"resource_link","uri":"x:1","name":"n","title":"t","description":"d"},{"type":"image","data":"","text":"x"},{"type":"resource","resource":{"uri":"x:1","text":"","title":"t"}}]}}"#,
                r#"{"id":1,"result":{"content":[{"type":"resource_link","uri":"x:1","name":"n"},{"type":"image","data":""},{"type":"resource","resource":{"uri":"x:1","text":""}}]}}"#,
            ),
            (
                Envelope::TaskStarted,
                r#"{"id":1,"result":{"resultType":"task","taskId":"T","status":"working","statusMessage":"x","result":{},"task":{"taskId":"T","result":1}}}"#,
                r#"{"id":1,"result":{"resultType":"task","taskId":"T","status":"working","task":{"taskId":"T"}}}"#,
            ),
            (
                Envelope::TaskList,
                r#"{"id":1,"result":{"tasks":[{"taskId":"T","statusMessage":"x"}],"nextCursor":"c","x":1}}"#,
                r#"{"id":1,"result":{"tasks":[{"taskId":"T"}],"nextCursor":"c"}}"#,
            ),
        ] {
            assert_eq!(left(envelope, None, text), expected);
        }
    }
}
