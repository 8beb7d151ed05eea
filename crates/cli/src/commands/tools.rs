//! `tamis tools`: lists the tools that have filters, with a summary of each filter.
//!
//! This module must not depend on documents.

use std::path::PathBuf;

use tamis_manifest::Manifest;

use crate::console::print::{one_line, print};
use crate::console::{Console, Exit, Usage};
use crate::files::place::read_once;
use crate::filters::by_name::load_all;

pub(crate) const HELP: &str = "\
Examples:
  tamis tools
  tamis tools github.
  tamis tools --manifest tools.yaml
  tamis tools --yaml github.list-issues > tools.yaml";

#[derive(Debug, clap::Args)]
pub(crate) struct ToolsArgs {
    /// List only tools whose names begin with PREFIX
    #[arg(value_name = "PREFIX", default_value = "", hide_default_value = true)]
    prefix: String,

    /// List the tools of a manifest instead of the built-in catalog; may be repeated
    #[arg(long, value_name = "M")]
    manifest: Vec<PathBuf>,

    /// Print the filter of a tool of the built-in catalog, as a manifest of its own
    #[arg(long, value_name = "NAME", conflicts_with_all = ["manifest", "prefix"])]
    yaml: Option<String>,
}

/// Runs `tamis tools`.
pub(crate) fn run(args: &ToolsArgs) -> Exit {
    let console = Console::default();
    if let Some(name) = &args.yaml {
        return match Manifest::catalog_yaml(name) {
            Ok(text) => print(text.as_bytes()),
            Err(error) => console.refuse(&Usage::new(error.to_string())),
        };
    }
    let manifest = match manifest(&args.manifest) {
        Ok(manifest) => manifest,
        Err(usage) => return console.refuse(&usage),
    };
    let entries = manifest.entries().filter(|entry| entry.name().starts_with(&args.prefix));
    let mut entries: Vec<_> = entries.collect();
    entries.sort_by(|one, other| one.name().cmp(other.name()));
    if entries.is_empty() && !args.prefix.is_empty() {
        let message =
            format!("no tool begins with `{}`; `tamis tools` lists all of them", args.prefix);
        return console.refuse(&Usage::new(message));
    }
    let width = entries.iter().map(|entry| entry.name().chars().count()).max().unwrap_or(0).min(40);
    let lines = entries.iter().map(|entry| {
        let (name, summary) = (one_line(entry.name()), one_line(&entry.spec().summary()));
        format!("{name:width$}  {summary}\n")
    });
    print(lines.collect::<String>().as_bytes())
}

fn manifest(paths: &[PathBuf]) -> Result<Manifest, Usage> {
    read_once(paths)?;
    let read = if paths.is_empty() { Manifest::catalog() } else { load_all(paths) };
    read.map_err(|error| Usage::new(error.to_string()))
}
