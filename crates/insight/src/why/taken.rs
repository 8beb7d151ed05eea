//! Compares a value with what a select or an `extract` took out of it.

use tamis_json::path::PathToken;

use super::json_cursor::Key;
use super::ledger::{Fate, Ledger, PathId};
use super::select::Unit;
use super::spool::Cursor;

/// A step to a value in the document before the rule.
#[derive(Debug)]
enum Step {
    Member(String),
    Element(u64),
}

impl Step {
    fn is(&self, token: &PathToken) -> bool {
        match (token, self) {
            (PathToken::Any, _) => true,
            (PathToken::Name(name), Self::Member(member)) => **name == **member,
            (token, Self::Element(index)) => token.index() == Some(*index),
        }
    }
}

/// An open container of the document before the rule, which may have a unit inside.
#[derive(Debug)]
struct Open {
    is_array: bool,
    path: PathId,
    children: u64,
    kept: u64,
    /// The path of the first child, if it was removed.
    first_removed: Option<PathId>,
}

/// Moves over a container, and removes everything in it that is not one of the units, which come in order.
pub(super) fn compare<'a>(
    path: PathId,
    before: &mut Cursor<'a>,
    ledger: &mut Ledger<'_>,
    mut next: impl FnMut(&mut Ledger<'_>) -> Option<Unit>,
) {
    let mut unit = next(ledger);
    let (mut open, mut steps) = (Vec::new(), Vec::new());
    open.push(enter(path, before, ledger));
    while let Some(top) = open.last_mut() {
        let is_closed = before.take(if top.is_array { b']' } else { b'}' });
        if is_closed || before.peek().is_none() {
            ledger.around(top.path, top.kept.saturating_sub(1), 0);
            if let (Some(first), true) = (top.first_removed, top.kept > 0) {
                // It was first, so its comma is the one after it.
                ledger.lose(first, 1);
            }
            open.pop();
            steps.pop();
            continue;
        }
        before.take(b',');
        let start = before.pos();
        let key = if top.is_array { None } else { before.key() };
        let (child, step) = match &key {
            Some(key) => {
                let name = key.name();
                (ledger.paths.member(top.path, &name), Step::Member(name))
            }
            None => (ledger.paths.element(top.path), Step::Element(top.children)),
        };
        top.children += 1;
        let comma = u64::from(top.children > 1);
        steps.push(step);
        let may_be = unit.as_ref().filter(|unit| {
            steps.len() <= unit.place.len()
                && steps.iter().zip(unit.place.iter()).all(|(step, token)| step.is(token))
        });
        let is_container = matches!(before.peek(), Some(b'{' | b'['));
        match may_be {
            Some(wanted) if wanted.place.len() > steps.len() && is_container => {
                top.kept += 1;
                ledger.around(child, key.as_ref().map_or(0, |key| key.len), 0);
                open.push(enter(child, before, ledger));
                continue;
            }
            Some(wanted) if wanted.place.len() == steps.len() => {
                let value = before.skip_value();
                if value.end - value.start == wanted.len {
                    top.kept += 1;
                    ledger.keep(&value, wanted.start);
                    if key != wanted.key {
                        let len = |key: &Option<Key>| key.as_ref().map_or(0, |key| key.len);
                        ledger.around(child, len(&key), len(&wanted.key));
                    }
                    unit = next(ledger);
                } else {
                    remove(child, before, ledger, top, start, comma);
                }
            }
            _ => {
                before.skip_value();
                remove(child, before, ledger, top, start, comma);
            }
        }
        steps.pop();
    }
    // The document has other values than the rules say.
    while let Some(rest) = unit {
        ledger.add(path, rest.len + rest.key.map_or(0, |key| key.len));
        unit = next(ledger);
    }
}

/// Opens a container. Its brackets are around what is kept of it.
fn enter(path: PathId, before: &mut Cursor<'_>, ledger: &mut Ledger<'_>) -> Open {
    ledger.meet(before.pos(), Fate::InPart);
    let is_array = before.bump() == Some(b'[');
    ledger.around(path, 2, 0);
    Open { is_array, path, children: 0, kept: 0, first_removed: None }
}

/// Removes the child that ends here.
fn remove(
    path: PathId,
    before: &mut Cursor<'_>,
    ledger: &mut Ledger<'_>,
    parent: &mut Open,
    start: u64,
    comma: u64,
) {
    if comma == 0 {
        parent.first_removed = Some(path);
    }
    let range = start..before.pos();
    ledger.remove(path, before, range, comma);
}
