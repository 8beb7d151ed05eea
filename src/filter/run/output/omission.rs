//! The mark that says in the output what a budget or `max_items` left out of a container (SPEC §6).
//!
//! ```text
//! {"items":[1,2],"_omitted":{"items":329,"of":331}}      beside the payload
//! [1,2,{"_omitted":{"items":329,"of":331}}]              in an array
//! {"a":1,"_omitted":{"members":12,"of":13}}              in an object that was cut
//! ```

use crate::json::key::unescape;

/// The name of the member, unless a member beside it is called like this.
const NAME: &[u8] = b"_omitted";
/// Digits that may follow the name in a member that is taken for a mark.
const DIGITS: usize = 6;
/// The longest spelling of a name that is taken for a mark's: each of its characters an escape.
pub(super) const LONGEST: usize = 6 * (NAME.len() + DIGITS);
/// The length of a mark in a container that is cut, without its numbers.
const SHORTEST: usize = 30;
/// The part of it that a mark of items has only in an array.
const BRACES: usize = 2;
/// More digits than these make a mark no longer, where it is compared with what it stands for: children with a mark in them
/// are always longer.
const COUNTED: usize = 5;

/// How many children are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Omission {
    pub(super) omitted: u64,
    /// How many there were.
    pub(super) of: u64,
    /// There may have been more: the rest was not read.
    pub(super) more: bool,
}

impl Omission {
    /// The text of the mark about the items of the payload, or the elements of another array.
    pub(super) fn items(self) -> String {
        let Self { omitted, of, more } = self;
        if more {
            format!("{{\"items\":{omitted},\"more\":true}}")
        } else {
            format!("{{\"items\":{omitted},\"of\":{of}}}")
        }
    }

    /// How long the children that a mark stands for must at least be, commas included: what is not longer stays.
    pub(super) fn length(self) -> usize {
        SHORTEST + COUNTED.min(digits(self.omitted) + digits(self.of))
    }

    /// The same of items whose mark is a member beside the payload.
    pub(super) fn length_beside(self) -> usize {
        self.length() - BRACES
    }

    /// The text of the mark about the members of an object.
    pub(super) fn members(self) -> String {
        format!("{{\"members\":{},\"of\":{}}}", self.omitted, self.of)
    }
}

/// The members of an object that are called like a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct MarkNames(Option<u32>);

impl MarkNames {
    /// Adds a member, by its key without quotes as it is spelled.
    pub(super) fn add(&mut self, spelled: &[u8]) {
        if spelled.len() <= LONGEST {
            self.0 = self.0.max(number(spelled));
        }
    }

    /// Adds the members of the other.
    pub(super) fn join(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }

    /// The text of a mark at the end of an object, and its name is taken from then on. `first`: nothing is in front of it.
    pub(super) fn member(&mut self, body: &str, first: bool) -> String {
        let comma = if first { "" } else { "," };
        let name = self.0.map_or(1, |number| number + 1);
        let text = match self.0 {
            None => format!("{comma}\"_omitted\":{body}"),
            Some(_) => format!("{comma}\"_omitted{name}\":{body}"),
        };
        self.0 = Some(name);
        text
    }
}

/// The text of a mark at the end of an array.
pub(super) fn element(body: &str, first: bool) -> String {
    let comma = if first { "" } else { "," };
    format!("{comma}{{\"_omitted\":{body}}}")
}

/// The digits of a number.
fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |tens| tens as usize + 1)
}

/// The number of a name like a mark's; without digits it is 1.
fn number(spelled: &[u8]) -> Option<u32> {
    let unescaped;
    let name = if spelled.contains(&b'\\') {
        unescaped = unescape(spelled)?;
        &unescaped
    } else {
        spelled
    };
    match name.strip_prefix(NAME)? {
        [] => Some(1),
        digits if digits.len() <= DIGITS && digits.iter().all(u8::is_ascii_digit) => {
            std::str::from_utf8(digits).ok()?.parse().ok()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{MarkNames, Omission, element};

    #[test]
    fn a_mark_has_a_name_of_its_own() {
        for (keys, name) in [
            (&["a", "_omitte", "_omittedx", "_omitted1234567"][..], "_omitted"),
            (&["_omitted"], "_omitted2"),
            (&["\\u005fomitted"], "_omitted2"),
            (&["_omitted0"], "_omitted1"),
            (&["_omitted", "_omitted007", "_omitted3"], "_omitted8"),
            (&["_omitted999999"], "_omitted1000000"),
        ] {
            let mut taken = MarkNames::default();
            keys.iter().for_each(|key| taken.add(key.as_bytes()));
            assert_eq!(taken.member("0", true), format!("\"{name}\":0"), "{keys:?}");
        }
        let mut taken = MarkNames::default();
        assert_eq!(taken.member("0", false), ",\"_omitted\":0");
        assert_eq!(taken.member("0", false), ",\"_omitted2\":0");
    }

    #[test]
    fn a_mark_says_how_many() {
        let omission = Omission { omitted: 3, of: 5, more: false };
        assert_eq!(omission.members(), r#"{"members":3,"of":5}"#);
        assert_eq!(element(&omission.items(), false), r#",{"_omitted":{"items":3,"of":5}}"#);
        assert_eq!(omission.length(), r#","_omitted":{"members":3,"of":5}"#.len());
        assert_eq!(omission.length(), element(&omission.items(), false).len());
        let beside = MarkNames::default().member(&omission.items(), false);
        assert_eq!(omission.length_beside(), beside.len());
        let omission = Omission { more: true, ..omission };
        assert_eq!(omission.items(), r#"{"items":3,"more":true}"#);
    }
}
