//! `tamis completions` and `tamis man`: generated from the description of the command line.
//!
//! This module must not depend on any command.

use std::path::PathBuf;

use crate::console::print::print;
use crate::console::{Console, Exit};

pub(crate) const COMPLETIONS: &str = "\
Examples:
  tamis completions bash > ~/.local/share/bash-completion/completions/tamis
  tamis completions zsh > ~/.zfunc/_tamis
  tamis completions fish > ~/.config/fish/completions/tamis.fish";

pub(crate) const MAN: &str = "\
Examples:
  tamis man
  tamis man ~/.local/share/man/man1";

#[derive(Debug, clap::Args)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: clap_complete::Shell,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ManArgs {
    /// The folder for the pages; created if missing
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints a completion script.
pub(crate) fn completions(args: &CompletionsArgs, mut tamis: clap::Command) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut tamis, "tamis", &mut script);
    print(&script)
}

/// Prints the manual page, or writes the pages of all commands into a folder.
pub(crate) fn man(args: &ManArgs, tamis: clap::Command) -> Exit {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(tamis).render(&mut page);
        return match rendered {
            Ok(()) => print(&page),
            Err(error) => failed("standard output", &error),
        };
    };
    let written =
        std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(tamis, folder));
    match written {
        Ok(()) => Exit::Done,
        Err(error) => failed(&folder.display().to_string(), &error),
    }
}

fn failed(name: &str, error: &std::io::Error) -> Exit {
    Console::default().fail(name, format_args!("cannot write the manual: {error}"))
}
