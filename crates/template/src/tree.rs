//! A parsed template.
//!
//! The parser bounds how deeply statements and pipelines contain each other, so walking and dropping a tree may recurse.

use std::ops::Range;

/// A template with everything that it defines.
#[derive(Debug)]
pub(super) struct TemplateTree {
    /// The template itself, then the bodies of `define` and `block`. A body that is called but not defined is `None`.
    pub(super) bodies: Vec<Option<TemplateBody>>,
    /// The approximate memory that the tree takes, in bytes.
    pub(super) memory: usize,
}

/// Statements that run with their own `$` and their own variables.
#[derive(Debug, Default)]
pub(super) struct TemplateBody {
    pub(super) statements: Vec<Statement>,
    /// Number of slots for variables. Slot 0 is `$`.
    pub(super) slots: usize,
}

#[derive(Debug)]
pub(super) enum Statement {
    /// Text of the template, as a range of its bytes.
    Text(Range<usize>),
    /// Prints the value of the pipeline, unless the pipeline declares or assigns a variable.
    Print(Pipeline),
    /// `if` or `with`, with its `else if` or `else with` branches.
    Conditional {
        is_with: bool,
        branches: Vec<(Pipeline, Vec<Statement>)>,
        otherwise: Vec<Statement>,
    },
    Range {
        pipeline: Pipeline,
        body: Vec<Statement>,
        otherwise: Vec<Statement>,
    },
    /// `template` or `block`: runs another body.
    Call {
        at: usize,
        name: Box<str>,
        /// Index into [`TemplateTree::bodies`].
        body: usize,
        argument: Option<Pipeline>,
        /// The statement is a `block`, which also defines the body.
        is_block: bool,
    },
    Break,
    Continue,
}

/// Stages that are joined by `|`, and the variables that take the result.
#[derive(Debug)]
pub(super) struct Pipeline {
    /// Slots of the variables that are declared or assigned. Only a `range` has two.
    pub(super) targets: Vec<usize>,
    /// The stages; the parser refuses a pipeline without any.
    pub(super) stages: Vec<Stage>,
}

/// A function or a value with its arguments. There is at least one operand.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) operands: Vec<Operand>,
}

#[derive(Debug)]
pub(super) struct Operand {
    /// The byte of the template where the operand begins.
    pub(super) at: usize,
    pub(super) term: Term,
    /// The fields after the term: `.a.b`.
    pub(super) fields: Vec<Box<str>>,
}

#[derive(Debug)]
pub(super) enum Term {
    /// `.`, also before fields.
    Dot,
    Nil,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(Box<str>),
    /// A variable, by its slot.
    Variable(usize),
    Builtin(Builtin),
    /// A pipeline in parentheses.
    Pipeline(Box<Pipeline>),
}

/// The functions of Go's `text/template`, except `call`: no value of a template is a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Builtin {
    And,
    Or,
    Not,
    Len,
    Index,
    Slice,
    Print,
    Printf,
    Println,
    Html,
    Js,
    UrlQuery,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Builtin {
    const ALL: [Self; 18] = [
        Self::And,
        Self::Or,
        Self::Not,
        Self::Len,
        Self::Index,
        Self::Slice,
        Self::Print,
        Self::Printf,
        Self::Println,
        Self::Html,
        Self::Js,
        Self::UrlQuery,
        Self::Eq,
        Self::Ne,
        Self::Lt,
        Self::Le,
        Self::Gt,
        Self::Ge,
    ];

    pub(super) fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|builtin| builtin.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Not => "not",
            Self::Len => "len",
            Self::Index => "index",
            Self::Slice => "slice",
            Self::Print => "print",
            Self::Printf => "printf",
            Self::Println => "println",
            Self::Html => "html",
            Self::Js => "js",
            Self::UrlQuery => "urlquery",
            Self::Eq => "eq",
            Self::Ne => "ne",
            Self::Lt => "lt",
            Self::Le => "le",
            Self::Gt => "gt",
            Self::Ge => "ge",
        }
    }

    /// Returns the least and the greatest number of arguments.
    pub(super) fn arity(self) -> (usize, usize) {
        match self {
            Self::Not | Self::Len => (1, 1),
            Self::Ne | Self::Lt | Self::Le | Self::Gt | Self::Ge => (2, 2),
            Self::Print | Self::Println | Self::Html | Self::Js | Self::UrlQuery => (0, usize::MAX),
            Self::And | Self::Or | Self::Index | Self::Slice | Self::Printf | Self::Eq => {
                (1, usize::MAX)
            }
        }
    }
}
