//! Marks that each stand for one value, and the table that leads from them back to the values.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most values of a table. Further ones get marks without numbers.
const MOST: usize = 10_000;
/// The most bytes of one value.
const LONGEST: usize = 320;
/// More bytes than any mark has.
const LONGEST_MARK: usize = 64;

/// The values that marks stand for: personal data are replaced by `[email:1]` instead of `[redacted:email]`, and equal values
/// by equal marks.
///
/// Use it for texts of one conversation, whose reader has to tell values apart without seeing them. Clones share one table. It is
/// in memory only, has at most 10,000 values of at most 320 bytes, and shows none of them in its `Debug` form.
///
/// ```
/// use tamis::spec::Redact;
/// use tamis::{CallOptions, MarkTable, Program, Spec, filter_slice};
///
/// let program = Program::compile(&Spec::new().redact(Redact::new().personal(true)))?;
/// let marks = MarkTable::new();
/// let options = CallOptions::new().with_marks(&marks);
/// let input = br#"["mira@example.org","to nils@example.org","mira@example.org"]"#;
/// let (output, _) = filter_slice(program.with_options(&options), input)?;
/// assert_eq!(output, br#"["[email:1]","to [email:2]","[email:1]"]"#);
/// assert_eq!(marks.put_back("write to [email:2]").as_deref(), Some("write to nils@example.org"));
/// assert_eq!(marks.put_back("write to [email:3]"), None);
/// # Ok::<(), tamis::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct MarkTable(Arc<Mutex<Values>>);

#[derive(Default)]
struct Values {
    /// The values of each kind, in the order of their numbers.
    by_number: HashMap<String, Vec<Arc<str>>>,
    numbers: HashMap<(String, Arc<str>), usize>,
}

impl MarkTable {
    /// Creates an empty table.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the mark of a value. `None`: the table is full, or the value is too long or no text.
    pub(super) fn mark(&self, kind: &str, value: &[u8]) -> Option<String> {
        let value = std::str::from_utf8(value).ok().filter(|value| value.len() <= LONGEST)?;
        let mut values = self.values();
        let Values { by_number, numbers } = &mut *values;
        let key = (kind.to_owned(), Arc::from(value));
        let number = match numbers.get(&key) {
            Some(number) => *number,
            None if numbers.len() >= MOST => return None,
            None => {
                let of_kind = by_number.entry(key.0.clone()).or_default();
                of_kind.push(Arc::clone(&key.1));
                let number = of_kind.len();
                numbers.insert(key, number);
                number
            }
        };
        Some(format!("[{kind}:{number}]"))
    }

    /// Returns the text with the values that its marks stand for, or `None` if it has no mark of this table. Values are not
    /// searched for marks.
    ///
    /// Linear in the text.
    #[must_use]
    pub fn put_back(&self, text: &str) -> Option<String> {
        let values = self.values();
        let (mut output, mut copied) = (String::new(), 0);
        for (open, _) in text.match_indices('[') {
            // A bracket inside a mark begins none.
            let mark = text.get(open..).filter(|_| open >= copied).and_then(|from| values.at(from));
            let Some((value, length)) = mark else { continue };
            output.push_str(text.get(copied..open).unwrap_or_default());
            output.push_str(value);
            copied = open + length;
        }
        output.push_str(text.get(copied..).unwrap_or_default());
        (copied > 0).then_some(output)
    }

    fn values(&self) -> MutexGuard<'_, Values> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Values {
    /// Returns the value of the mark with which a text begins, and the length of the mark.
    fn at(&self, text: &str) -> Option<(&str, usize)> {
        let close = text.bytes().take(LONGEST_MARK).position(|byte| byte == b']')?;
        let mark = text.get(1..close)?;
        let (kind, number) = mark.split_once(':')?;
        let is_plain = number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0');
        let index = number.parse::<usize>().ok().filter(|_| is_plain)?.checked_sub(1)?;
        let value = self.by_number.get(kind)?.get(index)?;
        Some((value, mark.len() + 2))
    }
}

impl fmt::Debug for MarkTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MarkTable").field("values", &self.values().numbers.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, MOST, MarkTable};

    #[test]
    fn marks_lead_back_to_their_values() {
        let marks = MarkTable::new();
        for (kind, value, mark) in [
            ("email", "a@b.example", Some("[email:1]")),
            ("email", "ö@b.example", Some("[email:2]")),
            ("phone", "a@b.example", Some("[phone:1]")),
            ("email", "a@b.example", Some("[email:1]")),
            ("email", &"x".repeat(LONGEST + 1), None),
        ] {
            assert_eq!(marks.mark(kind, value.as_bytes()).as_deref(), mark);
        }
        assert_eq!(marks.mark("email", b"\xff"), None);
        for (text, expected) in [
            ("[email:1]", Some("a@b.example")),
            (
                "ä [[email:2]], [email:1][phone:1] [x] ]",
                Some("ä [ö@b.example], a@b.examplea@b.example [x] ]"),
            ),
            ("[email:3] [email:0] [email:01] [email:+1] [email:] [email:1 ", None),
            ("[redacted:email] [e[email:1", None),
            ("", None),
        ] {
            assert_eq!(marks.put_back(text).as_deref(), expected, "{text}");
        }
        assert!(!format!("{marks:?}").contains("example"));
    }

    #[test]
    fn a_table_is_bounded() {
        let marks = MarkTable::new();
        for number in 0..MOST + 9 {
            let mark = marks.mark("email", number.to_string().as_bytes());
            assert_eq!(mark.is_some(), number < MOST);
        }
        assert_eq!(marks.mark("email", b"0").as_deref(), Some("[email:1]"));
    }
}
