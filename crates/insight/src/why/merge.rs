//! Compares a document with itself after one more rule, which removed values, cut strings or added members.
//!
//! Both are read once from start to end. Members of objects are paired by their keys. Elements of arrays are paired by
//! their order; if a rule may have removed elements from the middle, an element is paired with the next one that it may
//! have become.
//!
//! ```text
//! before   {"id":1,"url":"…","tags":["a","b"],"by":{"id":7,"x":1}}
//! after    {"id":1,          "tags":["a"],    "by":{"id":7},      "_omitted":{…}}
//!                  removed             removed             removed added
//! ```

use super::json_cursor::Key;
use super::ledger::{Fate, Ledger, PathId, Paths};
use super::select::{Sources, Units};
use super::spool::{Cursor, Spool};
use super::taken;

/// How many keys or elements of the later document may be looked for in vain in one container. Each reads the rest of
/// the container.
const FUTILE: u8 = 4;
/// How many arrays inside one another have elements that are looked for. Each level reads them once more.
const ARRAYS: usize = 8;
/// The beginning of the names of members that mark omissions.
const MARK: &[u8] = b"_omitted";

/// The changes that a rule may have made to a document.
#[derive(Debug)]
pub(super) enum Effect {
    /// It removed or changed values, and no elements but the last ones.
    Ordered,
    /// It removed whole items.
    Items,
    /// It removed elements anywhere.
    Elements,
    /// It cut strings and arrays, and added marks.
    Shortened,
    /// It kept values of each item.
    Selected(Sources),
}

/// An open pair of containers.
#[derive(Debug)]
struct Pair {
    is_array: bool,
    path: PathId,
    /// Children of both documents, and those that both have.
    before: u64,
    after: u64,
    kept: u64,
    first_removed: Option<PathId>,
    first_added: Option<PathId>,
    /// Elements are looked for, in this way.
    seeks: Option<Likeness>,
    futile: u8,
}

/// When an element may have become another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Likeness {
    /// All bytes are equal.
    Equal,
    /// The other one has the same scalars, but may lack members.
    Part,
    /// The other one may also have shorter strings, and marks.
    Short,
}

/// A comparison of two documents.
pub(super) struct Merge<'d, 'l, 'p> {
    before: Cursor<'d>,
    after: Cursor<'d>,
    ledger: &'l mut Ledger<'p>,
    effect: &'l Effect,
    /// The path of the payload.
    root: Option<PathId>,
    open: Vec<Pair>,
}

impl<'d, 'l, 'p> Merge<'d, 'l, 'p> {
    /// Prepares the comparison of two valid documents without white space.
    pub(super) fn new(
        before: &'d Spool,
        after: &'d Spool,
        ledger: &'l mut Ledger<'p>,
        effect: &'l Effect,
        root: Option<PathId>,
    ) -> Self {
        let (before, after) = (Cursor::new(before), Cursor::new(after));
        Self { before, after, ledger, effect, root, open: Vec::new() }
    }

    /// Compares the documents.
    pub(super) fn run(mut self) {
        self.pair(Paths::DOCUMENT);
        while let Some(top) = self.open.last() {
            // Neither document has more: they are not what they were taken for.
            if self.before.peek().is_none() && self.after.peek().is_none() {
                return;
            }
            if top.is_array { self.element() } else { self.member() }
        }
    }

    /// Compares the values at which both documents are.
    fn pair(&mut self, path: PathId) {
        let (start, after) = (self.before.pos(), self.after.pos());
        let kinds = (self.before.peek(), self.after.peek());
        match kinds {
            (Some(b'{'), Some(b'{')) if self.selects(path) => self.select(path),
            (Some(open @ (b'{' | b'[')), Some(other)) if open == other => {
                self.ledger.meet(start, Fate::Kept(after));
                self.before.bump();
                self.after.bump();
                let is_array = open == b'[';
                let seeks = if is_array { self.seeks(path) } else { None };
                self.open.push(Pair {
                    is_array,
                    path,
                    before: 0,
                    after: 0,
                    kept: 0,
                    first_removed: None,
                    first_added: None,
                    seeks,
                    futile: 0,
                });
            }
            _ => self.scalars(path),
        }
    }

    /// Whether the objects at a path are items of a select.
    fn selects(&self, path: PathId) -> bool {
        let Some(root) = self.root.filter(|_| matches!(self.effect, Effect::Selected(_))) else {
            return false;
        };
        match self.open.last() {
            Some(parent) if parent.is_array && parent.path == root => true,
            _ => path == root,
        }
    }

    fn select(&mut self, path: PathId) {
        let Effect::Selected(sources) = self.effect else { return };
        let Self { before, after, ledger, .. } = self;
        let mut units = Units::new(sources, path, after, ledger);
        taken::compare(path, before, ledger, |ledger| units.next(after, ledger));
    }

    /// Returns how elements of the arrays that begin here are looked for, if some are missing.
    fn seeks(&mut self, path: PathId) -> Option<Likeness> {
        let arrays = self.open.iter().filter(|pair| pair.is_array).count();
        let likeness = match self.effect {
            Effect::Items if self.root == Some(path) => Likeness::Equal,
            Effect::Elements if arrays < ARRAYS => Likeness::Part,
            Effect::Shortened if arrays < ARRAYS => Likeness::Short,
            _ => return None,
        };
        let differ = self.before.count_elements() != self.after.count_elements();
        differ.then_some(likeness)
    }

    /// Compares two values of which one is a scalar, or which are of different kinds.
    fn scalars(&mut self, path: PathId) {
        let strings = (self.before.peek(), self.after.peek()) == (Some(b'"'), Some(b'"'));
        let (own, other) = (self.before.skip_value(), self.after.skip_value());
        let common = self.before.common(own.clone(), &mut self.after, other.clone());
        self.before.seek(own.end);
        self.after.seek(other.end);
        let (lost, gained) = (own.end - own.start, other.end - other.start);
        if common == lost && common == gained {
            self.ledger.keep(&own, other.start);
            return;
        }
        self.ledger.meet(own.start, Fate::Changed(other.start));
        // The closing quote is kept as well.
        let same = if strings { (common + 1).min(lost).min(gained) } else { 0 };
        self.ledger.lose(path, lost - same);
        self.ledger.add(path, gained - same);
    }

    /// Compares the next members of the open objects.
    fn member(&mut self) {
        if let Some(b'}') = self.before.peek() {
            if self.after.take(b'}') {
                self.before.bump();
                self.close();
            } else {
                self.after.take(b',');
                let start = self.after.pos();
                let Some(key) = self.after.key() else { return self.abandon() };
                self.add_member(start, &key);
            }
            return;
        }
        if self.after.peek() == Some(b'}') {
            self.before.take(b',');
            let start = self.before.pos();
            let Some(key) = self.before.key() else { return self.abandon() };
            self.remove_member(start, &key);
            return;
        }
        self.before.take(b',');
        self.after.take(b',');
        let (own_start, other_start) = (self.before.pos(), self.after.pos());
        let (Some(own), Some(other)) = (self.before.key(), self.after.key()) else {
            return self.abandon();
        };
        if own == other {
            let Some(top) = self.open.last_mut() else { return };
            top.before += 1;
            top.after += 1;
            top.kept += 1;
            let path = self.ledger.paths.member(top.path, &own.name());
            self.pair(path);
        } else if let Some(found) = self.find_ahead(&other) {
            // Everything up to there was removed.
            self.after.seek(other_start);
            self.before.seek(own_start);
            while self.before.pos() < found {
                let start = self.before.pos();
                let Some(key) = self.before.key() else { return self.abandon() };
                self.remove_member(start, &key);
                self.before.take(b',');
            }
        } else {
            self.before.seek(own_start);
            self.add_member(other_start, &other);
        }
    }

    /// Returns where a key follows in the object of the earlier document.
    fn find_ahead(&mut self, key: &Key) -> Option<u64> {
        let top = self.open.last_mut()?;
        if top.futile >= FUTILE {
            return None;
        }
        self.before.skip_value();
        while self.before.take(b',') {
            let start = self.before.pos();
            if self.before.key()? == *key {
                return Some(start);
            }
            self.before.skip_value();
        }
        top.futile += 1;
        None
    }

    fn remove_member(&mut self, start: u64, key: &Key) {
        self.before.skip_value();
        let Some(top) = self.open.last_mut() else { return };
        let path = self.ledger.paths.member(top.path, &key.name());
        top.remove(path, start, &mut self.before, self.ledger);
    }

    fn add_member(&mut self, start: u64, key: &Key) {
        self.after.skip_value();
        let Some(top) = self.open.last_mut() else { return };
        let path = self.ledger.paths.member(top.path, &key.name());
        top.add(path, self.after.pos() - start, self.ledger);
    }

    /// Compares the next elements of the open arrays.
    fn element(&mut self) {
        let Some(top) = self.open.last_mut() else { return };
        let path = self.ledger.paths.element(top.path);
        let (Some(own), Some(other)) = (self.before.peek(), self.after.peek()) else {
            return self.abandon();
        };
        let ends = (own == b']', other == b']');
        if ends == (true, true) {
            self.before.bump();
            self.after.bump();
            return self.close();
        }
        if ends.0 {
            self.after.take(b',');
            let added = self.after.skip_value();
            return top.add(path, added.end - added.start, self.ledger);
        }
        self.before.take(b',');
        if ends.1 {
            let removed = self.before.skip_value();
            return top.remove(path, removed.start, &mut self.before, self.ledger);
        }
        self.after.take(b',');
        let likeness = top.seeks.filter(|_| top.futile < FUTILE);
        let (start, other) = (self.before.pos(), self.after.pos());
        if let Some(likeness) = likeness
            && !self.may_become(likeness)
        {
            if self.becomes_ahead(likeness) {
                // Everything up to there was removed.
                let found = self.before.pos();
                self.before.seek(start);
                while self.before.pos() < found {
                    let removed = self.before.skip_value();
                    if let Some(top) = self.open.last_mut() {
                        top.remove(path, removed.start, &mut self.before, self.ledger);
                    }
                    self.before.take(b',');
                }
                self.after.seek(other);
            } else {
                self.before.seek(start);
                let added = self.after.skip_value();
                let Some(top) = self.open.last_mut() else { return };
                top.futile += 1;
                return top.add(path, added.end - added.start, self.ledger);
            }
        }
        let Some(top) = self.open.last_mut() else { return };
        top.before += 1;
        top.after += 1;
        top.kept += 1;
        self.pair(path);
    }

    /// Moves to a later element that may have become the next element of the other document.
    fn becomes_ahead(&mut self, likeness: Likeness) -> bool {
        loop {
            self.before.skip_value();
            if !self.before.take(b',') {
                return false;
            }
            if self.may_become(likeness) {
                return true;
            }
        }
    }

    /// Whether a value may have become the one of the other document. Keeps the positions.
    fn may_become(&mut self, likeness: Likeness) -> bool {
        let (own, other) = (self.before.pos(), self.after.pos());
        let may = match likeness {
            Likeness::Equal => self.are_equal(),
            Likeness::Part | Likeness::Short => self.is_part(likeness == Likeness::Short),
        };
        self.before.seek(own);
        self.after.seek(other);
        may
    }

    fn are_equal(&mut self) -> bool {
        let (own, other) = (self.before.skip_value(), self.after.skip_value());
        let len = own.end - own.start;
        len == other.end - other.start && self.before.common(own, &mut self.after, other) == len
    }

    /// Whether the other value is a part of this one. Arrays in objects are not compared.
    fn is_part(&mut self, is_short: bool) -> bool {
        // The number of open objects, and whether the innermost had a member.
        let (mut depth, mut any) = (0u64, true);
        loop {
            let kinds = (self.before.peek(), self.after.peek());
            match kinds {
                (Some(b'{'), Some(b'{')) => {
                    self.before.bump();
                    self.after.bump();
                    (depth, any) = (depth + 1, false);
                }
                (Some(b'['), Some(b'[')) => {
                    self.before.skip_value();
                    self.after.skip_value();
                }
                (Some(b'"'), Some(b'"')) if is_short => {
                    let (own, other) = (self.before.skip_value(), self.after.skip_value());
                    let (len, short) = (own.end - own.start, other.end - other.start);
                    let ends = (own.end, other.end);
                    let common = self.before.common(own, &mut self.after, other);
                    self.before.seek(ends.0);
                    self.after.seek(ends.1);
                    // The mark of a cut string, and the quote.
                    if common != len && common + 4 < short {
                        return false;
                    }
                }
                _ => {
                    let ends = (self.before.pos(), self.after.pos());
                    if !self.are_equal() {
                        return false;
                    }
                    self.before.seek(ends.0);
                    self.before.skip_value();
                    self.after.seek(ends.1);
                    self.after.skip_value();
                }
            }
            // The next member of the innermost object that has one.
            loop {
                if depth == 0 {
                    return true;
                }
                self.after.take(b',');
                let Some(key) = self.after.key() else {
                    if !self.after.take(b'}') {
                        return false;
                    }
                    self.skip_members();
                    (depth, any) = (depth - 1, true);
                    continue;
                };
                if is_short && (any || depth > 1) && key.starts_with(MARK) {
                    self.after.skip_value();
                    continue;
                }
                if !self.find_member(&key) {
                    return false;
                }
                any = true;
                break;
            }
        }
    }

    /// Moves to the value of a member of the earlier document.
    fn find_member(&mut self, key: &Key) -> bool {
        loop {
            self.before.take(b',');
            match self.before.key() {
                None => return false,
                Some(own) if own == *key => return true,
                Some(_) => _ = self.before.skip_value(),
            }
        }
    }

    /// Moves over the rest of an object of the earlier document.
    fn skip_members(&mut self) {
        loop {
            self.before.take(b',');
            if self.before.key().is_none() {
                self.before.take(b'}');
                return;
            }
            self.before.skip_value();
        }
    }

    /// Closes a pair of containers, and accounts for the commas that the children do not have.
    fn close(&mut self) {
        let Some(pair) = self.open.pop() else { return };
        if pair.kept > 0 {
            // A child that was first has no comma before it, but one after it.
            if let Some(first) = pair.first_removed {
                self.ledger.lose(first, 1);
            }
            if let Some(first) = pair.first_added {
                self.ledger.add(first, 1);
            }
        }
    }

    /// Ends the comparison: the documents are not what they were taken for.
    fn abandon(&mut self) {
        self.open.clear();
    }
}

impl Pair {
    /// Removes the child that ends here.
    fn remove(
        &mut self,
        path: PathId,
        start: u64,
        before: &mut Cursor<'_>,
        ledger: &mut Ledger<'_>,
    ) {
        self.before += 1;
        let comma = u64::from(self.before > 1);
        if comma == 0 {
            self.first_removed = Some(path);
        }
        let range = start..before.pos();
        ledger.remove(path, before, range, comma);
    }

    fn add(&mut self, path: PathId, bytes: u64, ledger: &mut Ledger<'_>) {
        self.after += 1;
        let comma = u64::from(self.after > 1);
        if comma == 0 {
            self.first_added = Some(path);
        }
        ledger.add(path, bytes + comma);
    }
}
