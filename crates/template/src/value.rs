//! The values that a template sees.
//!
//! A [`Datum`] owns what was read from JSON. A [`GoValue`] is what a template computes with: it borrows from the data and
//! from the template, so that naming a value never copies it.

use std::cmp::Ordering;
use std::rc::Rc;

/// A JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Datum {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(Box<str>),
    List(Box<[Self]>),
    Map(Record),
}

/// The members of an object, in the order of their names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Record(Vec<(Box<str>, Datum)>);

impl Record {
    /// Creates a record. If a name occurs more than once, its last value is used.
    pub(super) fn new(mut members: Vec<(Box<str>, Datum)>) -> Self {
        let is_sorted = members.is_sorted_by(|(left, _), (right, _)| left < right);
        if !is_sorted {
            members.reverse();
            // The sort is stable, so the last of one name is now the first.
            members.sort_by(|(left, _), (right, _)| left.cmp(right));
            members.dedup_by(|(later, _), (kept, _)| later == kept);
        }
        Self(members)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Datum)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }

    pub(super) fn get(&self, name: &str) -> Option<&Datum> {
        let at = self.find(name).ok()?;
        self.0.get(at).map(|(_, value)| value)
    }

    /// Adds a member, unless there is one of that name.
    pub(super) fn add(&mut self, name: &str, value: Datum) {
        if let Err(at) = self.find(name) {
            self.0.insert(at, (name.into(), value));
        }
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(member, _)| (**member).cmp(name))
    }
}

/// A value while a template runs. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) enum GoValue<'a> {
    /// Go's invalid value: the member does not exist. A field of it is missing, too.
    Missing,
    /// Go's nil interface: the value is `null`. A field of it is an error.
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Float(f64),
    Text(&'a str),
    /// Text that a function returned.
    Made(Rc<str>),
    List(&'a [Datum]),
    Map(&'a Record),
}

impl<'a> From<&'a Datum> for GoValue<'a> {
    fn from(datum: &'a Datum) -> Self {
        match datum {
            Datum::Null => Self::Null,
            Datum::Bool(value) => Self::Bool(*value),
            Datum::Int(value) => Self::Int(*value),
            Datum::Uint(value) => Self::Uint(*value),
            Datum::Float(value) => Self::Float(*value),
            Datum::Text(text) => Self::Text(text),
            Datum::List(elements) => Self::List(elements),
            Datum::Map(members) => Self::Map(members),
        }
    }
}

impl GoValue<'_> {
    /// Whether Go calls the value invalid or nil.
    pub(super) fn is_nil(&self) -> bool {
        matches!(self, Self::Missing | Self::Null)
    }

    /// Whether an `if` takes the value for true.
    pub(super) fn is_true(&self) -> bool {
        match self {
            Self::Missing | Self::Null => false,
            Self::Bool(value) => *value,
            Self::Int(value) => *value != 0,
            Self::Uint(value) => *value != 0,
            Self::Float(value) => *value != 0.0,
            Self::Text(text) => !text.is_empty(),
            Self::Made(text) => !text.is_empty(),
            Self::List(elements) => !elements.is_empty(),
            Self::Map(members) => members.len() > 0,
        }
    }

    pub(super) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    /// The type of the value in error messages.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Missing | Self::Null => "nil",
            Self::Bool(_) => "bool",
            Self::Int(_) | Self::Uint(_) => "int",
            Self::Float(_) => "float64",
            Self::Text(_) | Self::Made(_) => "string",
            Self::List(_) => "list",
            Self::Map(_) => "map",
        }
    }

    /// The type of the value as Go prints it.
    pub(super) fn go_type(&self) -> &'static str {
        match self {
            Self::Missing | Self::Null => "<nil>",
            Self::Uint(_) => "uint64",
            Self::List(_) => "[]interface {}",
            Self::Map(_) => "map[string]interface {}",
            other => other.kind(),
        }
    }

    /// Compares two numbers by value, whatever their types. `None` if one is not a number.
    pub(super) fn compare_numbers(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Float(left), right) => {
                right.as_integer().map(|right| compare_to_float(right, *left).reverse())
            }
            (left, Self::Float(right)) => {
                left.as_integer().map(|left| compare_to_float(left, *right))
            }
            (left, right) => Some(left.as_integer()?.cmp(&right.as_integer()?)),
        }
    }

    pub(super) fn as_integer(&self) -> Option<i128> {
        match self {
            Self::Int(value) => Some(i128::from(*value)),
            Self::Uint(value) => Some(i128::from(*value)),
            _ => None,
        }
    }
}

/// Compares an integer of at most 64 bits with a finite float, without rounding the integer.
fn compare_to_float(integer: i128, float: f64) -> Ordering {
    #[allow(clippy::cast_possible_truncation, reason = "the cast saturates past 127 bits")]
    let whole = float.trunc() as i128;
    // If the whole parts are equal, the fraction decides.
    integer.cmp(&whole).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0)))
}
