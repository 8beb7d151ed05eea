//! `tamis trust`: accepts the rules for commands of a project's `tamis.yaml`.
//!
//! This module must not depend on how a file is accepted: `tamis_agents` does.

use std::path::PathBuf;

use tamis_agents::accepted;
use tamis_manifest::Manifest;
use tamis_store::state;

use crate::console::print::{one_line, print};
use crate::console::{Console, Exit, Usage};

pub(crate) const HELP: &str = "\
Examples:
  tamis trust
  tamis trust --remove

Hooks that were installed with --project read the tamis.yaml of the project. Its `commands` (lists `never`, and files with
rules) are used only while the file, and the files that it names, are those that you accepted. They are printed before.

Exit codes: 0 done, 1 a file cannot be read or written, 2 the command line or the file is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct TrustArgs {
    /// The file to accept
    #[arg(value_name = "FILE", default_value = "tamis.yaml")]
    file: PathBuf,

    /// Do not use the rules of the file any more
    #[arg(long)]
    remove: bool,
}

/// Runs `tamis trust`.
pub(crate) fn run(args: &TrustArgs) -> Exit {
    let console = Console::default();
    let name = args.file.display().to_string();
    let Some(state) = state::folder_of_user() else {
        console.usage(&Usage::new("no home folder; set TAMIS_STATE_DIR"));
        return Exit::Usage;
    };
    if args.remove {
        let was_accepted = accepted::forget(&state, &args.file);
        let text =
            if was_accepted { "its rules are not used any more" } else { "was not accepted" };
        console.note(format_args!("{name}: {text}"));
        return Exit::Done;
    }
    let manifest = match Manifest::load(&args.file) {
        Ok(manifest) => manifest,
        Err(error) => return console.fail("trust", error),
    };
    let Some(commands) = manifest.settings().commands() else {
        console.note(format_args!("{name}: it has no `commands`, so there is nothing to accept"));
        return Exit::Done;
    };
    let mut text = String::new();
    for pattern in commands.never() {
        text.push_str(&format!("never {}\n", one_line(pattern)));
    }
    for path in accepted::rules_files(&args.file, commands) {
        text.push_str(&format!("rules {}\n", one_line(&path.display().to_string())));
    }
    let printed = print(text.as_bytes());
    if printed != Exit::Done {
        return printed;
    }
    match accepted::accept(&state, &args.file, commands) {
        Ok(()) => {
            console.note(format_args!("{name}: accepted; a change of it ends that"));
            Exit::Done
        }
        Err(error) => console.fail(&name, error),
    }
}
