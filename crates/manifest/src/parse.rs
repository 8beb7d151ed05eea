//! Parses a manifest: recognises its format, and reads it.

use tamis_json::regex_budget::RegexBudget;

use super::building::{Building, Format};
use super::entry::ManifestEntry;
use super::error::{Diagnostic, ManifestError, ManifestErrorKind, Problems, Text};
use super::manifest::Manifest;
use super::node::{Node, Value};
use super::yaml::FileLimits;
use super::{aios, kimbap, native, reshapr, schema, yaml};

/// All formats, in the order in which they are tried.
const FORMATS: [&Format; 4] = [&reshapr::FORMAT, &native::FORMAT, &kimbap::FORMAT, &aios::FORMAT];

impl Manifest {
    /// Reads a manifest. Errors refer to the text as `name`, usually a path.
    ///
    /// # Errors
    /// Reports as many problems as can be found at once, each with line, column, source line and caret. A text is
    /// refused if it is longer than 16 MiB, nests more than 24 containers, or has more than 200,000 keys and values,
    /// 100,000 values that aliases stand for, 10,000 filters, 100,000 steps in all paths, or 1,000 patterns. A text
    /// filter is refused if its patterns compile to more than 10 MiB in one list, or to more than 24 MiB in the whole
    /// file.
    ///
    /// # Complexity
    /// Linear in the text, plus the time and memory to compile the patterns of text filters.
    pub fn parse(name: &str, text: &str) -> Result<Self, ManifestError> {
        Self::parse_within(name, text, &mut RegexBudget::new())
    }

    /// Parses a file of the built-in catalog.
    pub(crate) fn parse_builtin(name: &str, text: &str) -> Result<Self, ManifestError> {
        let parsed = Self::parse(name, text)?;
        let entries = parsed.entries().cloned();
        let entries = entries.map(|entry| ManifestEntry { is_builtin: true, ..entry }).collect();
        parsed.with_entries(entries)
    }

    /// Like [`parse`](Self::parse), with a given budget for compiled patterns and templates.
    pub(crate) fn parse_within(
        name: &str,
        text: &str,
        allowance: &mut RegexBudget,
    ) -> Result<Self, ManifestError> {
        let invalid = |problems: Problems| ManifestError::new(ManifestErrorKind::Invalid, problems);
        let text = Text::new(name, text.strip_prefix('\u{feff}').unwrap_or(text));
        let root = yaml::parse(&text, &FileLimits::MANIFEST).map_err(invalid)?;
        let format = FORMATS.iter().find(|format| (format.recognises)(&root));
        let Some(format) = format else { return Err(invalid(unrecognised(&text, &root).into())) };
        let mut building = Building::new(&text, format.name, allowance);
        (format.read)(&mut building, &root);
        let built = building.finish().map_err(invalid)?;
        Self::build(vec![text.name().clone()], built)
    }

    /// Reads a manifest from bytes, which must be UTF-8.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse).
    pub fn parse_bytes(name: &str, bytes: &[u8]) -> Result<Self, ManifestError> {
        match std::str::from_utf8(bytes) {
            Ok(text) => Self::parse(name, text),
            Err(error) => {
                let good = bytes.get(..error.valid_up_to()).unwrap_or_default();
                let line = good.iter().filter(|byte| **byte == b'\n').count() + 1;
                let message = format!(
                    "the manifest is not UTF-8: byte {} in line {line}; save it as UTF-8",
                    error.valid_up_to()
                );
                let problem = Diagnostic::nowhere(name, message);
                Err(ManifestError::new(ManifestErrorKind::Invalid, problem))
            }
        }
    }

    /// Returns the JSON Schema of tamis' own format, for editors.
    #[must_use]
    pub fn schema() -> &'static str {
        schema::NATIVE
    }
}

/// Returns the error for a file that no format recognises, with the list of known formats.
fn unrecognised(text: &Text<'_>, root: &Node) -> Diagnostic {
    let understood: Vec<String> =
        FORMATS.iter().map(|format| format!("{} ({})", format.name, format.signs)).collect();
    let what = match &root.value {
        Value::Map(_) => "unknown manifest format".to_owned(),
        _ => format!("a manifest must be a map, not {}", root.what()),
    };
    text.problem(root.at.start, format!("{what}; expected one of: {}", understood.join(", ")))
}
