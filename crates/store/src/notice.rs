//! The line that reports what was left out of a result, and how to get it.
//!
//! ```text
//! [tamis: 112 of 137 items left out (~41,200 → ~2,100 tokens); tamis_retrieve(handle="tm_…", items="25-49")]
//! ```
//!
//! A model reads this line instead of the rest, so it names a call that can be copied. Figures are estimates of tokens,
//! at four bytes each.

use std::fmt::{self, Display};

use super::handle::Handle;
use crate::process::{command_word, quoted};

/// The fewest and the most items or lines that a notice suggests to fetch at once.
const LEAST: u64 = 10;
const MOST: u64 = 50;
/// Bytes of a token, as estimated.
const TOKEN: u64 = 4;

/// The parts of a result that a notice counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OmittedUnit {
    /// Elements of the payload.
    Items,
    /// Members of an object.
    Members,
    /// Lines of text.
    Lines,
    /// Bytes of text, where a line is too long to be shown.
    Bytes,
    /// Blocks of the content of a result.
    Blocks,
    /// Members, strings or anything else, whose number is not given.
    Values,
}

/// The way to fetch the omitted part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remedy {
    /// By the handle of the stored result, with the tool of the proxy.
    Retrieve(Handle),
    /// By the handle of the stored result, with the command `tamis recall`.
    Recall(Handle),
    /// Not at all.
    Lost(LostReason),
}

/// The reason why the omitted part cannot be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostReason {
    /// The result outgrew this limit of an entry, in bytes.
    TooLarge(u64),
    /// The store is full, or cannot be written to.
    NoRoom,
    /// The object store cannot be reached.
    Unreachable,
    /// The filter stopped reading early.
    NotRead,
    /// Results of this tool are not stored.
    NotStored,
}

impl Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(limit) if limit % (1 << 20) == 0 => {
                write!(f, "the result is larger than {} MiB", limit >> 20)
            }
            Self::TooLarge(limit) => write!(f, "the result is larger than {limit} bytes"),
            Self::NoRoom => f.write_str("the store has no room"),
            Self::Unreachable => f.write_str("the store cannot be reached"),
            Self::NotRead => f.write_str("the rest was not read"),
            Self::NotStored => f.write_str("results of this tool are not stored"),
        }
    }
}

/// The notice of an omission. Its [`Display`] is one line with brackets.
///
/// ```
/// use tamis_store::{Handle, OmissionNotice, OmittedUnit, Remedy};
///
/// let handle: Handle = "tm_aaaqeayeaudaocajbifqydiob4".parse()?;
/// let notice = OmissionNotice::new(OmittedUnit::Items, Remedy::Retrieve(handle))
///     .with_shown(25, Some(137))
///     .with_bytes(164_800, 8_400);
/// assert_eq!(
///     notice.to_string(),
///     "[tamis: 112 of 137 items left out (~41,200 → ~2,100 tokens); \
///      tamis_retrieve(handle=\"tm_aaaqeayeaudaocajbifqydiob4\", items=\"25-49\")]"
/// );
/// # Ok::<(), tamis_store::InvalidHandle>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OmissionNotice {
    unit: OmittedUnit,
    remedy: Remedy,
    shown: Option<(u64, Option<u64>)>,
    gap: Option<(u64, u64)>,
    pointer: Option<String>,
    has_others: bool,
    has_range: bool,
    bytes: Option<(u64, u64)>,
    cursor: Option<&'static str>,
    argument: Option<&'static str>,
    tool: &'static str,
}

impl OmissionNotice {
    /// The name of the tool by which a model fetches what was left out.
    pub const TOOL: &'static str = "tamis_retrieve";

    /// Creates a notice.
    #[must_use]
    pub fn new(unit: OmittedUnit, remedy: Remedy) -> Self {
        Self {
            unit,
            remedy,
            shown: None,
            gap: None,
            pointer: None,
            has_others: false,
            has_range: true,
            bytes: None,
            cursor: None,
            argument: None,
            tool: Self::TOOL,
        }
    }

    /// Sets how many items or lines are shown, and of how many. `None`: more, but how many is not known. Without a gap, the
    /// first ones are shown.
    #[must_use]
    pub fn with_shown(mut self, shown: u64, of: Option<u64>) -> Self {
        self.shown = Some((shown, of));
        self
    }

    /// Sets the first and the last item, line or byte that is left out. Others between them may be shown.
    #[must_use]
    pub fn with_gap(mut self, first: u64, last: u64) -> Self {
        self.gap = Some((first, last));
        self
    }

    /// Sets the place of the value that was cut, as a JSON Pointer.
    #[must_use]
    pub fn with_pointer(mut self, pointer: Option<String>) -> Self {
        self.pointer = pointer;
        self
    }

    /// Sets whether other values were cut as well: the figures are those of the one that lost the most.
    #[must_use]
    pub fn with_others(mut self, has_others: bool) -> Self {
        self.has_others = has_others;
        self
    }

    /// Names no range to fetch: what is stored has other parts between those that were counted.
    #[must_use]
    pub fn without_range(mut self) -> Self {
        self.has_range = false;
        self
    }

    /// Sets the sizes of the result before and after.
    #[must_use]
    pub fn with_bytes(mut self, before: u64, after: u64) -> Self {
        self.bytes = Some((before, after));
        self
    }

    /// Sets the member of the result that leads to the next page. The omitted items come before that page.
    #[must_use]
    pub fn with_cursor(mut self, name: Option<&'static str>) -> Self {
        self.cursor = name;
        self
    }

    /// Sets the argument of the tool that makes its result smaller.
    #[must_use]
    pub fn with_argument(mut self, name: Option<&'static str>) -> Self {
        self.argument = name;
        self
    }

    /// Sets the tool that returns what was left out, [`TOOL`](Self::TOOL) by default.
    #[must_use]
    pub fn with_tool(mut self, tool: &'static str) -> Self {
        self.tool = tool;
        self
    }

    /// Returns the range to fetch, as a window takes it: `25-49`. If it is known what is left out, it is all of that for
    /// lines, and for items at most 50 from the first one on, those between them that are shown included. Otherwise it
    /// follows what is shown and is as long, but at least 10 and at most 50. `None` if nothing follows, or if it is not
    /// known what does.
    #[must_use]
    pub fn next_range(&self) -> Option<String> {
        if !self.has_range {
            return None;
        }
        if let (OmittedUnit::Lines, Some((first, last))) = (self.unit, self.gap) {
            return Some(format!("{first}-{last}"));
        }
        if let (OmittedUnit::Items, Some((first, last))) = (self.unit, self.gap) {
            return Some(format!("{first}-{}", last.min(first.saturating_add(MOST - 1))));
        }
        let (shown, of) = self.shown?;
        let first = match self.unit {
            OmittedUnit::Items => shown,
            // Lines count from 1.
            OmittedUnit::Lines => shown.checked_add(1)?,
            OmittedUnit::Members
            | OmittedUnit::Bytes
            | OmittedUnit::Blocks
            | OmittedUnit::Values => return None,
        };
        let end = first.saturating_add(shown.clamp(LEAST, MOST));
        let end = of.map_or(end, |of| end.min(of + (first - shown)));
        (first < end).then(|| format!("{first}-{}", end - 1))
    }

    /// Returns the call that fetches what was left out. `None` if it cannot be fetched.
    #[must_use]
    pub fn call(&self) -> Option<String> {
        let range = self.next_range();
        let offset = self.gap.filter(|_| self.unit == OmittedUnit::Bytes).map(|(first, _)| first);
        let name = if self.unit == OmittedUnit::Lines { "lines" } else { "items" };
        match self.remedy {
            Remedy::Retrieve(handle) => {
                let range = range.map(|range| format!(", {name}=\"{range}\""));
                let part = range.or_else(|| offset.map(|first| format!(", offset={first}")));
                let place = self.pointer.as_ref().map(|pointer| format!(", pointer={pointer:?}"));
                let (place, part) = (place.unwrap_or_default(), part.unwrap_or_default());
                Some(format!("{}(handle=\"{handle}\"{place}{part})", self.tool))
            }
            Remedy::Recall(handle) => {
                let range = range.map(|range| format!(" --{name} {range}"));
                let part = range.or_else(|| offset.map(|first| format!(" --offset {first}")));
                let place = self.pointer.as_deref().map(quoted);
                let place =
                    place.map(|pointer| format!(" --pointer {pointer}")).unwrap_or_default();
                let part = part.unwrap_or_default();
                Some(format!("{} recall {handle}{place}{part}", command_word()))
            }
            Remedy::Lost(_) => None,
        }
    }
}

impl Display for OmissionNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unit = match self.unit {
            OmittedUnit::Items => "items",
            OmittedUnit::Members => "members",
            OmittedUnit::Lines => "lines",
            OmittedUnit::Bytes => "bytes",
            OmittedUnit::Blocks => "blocks",
            OmittedUnit::Values => "values",
        };
        f.write_str("[tamis: ")?;
        match self.shown.filter(|_| self.unit != OmittedUnit::Values) {
            Some((shown, Some(of))) => {
                let left_out = Grouped(of.saturating_sub(shown));
                write!(f, "{left_out} of {} {unit} left out", Grouped(of))?;
            }
            Some((shown, None)) => write!(f, "{unit} after the first {} left out", Grouped(shown))?,
            None => write!(f, "{unit} left out")?,
        }
        if self.has_others && self.unit != OmittedUnit::Values {
            f.write_str(", and parts of other values")?;
        }
        if let Some((before, after)) = self.bytes {
            let [before, after] = [before, after].map(|bytes| Grouped(bytes.div_ceil(TOKEN)));
            write!(f, " (~{before} → ~{after} tokens)")?;
        }
        match (self.call(), self.remedy) {
            (None, Remedy::Lost(reason)) => write!(f, "; cannot be fetched: {reason}")?,
            (call, _) => write!(f, "; {}", call.unwrap_or_default())?,
        }
        if let Some(cursor) = self.cursor {
            write!(f, "; these come before the page of `{cursor}`")?;
        }
        if let Some(argument) = self.argument {
            write!(f, "; the tool's `{argument}` returns less")?;
        }
        f.write_str("]")
    }
}

/// A number with commas between groups of three digits.
struct Grouped(u64);

impl Display for Grouped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.0.to_string();
        for (index, digit) in digits.chars().enumerate() {
            if index > 0 && (digits.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Grouped, LostReason, OmissionNotice, OmittedUnit, Remedy};
    use crate::Handle;

    #[test]
    fn notices_name_what_follows() {
        let handle: Handle = format!("tm_{}", "a".repeat(26)).parse().unwrap();
        let retrieve = Remedy::Retrieve(handle);
        let call = |range: &str| format!("tamis_retrieve(handle=\"tm_{}\"{range})", "a".repeat(26));
        let (items, lines, values) = (OmittedUnit::Items, OmittedUnit::Lines, OmittedUnit::Values);
        for (notice, expected) in [
            (
                OmissionNotice::new(items, retrieve).with_shown(25, Some(137)).with_bytes(4_000, 5),
                format!(
                    "112 of 137 items left out (~1,000 → ~2 tokens); {}",
                    call(", items=\"25-49\"")
                ),
            ),
            (
                OmissionNotice::new(items, retrieve)
                    .with_shown(25, Some(137))
                    .with_cursor(Some("next_cursor"))
                    .with_argument(Some("per_page")),
                format!(
                    "112 of 137 items left out; {}; these come before the page of `next_cursor`; the tool's `per_page` \
                     returns less",
                    call(", items=\"25-49\"")
                ),
            ),
            (
                OmissionNotice::new(items, Remedy::Recall(handle)).with_shown(25, Some(137)),
                format!("112 of 137 items left out; tamis recall {handle} --items 25-49"),
            ),
            (
                OmissionNotice::new(items, retrieve).with_shown(25, Some(137)).without_range(),
                format!("112 of 137 items left out; {}", call("")),
            ),
            (
                OmissionNotice::new(values, retrieve).with_others(true),
                format!("values left out; {}", call("")),
            ),
            (
                OmissionNotice::new(items, retrieve).with_shown(130, Some(137)),
                format!("7 of 137 items left out; {}", call(", items=\"130-136\"")),
            ),
            (
                OmissionNotice::new(items, retrieve).with_shown(0, Some(1)),
                format!("1 of 1 items left out; {}", call(", items=\"0-0\"")),
            ),
            (
                OmissionNotice::new(items, retrieve).with_shown(5, Some(5)),
                format!("0 of 5 items left out; {}", call("")),
            ),
            (
                OmissionNotice::new(lines, retrieve).with_shown(1_000, Some(1_010)),
                format!("10 of 1,010 lines left out; {}", call(", lines=\"1001-1010\"")),
            ),
            (
                OmissionNotice::new(lines, retrieve).with_shown(3, None),
                format!("lines after the first 3 left out; {}", call(", lines=\"4-13\"")),
            ),
            (
                OmissionNotice::new(items, retrieve).with_shown(1, Some(300)),
                format!("299 of 300 items left out; {}", call(", items=\"1-10\"")),
            ),
            (
                OmissionNotice::new(lines, retrieve).with_shown(40, Some(100)).with_gap(31, 90),
                format!("60 of 100 lines left out; {}", call(", lines=\"31-90\"")),
            ),
            (
                OmissionNotice::new(OmittedUnit::Bytes, retrieve)
                    .with_shown(400, Some(1_000))
                    .with_gap(300, 899),
                format!("600 of 1,000 bytes left out; {}", call(", offset=300")),
            ),
            (
                OmissionNotice::new(OmittedUnit::Bytes, retrieve)
                    .with_shown(400, Some(1_000))
                    .with_pointer(Some("/content".into()))
                    .with_gap(300, 899),
                format!(
                    "600 of 1,000 bytes left out; {}",
                    call(", pointer=\"/content\", offset=300")
                ),
            ),
            (
                OmissionNotice::new(OmittedUnit::Members, retrieve)
                    .with_shown(64, Some(1_000))
                    .with_pointer(Some("/users".into())),
                format!("936 of 1,000 members left out; {}", call(", pointer=\"/users\"")),
            ),
            (
                OmissionNotice::new(items, retrieve).with_shown(10, Some(400)).with_gap(2, 79),
                format!("390 of 400 items left out; {}", call(", items=\"2-51\"")),
            ),
            (
                OmissionNotice::new(items, retrieve)
                    .with_shown(10, Some(400))
                    .with_gap(2, 20)
                    .with_others(true),
                format!(
                    "390 of 400 items left out, and parts of other values; {}",
                    call(", items=\"2-20\"")
                ),
            ),
            (
                OmissionNotice::new(values, retrieve).with_bytes(400, 40),
                format!("values left out (~100 → ~10 tokens); {}", call("")),
            ),
            (
                OmissionNotice::new(items, Remedy::Lost(LostReason::TooLarge(16 << 20)))
                    .with_shown(2, Some(4)),
                String::from(
                    "2 of 4 items left out; cannot be fetched: the result is larger than 16 MiB",
                ),
            ),
            (
                OmissionNotice::new(items, Remedy::Lost(LostReason::NotRead)).with_shown(2, None),
                String::from(
                    "items after the first 2 left out; cannot be fetched: the rest was not read",
                ),
            ),
        ] {
            assert_eq!(notice.to_string(), format!("[tamis: {expected}]"));
            let marked = tamis::text::mark_notices(expected.as_bytes()).into_owned();
            assert_eq!(marked, expected.as_bytes(), "the text in the brackets is not a notice");
            assert!(tamis::text::mark_notices(notice.to_string().as_bytes()).starts_with(b"| ["));
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, expected) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(Grouped(number).to_string(), expected);
        }
    }
}
