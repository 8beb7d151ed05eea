//! A handler with a table of names that uses every shortcut of the machine. It writes a trace that does not depend on
//! whether the shortcuts were used.

use crate::json::key::RawKey;
use crate::json::{
    ExcludedMembers, Halt, Handler, Interest, MemberSpan, MemberTaker, TakeResult, ValueKind,
    ValueSlot,
};
use crate::path::Path;
use crate::path::trie::{NameTable, NodeId, Trie};

/// The meaning of the names in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TableRule {
    /// Only members in the table are kept.
    Select,
    /// Only the first member of each object that is in the table is kept.
    SelectFirst,
    /// Members in the table are dropped, and all others are kept.
    Exclude { nulls: bool, empty: bool },
}

/// Keeps scalars and arrays that are wanted, and inspects objects and the arrays of [`TableRule::Exclude`].
#[derive(Clone, Debug)]
pub(super) struct TableHandler {
    rule: TableRule,
    trie: Trie,
    trace: TableTrace,
}

/// The kept parts of the document, with the offsets of the brackets of inspected containers.
#[derive(Clone, Debug, Default)]
struct TableTrace {
    text: Vec<u8>,
    open: Vec<OpenContainer>,
}

#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    object: bool,
    /// Something was kept.
    kept: bool,
}

impl TableTrace {
    /// Begins a member or an element.
    fn separate(&mut self) {
        if let Some(container) = self.open.last_mut() {
            if container.kept {
                self.text.push(b',');
            }
            container.kept = true;
        }
    }
}

impl TableHandler {
    pub(super) fn new(rule: TableRule, names: &[&str]) -> Self {
        let paths: Vec<Path> =
            names.iter().map(|name| Path::parse(&format!("/{name}")).unwrap()).collect();
        Self { rule, trie: Trie::new(&paths), trace: TableTrace::default() }
    }

    pub(super) fn trace(&self) -> String {
        self.trace.text.escape_ascii().to_string()
    }

    /// The innermost container is an object in which a member was kept, and no other is wanted.
    fn has_first(&self) -> bool {
        let open = self.trace.open.last();
        self.rule == TableRule::SelectFirst && open.is_some_and(|open| open.object && open.kept)
    }

    fn is_in_table(&self, key: RawKey<'_>) -> bool {
        key.with_name(|name| name.is_some_and(|name| self.trie.member(0, name).is_some()))
    }

    fn inspect(&mut self, slot: ValueSlot<'_>, kind: ValueKind, offset: u64) -> Interest {
        self.trace.separate();
        if let ValueSlot::Member(key) = slot {
            self.trace.text.extend_from_slice(key.raw());
            self.trace.text.push(b':');
        }
        let object = kind == ValueKind::Object;
        let bracket = if object { '{' } else { '[' };
        self.trace.text.extend_from_slice(format!("{bracket}@{offset} ").as_bytes());
        self.trace.open.push(OpenContainer { object, kept: false });
        Interest::Inspect
    }

    fn copy(&mut self, interest: Interest) -> Interest {
        self.trace.separate();
        interest
    }

    /// Whether a member or element is dropped.
    fn is_dropped(&self, slot: ValueSlot<'_>, kind: ValueKind) -> bool {
        let ValueSlot::Member(key) = slot else { return false };
        match self.rule {
            TableRule::Select | TableRule::SelectFirst => !self.is_in_table(key),
            TableRule::Exclude { nulls, empty } => {
                self.is_in_table(key)
                    || (nulls && kind == ValueKind::Null)
                    || (empty && kind == ValueKind::EmptyString)
            }
        }
    }
}

impl Handler for TableHandler {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Halt> {
        let is_member = matches!(slot, ValueSlot::Member(_));
        let excludes = matches!(self.rule, TableRule::Exclude { .. });
        Ok(if self.has_first() {
            Interest::SkipRest
        } else if self.is_dropped(slot, kind) {
            Interest::Skip
        } else if kind == ValueKind::Object
            || (kind == ValueKind::Array && (excludes || matches!(slot, ValueSlot::Top)))
        {
            self.inspect(slot, kind, offset)
        } else {
            self.copy(if is_member { Interest::CopyMember } else { Interest::Copy })
        })
    }

    fn close(&mut self, offset: u64) -> Result<(), Halt> {
        self.trace.open.pop();
        self.trace.text.extend_from_slice(format!(" @{offset}").as_bytes());
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.trace.text.extend_from_slice(bytes);
    }

    fn wanted(&self) -> Option<&NameTable> {
        let selects = matches!(self.rule, TableRule::Select | TableRule::SelectFirst);
        self.trie.names(0).filter(|_| selects && !self.has_first())
    }

    fn is_done(&self) -> bool {
        self.has_first()
    }

    fn taking(&mut self) -> Option<(&NameTable, impl MemberTaker)> {
        self.wanted()?;
        let last = self.rule == TableRule::SelectFirst;
        Some((self.trie.names(0)?, TraceTaker { trace: &mut self.trace, last }))
    }

    fn excluded(&self) -> Option<ExcludedMembers<'_>> {
        let TableRule::Exclude { nulls, empty } = self.rule else { return None };
        let object = self.trace.open.last()?.object;
        let names = self.trie.names(0).filter(|_| object).map(|names| (names, &self.trie));
        Some(ExcludedMembers { names, nulls, empty })
    }

    fn keep(&mut self, members: &[u8]) {
        self.trace.separate();
        self.trace.text.extend_from_slice(members);
    }
}

/// Writes members to the trace.
struct TraceTaker<'a> {
    trace: &'a mut TableTrace,
    last: bool,
}

impl MemberTaker for TraceTaker<'_> {
    fn take(&mut self, _: NodeId, member: MemberSpan<'_>) -> TakeResult {
        let MemberSpan { text, key, key_end, value, end } = member;
        self.trace.separate();
        self.trace.text.extend_from_slice(&text[key..=key_end]);
        self.trace.text.extend_from_slice(&text[value..end]);
        if self.last { TakeResult::Last } else { TakeResult::More }
    }
}
