//! `tamis doctor`: whether what is installed for coding agents works.
//!
//! This module must not depend on what is examined.

use std::fmt::Write as _;

use tamis_agents::doctor::{Level, examine};
use tamis_agents::install::Places;

use crate::console::print::print;
use crate::console::{Console, Exit, Usage};

pub(crate) const HELP: &str = "\
Each line begins with ok, note or broken; a broken one ends with the remedy. Nothing is changed.

Exit codes: 0 nothing is broken, 1 something is.";

#[derive(Debug, clap::Args)]
pub(crate) struct DoctorArgs {}

/// Runs `tamis doctor`.
pub(crate) fn run(_: &DoctorArgs) -> Exit {
    let console = Console::default();
    let (Some(places), Ok(tamis)) = (Places::of_process(), std::env::current_exe()) else {
        console.usage(&Usage::new("no home folder; set HOME"));
        return Exit::Usage;
    };
    let findings = examine(&places, &tamis, tamis_replay::last_session_of_opencode);
    let mut text = String::new();
    for finding in &findings {
        // Names of files and values of settings may have any characters.
        let line = finding.to_string();
        let line: String =
            line.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
        _ = writeln!(text, "{line}");
    }
    let printed = print(text.as_bytes());
    let is_broken = findings.iter().any(|finding| finding.level == Level::Broken);
    if printed == Exit::Done && is_broken { Exit::Failed } else { printed }
}
