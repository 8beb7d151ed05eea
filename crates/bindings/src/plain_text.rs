//! Text of a tool that is not JSON: what a program for JSON does with it. The rules are those of the proxy.

use tamis::text::{RedactProgram, TextProgram, TextRedactor};
use tamis::{Limits, Spec};
use tamis_manifest::{ManifestEntry, UnreadText};

use crate::error::BindingError;

/// The part of a program that reads text.
#[derive(Clone, Debug)]
pub(crate) struct PlainText {
    lines: Option<TextProgram>,
    redact: Option<RedactProgram>,
    /// Whether a text passes although rules remove for safety, and the message of a failed call.
    keeps_text: bool,
    keeps_error_text: bool,
}

impl PlainText {
    pub(crate) fn of_spec(spec: &Spec) -> Result<Self, BindingError> {
        // The search for credentials is the only rule for safety that also reads text.
        let redacts_only = spec.redacts_secrets() && !spec.removes_values_for_safety();
        let lines = spec.text_rules().map(TextProgram::compile).transpose();
        let redact = spec.searched().map(|redact| RedactProgram::compile(&redact));
        let redact = redact.transpose();
        Ok(Self {
            lines: lines.map_err(|error| BindingError::from(&error))?,
            redact: redact.map_err(|error| BindingError::from(&error))?,
            keeps_text: redacts_only,
            keeps_error_text: redacts_only,
        })
    }

    pub(crate) fn of_entry(entry: &ManifestEntry) -> Result<Self, BindingError> {
        let mut plain = Self::of_spec(entry.spec())?;
        plain.keeps_text |= entry.text_beside() == UnreadText::Keep;
        plain.keeps_error_text |= entry.error_text() == UnreadText::Keep;
        Ok(plain)
    }

    pub(crate) fn filter(
        &self,
        text: &[u8],
        is_error: bool,
        removes_for_safety: bool,
    ) -> Option<Vec<u8>> {
        let keeps = if is_error { self.keeps_error_text } else { self.keeps_text };
        if removes_for_safety && !keeps && !text.is_empty() {
            return None;
        }
        let mut output = Vec::new();
        if let Some(redact) = &self.redact {
            let mut redactor = TextRedactor::with_program(redact, &Limits::new());
            redactor.write(text, &mut output);
            redactor.end(&mut output);
        } else {
            output.extend_from_slice(text);
        }
        Some(match &self.lines {
            Some(lines) => lines.apply(&output).0,
            None => output,
        })
    }
}
