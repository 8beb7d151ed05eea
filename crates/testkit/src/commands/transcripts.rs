//! Recorded outputs of real tools (`corpus/commands`), with their filters.

use serde::Deserialize;
use tamis::Limits;
use tamis_command::OutputFilterRegistry;

use super::drivers::Subject;
use crate::{cases, paths};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Transcript {
    pub name: String,
    pub command: String,
    pub exit_code: i32,
    /// The name of its filter.
    pub filter: Option<String>,
    /// Names, places, messages and counts that the filtered output must contain.
    #[serde(default)]
    pub atoms: Vec<String>,
}

/// Returns all of them.
pub fn transcripts() -> Vec<Transcript> {
    let path = "tests/cases/transcripts/transcripts.toml";
    cases::read(path, "transcript").into_iter().map(|case| case.data).collect()
}

impl Transcript {
    pub fn raw(&self) -> Vec<u8> {
        paths::read(&format!("corpus/commands/{}.txt", self.name))
    }

    pub fn subject<'a>(
        &'a self,
        registry: &'a OutputFilterRegistry,
        limits: &'a Limits,
        output: &'a [u8],
    ) -> Subject<'a> {
        Subject {
            registry,
            limits,
            command: &self.command,
            exit_code: Some(self.exit_code),
            quiet: false,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output,
        }
    }
}
