//! The ways in which a document may differ from the one that the author of a rule had in mind.

use std::fmt;

use super::planted::{Canary, Place, Planted, RuleKind};
use super::value::Json;

/// A change to a document. Levels count the containers on the way to the planted value, from the document itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Shape {
    Number,
    InList,
    InObject,
    EscapedValue,
    EscapedKeys,
    EscapedKey(usize),
    HarmlessBefore(usize),
    HarmlessAfter(usize),
    Repeated(usize),
    MovedFirst,
    MovedLast,
    ArrayAround(usize),
    ArraysAround(usize),
    AmongElements(usize),
    ElementOnly(usize),
    ElementBefore(usize),
    ElementAfter(usize),
    InString(usize),
    InLinesOfString(usize),
    Wrapped(&'static str),
    Decoy(&'static str),
    OnlyRaw,
    Marks,
    Renamed(usize),
    Alone,
    OtherTest(usize),
}

/// Names of members that hold the result in many APIs.
const WRAPPERS: [&str; 3] = ["data", "result", "items"];
/// Names of arrays that an automatic root takes first, and one that it does not know.
const DECOYS: [&str; 4] = ["items", "result", "data", "other"];
/// The deepest level that is changed.
const MAX_LEVEL: usize = 12;

impl Shape {
    /// Returns the shapes that can be tried on a document.
    pub(super) fn of(planted: &Planted, place: &Place) -> Vec<Self> {
        let mut shapes = vec![
            Self::EscapedKeys,
            Self::MovedFirst,
            Self::MovedLast,
            Self::Alone,
            Self::EscapedValue,
            Self::InList,
            Self::InObject,
            Self::Number,
            Self::Marks,
        ];
        if matches!(place.kind, RuleKind::Secrets | RuleKind::Personal) {
            // The number by itself is neither a credential nor personal.
            shapes.retain(|shape| *shape != Self::Number);
        }
        if place.kind == RuleKind::Personal {
            // Only credentials are recognised through the escapes that the text of a string spells.
            shapes.retain(|shape| *shape != Self::EscapedValue);
        }
        if planted.in_string {
            // The value is a text with JSON.
            shapes.retain(|shape| !matches!(shape, Self::EscapedValue | Self::Number));
            shapes.push(Self::InLinesOfString(planted.at.len()));
        }
        for level in 0..planted.at.len().min(MAX_LEVEL) {
            shapes.extend([
                Self::EscapedKey(level),
                Self::HarmlessBefore(level),
                Self::HarmlessAfter(level),
                Self::Repeated(level),
                Self::ArrayAround(level),
                Self::ArraysAround(level),
                Self::AmongElements(level),
                Self::ElementOnly(level),
                Self::ElementBefore(level),
                Self::ElementAfter(level),
                Self::InString(level),
                Self::InLinesOfString(level),
            ]);
            if level < planted.root_levels {
                shapes.push(Self::Renamed(level));
            }
        }
        shapes.extend((0..planted.tests.len()).map(Self::OtherTest));
        if place.notices_wrappers {
            shapes.extend(WRAPPERS.map(Self::Wrapped));
        }
        if planted.is_automatic {
            shapes.extend(DECOYS.map(Self::Decoy));
            shapes.push(Self::OnlyRaw);
        }
        shapes
    }

    /// Returns the shapes whose order or number of elements moves the value to another index.
    pub(super) fn moves_elements(&self) -> bool {
        matches!(
            self,
            Self::ElementBefore(_)
                | Self::ElementAfter(_)
                | Self::ElementOnly(_)
                | Self::AmongElements(_)
                | Self::ArrayAround(_)
                | Self::ArraysAround(_)
        )
    }

    /// Returns whether the shape makes a copy of the planted value, which later shapes would leave where it is.
    pub(super) fn copies(&self) -> bool {
        matches!(self, Self::Repeated(_) | Self::ElementAfter(_))
    }

    /// Returns whether the shape hides the value in a string.
    pub(super) fn is_string(&self) -> bool {
        matches!(self, Self::InString(_) | Self::InLinesOfString(_) | Self::OnlyRaw)
    }

    /// Applies the shape. `None` if the document does not have what it changes.
    pub(super) fn apply(&self, planted: &Planted, canary: &Canary) -> Option<Planted> {
        let mut changed = planted.clone();
        match self {
            Self::Number => changed.put(Json::Scalar(canary.digits().to_owned()))?,
            Self::InList => {
                let value = changed.document.at(&changed.at)?.clone();
                changed.put(Json::Array(vec![Json::one(), Json::Array(vec![value])]))?;
            }
            Self::InObject => {
                let value = changed.document.at(&changed.at)?.clone();
                changed.put(Json::Object(vec![
                    ("id".to_owned(), Json::one()),
                    ("value".to_owned(), value),
                ]))?;
            }
            Self::EscapedValue => {
                let Json::Scalar(value) = changed.document.at(&changed.at)? else { return None };
                let text = Json::string_content(value)?;
                changed.put(Json::Scalar(format!("\"{}\"", escaped(&text))))?;
            }
            Self::EscapedKeys => {
                for level in 0..changed.at.len() {
                    _ = changed.escape_key(level);
                }
            }
            Self::EscapedKey(level) => changed.escape_key(*level)?,
            Self::HarmlessBefore(level) => {
                changed.insert_twin(*level, 0, Json::one())?;
                *changed.at.get_mut(*level)? += 1;
            }
            Self::HarmlessAfter(level) => changed.insert_twin(*level, 1, Json::one())?,
            Self::Repeated(level) => {
                let value = changed.document.at(changed.at.get(..=*level)?)?.clone();
                changed.insert_twin(*level, 1, value)?;
            }
            Self::MovedFirst => changed.move_members(false)?,
            Self::MovedLast => changed.move_members(true)?,
            Self::ArrayAround(level) => {
                changed.wrap(*level, 0, |value| Json::Array(vec![value]))?
            }
            Self::ArraysAround(level) => {
                changed.wrap(*level, 0, |value| Json::Array(vec![value]))?;
                changed.wrap(*level, 0, |value| Json::Array(vec![value]))?;
            }
            Self::AmongElements(level) => changed.wrap(*level, 2, |value| {
                Json::Array(vec![Json::one(), Json::null(), value, Json::object()])
            })?,
            Self::ElementOnly(level) => {
                let number = *changed.at.get(*level)?;
                let array = changed.document.at_mut(changed.at.get(..*level)?)?;
                let Json::Array(elements) = array else { return None };
                *array = elements.get(number)?.clone();
                changed.at.remove(*level);
            }
            Self::ElementBefore(level) => {
                changed.elements(*level)?.insert(0, Json::object());
                *changed.at.get_mut(*level)? += 1;
            }
            Self::ElementAfter(level) => {
                let number = *changed.at.get(*level)?;
                let elements = changed.elements(*level)?;
                let copy = elements.get(number)?.clone();
                elements.push(copy);
            }
            Self::InString(level) => changed.hide(*level, |text| text)?,
            Self::InLinesOfString(level) => {
                changed.hide(*level, |text| format!("{text}\n{text}"))?;
            }
            Self::Wrapped(name) => {
                // The same name again is not another place.
                let is_renamed =
                    changed.shapes.iter().any(|shape| matches!(shape, Self::Renamed(_)));
                let has_name = matches!(&changed.document, Json::Object(members)
                    if members.iter().any(|(key, _)| key == name));
                if is_renamed || has_name {
                    return None;
                }
                changed.wrap(0, 0, |value| Json::member(name, value))?;
                changed.tests.clear();
            }
            Self::Decoy(name) => {
                let harmless = changed.harmless_element()?;
                let Json::Object(members) = &mut changed.document else { return None };
                members.insert(0, ((*name).to_owned(), Json::Array(vec![harmless])));
                *changed.at.first_mut()? += 1;
            }
            Self::OnlyRaw => {
                changed.hide(0, |text| text)?;
                changed.wrap(0, 0, |value| Json::member("raw", value))?;
            }
            Self::Marks => {
                let Json::Object(members) = &mut changed.document else { return None };
                for name in ["_compact", "_original_items", "_text_filtered", "_exit_code"] {
                    members.push((name.to_owned(), Json::one()));
                }
            }
            Self::Renamed(level) => {
                if changed.shapes.iter().any(|shape| matches!(shape, Self::Wrapped(_))) {
                    return None;
                }
                let number = *changed.at.get(*level)?;
                let Json::Object(members) = changed.document.at_mut(changed.at.get(..*level)?)?
                else {
                    return None;
                };
                members.get_mut(number)?.0 = "another".to_owned();
            }
            Self::Alone => changed.keep_only_the_way()?,
            Self::OtherTest(number) => {
                let test = changed.tests.get(*number)?.clone();
                changed.document.set(&test, Json::string("another value"))?;
                // The test may be of the planted value itself.
                if changed.document.at(&changed.at) != planted.document.at(&planted.at) {
                    return None;
                }
            }
        }
        if changed.document == planted.document {
            return None;
        }
        changed.shapes.push(self.clone());
        Some(changed)
    }
}

impl Planted {
    /// Replaces the planted value.
    fn put(&mut self, value: Json) -> Option<()> {
        *self.document.at_mut(&self.at)? = value;
        Some(())
    }

    fn elements(&mut self, level: usize) -> Option<&mut Vec<Json>> {
        match self.document.at_mut(self.at.get(..level)?)? {
            Json::Array(elements) => Some(elements),
            Json::Scalar(_) | Json::Object(_) => None,
        }
    }

    /// Spells the key at a level with escapes.
    fn escape_key(&mut self, level: usize) -> Option<()> {
        let number = *self.at.get(level)?;
        let Json::Object(members) = self.document.at_mut(self.at.get(..level)?)? else {
            return None;
        };
        let (key, _) = members.get_mut(number)?;
        if key.contains('\\') {
            return None;
        }
        *key = escaped(key);
        Some(())
    }

    /// Inserts a member of the same name next to the one at a level.
    fn insert_twin(&mut self, level: usize, offset: usize, value: Json) -> Option<()> {
        let number = *self.at.get(level)?;
        let Json::Object(members) = self.document.at_mut(self.at.get(..level)?)? else {
            return None;
        };
        let key = members.get(number)?.0.clone();
        members.insert(number + offset, (key, value));
        Some(())
    }

    /// Moves the members on the way to the beginnings, or to the ends, of their objects.
    fn move_members(&mut self, last: bool) -> Option<()> {
        for level in 0..self.at.len() {
            let number = *self.at.get(level)?;
            let Json::Object(members) = self.document.at_mut(self.at.get(..level)?)? else {
                continue;
            };
            if number >= members.len() {
                return None;
            }
            let member = members.remove(number);
            let to = if last { members.len() } else { 0 };
            members.insert(to, member);
            *self.at.get_mut(level)? = to;
        }
        Some(())
    }

    /// Replaces the value at a level by one that has it as a child.
    fn wrap(&mut self, level: usize, child: usize, around: impl Fn(Json) -> Json) -> Option<()> {
        let value = self.document.at_mut(self.at.get(..level)?)?;
        *value = around(std::mem::replace(value, Json::null()));
        self.at.insert(level, child);
        Some(())
    }

    /// Replaces the value at a level by a string with its text.
    fn hide(&mut self, level: usize, text: impl Fn(String) -> String) -> Option<()> {
        let value = self.document.at_mut(self.at.get(..level)?)?;
        // A string that has the document already.
        let inside = match value {
            Json::Scalar(string) if self.in_string => Json::string_content(string)?,
            Json::Scalar(_) => return None,
            Json::Array(_) | Json::Object(_) => value.text(),
        };
        *value = Json::string(&text(inside));
        self.at.truncate(level);
        self.in_string = true;
        Some(())
    }

    /// Returns the first element on the way, or the document, with a harmless value in place of the planted one.
    fn harmless_element(&self) -> Option<Json> {
        let levels = (0..self.at.len())
            .find(|level| {
                matches!(
                    self.document.at(self.at.get(..*level).unwrap_or_default()),
                    Some(Json::Array(_))
                )
            })
            .map_or(0, |level| level + 1);
        let mut element = self.document.at(self.at.get(..levels)?)?.clone();
        *element.at_mut(self.at.get(levels..)?)? = Json::one();
        Some(element)
    }

    /// Removes every member that does not lead to the planted value.
    fn keep_only_the_way(&mut self) -> Option<()> {
        for level in 0..self.at.len() {
            let number = *self.at.get(level)?;
            let Json::Object(members) = self.document.at_mut(self.at.get(..level)?)? else {
                continue;
            };
            if number >= members.len() {
                return None;
            }
            *members = vec![members.swap_remove(number)];
            *self.at.get_mut(level)? = 0;
        }
        Some(())
    }
}

/// Spells every character of a text as an escape.
fn escaped(text: &str) -> String {
    text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect()
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Number => "the value is a number",
            Self::InList => "the value is in an array",
            Self::InObject => "the value is in an object",
            Self::EscapedValue => "the value has escapes",
            Self::EscapedKeys => "all keys have escapes",
            Self::EscapedKey(_) => "a key has escapes",
            Self::HarmlessBefore(_) => "a harmless member of the same name is before it",
            Self::HarmlessAfter(_) => "a harmless member of the same name is after it",
            Self::Repeated(_) => "a member occurs twice",
            Self::MovedFirst => "its members come first",
            Self::MovedLast => "its members come last",
            Self::ArrayAround(_) => "an array is around a value on the way",
            Self::ArraysAround(_) => "two arrays are around a value on the way",
            Self::AmongElements(_) => "a value on the way is an element among others",
            Self::ElementOnly(_) => "an element is in place of its array",
            Self::ElementBefore(_) => "an element is before it",
            Self::ElementAfter(_) => "an equal element is after it",
            Self::InString(_) => "a container is a string with JSON",
            Self::InLinesOfString(_) => "a container is a string with two lines of JSON",
            Self::Wrapped(_) => "the document is inside another object",
            Self::Decoy(_) => "the document has another array",
            Self::OnlyRaw => "the document is text in `raw`",
            Self::Marks => "the document imitates a filtered one",
            Self::Renamed(_) => "the payload is at another name",
            Self::Alone => "all other members are missing",
            Self::OtherTest(_) => "a tested value is another",
        };
        f.write_str(text)
    }
}
