//! `tamis explain`: the compiled program and its plan, in words or as JSON.
//!
//! Must not know rules: the library says it.

use struson::writer::{JsonStreamWriter, JsonWriter};
use tamis::{Explanation, Program};

use crate::args::ExplainArgs;
use crate::diagnostics::{Console, Exit, Usage};
use crate::print::print;
use crate::resolve::{self, Selected};

/// Explains the filter that the flags select.
pub(crate) fn run(args: &ExplainArgs) -> Exit {
    let console = Console::default();
    let (explanation, warning) = match explain(args) {
        Ok(explained) => explained,
        Err(usage) => {
            console.usage(&usage);
            return Exit::Usage;
        }
    };
    if let Some(warning) = warning {
        console.warn("explain", warning);
    }
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

fn explain(args: &ExplainArgs) -> Result<(Explanation, Option<&'static str>), Usage> {
    let Selected { spec, options, warning } = resolve::select(&args.selection)?;
    let program = Program::compile(&spec).map_err(|error| Usage::from(&error))?;
    Ok((program.explain(&options), warning))
}

fn json(explanation: &Explanation) -> std::io::Result<Vec<u8>> {
    let mut json = JsonStreamWriter::new(Vec::new());
    json.serialize_value(explanation).map_err(std::io::Error::other)?;
    let mut text = json.finish_document()?;
    text.push(b'\n');
    Ok(text)
}
