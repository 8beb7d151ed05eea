//! A handler with a table of names that uses every shortcut of the machine. It writes a trace that does not depend on
//! whether the shortcuts were used.

use crate::error::Raise;
use crate::key::RawKey;
use crate::path::Path;
use crate::path::trie::Trie;
use crate::policy::{Action, KindSet, Once, Output, Policy, WantedNames};
use crate::writer::JsonWriter;
use crate::{Handler, Interest, ValueKind, ValueSlot};

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
    open: Vec<OpenContainer>,
    /// By node of the trie: the serial number of the object in which its name was kept last.
    met: Vec<u64>,
    serial: u64,
    writer: JsonWriter,
    text: Vec<u8>,
    /// The brackets of inspected containers with their offsets.
    brackets: String,
}

#[derive(Clone, Copy, Debug)]
struct OpenContainer {
    object: bool,
    /// The members that may still be kept.
    wanted: WantedNames,
}

impl TableHandler {
    pub(super) fn new(rule: TableRule, names: &[&str]) -> Self {
        let paths: Vec<Path> =
            names.iter().map(|name| Path::parse(&format!("/{name}")).unwrap()).collect();
        let mut trie = Trie::new(&paths);
        trie.act_on_ends(match rule {
            TableRule::Select | TableRule::SelectFirst => Action::Keep,
            TableRule::Exclude { .. } => Action::Skip,
        });
        Self {
            rule,
            met: vec![0; trie.len()],
            trie,
            open: Vec::new(),
            serial: 0,
            writer: JsonWriter::default(),
            text: Vec::new(),
            brackets: String::new(),
        }
    }

    /// Returns the kept parts of the document, and the brackets of inspected containers with their offsets.
    pub(super) fn trace(&self) -> String {
        let Self { mut writer, mut text, brackets, .. } = self.clone();
        writer.flush(&mut text);
        format!("{} {brackets}", text.escape_ascii())
    }

    /// The innermost container is an object in which a member was kept, and no other is wanted.
    fn has_first(&self) -> bool {
        self.open.last().is_some_and(|open| open.object && open.wanted.left == 0)
    }

    fn is_in_table(&self, key: RawKey<'_>) -> bool {
        key.with_name(|name| name.is_some_and(|name| self.trie.member(0, name).is_some()))
    }

    fn inspect(&mut self, slot: ValueSlot<'_>, kind: ValueKind, offset: u64) -> Interest {
        if let ValueSlot::Member(key) = slot {
            self.writer.spelled(&mut self.text, key.raw());
        }
        let object = kind == ValueKind::Object;
        self.writer.open(&mut self.text, if object { b'{' } else { b'[' });
        self.brackets.push_str(&format!("{}@{offset} ", if object { '{' } else { '[' }));
        self.serial += 1;
        let wanted = WantedNames { serial: self.serial, left: 1 };
        self.open.push(OpenContainer { object, wanted });
        Interest::Inspect
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

    /// Counts a member that is kept.
    fn count(&mut self, slot: ValueSlot<'_>) {
        if let (ValueSlot::Member(_), TableRule::SelectFirst, Some(open)) =
            (slot, self.rule, self.open.last_mut())
        {
            open.wanted.left = 0;
        }
    }
}

impl Handler for TableHandler {
    fn value(
        &mut self,
        slot: ValueSlot<'_>,
        kind: ValueKind,
        offset: u64,
    ) -> Result<Interest, Raise> {
        let excludes = matches!(self.rule, TableRule::Exclude { .. });
        if self.has_first() {
            return Ok(Interest::SkipRest);
        }
        if self.is_dropped(slot, kind) {
            return Ok(Interest::Skip);
        }
        self.count(slot);
        if kind == ValueKind::Object
            || (kind == ValueKind::Array && (excludes || matches!(slot, ValueSlot::Top)))
        {
            return Ok(self.inspect(slot, kind, offset));
        }
        self.writer.begin(&mut self.text);
        let member = matches!(slot, ValueSlot::Member(_));
        Ok(if member { Interest::CopyMember } else { Interest::Copy })
    }

    fn close(&mut self, offset: u64) -> Result<(), Raise> {
        if let Some(OpenContainer { object, .. }) = self.open.pop() {
            self.writer.close(&mut self.text, if object { b'}' } else { b']' });
        }
        self.brackets.push_str(&format!("@{offset} "));
        Ok(())
    }

    fn raw(&mut self, bytes: &[u8]) {
        self.writer.raw(&mut self.text, bytes);
    }

    fn policy(&mut self) -> Policy<'_> {
        if self.has_first() {
            return Policy::all(Action::SkipRest);
        }
        let Self { rule, trie, open, met, writer, text, .. } = self;
        let Some(OpenContainer { object, wanted }) = open.last_mut() else {
            return Policy::ASK;
        };
        let names = trie.names(0).filter(|_| *object).map(|names| (names, trie.actions()));
        let output = Some(Output { writer, sink: text });
        match *rule {
            TableRule::Select | TableRule::SelectFirst if names.is_none() => Policy::ASK,
            TableRule::Select => Policy { names, output, ..Policy::SKIP },
            TableRule::SelectFirst => {
                let once = Some(Once { met, wanted });
                Policy { names, once, then_skips: true, output, ..Policy::SKIP }
            }
            TableRule::Exclude { nulls, empty } => {
                let drop = if *object { KindSet::new(nulls, empty) } else { KindSet::EMPTY };
                Policy { names, drop, output, ..Policy::all(Action::Keep) }
            }
        }
    }
}
