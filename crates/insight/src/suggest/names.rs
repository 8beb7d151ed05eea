//! Reads names of members: a name shows an identifier, a title, a state, a person, a date or an amount.
//!
//! Names hold for other responses of a tool as well, while the values of one sample may be the same by chance. So names
//! decide first, and shapes of values correct them.

use serde::Serialize;

use super::shape::Shape;
use super::words::{
    AMOUNTS, DATES, IDENTIFIERS, PAGE_LINKS, PEOPLE, STATES, STRONG_DATES, STRONG_STATES,
    STRONG_TITLES, TECHNICAL, TECHNICAL_CONTAINERS, TITLES, WRAPPERS,
};

/// The purpose of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MemberKind {
    /// A number or key that other calls need.
    Identifier,
    /// A name, a title or a text.
    Title,
    /// A status, a type or a flag.
    State,
    /// A name or an address of a person.
    Person,
    /// A point in time.
    Date,
    /// A count, a size or a price.
    Amount,
    /// The address of a page for people.
    Link,
    /// Anything else.
    Other,
}

impl MemberKind {
    /// Returns the word for a comment.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Identifier => "identifier",
            Self::Title => "title",
            Self::State => "state",
            Self::Person => "person",
            Self::Date => "date",
            Self::Amount => "amount",
            Self::Link => "link",
            Self::Other => "value",
        }
    }
}

/// Members that name a person, best first.
pub(super) const NAMES_OF_PEOPLE: [&str; 10] = [
    "login",
    "username",
    "displayName",
    "display_name",
    "screen_name",
    "email",
    "emailAddress",
    "address",
    "name",
    "summary",
];

/// The words of a name, in lower case, and what they say.
#[derive(Debug)]
pub(super) struct Words(Vec<String>);

impl Words {
    /// Splits a name at signs and at changes of case.
    pub(super) fn new(name: &str) -> Self {
        let mut words: Vec<String> = Vec::new();
        let mut word = String::new();
        let chars: Vec<char> = name.chars().take(200).collect();
        for (at, char) in chars.iter().enumerate() {
            if !char.is_ascii_alphanumeric() {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
                continue;
            }
            let before = at.checked_sub(1).and_then(|at| chars.get(at));
            let after = chars.get(at + 1);
            let is_after_small =
                before.is_some_and(|char| char.is_ascii_lowercase() || char.is_ascii_digit());
            let ends_capitals = before.is_some_and(char::is_ascii_uppercase)
                && after.is_some_and(char::is_ascii_lowercase);
            if char.is_ascii_uppercase() && (is_after_small || ends_capitals) {
                words.extend(Some(std::mem::take(&mut word)).filter(|word| !word.is_empty()));
            }
            word.push(char.to_ascii_lowercase());
        }
        words.extend(Some(word).filter(|word| !word.is_empty()));
        Self(words)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    pub(super) fn first(&self) -> &str {
        self.0.first().map_or("", String::as_str)
    }

    pub(super) fn last(&self) -> &str {
        self.0.last().map_or("", String::as_str)
    }

    /// Returns the word before the last one.
    pub(super) fn second_last(&self) -> &str {
        self.0.iter().rev().nth(1).map_or("", String::as_str)
    }

    pub(super) fn is_one(&self) -> bool {
        self.0.len() == 1
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.is_one() && self.last() == name
    }

    fn have(&self, some: &[&str]) -> bool {
        self.0.iter().any(|word| some.contains(&word.as_str()))
    }

    pub(super) fn are_technical(&self) -> bool {
        TECHNICAL.contains(&self.last())
    }

    pub(super) fn begin_technical(&self) -> bool {
        TECHNICAL.contains(&self.first())
    }

    /// Returns what the member is for, and a score from 1 to 4.
    pub(super) fn judge(&self, shape: Option<Shape>, shortest: u64) -> (MemberKind, f32) {
        let (last, is_one) = (self.last(), self.is_one());
        let is_numeric = matches!(shape, Some(Shape::Number | Shape::NumberText));
        let named_date = DATES.contains(&last) || self.have(&["timestamp", "datetime", "date"]);
        let may_be_date =
            is_numeric || shape.is_none() || (shape == Some(Shape::Short) && shortest >= 6);
        if shape == Some(Shape::Bool) {
            (MemberKind::State, 2.6)
        } else if shape == Some(Shape::Date) || (named_date && may_be_date) {
            let is_strong = is_one || STRONG_DATES.contains(&self.first());
            (MemberKind::Date, if is_strong { 4.0 } else { 2.9 })
        } else if TITLES.contains(&last) {
            let is_whole = is_one
                || ["display", "full", "tag", "body", "title", "plain"].contains(&self.first());
            let strong = STRONG_TITLES.contains(&last);
            (
                MemberKind::Title,
                if !strong {
                    3.0
                } else if is_whole {
                    4.0
                } else {
                    3.3
                },
            )
        } else if IDENTIFIERS.contains(&last) {
            let is_foreign = ["id", "uid", "gid"].contains(&last) && !is_one;
            let is_own = is_one
                || last == "number"
                || ["short", "incident", "tracking"].contains(&self.first());
            (
                MemberKind::Identifier,
                if is_foreign && self.first() != "short" {
                    2.0
                } else if is_own {
                    4.0
                } else {
                    2.9
                },
            )
        } else if STATES.contains(&last) || self.have(&["status", "state", "priority"]) {
            let is_strong =
                STRONG_STATES.contains(&last) || self.have(&["status", "state", "priority"]);
            (
                MemberKind::State,
                if !is_strong {
                    2.8
                } else if is_one {
                    4.0
                } else {
                    3.2
                },
            )
        } else if PEOPLE.contains(&last) || shape == Some(Shape::Email) {
            (MemberKind::Person, if is_one { 3.6 } else { 3.0 })
        } else if is_numeric {
            let is_named = AMOUNTS.contains(&last)
                || self.have(&["count", "total", "amount", "price", "size", "quantity"]);
            (MemberKind::Amount, if is_named { 3.5 } else { 2.6 })
        } else if AMOUNTS.contains(&last) {
            (MemberKind::Amount, 3.0)
        } else {
            (MemberKind::Other, if matches!(shape, None | Some(Shape::Short)) { 2.0 } else { 1.0 })
        }
    }
}

fn is_in(name: &str, list: &[&str]) -> bool {
    list.iter().any(|word| name.eq_ignore_ascii_case(word))
}

/// Whether the members of a container of this name are amounts: `thresholds`, `alert_counts`.
pub(super) fn holds_amounts(name: &str) -> bool {
    let words = Words::new(name);
    let last = words.last();
    AMOUNTS.contains(&last.strip_suffix('s').unwrap_or(last))
}

/// Whether an object of this name is only a wrapper.
pub(super) fn is_wrapper(name: &str) -> bool {
    is_in(name, WRAPPERS)
}

/// Whether a container of this name has members for programs.
pub(super) fn is_technical_container(name: &str) -> bool {
    is_in(name, TECHNICAL_CONTAINERS)
}

/// Whether a member of this name has the address of a page for people.
pub(super) fn is_page_link(name: &str) -> bool {
    is_in(name, PAGE_LINKS)
}

/// Whether a member of this name says where the rest of a list is, or how much there is.
pub(super) fn is_page(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "_scroll_id",
        "after",
        "bookmark",
        "continuation",
        "continue",
        "isLast",
        "LastEvaluatedKey",
        "Link",
        "nextKey",
        "next_key",
        "numFound",
        "search_after",
        "startAt",
    ];
    let words = Words::new(name);
    NAMES.contains(&name)
        || words.first() == "total"
        || match words.last() {
            "cursor" | "total" | "count" | "next" | "more" | "marker" | "offset" => true,
            "link" | "page" | "token" | "url" | "uri" | "pages" | "results" | "size" | "hits" => {
                words.have(&["next", "page", "continuation"])
            }
            _ => words.have(&["cursor"]),
        }
}

/// Whether a container of this name says where the rest of a list is.
pub(super) fn holds_page(name: &str) -> bool {
    is_in(name, &["cursors", "pageinfo", "page_info", "paging", "pagination", "next"])
}

/// Whether a name is data, such as a version or a date: `1.0.2`, `2026-02-27`, `8080/tcp`.
pub(super) fn is_data(name: &str) -> bool {
    let Some(digit) = name.find(|char: char| char.is_ascii_digit()) else { return false };
    digit == 0 || name.get(digit..).is_some_and(|rest| rest.contains(['.', ':', '/', '_', '-']))
}

#[cfg(test)]
mod tests {
    use super::{MemberKind, Words, is_data};
    use crate::suggest::shape::Shape;

    #[test]
    fn words_of_names() {
        let cases: [(&str, &[&str]); 6] = [
            ("created_at", &["created", "at"]),
            ("browserIPAddress", &["browser", "ip", "address"]),
            ("iCalUId", &["i", "cal", "u", "id"]),
            ("@odata.nextLink", &["odata", "next", "link"]),
            ("f:x", &["f", "x"]),
            ("é", &[]),
        ];
        for (name, words) in cases {
            assert_eq!(Words::new(name).0, words, "{name}");
        }
    }

    #[test]
    fn names_are_judged() {
        let cases = [
            ("id", Some(Shape::Number), MemberKind::Identifier),
            ("title", Some(Shape::Short), MemberKind::Title),
            ("state", Some(Shape::Short), MemberKind::State),
            ("closed_at", None, MemberKind::Date),
            ("login", Some(Shape::Short), MemberKind::Person),
            ("total_price", Some(Shape::NumberText), MemberKind::Amount),
            ("draft", Some(Shape::Bool), MemberKind::State),
            ("equipment", Some(Shape::Short), MemberKind::Other),
        ];
        for (name, shape, kind) in cases {
            assert_eq!(Words::new(name).judge(shape, 8).0, kind, "{name}");
        }
    }

    #[test]
    fn names_that_are_data() {
        for (name, data) in [
            ("1.0.2", true),
            ("v1.2", true),
            ("8080/tcp", true),
            ("sha256", false),
            ("name", false),
        ] {
            assert_eq!(is_data(name), data, "{name}");
        }
    }
}
