//! Runs a document through a program in the ways in which it may be called.

use std::fmt;

use super::planted::Canary;
use tamis::{CallOptions, Filter, Program, WhenBranch};
use tamis::{filter_documents, filter_ndjson};

/// A way to call a filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CallForm {
    Whole,
    /// Byte by byte.
    Bytes,
    /// As the response of a failed call.
    Failed,
    /// With `_output_mode: raw`.
    Raw,
    /// As lines of NDJSON.
    Lines,
    /// As documents that follow each other.
    Documents,
}

/// The output of a run.
pub(super) struct Ran {
    pub(super) output: Vec<u8>,
    /// The branch of `when` that applied.
    pub(super) branch: Option<WhenBranch>,
    pub(super) is_error: bool,
}

impl CallForm {
    pub(super) const ALL: [Self; 6] =
        [Self::Whole, Self::Bytes, Self::Failed, Self::Raw, Self::Lines, Self::Documents];

    /// Returns the input for a document.
    pub(super) fn input(self, document: &str) -> String {
        match self {
            Self::Lines => format!("{document}\n{document}\n"),
            Self::Documents => format!("{document} {document}"),
            Self::Whole | Self::Bytes | Self::Failed | Self::Raw => document.to_owned(),
        }
    }

    /// Runs a program. The output before an error counts as well. Raw output is allowed as for calls of a model.
    pub(super) fn run(self, program: &Program, document: &str) -> Ran {
        let options = CallOptions::new()
            .with_token_counter(tamis_tokens::o200k_base())
            .with_is_error(self == Self::Failed)
            .with_raw(self == Self::Raw && program.spec().allows_raw_for_models());
        let input = self.input(document);
        let call = program.with_options(&options);
        if matches!(self, Self::Lines | Self::Documents) {
            let mut output = Vec::new();
            let ran = if self == Self::Lines {
                filter_ndjson(call, input.as_bytes(), &mut output, |_, _| {})
            } else {
                filter_documents(call, input.as_bytes(), &mut output, |_, _| {})
            };
            let (branch, is_error) = match ran {
                Ok(report) => (report.branch, false),
                Err(failed) => (failed.report.branch, true),
            };
            return Ran { output, branch, is_error };
        }
        let mut filter = Filter::new(call, Vec::new());
        let size = if self == Self::Bytes { 1 } else { input.len().max(1) };
        let mut chunks = input.as_bytes().chunks(size);
        let written = chunks.try_for_each(|chunk| filter.write(chunk));
        let is_error = written.and_then(|()| filter.end().map(drop)).is_err();
        let branch = filter.report().branch;
        Ran { output: filter.into_sink(), branch, is_error }
    }

    /// Returns whether the canary of a document leaves.
    pub(super) fn leaks(self, program: &Program, document: &str, canary: &Canary) -> bool {
        canary.is_in(&self.run(program, document).output)
    }
}

impl fmt::Display for CallForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole => "in one piece",
            Self::Bytes => "byte by byte",
            Self::Failed => "as the response of a failed call",
            Self::Raw => "with `_output_mode: raw`",
            Self::Lines => "as lines of NDJSON",
            Self::Documents => "as documents that follow each other",
        })
    }
}
