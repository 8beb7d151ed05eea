//! Compiles a sequence of `add`, `remove` and `replace` on members of objects into edits of single values, so that it
//! can be applied to a stream.
//!
//! The operations are run at compile time on an unknown document. Each one changes what is known of the places that
//! it names. If an operation needs a value of the document, that becomes a check. A value that an operation inserts
//! is known, so later operations inside it are applied to it at once.
//!
//! | after | the value in the document | a new member, last in its object |
//! |---|---|---|
//! | no operation | kept | |
//! | `replace` | the first is rewritten, duplicates are removed | |
//! | `add` | in the first object the first is rewritten, duplicates are removed | if there was no such member |
//! | `remove` | removed | |
//! | `remove`, then `add` | removed | always |
//!
//! Some sequences cannot be resolved from their paths: operations on array elements move the other elements, and a
//! test depends on a value. [`StreamingEdits::new`] returns the operation and the reason. For all others, the edits
//! produce what the same operations on a tree produce (`tests/engine/patch`).

use tamis_json::error::ErrorKind;
use tamis_json::path::trie::{NodeId, Trie};
use tamis_json::path::{Path, PathToken};
use tamis_json::regex_budget::RegexBudget;
use tamis_json::tree::Tree;
use tamis_json::tree::patch::{EditOutcome, TreeEdit};

/// The largest value, in bytes, that is patched at compile time. Each operation on it reads it once.
const LITERAL: u64 = 64 << 10;

/// The edits of a document, by place.
#[derive(Debug)]
pub(in crate::filter) struct StreamingEdits {
    /// The paths of the operations and their prefixes. No path ends in it.
    pub(in crate::filter) trie: Trie,
    /// Indexed by node of the trie.
    pub(in crate::filter) nodes: Vec<NodeEdit>,
    /// Indexed by operation.
    paths: Vec<Path>,
    /// The number of nodes that must exist in the document for all operations to succeed.
    pub(in crate::filter) checks: usize,
    /// The number of operations that have no effect on any document.
    pub(in crate::filter) idle: u64,
    pub(in crate::filter) operations: u64,
}

/// The edit of the values at one node.
#[derive(Debug, Default)]
pub(in crate::filter) struct NodeEdit {
    pub(in crate::filter) fate: ValueEdit,
    /// The value of a new member.
    pub(in crate::filter) new: Option<NewMember>,
    /// Children that are new members, in the order in which they are added.
    pub(in crate::filter) news: Vec<NodeId>,
    /// The first operation that needs a value here.
    pub(in crate::filter) needed: Option<usize>,
    /// The first operation that needs an object at the first place of this path.
    pub(in crate::filter) object: Option<usize>,
    /// The value is removed if it exists; it may be missing.
    pub(in crate::filter) lenient: bool,
    /// Something below is checked even if this value is removed or rewritten.
    pub(in crate::filter) checks_below: bool,
    /// The path to this node, as the number of a path and a length. Storing a copy for each node would take space
    /// quadratic in the length of a path.
    path: (usize, usize),
}

#[derive(Debug, Default)]
pub(in crate::filter) enum ValueEdit {
    #[default]
    Keep,
    Drop,
    Set(Box<[u8]>),
}

#[derive(Debug)]
pub(in crate::filter) struct NewMember {
    pub(in crate::filter) key: Vec<u8>,
    pub(in crate::filter) value: Box<[u8]>,
    /// Add the member even if the document has one of this name.
    pub(in crate::filter) always: bool,
    /// The operation that adds it.
    at: usize,
}

/// The reason why a sequence needs a tree, and the operation that causes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter) struct TreeReason {
    pub(in crate::filter) operation: usize,
    pub(in crate::filter) why: &'static str,
}

impl StreamingEdits {
    /// Compiles a sequence that does not remove the document itself. `lenient`: removing a missing value is allowed.
    pub(in crate::filter) fn new(
        sequence: &[TreeEdit],
        lenient: bool,
        allowance: &mut RegexBudget,
    ) -> Result<Self, TreeReason> {
        let mut paths = Vec::with_capacity(sequence.len());
        for (operation, edit) in sequence.iter().enumerate() {
            paths.push(streams(edit).map_err(|why| TreeReason { operation, why })?);
        }
        let trie = Trie::ways(&paths, allowance);
        let nodes = std::iter::repeat_with(NodeEdit::default).take(trie.len()).collect();
        let operations = sequence.len() as u64;
        let mut edits = Self { trie, nodes, paths, checks: 0, idle: 0, operations };
        for (operation, edit) in sequence.iter().enumerate() {
            edits.run(operation, edit, lenient).map_err(|why| TreeReason { operation, why })?;
        }
        edits.finish();
        Ok(edits)
    }

    /// Returns the path to a node.
    pub(in crate::filter) fn path(&self, effect: &NodeEdit) -> &[PathToken] {
        let (number, depth) = effect.path;
        self.paths.get(number).and_then(|path| path.0.get(..depth)).unwrap_or_default()
    }

    fn effect(&mut self, node: NodeId) -> Result<&mut NodeEdit, &'static str> {
        self.nodes.get_mut(node as usize).ok_or("it has no place")
    }

    /// Runs one operation on what is known of the document.
    fn run(
        &mut self,
        operation: usize,
        edit: &TreeEdit,
        lenient: bool,
    ) -> Result<(), &'static str> {
        let path = path_of(edit);
        let mut node: NodeId = 0;
        for (step, token) in path.0.iter().enumerate() {
            let effect = self.effect(node)?;
            let rest = || Path(path.0.get(step..).unwrap_or_default().to_vec());
            match (&mut effect.new, &mut effect.fate) {
                (None, ValueEdit::Keep) => {}
                // The value is known, both in place and, if it is new, as a member.
                (new, ValueEdit::Set(value)) => {
                    let did = in_literal(value, edit, rest(), lenient)?;
                    if let Some(new) = new {
                        new.value.clone_from(value);
                    }
                    self.idle += u64::from(did == EditOutcome::Nothing);
                    return Ok(());
                }
                (Some(NewMember { value, .. }), ValueEdit::Drop) => {
                    let did = in_literal(value, edit, rest(), lenient)?;
                    self.idle += u64::from(did == EditOutcome::Nothing);
                    return Ok(());
                }
                _ => return self.nothing_there(edit, lenient),
            }
            if let (TreeEdit::Add { .. }, true) = (edit, step + 1 == path.0.len()) {
                effect.object.get_or_insert(operation);
            }
            let PathToken::Name(name) = token else { return Err("it has no place") };
            node = self.trie.member(node, name.as_bytes()).ok_or("it has no place")?;
        }
        self.change(node, operation, edit, lenient)
    }

    /// Runs an operation on the node that it names.
    fn change(
        &mut self,
        node: NodeId,
        operation: usize,
        edit: &TreeEdit,
        lenient: bool,
    ) -> Result<(), &'static str> {
        let effect = self.effect(node)?;
        let original = matches!((&effect.new, &effect.fate), (None, ValueEdit::Keep));
        let gone = matches!((&effect.new, &effect.fate), (None, ValueEdit::Drop));
        match edit {
            TreeEdit::Add { path, value } => {
                let key = match path.0.last() {
                    Some(PathToken::Name(name)) => tamis_json::key::quote(name),
                    // The document itself, which always exists.
                    _ => {
                        effect.fate = ValueEdit::Set(value.clone());
                        return Ok(());
                    }
                };
                match &mut effect.new {
                    Some(new) => new.value.clone_from(value),
                    None => {
                        effect.new = Some(NewMember {
                            key,
                            value: value.clone(),
                            always: gone,
                            at: operation,
                        });
                    }
                }
                if !matches!(effect.fate, ValueEdit::Drop) {
                    effect.fate = ValueEdit::Set(value.clone());
                }
            }
            TreeEdit::Remove { .. } => {
                if gone {
                    return self.nothing_there(edit, lenient);
                }
                effect.fate = ValueEdit::Drop;
                effect.new = None;
                if original && lenient {
                    effect.lenient = true;
                } else if original {
                    effect.needed.get_or_insert(operation);
                }
            }
            TreeEdit::Replace { value, .. } => {
                if gone {
                    return self.nothing_there(edit, lenient);
                }
                if original {
                    effect.needed.get_or_insert(operation);
                }
                if let Some(new) = &mut effect.new {
                    new.value.clone_from(value);
                }
                if !matches!(effect.fate, ValueEdit::Drop) {
                    effect.fate = ValueEdit::Set(value.clone());
                }
            }
            TreeEdit::Move { .. } | TreeEdit::Copy { .. } | TreeEdit::Test { .. } => {
                return Err("it has no place");
            }
        }
        Ok(())
    }

    /// Handles an operation on a value that an earlier one removed.
    fn nothing_there(&mut self, edit: &TreeEdit, lenient: bool) -> Result<(), &'static str> {
        match edit {
            TreeEdit::Remove { .. } if lenient => {
                self.idle += 1;
                Ok(())
            }
            _ => Err("an earlier operation removed its target, so it fails"),
        }
    }

    /// Computes for each node what is below it.
    fn finish(&mut self) {
        for (number, path) in self.paths.iter().enumerate() {
            // The nodes of the path, visited from its end.
            let mut way = vec![0];
            for token in &path.0 {
                let PathToken::Name(name) = token else { break };
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

fn path_of(edit: &TreeEdit) -> &Path {
    match edit {
        TreeEdit::Add { path, .. }
        | TreeEdit::Remove { path }
        | TreeEdit::Replace { path, .. }
        | TreeEdit::Move { path, .. }
        | TreeEdit::Copy { path, .. }
        | TreeEdit::Test { path, .. } => path,
    }
}

/// Returns the path of an operation if its outcome depends on paths only.
fn streams(edit: &TreeEdit) -> Result<Path, &'static str> {
    let path = match edit {
        TreeEdit::Add { path, .. } | TreeEdit::Replace { path, .. } | TreeEdit::Remove { path } => {
            path
        }
        TreeEdit::Move { .. } | TreeEdit::Copy { .. } => {
            return Err("it needs a value of the document at another place");
        }
        TreeEdit::Test { .. } => {
            return Err("the following operations depend on a value of the document");
        }
    };
    let is_end = |token: &PathToken| matches!(token, PathToken::Name(name) if **name == *"-");
    match path.0.last() {
        Some(last) if last.index().is_some() || is_end(last) => {
            Err("it may refer to an array element, after which all others move")
        }
        _ => Ok(path.clone()),
    }
}

/// Applies the rest of an operation to a known value.
fn in_literal(
    value: &mut Box<[u8]>,
    edit: &TreeEdit,
    path: Path,
    lenient: bool,
) -> Result<EditOutcome, &'static str> {
    let edit = match edit {
        TreeEdit::Add { value, .. } => TreeEdit::Add { path, value: value.clone() },
        TreeEdit::Replace { value, .. } => TreeEdit::Replace { path, value: value.clone() },
        _ => TreeEdit::Remove { path },
    };
    let large = "it changes a large value inserted by an earlier operation";
    let mut tree = Tree::new(value.to_vec(), LITERAL).map_err(|_limit| large)?;
    let did = tree.apply(&edit, lenient).map_err(|raise| match raise.kind {
        ErrorKind::Limit => large,
        _ => "it fails on a value inserted by an earlier operation",
    })?;
    let mut text = Vec::new();
    tree.write(|bytes| text.extend_from_slice(bytes));
    *value = text.into();
    Ok(did)
}
