//! Evaluates values and containers at their end: calls, results, turns.

use std::ops::Range;

use tamis_json::error::{LimitName, Raise};

use super::super::findings::{Edit, EditKind, Entry, Finding};
use super::super::text::ValueFacts;
use super::Survey;
use super::calls::{Calls, UNKNOWN};
use super::message::{
    BlockKind, Call, Compacted, Id, Item, Message, MessageRole, Origin, PendingCall, PendingResult,
    Place, Stamp, Values,
};
use super::shape::{Frame, Member};
use super::value::{PruneVerdict, Value, ValueKind};

impl Survey {
    pub(super) fn was_read(
        &mut self,
        frame: Frame,
        member: Member,
        at: Range<u64>,
        string: bool,
        found: ValueFacts,
        (beginning, whole): (&[u8], bool),
    ) -> Result<(), Raise> {
        let text = whole.then_some(beginning);
        let hash = found.hash;
        let id = || {
            let shown = String::from_utf8_lossy(beginning).into_owned();
            Some(Id { hash, shown })
        };
        let program = self.program.compiled();
        let Self { message, block, part, call, calls, .. } = self;
        // The tool has a number from here on.
        let tool = |calls: &mut Calls| match text.and_then(|text| std::str::from_utf8(text).ok()) {
            Some(name) => calls.tool(name, program).map(Some),
            None => Ok(None),
        };
        match (frame, member) {
            (Frame::Message, Member::Role) => message.role = Some(MessageRole::of(text)),
            (Frame::Info, Member::Role) => message.info_role = Some(MessageRole::of(text)),
            (_, Member::Summary) => message.summary = text == Some(b"true"),
            (Frame::Message, Member::Type) => {
                message.item = Item::of(text);
                message.item_tool = Item::tool_of(text);
                message.type_role = MessageRole::of_type(text);
            }
            (Frame::Message, Member::Kind) => message.kind_role = MessageRole::of_kind(text),
            // The last name is that of the class.
            (Frame::ClassPath, _) => message.class_role = MessageRole::of_class(text),
            (Frame::Block, Member::Type) => block.kind = BlockKind::of(text),
            (Frame::Part, Member::PartKind) => {
                part.is_return = text == Some(b"tool-return");
                part.is_retry = matches!(text, Some(b"retry-prompt" | b"retry-feedback"));
            }
            (Frame::Part, Member::Type) => {
                part.is_tool = text == Some(b"tool");
                let name = beginning.strip_prefix(b"tool-").filter(|name| !name.is_empty());
                part.is_shown_tool = name.is_some() || text == Some(b"dynamic-tool");
                // An invocation of the AI SDK 4 names its tool inside.
                let name = name.filter(|name| *name != b"invocation" || part.shown_tool.is_none());
                // A longer name matches no pattern.
                if let Some(name) = name.and_then(|name| std::str::from_utf8(name).ok()) {
                    part.shown_tool = Some(calls.tool(if whole { name } else { "" }, program)?);
                }
            }
            (Frame::Part | Frame::Invocation, Member::ToolCallId) => part.shown_id = id(),
            (Frame::Part | Frame::Invocation, Member::ToolName) => part.shown_tool = tool(calls)?,
            // Nothing can be removed from an empty text.
            (_, Member::Stream) if found.raw <= 2 => self.list.has_streams |= frame == Frame::Piece,
            (_, Member::Stream) => {
                self.list.has_streams |= frame == Frame::Piece;
                return self.add(frame, Value::plain(at, member, string, found, text));
            }
            (Frame::ToolResult, Member::CallId) => block.call_id = id(),
            (Frame::MetadataTime | Frame::StateTime, _) => {
                let compacted = Compacted::of(text, at.start, at.end);
                let state = frame == Frame::StateTime;
                let stamp = if state { &mut part.state } else { &mut message.metadata };
                stamp.compacted = compacted;
            }
            (Frame::Message, Member::CallId) => message.call_id = id(),
            (Frame::Message, Member::ToolCallId) => message.tool_call_id = id(),
            (Frame::Block, Member::Id) => block.call.id = id(),
            (Frame::Block, Member::CallId) => block.call_id = id(),
            (Frame::Block, Member::ToolCallId) => block.sdk_id = id(),
            (Frame::Block, Member::ToolName) => block.sdk_tool = tool(calls)?,
            (Frame::ToolOutput, Member::Type) => {
                self.list.is_text = matches!(text, Some(b"text" | b"error-text"));
            }
            (Frame::Part, Member::CallId) => part.call_id = id(),
            (_, Member::Id) => call.id = id(),
            (Frame::Message, Member::Name | Member::ToolName) => {
                message.name = text.map(|text| String::from_utf8_lossy(text).into_owned());
            }
            (Frame::Metadata, _) => message.metadata_tool = tool(calls)?,
            (Frame::Block, Member::Name) => block.call.tool = tool(calls)?,
            (Frame::Part, Member::Tool) => part.tool = tool(calls)?,
            (_, Member::Name) => call.tool = tool(calls)?,
            (Frame::Block | Frame::Piece, Member::Text)
            | (Frame::Response, _)
            | (Frame::ToolOutput, Member::Value) => {
                let list = if frame == Frame::Block { &mut self.content } else { &mut self.list };
                list.text(at.start, found, text);
            }
            // Removing an empty list, which is only its brackets, would save nothing.
            (Frame::State, Member::Attachments) if found.raw > 2 => {
                self.wait(size_of::<Edit>() as u64)?;
                let edit = Edit { from: at.start, to: at.end, act: EditKind::EmptyList };
                self.part.attachments.push(edit);
            }
            (_, Member::Content | Member::Output | Member::Result | Member::Experimental) => {
                let mut value = Value::plain(at, member, string, found, text);
                if (frame, member) == (Frame::Block, Member::Output) && !string {
                    value.kind = ValueKind::ToolOutput;
                }
                return self.add(frame, value);
            }
            _ => {}
        }
        Ok(())
    }

    /// Completes an output, in one of its places.
    fn add(&mut self, frame: Frame, value: Value) -> Result<(), Raise> {
        let values = match frame {
            Frame::Block | Frame::ToolResult => &mut self.block.call.values,
            Frame::Part if value.member == Member::Content => &mut self.part.content,
            Frame::Part | Frame::Invocation => &mut self.part.output,
            Frame::Piece | Frame::Output => &mut self.message.output,
            Frame::CodeResult | Frame::NamedResult => &mut self.call.values,
            Frame::State => &mut self.part.values,
            Frame::FunctionResponse => &mut self.call.values,
            Frame::Message if matches!(value.member, Member::Output | Member::Result) => {
                &mut self.message.output
            }
            _ => &mut self.message.content,
        };
        let is_first = values.is_empty();
        let bytes = value.memory();
        values.push(value);
        if is_first { Ok(()) } else { self.wait(bytes) }
    }

    /// Charges bytes that are held until the end of the message.
    fn wait(&mut self, bytes: u64) -> Result<(), Raise> {
        let limit = self.program.compiled().limits.held();
        self.waiting.charge(LimitName::Held, limit, self.waits, bytes)?;
        self.waits += bytes;
        Ok(())
    }

    /// Completes the container that was entered last. Its closing bracket is at offset `at`.
    pub(super) fn closed(&mut self, frame: Frame, at: u64) -> Result<(), Raise> {
        let outer = self.frame().unwrap_or(Frame::Document);
        let span = |from: u64| from..at + 1;
        match frame {
            // The members of a message may be in an object of their own.
            Frame::Message if outer == Frame::Message => Ok(()),
            Frame::Message => self.end_message(at),
            Frame::Invocation if outer == Frame::Invocations => self.end_part(),
            Frame::Metadata | Frame::MetadataTime => {
                self.message.metadata.close(frame == Frame::MetadataTime, at);
                Ok(())
            }
            Frame::State | Frame::StateTime => {
                self.part.state.close(frame == Frame::StateTime, at);
                Ok(())
            }
            Frame::ToolCall | Frame::FunctionCall | Frame::ToolUse => {
                let call = std::mem::take(&mut self.call);
                self.end_call(call)
            }
            // The nested results are the results.
            Frame::Content if self.content.has_results => Ok(()),
            Frame::Content => {
                let calls = self.message.calls.iter_mut().skip(self.content.calls);
                calls.for_each(|call| call.in_result = true);
                let value =
                    Value::list(span(self.content.from), ValueKind::List, &mut self.content);
                self.add(Frame::Message, value)
            }
            Frame::ToolOutput => {
                let value =
                    Value::list(span(self.list.from), ValueKind::ToolOutput, &mut self.list);
                self.add(outer, value)
            }
            Frame::Pieces if self.list.has_streams => Ok(()),
            Frame::Pieces => {
                let kind = match outer {
                    Frame::Message => ValueKind::InputList,
                    Frame::ToolResult | Frame::NamedResult => ValueKind::BareList,
                    _ => ValueKind::List,
                };
                let value = Value::list(span(self.list.from), kind, &mut self.list);
                self.add(outer, value)
            }
            Frame::Response => {
                let value = Value::list(span(self.list.from), ValueKind::Object, &mut self.list);
                self.add(outer, value)
            }
            Frame::FunctionResponse => {
                let Call { id, tool, values } = std::mem::take(&mut self.call);
                self.message.results_inside = true;
                let tool = tool.unwrap_or(UNKNOWN);
                let origin = Origin { tool, id, ..Origin::default() };
                self.found_of_call(values, origin, false)
            }
            Frame::ToolResult => {
                let values = std::mem::take(&mut self.block.call.values);
                let id = self.block.call_id.take();
                self.end_block_result(id, values)
            }
            Frame::NamedResult => {
                let Call { tool, values, .. } = std::mem::take(&mut self.call);
                let tool = tool.unwrap_or(UNKNOWN);
                self.message.results_inside = true;
                self.found(values, Origin { tool, ..Origin::default() })
            }
            Frame::CodeResult => {
                let values = std::mem::take(&mut self.call).values;
                self.part.has_code_result = true;
                let tool = self.calls.tool("code_execution", self.program.compiled())?;
                self.message.results_inside = true;
                self.found(values, Origin { tool, ..Origin::default() })
            }
            Frame::Block => self.end_block(),
            Frame::Part => self.end_part(),
            _ => Ok(()),
        }
    }

    /// Completes a call inside a message.
    fn end_call(&mut self, call: Call) -> Result<(), Raise> {
        if let Call { id: Some(id), tool: Some(tool), .. } = call {
            self.wait(size_of::<PendingCall>() as u64)?;
            self.message.calls.push(PendingCall { id: id.hash, tool, in_result: false });
        }
        Ok(())
    }

    fn end_item_call(&mut self, id: Option<Id>, name: Option<&str>) -> Result<(), Raise> {
        let program = self.program.compiled();
        let tool = name.map(|name| self.calls.tool(name, program)).transpose()?;
        match (id, tool) {
            (Some(id), Some(tool)) => self.calls.call(id.hash, tool, &program.limits),
            _ => Ok(()),
        }
    }

    fn end_block(&mut self) -> Result<(), Raise> {
        let block = std::mem::take(&mut self.block);
        match block.kind {
            Some(BlockKind::ToolUse) => self.end_call(block.call),
            Some(BlockKind::ToolResult) => {
                let mut values = block.call.values;
                values.retain(|value| value.member == Member::Content);
                self.end_block_result(block.call_id, values)
            }
            Some(BlockKind::SdkCall) => {
                let call = Call { id: block.sdk_id, tool: block.sdk_tool, ..Call::default() };
                self.end_call(call)
            }
            Some(BlockKind::SdkResult) => {
                self.message.results_inside = true;
                self.content.has_results = true;
                let tool = block.sdk_tool.unwrap_or(UNKNOWN);
                let origin = Origin { tool, id: block.sdk_id, ..Origin::default() };
                self.found_of_call(block.call.values, origin, true)
            }
            None => Ok(()),
        }
    }

    /// Completes a block that is the result of a call.
    fn end_block_result(&mut self, id: Option<Id>, values: Values) -> Result<(), Raise> {
        self.message.block_results += 1;
        self.message.results_inside = true;
        self.content.has_results = true;
        self.found_of_call(values, Origin { id, ..Origin::default() }, false)
    }

    fn end_part(&mut self) -> Result<(), Raise> {
        let part = std::mem::take(&mut self.part);
        self.message.response_parts += u64::from(part.response || part.is_return || part.is_retry);
        if part.is_return {
            self.message.results_inside = true;
            let tool = part.shown_tool.unwrap_or(UNKNOWN);
            let origin = Origin { tool, id: part.shown_id, ..Origin::default() };
            return self.found(part.content, origin);
        }
        // A part with a response is Gemini's. Its result is in the findings already, in document order.
        if part.response || part.has_code_result {
            return Ok(());
        }
        if part.is_shown_tool && !part.output.is_empty() {
            self.message.results_inside = true;
            let tool = part.shown_tool.unwrap_or(UNKNOWN);
            return self
                .found(part.output, Origin { tool, id: part.shown_id, ..Origin::default() });
        }
        if !part.is_tool {
            return Ok(());
        }
        self.message.results_inside = true;
        let origin = Origin {
            tool: part.tool.unwrap_or(UNKNOWN),
            id: part.call_id,
            mark: part.state.edit(0),
            attachments: part.attachments,
            compacted: part.state.is_set(),
        };
        self.found(part.values, origin)
    }

    /// Completes the result of a call, inside a message. The role of the message is certain only at its end, so the result is
    /// held if it matters.
    fn found_of_call(
        &mut self,
        values: Values,
        mut origin: Origin,
        of_tool: bool,
    ) -> Result<(), Raise> {
        let calls = self.message.calls.len();
        let after = (calls > 0).then_some(calls);
        if after.is_none() {
            self.look_up(&mut origin)?;
        }
        if of_tool || after.is_some() {
            return self.keep(PendingResult { values, origin, of_tool, after });
        }
        self.found(values, origin)
    }

    /// Completes a result inside a message. Findings are in document order, so the result is held if a possible result precedes
    /// it.
    fn found(&mut self, values: Values, origin: Origin) -> Result<(), Raise> {
        let Message { content, output, waiting, .. } = &self.message;
        if content.is_empty() && output.is_empty() && waiting.is_empty() {
            return self.result(&values, origin);
        }
        self.keep(PendingResult { values, origin, of_tool: false, after: None })
    }

    /// Looks up the call of a result. If the result names its tool, that counts, but the call has its result.
    fn look_up(&mut self, origin: &mut Origin) -> Result<(), Raise> {
        let called = self.answered(origin.id.as_ref(), None)?;
        if origin.tool == UNKNOWN {
            origin.tool = called;
        }
        Ok(())
    }

    fn keep(&mut self, result: PendingResult) -> Result<(), Raise> {
        let values: u64 = result.values.iter().map(Value::memory).sum();
        let id = result.origin.id.as_ref().map_or(0, |id| id.shown.len());
        self.wait(values + (size_of::<PendingResult>() + id) as u64)?;
        self.message.waiting.push(result);
        Ok(())
    }

    fn end_message(&mut self, end: u64) -> Result<(), Raise> {
        let mut message = std::mem::take(&mut self.message);
        let limits = self.program.compiled().limits.clone();
        let role = message.any_role();
        if message.is_turn(role) {
            self.counts.turns += 1;
            self.counts.turns_of_last += 1;
            self.findings.push(&Finding::Turn(message.from), &limits)?;
        }
        if message.summary && role == Some(MessageRole::Assistant) {
            self.findings.push(&Finding::Summary(end), &limits)?;
        }
        let is_tool = matches!(role, Some(MessageRole::Tool | MessageRole::Function));
        let (from, name) = (message.from, message.name_of_role(role));
        self.end_calls(&mut message, is_tool)?;
        if message.results_inside {
            self.end_results(message, is_tool)?;
        } else {
            self.end_plain(message, is_tool, end)?;
        }
        if let Some(sizes) = &mut self.sizes {
            sizes.message(name, from, end + 1 - from);
        }
        self.waiting.release(std::mem::take(&mut self.waits));
        Ok(())
    }

    /// Completes the calls of a message, and looks up those of its results, in document order. If a `content` is a result,
    /// calls in it name nothing: they go together with it.
    fn end_calls(&mut self, message: &mut Message, is_tool: bool) -> Result<(), Raise> {
        let program = self.program.clone();
        let limits = &program.compiled().limits;
        let is_result = is_tool && message.item.is_none();
        let calls = std::mem::take(&mut message.calls);
        let mut calls = calls.iter().enumerate().peekable();
        let mut end_upto = |survey: &mut Self, end: usize| {
            while let Some((_, call)) = calls.next_if(|(number, _)| *number < end) {
                if !(is_result && call.in_result) {
                    survey.calls.call(call.id, call.tool, limits)?;
                }
            }
            Ok(())
        };
        for result in &mut message.waiting {
            if let Some(after) = result.after {
                end_upto(self, after)?;
                self.look_up(&mut result.origin)?;
            }
        }
        end_upto(self, usize::MAX)
    }

    /// Completes a message without nested results: a call, a result, or neither.
    fn end_plain(&mut self, message: Message, is_tool: bool, end: u64) -> Result<(), Raise> {
        let role = message.any_role();
        let Message { item, item_tool, call_id, tool_call_id, name, metadata, .. } = message;
        match item {
            Some(Item::Call) => self.end_item_call(call_id.or(tool_call_id), name.as_deref()),
            Some(Item::Output) => {
                let id = call_id.or(tool_call_id);
                let tool = self.answered(id.as_ref(), name.as_deref().or(item_tool))?;
                let origin = Origin { tool, id, ..Origin::default() };
                self.result(&message.output, origin)
            }
            None if is_tool => {
                // A message that names a call or a tool in its own way is of an API that rejects unknown members.
                let api =
                    tool_call_id.is_some() || name.is_some() || role == Some(MessageRole::Function);
                let marked = metadata.whole != Place::Absent || !api;
                let metadata = if marked { metadata } else { Stamp::default() };
                let tool = match message.metadata_tool {
                    Some(tool) => tool,
                    None => self.answered(tool_call_id.as_ref(), name.as_deref())?,
                };
                let mark = if marked { metadata.edit(end) } else { None };
                let compacted = metadata.is_set();
                let origin =
                    Origin { tool, id: tool_call_id, mark, compacted, ..Origin::default() };
                self.result(&message.content, origin)
            }
            None => Ok(()),
        }
    }

    /// Records the held results of a message. The message's own outputs, which would be one result if there were none inside, are
    /// recorded separately, because others are between them.
    fn end_results(&mut self, message: Message, is_tool: bool) -> Result<(), Raise> {
        let Message { item, call_id, tool_call_id, name, content, output, mut waiting, .. } =
            message;
        let compacted = message.metadata.is_set();
        let (own, id) = match item {
            Some(Item::Call) => {
                self.end_item_call(call_id, name.as_deref())?;
                (Values::new(), None)
            }
            Some(Item::Output) => (output, call_id),
            None if is_tool => (content, tool_call_id),
            _ => (Values::new(), None),
        };
        if !own.is_empty() {
            let tool = match message.metadata_tool.filter(|_| item.is_none()) {
                Some(tool) => tool,
                None => self.answered(id.as_ref(), name.as_deref())?,
            };
            for value in own {
                let origin = Origin { tool, id: id.clone(), compacted, ..Origin::default() };
                waiting.push(PendingResult {
                    values: vec![value],
                    origin,
                    of_tool: false,
                    after: None,
                });
            }
            let from = |result: &PendingResult| result.values.first().map_or(0, |value| value.from);
            waiting.sort_by_key(from);
        }
        for PendingResult { values, origin, of_tool, .. } in waiting {
            if is_tool || !of_tool {
                self.result(&values, origin)?;
            }
        }
        Ok(())
    }

    /// Returns the tool of a result: that of its call, otherwise the one it names itself.
    fn answered(&mut self, id: Option<&Id>, name: Option<&str>) -> Result<u32, Raise> {
        match id.and_then(|id| self.calls.answer(id.hash)) {
            Some(tool) => Ok(tool),
            None => self.calls.tool(name.unwrap_or_default(), self.program.compiled()),
        }
    }

    /// Records what may be pruned of the result of a call.
    fn result(&mut self, values: &[Value], origin: Origin) -> Result<(), Raise> {
        let Origin { tool, id, mark, attachments, compacted } = origin;
        if values.is_empty() {
            return Ok(());
        }
        self.counts.results += 1;
        if let Some(sizes) = &mut self.sizes {
            sizes.result(tool, values.iter().map(|value| value.to - value.from).sum());
        }
        if self.calls.is_protected(tool) {
            self.counts.protected += 1;
            return Ok(());
        }
        if compacted {
            self.counts.compacted += 1;
            return Ok(());
        }
        let program = self.program.compiled();
        let id = id.unwrap_or_default().shown;
        let mut known = false;
        let mut entry = Entry { tool, ..Entry::default() };
        for value in values {
            match value.verdict(program, self.calls.name(tool), &id) {
                PruneVerdict::Compacted => known = true,
                PruneVerdict::Short => {}
                PruneVerdict::Prune { edit, tokens, estimated } => {
                    entry.tokens += tokens;
                    entry.edits.push(edit);
                    self.counts.estimated |= estimated;
                }
            }
        }
        if entry.edits.is_empty() {
            self.counts.compacted += u64::from(known);
            return Ok(());
        }
        entry.edits.extend(mark);
        entry.edits.extend(attachments);
        entry.edits.sort_by_key(|edit| edit.from);
        if program.placeholder.has_id() {
            entry.id = id;
        }
        self.findings.push(&Finding::Result(entry), &program.limits)
    }
}

impl Message {
    /// Returns the name of its role in the figures of a chat.
    fn name_of_role(&self, role: Option<MessageRole>) -> &'static str {
        match (role, self.item) {
            (Some(role), _) => role.name(),
            (None, Some(Item::Call)) => "calls",
            (None, Some(Item::Output)) => "tool",
            // In Gemini's contents, the role defaults to the user.
            (None, None) if self.has_parts && !self.info => "user",
            (None, None) => "other",
        }
    }

    /// Returns whether the message is a turn of the user. A message with only results is not, whatever its role.
    fn is_turn(&self, role: Option<MessageRole>) -> bool {
        // In Gemini's contents, the role defaults to the user.
        let user = match role {
            Some(role) => role == MessageRole::User,
            None => self.has_parts && !self.info && self.item.is_none(),
        };
        user && !(self.blocks > 0 && self.blocks == self.block_results)
            && !(self.parts > 0 && self.parts == self.response_parts)
    }
}
