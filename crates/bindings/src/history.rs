//! Old tool results in chats.

use tamis_chat::{PruneProgram, PruneReport, PruneSpec, prune_slice};

use crate::error::BindingError;
use crate::options::read;
use crate::program::text_of;

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
