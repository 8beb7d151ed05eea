//! The notice about the parts of a result that were left out.

use std::ops::Range;

use tamis_store::{OmissionNotice, OmittedUnit, Remedy, replaced};

use super::hint::Hint;
use crate::jsonrpc::text;
use crate::spool::{Spool, SpoolError};

/// The facts about a result that its reader has to know.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NoticeFacts {
    /// The parts that were left out, and how they can be fetched.
    pub(crate) omission: Option<(Omission, Remedy)>,
    /// Number of credentials that were replaced.
    pub(crate) redacted: u64,
    /// The result has once what its items share.
    pub(crate) factored: Option<FactorNotice>,
}

/// The notice about a factored document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FactorNotice {
    /// For a reader who knows nothing of such documents.
    Full,
    /// For one who has read the explanation.
    Short,
}

impl FactorNotice {
    /// Returns the sentence.
    pub(crate) fn sentence(self) -> &'static str {
        match self {
            Self::Full => {
                "[tamis: members that all items have are once under `_all`; `_made` has members that follow from others of \
                 an item, `{path}` stands for the text there; `$ref` stands for the value at that place of this text]"
            }
            Self::Short => "[tamis: shared values are under `_all`, `_made` and `$ref`]",
        }
    }
}

impl NoticeFacts {
    /// Returns the sentence about replaced credentials, if there were any.
    pub(crate) fn replaced(&self) -> Option<String> {
        (self.redacted > 0).then(|| format!("[tamis: {}]", replaced(self.redacted)))
    }

    /// Returns the member that ends the structured result, without a comma before it. `None`: there is nothing to know.
    pub(crate) fn member(&self, name: &str) -> Option<String> {
        let factored = self.factored.map(FactorNotice::sentence);
        match (self.omission, factored) {
            (Some((omission, remedy)), _) => {
                Some(omission.member(remedy, name, self.redacted, factored))
            }
            (None, Some(sentence)) => {
                let (name, sentence) = (text::quoted(name), text::quoted(sentence));
                Some(format!("{name}:{{\"factored\":{sentence}}}"))
            }
            (None, None) => None,
        }
    }
}

/// Returns a block of text.
pub(crate) fn block(sentence: &str) -> String {
    format!("{{\"type\":\"text\",\"text\":{}}}", text::quoted(sentence))
}

/// The parts of a result that were left out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Omission {
    pub(crate) unit: OmittedUnit,
    /// How many items or lines are shown, and of how many.
    pub(crate) shown: Option<(u64, Option<u64>)>,
    /// The first and the last item, line or byte that is left out. Others between them may be shown.
    pub(crate) gap: Option<(u64, u64)>,
    /// The place of the value that was cut.
    pub(crate) place: ShortPointer,
    /// Whether other values were cut, too.
    pub(crate) has_others: bool,
    /// Whether what is stored has more items than were counted, so that a range of numbers would name others.
    pub(crate) has_other_numbers: bool,
    pub(crate) bytes_in: u64,
    /// The size of what is shown, as if nothing was factored: by it, what was left out is judged.
    pub(crate) bytes_out: u64,
    /// The bytes by which factoring has made that shorter.
    pub(crate) factored: u64,
    pub(crate) hint: Hint,
    /// The tool that returns it.
    pub(crate) tool: &'static str,
}

/// A JSON Pointer that is short enough for a notice; empty: none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ShortPointer {
    bytes: [u8; Self::LONGEST],
    length: usize,
}

impl Default for ShortPointer {
    fn default() -> Self {
        Self { bytes: [0; Self::LONGEST], length: 0 }
    }
}

impl ShortPointer {
    /// With a longer one, a notice would cost more than it saves.
    const LONGEST: usize = 64;

    /// Returns an empty one if the pointer is too long.
    pub(crate) fn of(pointer: &str) -> Self {
        let mut bytes = [0; Self::LONGEST];
        match bytes.get_mut(..pointer.len()) {
            Some(place) => place.copy_from_slice(pointer.as_bytes()),
            None => return Self { bytes, length: 0 },
        }
        Self { bytes, length: pointer.len() }
    }

    pub(crate) fn text(&self) -> Option<String> {
        let text = self.bytes.get(..self.length).filter(|text| !text.is_empty())?;
        String::from_utf8(text.to_vec()).ok()
    }
}

impl Omission {
    /// Returns the size of what is shown.
    fn shown_bytes(&self) -> u64 {
        self.bytes_out.saturating_sub(self.factored)
    }

    pub(crate) fn notice(&self, remedy: Remedy) -> OmissionNotice {
        let notice =
            OmissionNotice::new(self.unit, remedy).with_bytes(self.bytes_in, self.shown_bytes());
        let notice = notice.with_pointer(self.place.text()).with_others(self.has_others);
        let notice = if self.has_other_numbers { notice.without_range() } else { notice };
        let notice = notice.with_tool(self.tool);
        let notice = notice.with_cursor(self.hint.cursor).with_argument(self.hint.argument);
        let notice = match self.shown {
            Some((shown, of)) => notice.with_shown(shown, of),
            None => notice,
        };
        match self.gap {
            Some((first, last)) => notice.with_gap(first, last),
            None => notice,
        }
    }

    /// Returns the block of text that ends the content.
    pub(crate) fn block(&self, remedy: Remedy) -> String {
        block(&self.notice(remedy).to_string())
    }

    fn member(&self, remedy: Remedy, name: &str, redacted: u64, factored: Option<&str>) -> String {
        let mut member = format!("{}:{{", text::quoted(name));
        let counted =
            [OmittedUnit::Items, OmittedUnit::Members, OmittedUnit::Lines, OmittedUnit::Blocks];
        if let Some((shown, of)) = self.shown.filter(|_| counted.contains(&self.unit)) {
            member.push_str(&format!("\"shown\":{shown},"));
            if let Some(of) = of {
                member.push_str(&format!("\"of\":{of},"));
            }
            // Without a unit, items or members are counted: the member is at the end of a value that has them.
            let unit = match self.unit {
                OmittedUnit::Lines => "\"unit\":\"lines\",",
                OmittedUnit::Blocks => "\"unit\":\"blocks\",",
                _ => "",
            };
            member.push_str(unit);
        }
        if let Some(place) = self.place.text() {
            member.push_str(&format!("\"pointer\":{},", text::quoted(&place)));
        }
        let (bytes_in, bytes_out) = (self.bytes_in, self.shown_bytes());
        if self.has_others {
            member.push_str("\"others\":true,");
        }
        member.push_str(&format!("\"bytes_out\":{bytes_out},\"bytes_in\":{bytes_in}"));
        if redacted > 0 {
            member.push_str(&format!(",\"redacted\":{redacted}"));
        }
        if let Some(sentence) = factored {
            member.push_str(&format!(",\"factored\":{}", text::quoted(sentence)));
        }
        match remedy {
            Remedy::Retrieve(handle) | Remedy::Recall(handle) => {
                let call = self.notice(remedy).call().unwrap_or_default();
                let call = text::quoted(&call);
                member.push_str(&format!(",\"handle\":\"{handle}\",\"retrieve\":{call}"));
            }
            Remedy::Lost(reason) => {
                let reason = text::quoted(&reason.to_string());
                member.push_str(&format!(",\"cannot_be_fetched\":{reason}"));
            }
        }
        for (name, hint) in [("before", self.hint.cursor), ("argument", self.hint.argument)] {
            if let Some(hint) = hint {
                member.push_str(&format!(",\"{name}\":{}", text::quoted(hint)));
            }
        }
        member.push('}');
        member
    }
}

/// Returns the name of our member in an object: `_tamis`, or the next number if the object may have such a member. It
/// is enough to look for the characters: a name that is not a member only makes the number larger.
pub(crate) fn member_name(scratch: &Spool, object: Range<u64>) -> Result<String, SpoolError> {
    const NAME: &str = "_tamis";
    /// The most digits that belong to a name.
    const DIGITS: usize = 6;
    let mut highest: Option<u64> = None;
    let mut open: Vec<u8> = Vec::new();
    scratch.each_chunk(object, |chunk| {
        open.extend_from_slice(chunk);
        let mut rest = open.as_slice();
        while let Some(at) = memchr::memmem::find(rest, NAME.as_bytes()) {
            rest = rest.get(at + NAME.len()..).unwrap_or_default();
            let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).take(DIGITS + 1);
            let digits = digits.count();
            let number = rest.get(..digits).and_then(|digits| std::str::from_utf8(digits).ok());
            if digits <= DIGITS {
                highest = highest.max(number.map(|digits| digits.parse().unwrap_or(1)));
            }
        }
        // A name may be cut by the end of the chunk.
        let keep = open.len().min(NAME.len() + DIGITS);
        open.drain(..open.len() - keep);
        Ok::<_, SpoolError>(())
    })?;
    Ok(match highest {
        None => NAME.to_owned(),
        Some(highest) => format!("{NAME}{}", highest.max(1) + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::member_name;
    use crate::spool::{Spool, SpoolLimits};

    #[test]
    fn the_name_of_the_member_is_free() {
        for (object, name) in [
            ("{}", "_tamis"),
            (r#"{"tamis":1}"#, "_tamis"),
            (r#"{"_tamis":1}"#, "_tamis2"),
            (r#"{"_tamis":1,"_tamis7":2,"_tamis3":0}"#, "_tamis8"),
            (r#"{"a":"_tamis41"}"#, "_tamis42"),
            (r#"{"_tamis1234567":1}"#, "_tamis"),
        ] {
            for held in [0, 100] {
                let mut spool = Spool::new(SpoolLimits { held, spill: 1000 });
                spool.push(object.as_bytes()).unwrap();
                assert_eq!(member_name(&spool, 0..spool.len()).unwrap(), name, "{object}");
            }
        }
    }
}
