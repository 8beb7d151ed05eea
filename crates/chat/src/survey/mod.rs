//! The first pass over a history: records user turns and tool results with their places.
//!
//! The survey recognizes the shapes of messages, but does not decide which results are pruned: the [plan](super::plan)
//! decides that after the end of the document. The shape is recognized message by message. If a member is repeated, the
//! last one counts, as for the APIs' parsers. But all outputs of a result are pruned, and all histories are read if
//! their member is repeated. This file enters containers and reads values, `shape.rs` has the names, and `finish.rs`
//! evaluates the open message.
//!
//! Invariant: memory is bounded by the open message and by limits. Everything else is in the findings and in the table
//! of calls.

mod calls;
mod finish;
mod message;
mod shape;
mod value;

use smallvec::SmallVec;
use tamis_json::error::Raise;
use tamis_json::key::is_too_long_for;
use tamis_json::limits::Meter;
use tamis_json::policy::{Action, Policy};
use tamis_json::{Handler, Interest, ValueKind, ValueSlot};

use self::message::{Block, Call, List, Message, Part, Place, Stamp};
use self::shape::{Frame, Member};
use super::PruneProgram;
use super::findings::{Finding, Findings};
use super::placeholder::SHOWN_BYTES;
use super::sizes::SizeRecorder;
use super::text::{KeptEnds, ValueReader, Wanted};

pub(super) use self::calls::Calls;

/// Maximum length in bytes of a role, a type or a time.
const WORD: usize = 64;
/// Maximum length in bytes of a tool's name. A longer one matches no pattern.
const NAME: usize = tamis_json::glob::LONGEST;

/// Counts over a history.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HistoryCounts {
    /// There is a list in the place of messages.
    pub(super) has_history: bool,
    pub(super) messages: u64,
    pub(super) turns: u64,
    /// Turns of the last history, which counts, and whether there are others before it.
    pub(super) turns_of_last: u64,
    pub(super) several: bool,
    pub(super) results: u64,
    pub(super) protected: u64,
    pub(super) compacted: u64,
    /// Tokens of a result were estimated.
    pub(super) estimated: bool,
}

pub(super) struct Survey {
    program: PruneProgram,
    pub(super) findings: Findings,
    pub(super) calls: Calls,
    pub(super) counts: HistoryCounts,
    /// Records sizes, if they are wanted.
    pub(super) sizes: Option<SizeRecorder>,
    frames: SmallVec<[Frame; 8]>,
    /// The member that contains the history.
    history: Option<Member>,
    message: Message,
    block: Block,
    part: Part,
    /// A call in `tool_calls` or in a part.
    call: Call,
    /// The `content` of the message, if it is a list.
    content: List,
    /// The list or object in a block, an item or a part.
    list: List,
    /// The purpose of the value that is being read.
    read: Option<Read>,
    reading: ValueReader,
    /// Charges what is held until the end of its message.
    waiting: Meter,
    waits: u64,
}

/// The purpose of a value that is being read.
struct Read {
    frame: Frame,
    member: Member,
    from: u64,
    kind: ValueKind,
}

impl Survey {
    pub(super) fn new(program: &PruneProgram) -> Self {
        Self {
            findings: Findings::default(),
            calls: Calls::new(program.compiled()),
            counts: HistoryCounts::default(),
            sizes: None,
            program: program.clone(),
            frames: SmallVec::new(),
            history: None,
            message: Message::default(),
            block: Block::default(),
            part: Part::default(),
            call: Call::default(),
            content: List::default(),
            list: List::default(),
            read: None,
            reading: ValueReader::default(),
            waiting: Meter::default(),
            waits: 0,
        }
    }

    fn frame(&self) -> Option<Frame> {
        self.frames.last().copied()
    }

    /// Returns the frame that is `levels` levels around the open one.
    fn outer(&self, levels: usize) -> Option<Frame> {
        self.frames.iter().rev().nth(levels).copied()
    }

    fn enter(&mut self, frame: Frame) -> Interest {
        self.frames.push(frame);
        Interest::Inspect
    }

    /// Starts to read a value, whose bytes arrive through [`Handler::copied`].
    fn read(&mut self, frame: Frame, member: Member, kind: ValueKind, from: u64) -> Interest {
        let program = self.program.compiled();
        let word = Wanted { kept: WORD, ..Wanted::default() };
        let wanted = match member {
            Member::Content
            | Member::Output
            | Member::Text
            | Member::Response
            | Member::Result
            | Member::Experimental
            | Member::Stream
            | Member::Value => {
                let tail = usize::try_from(program.spec.keep_tail).unwrap_or(usize::MAX);
                let cut = KeptEnds { head: program.spec.keep_head, tail };
                Wanted { kept: program.longest, cut, counted: program.spec.count_tokens, ..word }
            }
            Member::Id | Member::CallId | Member::ToolCallId => {
                let kept = if program.placeholder.has_id() { SHOWN_BYTES } else { 0 };
                Wanted { kept, hashed: true, ..word }
            }
            Member::Name | Member::ToolName | Member::Tool => Wanted { kept: NAME, ..word },
            _ => word,
        };
        self.reading.begin(wanted, is_string(kind), self.calls.hashes());
        self.read = Some(Read { frame, member, from, kind });
        Interest::Copy
    }

    /// Visits an element of the entered array.
    fn element(&mut self, frame: Frame, kind: ValueKind, offset: u64) -> Interest {
        if frame == Frame::ClassPath && is_string(kind) {
            return self.read(frame, Member::Type, kind, offset);
        }
        let inside = match frame {
            Frame::Messages => {
                self.counts.messages += 1;
                self.message = Message { from: offset, ..Message::default() };
                Frame::Message
            }
            Frame::ToolCalls => {
                self.call = Call::default();
                Frame::ToolCall
            }
            Frame::Content => {
                self.message.blocks += 1;
                self.content.children += 1;
                self.block = Block::default();
                Frame::Block
            }
            Frame::Pieces => {
                self.list.children += 1;
                Frame::Piece
            }
            Frame::Parts => {
                self.message.parts += 1;
                self.part = Part::default();
                Frame::Part
            }
            Frame::Invocations => {
                self.part = Part { is_shown_tool: true, ..Part::default() };
                Frame::Invocation
            }
            Frame::Outputs => Frame::Output,
            Frame::NamedResults => {
                self.call = Call::default();
                Frame::NamedResult
            }
            _ => return Interest::Skip,
        };
        if kind == ValueKind::Object { self.enter(inside) } else { Interest::Skip }
    }

    /// Visits a member whose name matters.
    fn member(
        &mut self,
        frame: Frame,
        member: Member,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let (object, array) = (kind == ValueKind::Object, kind == ValueKind::Array);
        Ok(match (frame, member) {
            // LangGraph: the state of a thread.
            (Frame::Document, Member::Values) => {
                self.enter_if(object && self.frames.len() == 1, Frame::Document)
            }
            (Frame::Document, _) if array && self.history.is_none_or(|name| name == member) => {
                self.begin_history(member, offset)?;
                self.enter(Frame::Messages)
            }
            (Frame::Message, Member::Role) => {
                self.message.role = None;
                self.string(frame, member, kind, offset)
            }
            (Frame::Info, Member::Role) => {
                self.message.info_role = None;
                self.string(frame, member, kind, offset)
            }
            (Frame::Message | Frame::Info, Member::Summary) => {
                self.message.summary = false;
                if kind == ValueKind::Bool {
                    self.read(frame, member, kind, offset)
                } else {
                    Interest::Skip
                }
            }
            (Frame::Message, Member::Data) => {
                let is_outermost = self.outer(1) == Some(Frame::Messages);
                self.enter_if(object && is_outermost, Frame::Message)
            }
            (Frame::Message, Member::Id) => {
                self.message.class_role = None;
                self.enter_if(array, Frame::ClassPath)
            }
            (Frame::Message, Member::Outputs) => self.enter_if(array, Frame::Outputs),
            (Frame::Message, Member::Invocations) => self.enter_if(array, Frame::Invocations),
            (Frame::Part, Member::Invocation) => self.enter_if(object, Frame::Invocation),
            (Frame::Message, Member::Info) => {
                self.message.info = true;
                self.message.info_role = None;
                self.enter_if(object, Frame::Info)
            }
            (Frame::Message, Member::Metadata) => {
                self.message.metadata =
                    Stamp { whole: Place::of(kind, offset), ..Stamp::default() };
                self.message.metadata_tool = None;
                self.enter_if(object, Frame::Metadata)
            }
            (Frame::Metadata | Frame::State, Member::Time) => {
                let state = frame == Frame::State;
                let stamp = if state { &mut self.part.state } else { &mut self.message.metadata };
                *stamp =
                    Stamp { whole: stamp.whole, time: Place::of(kind, offset), ..Stamp::default() };
                let time = if state { Frame::StateTime } else { Frame::MetadataTime };
                self.enter_if(object, time)
            }
            (Frame::MetadataTime | Frame::StateTime, Member::Compacted) => {
                self.read(frame, member, kind, offset)
            }
            (Frame::Message, Member::ToolCalls) => self.enter_if(array, Frame::ToolCalls),
            (Frame::Message, Member::ToolResults) => self.enter_if(array, Frame::NamedResults),
            (Frame::ToolCall | Frame::NamedResult, Member::Function) => {
                self.enter_if(object, Frame::ToolFunction)
            }
            (Frame::Message, Member::Content) => {
                self.message.blocks = 0;
                self.message.block_results = 0;
                if array {
                    let calls = self.message.calls.len();
                    self.content = List { calls, ..List::at(offset, member) };
                    self.enter(Frame::Content)
                } else {
                    self.read(frame, member, kind, offset)
                }
            }
            (Frame::Message, Member::Output)
            | (Frame::Block, Member::Content | Member::Experimental)
                if array =>
            {
                self.list = List::at(offset, member);
                self.enter(Frame::Pieces)
            }
            (Frame::Block, Member::Output) if object => {
                self.list = List::at(offset, member);
                self.enter(Frame::ToolOutput)
            }
            (Frame::ToolOutput, Member::Value) => {
                self.list.children += 1;
                self.string(frame, member, kind, offset)
            }
            (Frame::ToolOutput, Member::Type) => {
                self.list.types += 1;
                self.list.is_text = false;
                self.string(frame, member, kind, offset)
            }
            (Frame::Message | Frame::State | Frame::Block, Member::Output)
            | (Frame::Block, Member::Content | Member::Result | Member::Experimental) => {
                self.read(frame, member, kind, offset)
            }
            (Frame::State, Member::Attachments) if array => self.read(frame, member, kind, offset),
            (Frame::State, Member::Attachments) => Interest::Skip,
            (Frame::Block, Member::ToolUse) => {
                self.call = Call::default();
                self.enter_if(object, Frame::ToolUse)
            }
            (Frame::Block, Member::ToolResult) => {
                self.block.call = Call::default();
                self.block.call_id = None;
                self.enter_if(object, Frame::ToolResult)
            }
            (Frame::ToolResult | Frame::NamedResult, Member::Content) => {
                self.list = List::at(offset, member);
                self.enter_if(array, Frame::Pieces)
            }
            // A call without a result has none, or null.
            (Frame::Part, Member::Output | Member::Content)
            | (Frame::Invocation, Member::Result)
                if kind == ValueKind::Null =>
            {
                Interest::Skip
            }
            (Frame::Part, Member::Output | Member::Content)
            | (Frame::Invocation, Member::Result) => self.read(frame, member, kind, offset),
            // Only the lists of items have such outputs.
            (Frame::Piece, Member::Stream) if self.outer(2) != Some(Frame::Message) => {
                Interest::Skip
            }
            (Frame::Part, Member::CodeResult) => {
                self.call = Call::default();
                self.enter_if(object, Frame::CodeResult)
            }
            (Frame::Message, Member::Parts) => {
                self.message.has_parts = true;
                self.message.parts = 0;
                self.message.response_parts = 0;
                self.enter_if(array, Frame::Parts)
            }
            (Frame::Part, Member::State) => {
                self.part.state = Stamp { whole: Place::of(kind, offset), ..Stamp::default() };
                if !object {
                    self.part.values.clear();
                    self.part.attachments.clear();
                }
                self.enter_if(object, Frame::State)
            }
            (Frame::Part, Member::FunctionCall | Member::FunctionResponse) => {
                self.call = Call::default();
                let response = member == Member::FunctionResponse;
                self.part.response |= response && object;
                let frame = if response { Frame::FunctionResponse } else { Frame::FunctionCall };
                self.enter_if(object, frame)
            }
            (Frame::FunctionResponse, Member::Response) => {
                self.list = List::at(offset, member);
                self.enter_if(object, Frame::Response)
            }
            // Types, names, ids, texts.
            _ => {
                self.forget(frame, member);
                self.string(frame, member, kind, offset)
            }
        })
    }

    /// Starts a history, or another one if its member is repeated.
    fn begin_history(&mut self, member: Member, offset: u64) -> Result<(), Raise> {
        self.counts.has_history = true;
        if self.history.replace(member).is_some() {
            self.counts.several = true;
            self.counts.turns_of_last = 0;
            self.calls.forget();
            self.findings.push(&Finding::History(offset), &self.program.compiled().limits)?;
        }
        Ok(())
    }

    /// Resets what a repeated member set before. Its new value may be of another kind.
    fn forget(&mut self, frame: Frame, member: Member) {
        let Self { message, block, part, call, .. } = self;
        match (frame, member) {
            (Frame::Message, Member::Type) => {
                (message.item, message.item_tool, message.type_role) = (None, None, None);
            }
            (Frame::Block, Member::Type) => block.kind = None,
            (Frame::Message, Member::Kind) => message.kind_role = None,
            (Frame::Part, Member::Type) => (part.is_tool, part.is_shown_tool) = (false, false),
            (Frame::Part, Member::PartKind) => (part.is_return, part.is_retry) = (false, false),
            (Frame::Part | Frame::Invocation, Member::ToolCallId) => part.shown_id = None,
            (Frame::Part | Frame::Invocation, Member::ToolName) => part.shown_tool = None,
            (Frame::ToolResult, Member::CallId) => block.call_id = None,
            (Frame::Message, Member::CallId) => message.call_id = None,
            (Frame::Message, Member::ToolCallId) => message.tool_call_id = None,
            (Frame::Message, Member::Name | Member::ToolName) => message.name = None,
            (Frame::Metadata, Member::ToolName) => message.metadata_tool = None,
            (Frame::Block, Member::Id) => block.call.id = None,
            (Frame::Block, Member::CallId) => block.call_id = None,
            (Frame::Block, Member::ToolCallId) => block.sdk_id = None,
            (Frame::Block, Member::ToolName) => block.sdk_tool = None,
            (Frame::Block, Member::Name) => block.call.tool = None,
            (Frame::Part, Member::Tool) => part.tool = None,
            (Frame::Part, Member::CallId) => part.call_id = None,
            (_, Member::Id) => call.id = None,
            (_, Member::Name) => call.tool = None,
            _ => {}
        }
    }

    fn enter_if(&mut self, container: bool, frame: Frame) -> Interest {
        if container { self.enter(frame) } else { Interest::Skip }
    }

    fn string(&mut self, frame: Frame, member: Member, kind: ValueKind, offset: u64) -> Interest {
        if is_string(kind) { self.read(frame, member, kind, offset) } else { Interest::Skip }
    }
}

fn is_string(kind: ValueKind) -> bool {
    matches!(kind, ValueKind::String | ValueKind::EmptyString)
}

impl Handler for Survey {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let Some(frame) = self.frame() else {
            // The document itself.
            return Ok(match kind {
                ValueKind::Object => self.enter(Frame::Document),
                ValueKind::Array => {
                    self.counts.has_history = true;
                    self.enter(Frame::Messages)
                }
                _ => Interest::Skip,
            });
        };
        Ok(match slot {
            ValueSlot::Member(_) if frame == Frame::Response => {
                self.list.children += 1;
                self.string(frame, Member::Response, kind, offset)
            }
            ValueSlot::Member(key) => {
                match frame {
                    Frame::Metadata | Frame::MetadataTime => {
                        self.message.metadata.has_member(frame == Frame::MetadataTime);
                    }
                    Frame::State | Frame::StateTime => {
                        self.part.state.has_member(frame == Frame::StateTime);
                    }
                    _ => {}
                }
                let find = |name: &[u8]| frame.names()?.get(name);
                let entry = key.entry().or_else(|| key.with_name(|name| name.and_then(find)));
                match entry.and_then(Member::of) {
                    Some(member) => self.member(frame, member, kind, offset)?,
                    None => Interest::Skip,
                }
            }
            _ => self.element(frame, kind, offset),
        })
    }

    #[inline]
    fn policy(&mut self) -> Policy<'_> {
        // Members that are counted come through `value`.
        let frame = self.frame().filter(|frame| !frame.is_counted());
        let names = frame.and_then(Frame::names);
        names.map_or(Policy::ASK, |names| Policy::ask_named(names, Action::Skip))
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        match self.frames.pop() {
            Some(frame) => Ok(self.closed(frame, offset)?),
            None => Ok(()),
        }
    }

    fn raw(&mut self, bytes: &[u8]) {
        if self.read.is_some() {
            self.reading.push(bytes);
        }
    }

    fn copied(&mut self, offset: u64) -> Result<(), Raise> {
        let Some(Read { frame, member, from, kind }) = self.read.take() else {
            return Ok(());
        };
        let found = self.reading.finish();
        // There may be white space between a scalar and the byte that ends it.
        let to = if kind.is_container() { offset } else { from + found.raw };
        let (text, whole) = self.reading.take_text();
        let read = self.was_read(frame, member, from..to, is_string(kind), found, (&text, whole));
        self.reading.give_back(text);
        read
    }

    fn takes_long_keys(&self, limit: usize) -> bool {
        is_too_long_for(limit, shape::longest_name())
    }
}
