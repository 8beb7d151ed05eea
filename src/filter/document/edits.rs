//! A sequence of `add`, `remove` and `replace` on members of objects, as what becomes of each value when it comes by.
//!
//! The operations are run here, on what is not yet there: each changes what is known of the places that it names. What an
//! operation needs of the document becomes a check; what one puts there is known, so that later ones inside it are applied
//! to it at once.
//!
//! | of a place | the value in the document | a new member, last in its object |
//! |---|---|---|
//! | as it was | stays | |
//! | `replace` | the first is rewritten, others go | |
//! | `add` | of the first object: the first is rewritten, others go | if there was none |
//! | `remove` | goes | |
//! | `remove`, then `add` | goes | always |
//!
//! A sequence that cannot be told from the paths alone (an array's elements move, a test asks for a value) is none of these;
//! [`Edits::new`] says which operation it is, and why. Knows no document. What these say is what the tree does
//! (`tests/engine/patch`).

use crate::allowance::Allowance;
use crate::error::ErrorKind;
use crate::path::trie::{NodeId, Trie};
use crate::path::{Path, Token};
use crate::tree::Tree;
use crate::tree::patch::{Did, Edit};

/// Bytes of a value that is patched before it is put into a document: each operation on it reads it once.
const LITERAL: u64 = 64 << 10;

/// What becomes of the values of a document.
#[derive(Debug)]
pub(in crate::filter) struct Edits {
    /// The paths that are named, and those that lead there. No path ends in it.
    pub(super) trie: Trie,
    /// By node of the trie.
    pub(super) nodes: Vec<Effect>,
    /// By operation.
    paths: Vec<Path>,
    /// Nodes that the document must have, for the operations to be possible.
    pub(in crate::filter) checks: usize,
    /// Operations that do nothing, whatever the document is.
    pub(super) idle: u64,
    pub(super) operations: u64,
}

/// What becomes of the values at a node.
#[derive(Debug, Default)]
pub(super) struct Effect {
    pub(super) fate: Fate,
    /// The value of a new member.
    pub(super) new: Option<New>,
    /// Children with new members, in the order in which those come.
    pub(super) news: Vec<NodeId>,
    /// The first operation that needs a value here.
    pub(super) needed: Option<usize>,
    /// The first operation that needs an object at the first place of this path.
    pub(super) object: Option<usize>,
    /// It is removed if it is there.
    pub(super) lenient: bool,
    /// What is below matters, whatever becomes of this.
    pub(super) checks_below: bool,
    /// The path to here: of the one with this number so many tokens. A copy of each would be the square of a long path.
    path: (usize, usize),
}

#[derive(Debug, Default)]
pub(super) enum Fate {
    #[default]
    Keep,
    Drop,
    Set(Box<[u8]>),
}

#[derive(Debug)]
pub(super) struct New {
    pub(super) key: Vec<u8>,
    pub(super) value: Box<[u8]>,
    /// Whatever the document has there.
    pub(super) always: bool,
    /// The operation that made it.
    at: usize,
}

/// Why a sequence needs a tree: the operation, and what is about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) struct Reason {
    pub(in crate::filter) operation: usize,
    pub(in crate::filter) why: &'static str,
}

impl Edits {
    /// What a sequence does, which does not remove the document itself. `lenient`: it may remove what is not there.
    pub(in crate::filter) fn new(
        sequence: &[Edit],
        lenient: bool,
        allowance: &mut Allowance,
    ) -> Result<Self, Reason> {
        let mut paths = Vec::with_capacity(sequence.len());
        for (operation, edit) in sequence.iter().enumerate() {
            paths.push(streams(edit).map_err(|why| Reason { operation, why })?);
        }
        let trie = Trie::ways(&paths, allowance);
        let nodes = std::iter::repeat_with(Effect::default).take(trie.len()).collect();
        let operations = sequence.len() as u64;
        let mut edits = Self { trie, nodes, paths, checks: 0, idle: 0, operations };
        for (operation, edit) in sequence.iter().enumerate() {
            edits.run(operation, edit, lenient).map_err(|why| Reason { operation, why })?;
        }
        edits.finish();
        Ok(edits)
    }

    /// The path to what an effect is about.
    pub(super) fn path(&self, effect: &Effect) -> &[Token] {
        let (number, depth) = effect.path;
        self.paths.get(number).and_then(|path| path.0.get(..depth)).unwrap_or_default()
    }

    fn effect(&mut self, node: NodeId) -> Result<&mut Effect, &'static str> {
        self.nodes.get_mut(node as usize).ok_or("it has no place")
    }

    /// Runs one operation on what is known.
    fn run(&mut self, operation: usize, edit: &Edit, lenient: bool) -> Result<(), &'static str> {
        let path = path_of(edit);
        let mut node: NodeId = 0;
        for (step, token) in path.0.iter().enumerate() {
            let effect = self.effect(node)?;
            let rest = || Path(path.0.get(step..).unwrap_or_default().to_vec());
            match (&mut effect.new, &mut effect.fate) {
                (None, Fate::Keep) => {}
                // The value is known, here and, if it was new, there.
                (new, Fate::Set(value)) => {
                    let did = in_literal(value, edit, rest(), lenient)?;
                    if let Some(new) = new {
                        new.value.clone_from(value);
                    }
                    self.idle += u64::from(did == Did::Nothing);
                    return Ok(());
                }
                (Some(New { value, .. }), Fate::Drop) => {
                    let did = in_literal(value, edit, rest(), lenient)?;
                    self.idle += u64::from(did == Did::Nothing);
                    return Ok(());
                }
                _ => return self.nothing_there(edit, lenient),
            }
            if let (Edit::Add { .. }, true) = (edit, step + 1 == path.0.len()) {
                effect.object.get_or_insert(operation);
            }
            let Token::Name(name) = token else { return Err("it has no place") };
            node = self.trie.member(node, name.as_bytes()).ok_or("it has no place")?;
        }
        self.change(node, operation, edit, lenient)
    }

    /// Runs an operation on the place that it names.
    fn change(
        &mut self,
        node: NodeId,
        operation: usize,
        edit: &Edit,
        lenient: bool,
    ) -> Result<(), &'static str> {
        let effect = self.effect(node)?;
        let original = matches!((&effect.new, &effect.fate), (None, Fate::Keep));
        let gone = matches!((&effect.new, &effect.fate), (None, Fate::Drop));
        match edit {
            Edit::Add { path, value } => {
                let key = match path.0.last() {
                    Some(Token::Name(name)) => crate::json::key::quote(name),
                    // The document itself, which is always there.
                    _ => {
                        effect.fate = Fate::Set(value.clone());
                        return Ok(());
                    }
                };
                match &mut effect.new {
                    Some(new) => new.value.clone_from(value),
                    None => {
                        effect.new =
                            Some(New { key, value: value.clone(), always: gone, at: operation });
                    }
                }
                if !matches!(effect.fate, Fate::Drop) {
                    effect.fate = Fate::Set(value.clone());
                }
            }
            Edit::Remove { .. } => {
                if gone {
                    return self.nothing_there(edit, lenient);
                }
                effect.fate = Fate::Drop;
                effect.new = None;
                if original && lenient {
                    effect.lenient = true;
                } else if original {
                    effect.needed.get_or_insert(operation);
                }
            }
            Edit::Replace { value, .. } => {
                if gone {
                    return self.nothing_there(edit, lenient);
                }
                if original {
                    effect.needed.get_or_insert(operation);
                }
                if let Some(new) = &mut effect.new {
                    new.value.clone_from(value);
                }
                if !matches!(effect.fate, Fate::Drop) {
                    effect.fate = Fate::Set(value.clone());
                }
            }
            Edit::Move { .. } | Edit::Copy { .. } | Edit::Test { .. } => {
                return Err("it has no place");
            }
        }
        Ok(())
    }

    /// An operation on what an earlier one removed.
    fn nothing_there(&mut self, edit: &Edit, lenient: bool) -> Result<(), &'static str> {
        match edit {
            Edit::Remove { .. } if lenient => {
                self.idle += 1;
                Ok(())
            }
            _ => Err("an earlier operation removed what it is about, so that it fails"),
        }
    }

    /// Says of each node what is below it.
    fn finish(&mut self) {
        for (number, path) in self.paths.iter().enumerate() {
            // From the end of the path to its beginning.
            let mut way = vec![0];
            for token in &path.0 {
                let Token::Name(name) = token else { break };
                let at = way.last().copied().unwrap_or_default();
                way.extend(self.trie.member(at, name.as_bytes()));
            }
            for (depth, node) in way.iter().enumerate() {
                if let Some(effect) = self.nodes.get_mut(*node as usize) {
                    effect.path = (number, depth);
                }
            }
            let mut checks = false;
            for node in way.iter().rev() {
                let Some(effect) = self.nodes.get_mut(*node as usize) else { continue };
                effect.checks_below |= checks;
                checks |= effect.needed.is_some() || effect.object.is_some() || effect.lenient;
            }
        }
        for at in 0..self.nodes.len() {
            let mut news: Vec<(usize, NodeId)> = self
                .trie
                .children(at as NodeId)
                .iter()
                .filter_map(|(_, child)| {
                    let new = self.nodes.get(*child as usize)?.new.as_ref()?;
                    Some((new.at, *child))
                })
                .collect();
            news.sort_unstable();
            if let Some(effect) = self.nodes.get_mut(at) {
                effect.news = news.into_iter().map(|(_, child)| child).collect();
                self.checks += usize::from(effect.needed.is_some());
                self.checks += usize::from(effect.object.is_some());
            }
        }
    }
}

fn path_of(edit: &Edit) -> &Path {
    match edit {
        Edit::Add { path, .. }
        | Edit::Remove { path }
        | Edit::Replace { path, .. }
        | Edit::Move { path, .. }
        | Edit::Copy { path, .. }
        | Edit::Test { path, .. } => path,
    }
}

/// The path of an operation whose outcome its paths tell.
fn streams(edit: &Edit) -> Result<Path, &'static str> {
    let path = match edit {
        Edit::Add { path, .. } | Edit::Replace { path, .. } | Edit::Remove { path } => path,
        Edit::Move { .. } | Edit::Copy { .. } => {
            return Err("it needs a value of the document at another place");
        }
        Edit::Test { .. } => return Err("what follows depends on a value of the document"),
    };
    let is_end = |token: &Token| matches!(token, Token::Name(name) if **name == *"-");
    match path.0.last() {
        Some(last) if last.index().is_some() || is_end(last) => {
            Err("it may be about an element of an array, behind which all others move")
        }
        _ => Ok(path.clone()),
    }
}

/// Applies the rest of an operation to a value that is known.
fn in_literal(
    value: &mut Box<[u8]>,
    edit: &Edit,
    path: Path,
    lenient: bool,
) -> Result<Did, &'static str> {
    let edit = match edit {
        Edit::Add { value, .. } => Edit::Add { path, value: value.clone() },
        Edit::Replace { value, .. } => Edit::Replace { path, value: value.clone() },
        _ => Edit::Remove { path },
    };
    let large = "it changes a large value that an earlier operation put there";
    let mut tree = Tree::new(value.to_vec(), LITERAL).map_err(|_limit| large)?;
    let did = tree.apply(&edit, lenient).map_err(|raise| match raise.kind {
        ErrorKind::Limit => large,
        _ => "it fails on what an earlier operation put there",
    })?;
    let mut text = Vec::new();
    tree.write(|bytes| text.extend_from_slice(bytes));
    *value = text.into();
    Ok(did)
}
