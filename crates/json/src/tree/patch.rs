//! The operations of RFC 6902 on a [`Tree`], as SPEC §8 defines them.
//!
//! Paths are those of RFC 6901, resolved against the document as the operation finds it. If an object has duplicate
//! members, an operation removes all of them and sets the first:
//!
//! | operation | with several values at its path |
//! |---|---|
//! | `remove` | all are removed |
//! | `replace`, `add` | the first is set, the others are removed |
//! | `move`, `copy` | the first is taken; `move` removes the others |
//! | `test` | the first is compared |
//!
//! A path leads through the first member of a name, except for values to remove.
//!
//! **Cost.** An operation visits the members of each object on its path, because names may be duplicated. It moves the
//! elements after an inserted or removed one. It reads a value that it tests, or copies after it was split. So a
//! sequence costs at most the number of operations times the size of the tree, plus the text once for each level that
//! is split.

use super::{Tree, TreeNode, TreePlace, TreeValue, equal};
use crate::error::{ErrorKind, Raise};
use crate::path::{Path, PathToken, index};
use crate::test_work::{self, WorkKind};

/// The error of adding to an array by a token that is not an index.
pub const NO_INDEX: &str = "the target is an array, which takes an index or `-`";
/// The error of adding to a scalar.
pub const NO_PARENT: &str = "the parent of the target is neither an object nor an array";

/// One operation, with the members that RFC 6902 §4 gives it.
#[expect(missing_docs, reason = "the names are those of RFC 6902")]
#[derive(Clone, Debug)]
pub enum TreeEdit {
    Add { path: Path, value: Box<[u8]> },
    Remove { path: Path },
    Replace { path: Path, value: Box<[u8]> },
    Move { from: Path, path: Path },
    Copy { from: Path, path: Path },
    Test { path: Path, value: Box<[u8]> },
}

/// The effect of an operation that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditOutcome {
    /// It was applied.
    Apply,
    /// No effect: there was no value to remove, which is allowed.
    Nothing,
    /// A test did not hold: the document has another value there.
    Differs,
    /// A test did not hold: the document has no value there.
    Lacks,
}

impl Tree {
    /// Applies an operation. `lenient`: a `remove` without a value to remove is not an error.
    ///
    /// # Errors
    /// [`ErrorKind::Patch`]: the operation cannot be applied. [`ErrorKind::Limit`]: the tree grows too large. After an
    /// error the tree must not be used.
    pub fn apply(&mut self, edit: &TreeEdit, lenient: bool) -> Result<EditOutcome, Raise> {
        match edit {
            TreeEdit::Add { path, value } => {
                let value = TreeValue(self.add_text(value)?);
                self.add(path, value)?;
            }
            TreeEdit::Remove { path } => {
                if !self.remove(path)? {
                    return if lenient {
                        Ok(EditOutcome::Nothing)
                    } else {
                        Err(self.nothing_at(path))
                    };
                }
            }
            TreeEdit::Replace { path, value } => {
                let value = TreeValue(self.add_text(value)?);
                self.replace(path, value)?;
            }
            TreeEdit::Move { from, path } => {
                let value = self.first(from)?.ok_or_else(|| self.nothing_at(from))?;
                if from == path {
                    return Ok(EditOutcome::Apply);
                }
                if path.0.starts_with(&from.0) {
                    return Err(refused("a value cannot be moved into itself"));
                }
                self.remove(from)?;
                self.add(path, value)?;
            }
            TreeEdit::Copy { from, path } => {
                let value = self.first(from)?.ok_or_else(|| self.nothing_at(from))?;
                let value = match value.node() {
                    // The text exists already, but it will be written twice.
                    None => {
                        self.charge(value.0.len as usize)?;
                        value
                    }
                    Some(_) => TreeValue(self.with_text(value, |tree, text| tree.add_text(text))?),
                };
                self.add(path, value)?;
            }
            TreeEdit::Test { path, value } => {
                let Some(found) = self.first(path)? else { return Ok(EditOutcome::Lacks) };
                let same = match found.node() {
                    None => equal(self.text(found.0), value, self.room())?,
                    Some(_) => {
                        self.with_text(found, |tree, text| equal(text, value, tree.room()))?
                    }
                };
                return Ok(if same { EditOutcome::Apply } else { EditOutcome::Differs });
            }
        }
        Ok(EditOutcome::Apply)
    }

    /// Returns the places that a path leads to, in document order: all of the duplicate members, or only the first.
    fn find(&mut self, path: &[PathToken], all: bool) -> Result<Vec<TreePlace>, Raise> {
        path.iter().try_fold(vec![TreePlace::Root], |places, token| self.step(&places, token, all))
    }

    fn step(
        &mut self,
        from: &[TreePlace],
        token: &PathToken,
        all: bool,
    ) -> Result<Vec<TreePlace>, Raise> {
        let mut next = Vec::new();
        for place in from {
            test_work::count(WorkKind::Tree, 1);
            let Some(node) = self.open(*place)? else { continue };
            let found = |at| TreePlace::Child(node, at);
            match (self.nodes.get(node), token) {
                (Some(TreeNode::Object(members)), PathToken::Name(name)) => {
                    let named = members
                        .iter()
                        .enumerate()
                        .filter(|(_, member)| self.is_named(member.key, name));
                    let most = if all { usize::MAX } else { 1 };
                    next.extend(named.take(most).map(|(at, _)| found(at)));
                }
                (Some(TreeNode::Array(elements)), _) => {
                    next.extend(position(token).filter(|at| *at < elements.len()).map(found));
                }
                _ => {}
            }
        }
        Ok(next)
    }

    fn first(&mut self, path: &Path) -> Result<Option<TreeValue>, Raise> {
        let places = self.find(&path.0, false)?;
        Ok(places.first().map(|place| self.get(*place)))
    }

    /// Removes the values at a path. Returns whether there were any.
    fn remove(&mut self, path: &Path) -> Result<bool, Raise> {
        let Some((last, parents)) = path.0.split_last() else {
            return Err(refused("the document itself cannot be removed"));
        };
        let mut found = false;
        for parent in self.find(parents, true)? {
            found |= self.drop_child(parent, last, 0)?;
        }
        Ok(found)
    }

    /// Removes the children that a token leads to from the container at a place, except the first `spare` of them.
    fn drop_child(
        &mut self,
        parent: TreePlace,
        token: &PathToken,
        spare: usize,
    ) -> Result<bool, Raise> {
        let Some(node) = self.open(parent)? else { return Ok(false) };
        let Some(mut container) = self
            .nodes
            .get_mut(node)
            .map(|node| std::mem::replace(node, TreeNode::Array(Vec::new())))
        else {
            return Ok(false);
        };
        let dropped = match (&mut container, token) {
            (TreeNode::Object(members), PathToken::Name(name)) => {
                let before = members.len();
                let mut seen = 0;
                members.retain(|member| {
                    let named = self.is_named(member.key, name);
                    seen += usize::from(named);
                    !named || seen <= spare
                });
                members.len() < before
            }
            (TreeNode::Array(elements), _) if spare == 0 => {
                match position(token).filter(|at| *at < elements.len()) {
                    Some(at) => {
                        test_work::count(WorkKind::Tree, elements.len() - at);
                        elements.remove(at);
                        true
                    }
                    None => false,
                }
            }
            _ => false,
        };
        if let Some(node) = self.nodes.get_mut(node) {
            *node = container;
        }
        Ok(dropped)
    }

    fn replace(&mut self, path: &Path, value: TreeValue) -> Result<(), Raise> {
        let places = self.find(&path.0, true)?;
        let Some(first) = places.first() else { return Err(self.nothing_at(path)) };
        self.set(*first, value);
        match path.0.split_last() {
            Some((last, parents)) => self.drop_others(parents, last, *first),
            None => Ok(()),
        }
    }

    /// Removes the values at a path except the one at the place `first`, which is the first of them.
    fn drop_others(
        &mut self,
        parents: &[PathToken],
        last: &PathToken,
        first: TreePlace,
    ) -> Result<(), Raise> {
        let TreePlace::Child(home, _) = first else { return Ok(()) };
        for parent in self.find(parents, true)? {
            let Some(node) = self.open(parent)? else { continue };
            if matches!(self.nodes.get(node), Some(TreeNode::Object(_))) {
                self.drop_child(parent, last, usize::from(node == home))?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, value: TreeValue) -> Result<(), Raise> {
        let Some((last, parents)) = path.0.split_last() else {
            self.root = value;
            return Ok(());
        };
        let Some(parent) = self.find(parents, false)?.first().copied() else {
            return Err(self.nothing_at(&Path(parents.to_vec())));
        };
        let Some(node) = self.open(parent)? else {
            return Err(refused(NO_PARENT));
        };
        let PathToken::Name(name) = last else { return Ok(()) };
        if let Some(TreeNode::Array(elements)) = self.nodes.get(node) {
            let count = elements.len();
            let at = match index(name) {
                _ if **name == *"-" => count,
                None => {
                    return Err(refused(NO_INDEX));
                }
                Some(at) => usize::try_from(at).unwrap_or(usize::MAX),
            };
            if at > count {
                let message =
                    format!("the array has {count} elements, so that index is out of range");
                return Err(Raise::new(ErrorKind::Patch, message));
            }
            self.charge(size_of::<TreeValue>())?;
            if let Some(TreeNode::Array(elements)) = self.nodes.get_mut(node) {
                test_work::count(WorkKind::Tree, elements.len() - at);
                elements.insert(at, value);
            }
            return Ok(());
        }
        let Some(TreeNode::Object(members)) = self.nodes.get(node) else { return Ok(()) };
        let there = members.iter().position(|member| self.is_named(member.key, name));
        let at = match there {
            Some(at) => at,
            None => {
                let at = members.len();
                let quoted = crate::key::quote(name);
                let key = self.add_text(quoted.get(1..quoted.len() - 1).unwrap_or_default())?;
                self.charge(size_of::<super::TreeMember>())?;
                if let Some(TreeNode::Object(members)) = self.nodes.get_mut(node) {
                    members.push(super::TreeMember { key, value });
                }
                at
            }
        };
        let place = TreePlace::Child(node, at);
        self.set(place, value);
        self.drop_others(parents, last, place)
    }

    /// Returns the error of a path without a value. The message says how far the path leads.
    fn nothing_at(&mut self, path: &Path) -> Raise {
        let mut places = vec![TreePlace::Root];
        let mut upto = 0usize;
        for token in &path.0 {
            upto += 1;
            match self.step(&places, token, false) {
                Ok(next) if next.is_empty() => break,
                Ok(next) => places = next,
                Err(raise) => return raise,
            }
        }
        nothing_at(&path.0, upto.saturating_sub(1))
    }
}

/// Returns the error of a path of which the first `steps` steps lead to a value.
pub fn nothing_at(path: &[PathToken], steps: usize) -> Raise {
    let missing = Path(path.get(..=steps).unwrap_or(path).to_vec());
    Raise::new(ErrorKind::Patch, format!("no value at {}", missing.to_pointer()))
}

/// Returns the position of the element that a token leads to.
fn position(token: &PathToken) -> Option<usize> {
    usize::try_from(token.index()?).ok()
}

fn refused(message: &'static str) -> Raise {
    Raise::new(ErrorKind::Patch, message)
}
