//! The mark in the output that reports what a budget or `max_items` left out of a container (SPEC §6).
//!
//! ```text
//! {"items":[1,2],"_omitted":{"items":329,"of":331}}      beside the payload
//! [1,2,{"_omitted":{"items":329,"of":331}}]              in an array
//! {"a":1,"_omitted":{"members":12,"of":13}}              in an object that was cut
//! ```

use tamis_json::key::unescape;

/// The name of the member. A number is appended if the object already has a member of this name.
const NAME: &[u8] = b"_omitted";
/// The largest number of digits after the name in a member that counts as a mark.
const DIGITS: usize = 6;
/// The longest spelling of such a name, with each character escaped.
pub(super) const LONGEST: usize = 6 * (NAME.len() + DIGITS);
/// The length of a mark in a shortened container, without its numbers.
const SHORTEST: usize = 30;
/// The part of it that a mark of items only has in an array.
const BRACES: usize = 2;
/// More digits do not make a mark longer when it is compared with the children it replaces: children that contain a
/// mark are always longer.
const COUNTED: usize = 5;

/// The number of children left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::filter::run) struct Omission {
    /// Children that are not in the output.
    pub(in crate::filter::run) omitted: u64,
    /// The number of children before that.
    pub(in crate::filter::run) of: u64,
    /// There may have been more, because the rest was not read.
    pub(in crate::filter::run) more: bool,
}

impl Omission {
    /// Returns the content of the mark for the items of the payload, or for the elements of another array.
    pub(super) fn items(self) -> String {
        let Self { omitted, of, more } = self;
        if more {
            format!("{{\"items\":{omitted},\"more\":true}}")
        } else {
            format!("{{\"items\":{omitted},\"of\":{of}}}")
        }
    }

    /// Like [`items`](Self::items), with the numbers of the elements that are kept, if they are not the first ones.
    pub(super) fn items_among(self, kept: Option<&str>) -> String {
        let mut text = self.items();
        if let Some(kept) = kept {
            text.pop();
            text.push_str(",\"kept\":\"");
            text.push_str(kept);
            text.push_str("\"}");
        }
        text
    }

    /// Returns the length, including commas, up to which children are not replaced by a mark.
    pub(super) fn length(self) -> usize {
        SHORTEST + COUNTED.min(digits(self.omitted) + digits(self.of))
    }

    /// Returns that length for items whose mark is a member next to the payload.
    pub(super) fn length_in_object(self) -> usize {
        self.length() - BRACES
    }

    /// Returns the content of the mark for the members of an object.
    pub(in crate::filter::run) fn members(self) -> String {
        let Self { omitted, of, more } = self;
        if more {
            format!("{{\"members\":{omitted},\"more\":true}}")
        } else {
            format!("{{\"members\":{omitted},\"of\":{of}}}")
        }
    }
}

/// The members of an object that have the name of a mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::filter::run) struct MarkNames(Option<u32>);

impl MarkNames {
    /// Adds a member by its key, as spelled and without quotes.
    pub(in crate::filter::run) fn add(&mut self, spelled: &[u8]) {
        if spelled.len() <= LONGEST {
            self.0 = self.0.max(number(spelled));
        }
    }

    /// Adds the members of another set.
    pub(super) fn join(&mut self, other: Self) {
        self.0 = self.0.max(other.0);
    }

    /// Returns the text of a mark at the end of an object, and reserves its name. `first`: the object has no other
    /// members.
    pub(super) fn member(&mut self, body: &str, first: bool) -> String {
        let comma = if first { "" } else { "," };
        let name = self.name();
        format!("{comma}{name}:{body}")
    }

    /// Returns the quoted name of a mark, and reserves it.
    pub(in crate::filter::run) fn name(&mut self) -> String {
        let number = self.0.map_or(1, |number| number + 1);
        let name = match self.0 {
            None => "\"_omitted\"".to_owned(),
            Some(_) => format!("\"_omitted{number}\""),
        };
        self.0 = Some(number);
        name
    }
}

/// Returns the text of a mark at the end of an array.
pub(super) fn element(body: &str, first: bool) -> String {
    let comma = if first { "" } else { "," };
    format!("{comma}{{\"_omitted\":{body}}}")
}

/// Returns the number of digits.
fn digits(number: u64) -> usize {
    number.checked_ilog10().map_or(1, |tens| tens as usize + 1)
}

/// Returns the number of a mark's name. Without digits it is 1.
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
        let member = MarkNames::default().member(&omission.items(), false);
        assert_eq!(omission.length_in_object(), member.len());
        let omission = Omission { more: true, ..omission };
        assert_eq!(omission.items(), r#"{"items":3,"more":true}"#);
    }
}
