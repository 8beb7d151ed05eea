//! The stages of the rule `redact`: values at paths, then credentials.

use std::sync::Arc;

use tamis_json::error::Error;
use tamis_json::sink::Sink;
use tamis_text::secrets::{SecretSearch, TextForm};

use super::redact_paths::RedactPathsStage;
use super::stage_sink::{ByteStage, StageSink};
use crate::filter::compile::output::RedactRules;
use crate::filter::run::payload_length::PayloadLength;
use crate::filter::run::root_path::RootPath;
use crate::filter::run::stage::StageMachine;
use crate::report::{Report, add_counts};

/// The stages of the rule. The stage after them is an argument of each call.
#[derive(Debug)]
pub(super) struct RedactStages {
    /// Replaces values at paths.
    pub(super) paths: Option<(StageMachine, RedactPathsStage)>,
    /// Reads what `paths` writes, and replaces credentials.
    pub(super) secrets: Option<SecretSearch>,
}

/// Returns the stages for the parts of the rule that a program has.
pub(super) fn stages(
    rules: Option<&Arc<RedactRules>>,
    place: &RootPath,
    length: &PayloadLength,
) -> (Option<RedactPathsStage>, Option<SecretSearch>) {
    let Some(rules) = rules else { return (None, None) };
    let paths = (!rules.source_paths.is_empty())
        .then(|| RedactPathsStage::new(rules.clone(), place.clone(), length.clone()));
    (paths, rules.secrets.as_ref().map(|rules| rules.filter(TextForm::Json)))
}

impl RedactStages {
    /// Returns the stages together with the one after them.
    pub(super) fn then<'a, T: ByteStage>(&'a mut self, rest: &'a mut T) -> RedactThen<'a, T> {
        RedactThen { stages: self, rest }
    }

    /// Adds the numbers of replaced values to the report.
    pub(super) fn report(&self, report: &mut Report) {
        let replaced = self.paths.as_ref().map_or(0, |(_, paths)| paths.replaced);
        if replaced > 0 {
            *report.redacted.entry("path".to_owned()).or_default() += replaced;
        }
        if let Some(secrets) = &self.secrets {
            add_counts(&mut report.redacted, &secrets.found());
        }
    }
}

/// The stages of the rule and the one after them, as one stage.
pub(super) struct RedactThen<'a, T> {
    stages: &'a mut RedactStages,
    rest: &'a mut T,
}

impl<T: ByteStage> ByteStage for RedactThen<'_, T> {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let RedactStages { paths, secrets } = &mut *self.stages;
        let mut secrets = SecretStage { secrets, rest: &mut *self.rest };
        let Some((engine, paths)) = paths else { return secrets.take(bytes, sink) };
        let mut out = StageSink { stage: &mut secrets, sink, error: None };
        let fed = engine.feed(paths, bytes, &mut out);
        out.result(fed)
    }
}

impl<T: ByteStage> RedactThen<'_, T> {
    /// Ends the stages of the rule in order. Each one may still write to the next.
    pub(super) fn end(&mut self, sink: &mut dyn Sink) -> Result<(), Error> {
        let RedactStages { paths, secrets } = &mut *self.stages;
        if let Some((engine, paths)) = paths {
            let mut stage = SecretStage { secrets: &mut *secrets, rest: &mut *self.rest };
            let mut out = StageSink { stage: &mut stage, sink: &mut *sink, error: None };
            let ended = engine.end(paths, &mut out);
            out.result(ended)?;
        }
        if let Some(secrets) = secrets {
            let mut out = StageSink { stage: &mut *self.rest, sink, error: None };
            secrets.end(&mut out);
            out.result(Ok(()))?;
        }
        Ok(())
    }
}

/// The search for credentials and the stage after it, as one stage.
struct SecretStage<'a, T> {
    secrets: &'a mut Option<SecretSearch>,
    rest: &'a mut T,
}

impl<T: ByteStage> ByteStage for SecretStage<'_, T> {
    fn take(&mut self, bytes: &[u8], sink: &mut dyn Sink) -> Result<(), Error> {
        let Some(secrets) = self.secrets else { return self.rest.take(bytes, sink) };
        let mut out = StageSink { stage: &mut *self.rest, sink, error: None };
        secrets.write(bytes, &mut out);
        out.result(Ok(()))
    }
}
