//! The pipelines of a filter: one for each way a command may end, and those for output that is passed through.

use tamis::text::TextProgram;
use tamis_json::limits::Limits;
use tamis_text::lines::pipeline::TextPipeline;

use super::rules::{CommandRule, ExitCondition};

/// A rule as it applies to one way the command may end.
pub(super) struct ExitVariant {
    pub(super) exit: ExitCondition,
    pub(super) pipeline: TextPipeline,
    pub(super) out: Vec<u8>,
}

/// The pipeline for output that no filter applies to.
pub(super) fn unfiltered(limits: &Limits) -> Box<TextPipeline> {
    Box::new(TextPipeline::new(&TextProgram::passing(), limits))
}

/// The pipeline for output that is passed through although a filter applies to the command.
pub(super) fn marking(limits: &Limits) -> Box<TextPipeline> {
    Box::new(TextPipeline::new(&TextProgram::marking(), limits))
}

pub(super) fn variants(rule: &CommandRule, limits: &Limits) -> Option<Vec<ExitVariant>> {
    let programs = rule.programs()?;
    let variant = |(exit, program): &(ExitCondition, TextProgram)| ExitVariant {
        exit: *exit,
        pipeline: TextPipeline::new(program, limits).for_notice(limits.held()),
        out: Vec::new(),
    };
    Some(programs.iter().map(variant).collect())
}
