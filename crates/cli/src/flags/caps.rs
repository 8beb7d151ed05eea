//! The flags that limit the output of a command, of `tamis run` and `tamis text`.
//!
//! This module must not depend on a command.

use tamis_command::OutputCap;

use crate::flags::lists;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct CapArgs {
    /// Print at most N lines, filtered or not: the first, the last, and those most likely to be needed
    ///
    /// The lines that report what was left out count, too. In the output of tests and in logs, failures come first.
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = lists::positive, allow_negative_numbers = true)]
    max_lines: Option<u64>,

    /// Print at most N tokens, filtered or not, estimated by the kind of text
    #[arg(long, value_name = "N", help_heading = "Limits", value_parser = lists::positive, allow_negative_numbers = true)]
    max_tokens: Option<u64>,

    /// Count the tokens of --max-tokens with the vocabulary `o200k_base`, line by line
    #[arg(long, requires = "max_tokens", help_heading = "Limits")]
    exact_tokens: bool,

    /// Where a limit leaves lines out, keep those with these words first; the words of the command count in any case
    #[arg(long, value_name = "WORDS", help_heading = "Limits")]
    query: Option<String>,
}

impl CapArgs {
    /// Returns the words to look for.
    pub(crate) fn query(&self) -> &str {
        self.query.as_deref().unwrap_or_default()
    }

    /// Returns the cap that the flags describe.
    pub(crate) fn cap(&self) -> OutputCap {
        OutputCap::new()
            .with_max_lines(self.max_lines.unwrap_or(0))
            .with_max_tokens(self.max_tokens.unwrap_or(0))
            .with_exact_tokens(self.exact_tokens)
    }
}
