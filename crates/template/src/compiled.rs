//! One of the three templates of a `compact`: compiled once, rendered many times.

use tamis_json::regex_budget::RegexBudget;

use super::error::{TemplateError, TemplateErrorKind, TemplatePart};
use super::parse::parse;
use super::reads::{NamesUsed, Reads, names_used};
use super::run::{PlacedFault, render};
use super::tree::TemplateTree;
use super::value::Record;

/// A compiled template.
pub(super) struct CompiledTemplate {
    part: TemplatePart,
    source: Box<str>,
    tree: TemplateTree,
    names: NamesUsed,
}

impl CompiledTemplate {
    pub(super) fn compile(
        part: TemplatePart,
        source: &str,
        allowance: &mut RegexBudget,
    ) -> Result<Self, TemplateError> {
        let tree = parse(source).map_err(|fault| TemplateError::fault(part, source, fault))?;
        allowance.take_template(tree.memory).map_err(|message| {
            TemplateError::new(TemplateErrorKind::Limit, part, message).at(source, 0)
        })?;
        let names = names_used(&tree);
        Ok(Self { part, source: source.into(), tree, names })
    }

    /// Appends the text for `data`, at most `room` bytes. On an error `out` is as it was.
    pub(super) fn render(
        &self,
        data: &Record,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), TemplateError> {
        let before = out.len();
        render(&self.tree, &self.source, data, room, out).map_err(|fault| {
            out.truncate(before);
            self.failed(fault, room)
        })
    }

    fn failed(
        &self,
        PlacedFault { at, no_room, fault }: PlacedFault,
        room: usize,
    ) -> TemplateError {
        if no_room {
            let message =
                format!("the rendered text has more than the {room} bytes that are left for it");
            return TemplateError::new(TemplateErrorKind::Limit, self.part, message);
        }
        let kind =
            if fault.is_limit { TemplateErrorKind::Limit } else { TemplateErrorKind::Render };
        TemplateError::new(kind, self.part, fault.message).at(&self.source, at)
    }

    /// Whether the template may read `Original` or `Omitted`.
    pub(super) fn names_cut(&self) -> bool {
        self.names.cut
    }

    /// The members of the data that the template can read.
    pub(super) fn reads(&self) -> &Reads {
        &self.names.reads
    }

    /// Returns an error if the template is a header or footer and names a member that it never has.
    pub(super) fn unknown(&self) -> Option<TemplateError> {
        let (named, more) = match self.part {
            TemplatePart::Header => (&self.names.other, ""),
            TemplatePart::Footer => (&self.names.unknown, ", .Remaining"),
            TemplatePart::Item => return None,
        };
        let (at, name) = named.as_ref()?;
        let part = self.part.as_str();
        let message =
            format!("a {part} has no `.{name}`; it has .Total, .Count, .Original, .Omitted{more}");
        let error = TemplateError::new(TemplateErrorKind::Parse, self.part, message);
        Some(error.at(&self.source, *at))
    }
}
