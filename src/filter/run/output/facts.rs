//! Facts about a document that its stages leave for later stages, and for the report.

use super::size::OutputSize;
use crate::filter::run::root_path::RootPath;

/// The facts of one document. Stages set them at its end, except for the sizes.
#[derive(Debug, Default)]
pub(in crate::filter::run) struct OutputFacts {
    /// Bytes written to the sink.
    pub(in crate::filter::run) written: u64,
    /// The offset at which a stage stopped, in the text that it reads. All stages have ended then.
    pub(in crate::filter::run) stopped: Option<u64>,
    /// The size of the filtered document, before a budget or another form.
    pub(in crate::filter::run) filtered: u64,
    /// The size of the output, in the unit of the budget. Not that of another form which is longer than the document.
    pub(in crate::filter::run) size: OutputSize,
    /// The output is longer than its budget.
    pub(in crate::filter::run) exceeded: bool,
    /// A stage after that on the items failed. The reports of the stages before it then depend on chunks.
    pub(in crate::filter::run) output_failed: bool,
    /// None of the selected paths was found, so the document stays JSON.
    pub(in crate::filter::run) missed: bool,
    /// The number of items in the output, and in the response.
    pub(in crate::filter::run) kept: u64,
    pub(in crate::filter::run) original: u64,
    /// The place of the payload in a shorter form, in which children before it may be missing.
    pub(in crate::filter::run) place: Option<RootPath>,
    /// The text of the payload's mark.
    pub(in crate::filter::run) mark: Option<String>,
    /// The length of that mark with its name, if only whole items at the end of the payload were left out. 0: no mark.
    pub(in crate::filter::run) prefix_mark: Option<u64>,
}
