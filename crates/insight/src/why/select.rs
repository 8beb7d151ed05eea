//! The values that a select keeps of an item, in the order of the output, each with its place in the item.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use tamis_json::path::projection::SelectedPath;
use tamis_json::path::{Path, PathToken};

use super::json_cursor::Key;
use super::ledger::{Ledger, PathId};
use super::spool::Cursor;
use tamis::Spec;

/// A value that is kept as a whole.
#[derive(Clone, Debug)]
pub(super) struct Unit {
    /// Where it is in the item. A wildcard stands for one step.
    pub(super) place: Rc<[PathToken]>,
    /// Its key in the output.
    pub(super) key: Option<Key>,
    pub(super) start: u64,
    pub(super) len: u64,
}

/// The outputs of a select.
#[derive(Debug, Default)]
pub(super) struct Sources {
    shapes: Vec<Shape>,
    /// The shape of each output key.
    keys: HashMap<String, usize>,
}

/// The form of one output: a value, an object with chosen members, or a list of one of them.
#[derive(Debug)]
struct Shape {
    place: Rc<[PathToken]>,
    is_list: bool,
    /// The shapes of the members, by their keys.
    members: Option<HashMap<String, usize>>,
    /// It begins inside another output, or where another one begins, which is compared instead.
    is_repeated: bool,
}

impl Sources {
    /// Reads the sources of a spec. Those that cannot be parsed are left out.
    pub(super) fn new(spec: &Spec) -> Self {
        let mut sources = Self::default();
        let mut parsed = Vec::new();
        for written in spec.select.iter().flat_map(|select| &select.0) {
            let path = if spec.envelope {
                Path::parse_foreign(&written.path)
                    .map(|(path, _)| SelectedPath::plain(path, &written.path))
            } else {
                Path::parse_selected(&written.path)
            };
            let Ok(path) = path else { continue };
            let key = written.key.clone().or_else(|| path.path.last_name().map(str::to_owned));
            parsed.extend(key.map(|key| (key, path)));
        }
        let begins: Vec<&[PathToken]> =
            parsed.iter().map(|(_, source)| before_wildcard(&source.path.0)).collect();
        let all: HashSet<&[PathToken]> = begins.iter().copied().collect();
        let mut seen = HashSet::new();
        let mut repeated = Vec::new();
        for begin in &begins {
            let inside =
                (1..begin.len()).any(|end| begin.get(..end).is_some_and(|p| all.contains(p)));
            repeated.push(!seen.insert(*begin) || inside);
        }
        for ((key, source), is_repeated) in parsed.iter().zip(repeated) {
            let shape = sources.add(source, is_repeated);
            sources.keys.insert(key.clone(), shape);
        }
        sources
    }

    /// Adds the shapes of a source and its projection, and returns the first.
    fn add(&mut self, source: &SelectedPath, is_repeated: bool) -> usize {
        let first = self.shapes.len();
        let has_braces = !source.fields.is_empty();
        self.shapes.push(Shape {
            place: source.path.0.as_slice().into(),
            is_list: source.path.0.contains(&PathToken::Any),
            members: has_braces.then(HashMap::new),
            is_repeated,
        });
        for field in &source.fields {
            let parent = field.parent.map_or(first, |parent| first + 1 + parent);
            let Some(braces) = self.shapes.get(parent) else { continue };
            let mut place = braces.place.to_vec();
            place.push(PathToken::Name(field.name.clone()));
            place.extend(std::iter::repeat_n(PathToken::Any, field.levels));
            let own = self.shapes.len();
            self.shapes.push(Shape {
                place: place.into(),
                is_list: field.levels > 0,
                members: field.is_object.then(HashMap::new),
                is_repeated: false,
            });
            let members = self.shapes.get_mut(parent).and_then(|shape| shape.members.as_mut());
            members.map(|members| members.insert(field.key.clone().into(), own));
        }
        first
    }
}

fn before_wildcard(path: &[PathToken]) -> &[PathToken] {
    let end = path.iter().position(|step| *step == PathToken::Any).unwrap_or(path.len());
    path.get(..end).unwrap_or_default()
}

/// An open container of the output.
#[derive(Debug)]
struct Open {
    /// `None`: the item.
    shape: Option<usize>,
    is_list: bool,
    children: u64,
    path: PathId,
}

/// Reads the units of one item from the output.
#[derive(Debug)]
pub(super) struct Units<'s> {
    sources: &'s Sources,
    open: Vec<Open>,
    item: PathId,
}

impl<'s> Units<'s> {
    /// Begins at the opening bracket of an item in the output.
    pub(super) fn new(
        sources: &'s Sources,
        item: PathId,
        after: &mut Cursor<'_>,
        ledger: &mut Ledger<'_>,
    ) -> Self {
        after.bump();
        ledger.around(item, 0, 2);
        let open = vec![Open { shape: None, is_list: false, children: 0, path: item }];
        Self { sources, open, item }
    }

    /// Returns the next unit, and moves over it and what is before it. `None`: the item has ended.
    pub(super) fn next(&mut self, after: &mut Cursor<'_>, ledger: &mut Ledger<'_>) -> Option<Unit> {
        loop {
            let open = self.open.last_mut()?;
            if after.take(if open.is_list { b']' } else { b'}' }) {
                ledger.around(open.path, 0, open.children.saturating_sub(1));
                self.open.pop();
                continue;
            }
            after.peek()?;
            after.take(b',');
            open.children += 1;
            let (shape, key) = if open.is_list {
                (open.shape, None)
            } else {
                let key = after.key()?;
                let keys = match open.shape.and_then(|shape| self.sources.shapes.get(shape)) {
                    None => Some(&self.sources.keys),
                    Some(shape) => shape.members.as_ref(),
                };
                (keys.and_then(|keys| keys.get(&key.name()).copied()), Some(key))
            };
            let in_list = open.is_list;
            let Some((number, shape)) =
                shape.and_then(|number| Some((number, self.sources.shapes.get(number)?)))
            else {
                // Members that are kept with any selection.
                let name = key.as_ref().map(Key::name).unwrap_or_default();
                let place = Rc::from([PathToken::Name(name.into())]);
                return Some(unit(after, place, key));
            };
            let key_len = key.as_ref().map_or(0, |key| key.len);
            let is_list = shape.is_list && !in_list && after.peek() == Some(b'[');
            let is_object = shape.members.is_some() && after.peek() == Some(b'{');
            if shape.is_repeated && !in_list {
                let value = after.skip_value();
                let path = path_of(self.item, &shape.place, ledger);
                ledger.add(path, key_len + value.end - value.start);
            } else if is_list || is_object && (in_list || !shape.is_list) {
                after.bump();
                let own = if is_list { before_wildcard(&shape.place) } else { &shape.place };
                let path = path_of(self.item, own, ledger);
                ledger.around(path, 0, key_len + 2);
                self.open.push(Open { shape: Some(number), is_list, children: 0, path });
            } else if shape.is_list && !in_list {
                // Such as null.
                return Some(unit(after, before_wildcard(&shape.place).into(), key));
            } else {
                return Some(unit(after, shape.place.clone(), key));
            }
        }
    }
}

fn unit(after: &mut Cursor<'_>, place: Rc<[PathToken]>, key: Option<Key>) -> Unit {
    let value = after.skip_value();
    Unit { place, key, start: value.start, len: value.end - value.start }
}

/// Returns the path of a place in an item.
fn path_of(item: PathId, place: &[PathToken], ledger: &mut Ledger<'_>) -> PathId {
    place.iter().fold(item, |path, step| match step {
        PathToken::Name(name) if step.index().is_none() => ledger.paths.member(path, name),
        _ => ledger.paths.element(path),
    })
}
