//! Paths as tokens.

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Token {
    Name(String),
    Any,
}

impl Token {
    /// The array index that this token represents.
    pub fn index(&self) -> Option<usize> {
        let Self::Name(name) = self else { return None };
        let number = name.parse::<usize>().ok()?;
        (number.to_string() == *name).then_some(number)
    }
}

/// Tokens, and one of their spellings.
#[derive(Clone, Debug)]
pub struct Path {
    pub tokens: Vec<Token>,
    pub text: String,
    /// The positions of the tokens that are written as `[]` or `[*]`.
    pub brackets: Vec<usize>,
}

/// Records the values that the items had of the followed path.
#[derive(Default)]
pub(crate) struct Seen {
    /// A value at its end.
    pub(crate) value: bool,
    /// A container of a wildcard.
    pub(crate) containers: bool,
    /// An element of such a container that lacked the rest of the path.
    pub(crate) elements: bool,
}

impl Seen {
    pub(crate) fn is_found(&self) -> bool {
        self.value || (self.containers && !self.elements)
    }
}
