//! The output of commands, and old tool results in chats.

use std::sync::LazyLock;

use serde::Deserialize;
use tamis::Limits;
use tamis::command::{CommandLine, OutputCap, OutputFilterRegistry};
use tamis::history::{PruneProgram, PruneReport, PruneSpec, prune_slice};

use crate::error::BindingError;
use crate::options::read;
use crate::program::text_of;

/// The filtered output of a command.
#[derive(Debug)]
#[non_exhaustive]
pub struct CommandOutput {
    /// The filtered output.
    pub output: Vec<u8>,
    /// The name of the filter, or `None` if the output was passed through.
    pub filter: Option<String>,
    /// The report, as a JSON object.
    pub report: String,
}

/// The options of [`filter_output`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct OutputMembers {
    max_lines: u64,
    max_tokens: u64,
    /// Where the full output can be read, for the notice.
    full_output: Option<String>,
    notice: bool,
}

impl Default for OutputMembers {
    fn default() -> Self {
        Self { max_lines: 0, max_tokens: 0, full_output: None, notice: true }
    }
}

/// Filters the output of a command with the built-in filters. Output of a command without a filter is passed through.
/// The options are `max_lines`, `max_tokens`, `full_output` and `notice`.
///
/// # Errors
/// Fails for options that are not known, and if a limit is reached.
///
/// ```
/// use tamis_bindings::filter_output;
///
/// let raw = "   Compiling ryu v1.0.18\n   Compiling app v0.1.0 (/app)\nerror[E0425]: cannot find value `x`\n";
/// let filtered = filter_output("cargo build", raw.as_bytes(), Some(101), "{}")?;
/// assert_eq!(filtered.filter.as_deref(), Some("cargo-build"));
/// # Ok::<(), tamis_bindings::BindingError>(())
/// ```
pub fn filter_output(
    command: &str,
    output: &[u8],
    exit_code: Option<i32>,
    options: &str,
) -> Result<CommandOutput, BindingError> {
    static BUILTIN: LazyLock<OutputFilterRegistry> = LazyLock::new(OutputFilterRegistry::builtin);
    let options: OutputMembers = read(options)?;
    let cap =
        OutputCap::new().with_max_lines(options.max_lines).with_max_tokens(options.max_tokens);
    let line = CommandLine::parse(command);
    let mut filter =
        BUILTIN.start(&line, &Limits::new(), Vec::new()).with_cap(cap).with_notice(options.notice);
    filter.set_exit_code(exit_code);
    if let Some(place) = options.full_output {
        filter.set_full_output(place);
    }
    let ended = filter.write(output).and_then(|()| filter.end());
    let report = ended.map_err(|error| BindingError::from(&error))?;
    Ok(CommandOutput {
        output: filter.into_sink(),
        filter: report.filter.clone(),
        report: text_of(&report),
    })
}

/// Compiled rules for old tool results in chats.
#[derive(Clone, Debug)]
pub struct BindingPrune(PruneProgram);

impl BindingPrune {
    /// Compiles rules, given as a JSON object with the names of [`PruneSpec`].
    ///
    /// # Errors
    /// Fails for names that are not known and for rules that cannot be compiled, with the kind `spec`.
    pub fn compile(rules: &str) -> Result<Self, BindingError> {
        let spec: PruneSpec = read(rules)?;
        PruneProgram::compile(&spec).map(Self).map_err(|error| BindingError::from(&error))
    }

    /// Prunes a history, and returns it with the report as JSON.
    ///
    /// # Errors
    /// Malformed input, a reached limit.
    pub fn prune(&self, history: &[u8]) -> Result<(Vec<u8>, String), BindingError> {
        let (output, report): (Vec<u8>, PruneReport) = prune_slice(&self.0, history)?;
        Ok((output, text_of(&report)))
    }
}
