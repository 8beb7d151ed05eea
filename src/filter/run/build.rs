//! Builds the pipe of a program from its list of stages.
//!
//! ```text
//! input ─▶ document: extract, retain, patches ─▶ payload: root, items ─▶ output stages ─▶ sink
//! input ─▶ whole: content, or a document that is forwarded ─▶ sink
//! input ─▶ strings: extract, json_strings ─▶ a run of the other rules ─▶ sink
//! ```
//!
//! A stage without rules is left out, unless no other stage is left. Each stage has a machine of its own, so a document
//! with rules of two kinds is scanned twice.

use super::content::WholeDocument;
use super::document::DocumentStage;
use super::factored_value::FactoredValueGuard;
use super::json_strings::JsonStringStage;
use super::output::output_stage;
use super::payload::PayloadStage;
use super::payload_length::PayloadLength;
use super::pipe::{NewRun, Pipe, Stage};
use super::root::Payload;
use crate::filter::compile::program::{CompiledProgram, Program};
use crate::filter::compile::size_policy::SizePolicy;
use crate::filter::compile::stages::StageKind;
use crate::filter::options::CallOptions;

/// Returns the pipe of a program for one call. `payload`: its place, if a first pass has found it. `new_run` creates the
/// runs inside this one.
pub(super) fn build_pipe(
    program: &Program,
    options: &CallOptions,
    payload: Option<Payload>,
    new_run: NewRun,
) -> Pipe {
    let compiled = program.compiled();
    let kinds = |program: &Program| {
        let compiled = program.compiled();
        compiled.stages(&SizePolicy::new(&compiled.spec, options.policy()))
    };
    let mut stages: Vec<Box<dyn Stage>> = Vec::new();
    if compiled.json_strings.is_some() {
        stages.push(Box::new(JsonStringStage::new(compiled, options, new_run)));
        stages.extend(factored_guard(compiled));
        let rest = program.after_strings();
        if kinds(rest).as_slice() != [StageKind::Validate] {
            stages.push(new_run(rest, &options.after_strings()));
        }
        return Pipe::new(stages);
    }
    let kinds = kinds(program);
    let length = kinds.contains(&StageKind::Size).then(PayloadLength::default);
    for kind in kinds {
        match kind {
            StageKind::Whole => stages.extend(
                WholeDocument::new(program, options).map(|stage| Box::new(stage) as Box<dyn Stage>),
            ),
            // One stage has all rules on the document.
            StageKind::Extract | StageKind::Retain | StageKind::Patches | StageKind::Validate => {
                if stages.is_empty() {
                    stages.push(Box::new(DocumentStage::new(compiled, options)));
                    stages.extend(factored_guard(compiled));
                }
            }
            // The run has chosen, and this is the program of the branch.
            StageKind::JsonStrings | StageKind::Requires | StageKind::When => {}
            StageKind::Items => {
                stages.push(Box::new(PayloadStage::new(program, options, payload, length.clone())));
            }
            StageKind::TextFilter
            | StageKind::OmitBase64
            | StageKind::RedactPaths
            | StageKind::RedactSecrets
            | StageKind::Fit
            | StageKind::Size
            | StageKind::Factor
            | StageKind::Compact
            | StageKind::Encode
            | StageKind::Lines => {
                let length = length.clone().unwrap_or_default();
                stages.extend(output_stage(kind, compiled, options, &length));
            }
        }
    }
    Pipe::new(stages)
}

fn factored_guard(compiled: &CompiledProgram) -> Option<Box<dyn Stage>> {
    FactoredValueGuard::of(compiled).map(|guard| Box::new(guard) as Box<dyn Stage>)
}
