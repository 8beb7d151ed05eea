//! What is generated from the command line's own description: completions and manual pages.
//!
//! Must not know any command.

use std::path::PathBuf;

use clap::CommandFactory;

use crate::args::Args;
use crate::diagnostics::{Console, Exit};
use crate::print::print;

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
    /// Where to write the pages; it is made if it is not there
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints a completion script.
pub(crate) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Args::command(), "tamis", &mut script);
    print(&script)
}

/// Prints the manual page, or writes those of all commands into a folder.
pub(crate) fn man(args: &ManArgs) -> Exit {
    let Some(folder) = &args.folder else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(Args::command()).render(&mut page);
        return match rendered {
            Ok(()) => print(&page),
            Err(error) => failed("standard output", &error),
        };
    };
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(Args::command(), folder));
    match written {
        Ok(()) => Exit::Done,
        Err(error) => failed(&folder.display().to_string(), &error),
    }
}

fn failed(name: &str, error: &std::io::Error) -> Exit {
    Console::default().say(name, format_args!("cannot write the manual: {error}"));
    Exit::Failed
}
