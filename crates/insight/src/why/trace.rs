//! Follows one value: from its pointer in the input to its place in the output.

use tamis_json::path::{Path, PathToken};

use super::ledger::Fate;
use super::spool::{Cursor, Spool};

/// The value that is followed.
#[derive(Debug)]
pub(super) struct Traced {
    pointer: Path,
    /// Where the value is, and what is known about it.
    state: State,
    /// The rules that changed its text.
    changed_by: Vec<String>,
}

#[derive(Debug)]
enum State {
    /// The document is not known yet.
    Unread,
    /// At this offset.
    At(u64),
    Missing,
    /// A rule ended the search.
    Ended(End, String),
}

#[derive(Clone, Copy, Debug)]
enum End {
    Removed,
    InPart,
    /// The document has another form.
    Rewritten,
}

/// The fate of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Missing,
    Kept { at: String, changed_by: Vec<String> },
    InPart(String),
    Removed(String),
    Rewritten(String),
}

impl Traced {
    pub(super) fn new(pointer: Path) -> Self {
        Self { pointer, state: State::Unread, changed_by: Vec::new() }
    }

    /// Finds the value in the input without white space.
    pub(super) fn find(&mut self, document: &Spool) {
        self.state = find(document, &self.pointer).map_or(State::Missing, State::At);
    }

    /// Returns the offset of the value in the current document.
    pub(super) fn offset(&self) -> Option<u64> {
        match self.state {
            State::At(offset) => Some(offset),
            _ => None,
        }
    }

    /// Records what a rule did to the value.
    pub(super) fn follow(&mut self, fate: Option<Fate>, rule: &str) {
        if self.offset().is_none() {
            return;
        }
        self.state = match fate {
            Some(Fate::Kept(offset)) => State::At(offset),
            Some(Fate::Changed(offset)) => {
                self.changed_by.push(rule.to_owned());
                State::At(offset)
            }
            Some(Fate::InPart) => State::Ended(End::InPart, rule.to_owned()),
            Some(Fate::Removed) | None => State::Ended(End::Removed, rule.to_owned()),
        };
    }

    /// Records that a rule gave the document another form.
    pub(super) fn lose(&mut self, rule: &str) {
        if matches!(self.state, State::At(_) | State::Unread) {
            self.state = State::Ended(End::Rewritten, rule.to_owned());
        }
    }

    /// Returns what became of the value. `document`: the output without white space.
    pub(super) fn outcome(self, document: Option<&Spool>) -> Outcome {
        match self.state {
            State::Missing | State::Unread => Outcome::Missing,
            State::At(offset) => {
                let at = document.and_then(|document| pointer_to(document, offset));
                Outcome::Kept { at: at.unwrap_or_default(), changed_by: self.changed_by }
            }
            State::Ended(End::Removed, rule) => Outcome::Removed(rule),
            State::Ended(End::InPart, rule) => Outcome::InPart(rule),
            State::Ended(End::Rewritten, rule) => Outcome::Rewritten(rule),
        }
    }
}

/// Returns the offset of the first value at a pointer.
fn find(document: &Spool, pointer: &Path) -> Option<u64> {
    let mut cursor = Cursor::new(document);
    for step in &pointer.0 {
        let PathToken::Name(name) = step else { return None };
        if cursor.take(b'{') {
            while cursor.key()?.name() != **name {
                cursor.skip_value();
                cursor.take(b',');
            }
        } else if cursor.take(b'[') {
            let index = step.index()?;
            for _ in 0..index {
                cursor.skip_value();
                if !cursor.take(b',') {
                    return None;
                }
            }
            if cursor.peek() == Some(b']') {
                return None;
            }
        } else {
            return None;
        }
    }
    Some(cursor.pos())
}

/// An open container on the way to a value.
struct Open {
    is_array: bool,
    /// The number of the current element, or the name of the current member.
    index: u64,
    name: String,
}

/// Returns the pointer of the value at an offset.
fn pointer_to(document: &Spool, offset: u64) -> Option<String> {
    let mut cursor = Cursor::new(document);
    let mut open: Vec<Open> = Vec::new();
    while cursor.pos() < offset {
        match cursor.peek()? {
            b'{' | b'[' => {
                let is_array = cursor.bump() == Some(b'[');
                open.push(Open { is_array, index: 0, name: String::new() });
            }
            b'}' | b']' => {
                cursor.bump();
                open.pop();
            }
            b',' => {
                cursor.bump();
                open.last_mut()?.index += 1;
            }
            _ => _ = cursor.skip_value(),
        }
        if let Some(top) = open.last_mut().filter(|top| !top.is_array)
            && cursor.peek() == Some(b'"')
        {
            top.name = cursor.key()?.name();
        }
    }
    let step = |open: Open| {
        let name = if open.is_array { open.index.to_string() } else { open.name };
        PathToken::Name(name.into())
    };
    Some(Path(open.into_iter().map(step).collect()).to_pointer())
}
