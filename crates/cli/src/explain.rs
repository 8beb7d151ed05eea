//! `tamis explain`: prints the compiled program and its plan, as text or as JSON.
//!
//! This module must not depend on rules: the library explains them.

use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis::Explanation;

use crate::diagnostics::{Console, Exit, Usage};
use crate::groups::Selection;
use crate::print::print;
use crate::resolve;

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
No document is read. Use the same flags as for tamis filter.

Examples:
  tamis explain --select id,login=owner.login --max-items 25
  tamis explain --retain /user/name,/items/id
  tamis explain --exclude body --json
  tamis explain --tool github.list-repos";

#[derive(Debug, clap::Args)]
pub(crate) struct ExplainArgs {
    #[command(flatten)]
    selection: Selection,

    /// Print it as JSON, on one line
    ///
    /// The keys are stable within a `version`. They are documented at `Explanation` in the library.
    #[arg(long, help_heading = "Output")]
    json: bool,
}

/// Explains the filter that the flags select.
pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let console = Console::default();
    let explanation = match explain(args) {
        Ok(explanation) => explanation,
        Err(usage) => {
            console.usage(&usage);
            return Exit::Usage;
        }
    };
    if !args.json {
        return print(explanation.to_string().as_bytes());
    }
    match json(&explanation) {
        Ok(text) => print(&text),
        Err(error) => {
            console.say("explain", error);
            Exit::Failed
        }
    }
}

fn explain(args: &ExplainArgs) -> Result<Explanation, Usage> {
    let selected = resolve::select(&args.selection)?;
    let program = selected.program().map_err(|error| Usage::from(&error))?;
    Ok(program.explain(&selected.options))
}

fn json(explanation: &Explanation) -> std::io::Result<Vec<u8>> {
    let mut json = JsonStreamWriter::new(Vec::new());
    json.serialize_value(explanation).map_err(std::io::Error::other)?;
    let mut text = json.finish_document()?;
    text.push(b'\n');
    Ok(text)
}
