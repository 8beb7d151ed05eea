//! Finds the names that a template uses.
//!
//! Only the members of an item that its template can read are parsed, and a header or footer that names a count that it
//! does not have is refused.

use std::collections::BTreeSet;

use super::tree::{Operand, Pipeline, Statement, TemplateTree, Term};

/// The members of the data that a template can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Reads {
    /// The template names the data as a whole.
    All,
    Named(BTreeSet<String>),
}

impl Reads {
    pub(super) fn has(&self, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => std::str::from_utf8(name).is_ok_and(|name| names.contains(name)),
        }
    }
}

/// The members that every header and footer has. A footer also has `Remaining`.
const TOTALS: [&str; 4] = ["Total", "Count", "Original", "Omitted"];

/// The names that a template uses.
#[derive(Debug)]
pub(super) struct NamesUsed {
    pub(super) reads: Reads,
    /// The template may read `Original` or `Omitted`: it has one of them as a field or a string.
    pub(super) cut: bool,
    /// The first member of the data that is named but not in [`TOTALS`], with its place. Members that are named in a body
    /// or a block whose `.` may be something else are ignored.
    pub(super) other: Option<(usize, String)>,
    /// The first of those that is not `Remaining` either.
    pub(super) unknown: Option<(usize, String)>,
}

/// Finds the names that a template uses.
pub(super) fn names_used(tree: &TemplateTree) -> NamesUsed {
    let reads = Reads::Named(BTreeSet::new());
    let mut names = NamesUsed { reads, cut: false, other: None, unknown: None };
    for (index, body) in tree.bodies.iter().enumerate() {
        let is_main = index == 0;
        let context = Context { dot: is_main, root: is_main, certain: is_main };
        if let Some(body) = body {
            names.list(&body.statements, context);
        }
    }
    names
}

/// Whether the names at a place of a template refer to the data.
#[derive(Clone, Copy)]
struct Context {
    /// `.` is the data.
    dot: bool,
    /// `$` is the data.
    root: bool,
    /// Only `if`s are open, so that `.` is the data in the eyes of the user as well.
    certain: bool,
}

impl NamesUsed {
    fn list(&mut self, statements: &[Statement], context: Context) {
        let inside = Context { dot: false, certain: false, ..context };
        let instead = Context { certain: false, ..context };
        for statement in statements {
            match statement {
                Statement::Text(_) | Statement::Break | Statement::Continue => {}
                Statement::Print(pipeline) => self.pipeline(pipeline, context),
                Statement::Conditional { is_with: false, branches, otherwise } => {
                    for (pipeline, body) in branches {
                        self.pipeline(pipeline, context);
                        self.list(body, context);
                    }
                    self.list(otherwise, context);
                }
                Statement::Conditional { is_with: true, branches, otherwise } => {
                    for (index, (pipeline, body)) in branches.iter().enumerate() {
                        self.pipeline(pipeline, if index == 0 { context } else { instead });
                        self.list(body, inside);
                    }
                    self.list(otherwise, instead);
                }
                Statement::Range { pipeline, body, otherwise } => {
                    self.pipeline(pipeline, context);
                    self.list(body, inside);
                    self.list(otherwise, instead);
                }
                Statement::Call { argument, is_block, .. } => {
                    if let Some(pipeline) = argument {
                        self.pipeline(pipeline, if *is_block { instead } else { context });
                    }
                }
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, context: Context) {
        for operand in pipeline.stages.iter().flat_map(|stage| &stage.operands) {
            self.operand(operand, context);
        }
    }

    fn operand(&mut self, operand: &Operand, context: Context) {
        let is_cut = |name: &str| matches!(name, "Original" | "Omitted");
        self.cut |= operand.fields.iter().any(|name| is_cut(name));
        let (is_data, is_certain) = match &operand.term {
            Term::Dot => (context.dot, context.certain),
            Term::Variable(0) => (context.root, context.root),
            Term::Text(text) => {
                self.cut |= is_cut(text);
                return;
            }
            Term::Pipeline(pipeline) => return self.pipeline(pipeline, context),
            _ => return,
        };
        if !is_data {
            return;
        }
        match (operand.fields.first(), &mut self.reads) {
            (Some(name), Reads::Named(names)) => {
                names.insert(name.to_string());
            }
            (None, reads) => *reads = Reads::All,
            (Some(_), Reads::All) => {}
        }
        let name = operand.fields.first().filter(|name| is_certain && !TOTALS.contains(&&***name));
        if let Some(name) = name {
            let found = (operand.at, name.to_string());
            if found.1 != "Remaining" {
                self.unknown.get_or_insert_with(|| found.clone());
            }
            self.other.get_or_insert(found);
        }
    }
}
