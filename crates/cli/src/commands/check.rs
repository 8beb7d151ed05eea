//! `tamis check`: reports errors and warnings of manifests, and compares their names with a list of tools.
//!
//! This module must not depend on documents. Findings are printed to standard error, valid manifests are listed on
//! standard output.

use std::collections::HashSet;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use struson::reader::{JsonReader, JsonStreamReader};
use tamis::spec::Retrieve;
use tamis::{Program, Spec, filter_reader};
use tamis_command::CommandRules;
use tamis_manifest::suggest::short;
use tamis_manifest::{Manifest, ManifestEntry, ManifestErrorKind};
use tamis_mcp::gateway_yaml::GatewayConfig;

use crate::console::print::print;
use crate::console::{Console, Exit, Usage};
use crate::files;
use crate::files::place::{called, read_once};
use crate::filters::command_rules::print_problems;
use crate::filters::gateway_file;
use crate::filters::samples::{self, Samples};

/// Maximum size of a list of tools, in bytes.
const MOST: u64 = 16 << 20;
/// Number of findings of one kind that are printed. The others are only counted.
const LISTED: usize = 100;

pub(crate) const HELP: &str = "\
Examples:
  tamis check tools.yaml
  tamis check rules.toml
  tamis check tools.yaml --tools names.txt --deny-warnings
  tamis check tools.yaml --samples responses/
  tamis check --schema

Exit codes: 0 valid (possibly with warnings), 1 the list of tools or a sample cannot be read, 2 a manifest is wrong, or
the output for a sample is.";

#[derive(Debug, clap::Args)]
pub(crate) struct CheckArgs {
    /// The manifests; `-` is standard input
    ///
    /// Rules for the output of commands (TOML) are manifests as well: their examples are run. So is the gateway.yaml of
    /// `tamis serve`, with the manifests that it names.
    #[arg(value_name = "MANIFEST", required_unless_present = "schema")]
    manifests: Vec<PathBuf>,

    /// Compare the names of filters with those of these tools; `-` is standard input
    ///
    /// One name per line, a JSON array of names, or the response of an MCP server to `tools/list`. Tools without a
    /// filter and filters without a tool are warnings.
    #[arg(long, value_name = "FILE|-", conflicts_with = "schema")]
    tools: Option<PathBuf>,

    /// Filter the sample responses in this folder, and print what the filters keep of them
    ///
    /// TOOL.json is a response of TOOL, and so is TOOL~ANYTHING.json. If there is a file TOOL.expected.json, the output
    /// must be equal to it. Samples may be compressed with gzip (TOOL.json.gz). A path that the sample lacks is listed, of
    /// `select`, `where`, `exclude`, `redact` and `retain`. An output over its budget, a sample in which
    /// no selected path was found, and one that cannot be filtered are errors (exit code 2).
    #[arg(long, value_name = "DIR", conflicts_with = "schema")]
    samples: Option<PathBuf>,

    /// The service that reShapr artifacts must be bound to
    #[arg(long, value_name = "NAME@VERSION", conflicts_with = "schema")]
    service: Option<String>,

    /// Treat warnings as errors (exit code 2)
    #[arg(long)]
    deny_warnings: bool,

    /// Print the JSON Schema of tamis' own format, for editors
    #[arg(long, conflicts_with = "manifests")]
    schema: bool,
}

/// Runs `tamis check`.
pub(crate) fn run(args: &CheckArgs) -> Exit {
    let console = Console::default();
    if args.schema {
        return print(Manifest::schema().as_bytes());
    }
    if let Err(usage) = read_once(args.manifests.iter().chain(&args.tools)) {
        return console.refuse(&usage);
    }
    let mut good = Vec::new();
    let mut fine = String::new();
    let mut warnings = 0;
    let mut exit = Exit::Done;
    for path in &args.manifests {
        let bytes = match gateway_file::bytes(path) {
            Ok(bytes) => bytes,
            Err(error) => {
                print_problems(&console, &error);
                exit = Exit::Usage;
                continue;
            }
        };
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        if is_toml || CommandRules::recognises(&bytes) {
            match rules(&console, path, &bytes) {
                Some((summary, found)) => {
                    fine.push_str(&summary);
                    warnings += found;
                }
                None => exit = Exit::Usage,
            }
            continue;
        }
        match gateway_file::read(path, &bytes) {
            Some(Ok(config)) => {
                for warning in config.warnings() {
                    console.usage(&Usage::new(warning));
                }
                warnings += config.warnings().len();
                fine.push_str(&gateway_line(path, &config));
                continue;
            }
            Some(Err(usage)) => {
                console.usage(&usage);
                exit = Exit::Usage;
                continue;
            }
            None => {}
        }
        let manifest = match Manifest::parse_bytes(&called(path), &bytes) {
            Ok(manifest) => manifest,
            Err(error) => {
                print_problems(&console, &error);
                exit = Exit::Usage;
                continue;
            }
        };
        if let Some(service) = &args.service
            && let Err(error) = manifest.for_service(service)
        {
            print_problems(&console, &error);
            exit = Exit::Usage;
            continue;
        }
        for warning in manifest.entries().flat_map(|entry| entry.warnings()) {
            console.usage(&Usage::new(warning.to_string()));
            warnings += 1;
        }
        let format = manifest.entries().next().map_or("tamis", |entry| entry.format());
        let count = manifest.names().len();
        let plural = if count == 1 { "filter" } else { "filters" };
        fine.push_str(&format!("{}: {count} {plural} ({format})\n", called(path)));
        for entry in manifest.entries().take(LISTED) {
            fine.push_str(&effects(entry));
        }
        if count > LISTED {
            fine.push_str(&format!("  {} more filters\n", count - LISTED));
        }
        good.push(manifest);
    }
    let merged = Manifest::merge(good);
    match (&merged, &args.tools) {
        (Err(error), _) => {
            print_problems(&console, error);
            exit = Exit::Usage;
        }
        // A manifest that failed to load would make tools look as if they had no filter.
        (Ok(manifest), Some(path)) if exit == Exit::Done => match names(path) {
            Err(error) => return console.fail(&called(path), error),
            Ok(tools) => match compare(&console, manifest, &tools, path) {
                Ok(found) => warnings += found,
                Err(()) => exit = Exit::Usage,
            },
        },
        _ => {}
    }
    if exit != Exit::Done {
        return exit;
    }
    if let (Ok(manifest), Some(folder)) = (&merged, &args.samples) {
        match samples::filter_all(&console, manifest, folder) {
            Err(error) => return console.fail(&called(folder), error),
            Ok(Samples { table, warnings: found, exit: Exit::Done }) => {
                fine.push_str(&table);
                warnings += found;
            }
            Ok(Samples { table, exit, .. }) => {
                print((fine + &table).as_bytes());
                return exit;
            }
        }
    }
    if args.deny_warnings && warnings > 0 {
        let plural = if warnings == 1 { "warning" } else { "warnings" };
        return console
            .refuse(&Usage::new(format!("{warnings} {plural}, which --deny-warnings refuses")));
    }
    print(fine.as_bytes())
}

/// Returns the line about a filter: the rules that keep values from the caller, those that only save, and what gateways store of a result
/// if it is not all that the caller may read.
fn effects(entry: &ManifestEntry) -> String {
    let (protecting, saving) = entry.spec().effects();
    let mut effects = Vec::new();
    for (effect, rules) in [("protects", protecting), ("saves", saving)] {
        if !rules.is_empty() {
            effects.push(format!("{effect}: {}", rules.join(", ")));
        }
    }
    let retrieve = entry.retrieve();
    if retrieve != Retrieve::All {
        effects.push(format!("retrieve: {}", retrieve.as_str()));
    }
    let effects = if effects.is_empty() { "no rules".to_owned() } else { effects.join("; ") };
    format!("  {}: {effects}\n", short(entry.name()))
}

/// Returns the line for a valid `gateway.yaml`.
fn gateway_line(path: &Path, config: &GatewayConfig) -> String {
    let count = config.routes().len();
    let plural = if count == 1 { "route" } else { "routes" };
    format!("{}: {count} {plural} (gateway)\n", called(path))
}

/// Checks rules for the output of commands and runs their examples. Returns the line for standard output and the number
/// of warnings, or `None` if the rules are wrong.
fn rules(console: &Console, path: &Path, bytes: &[u8]) -> Option<(String, usize)> {
    let rules = match CommandRules::parse_bytes(&called(path), bytes) {
        Ok(rules) => rules,
        Err(error) => {
            print_problems(console, &error);
            return None;
        }
    };
    let warnings = rules.warnings();
    for warning in warnings.iter().take(LISTED) {
        console.usage(&Usage::new(warning.to_string()));
    }
    if warnings.len() > LISTED {
        console.warn(&called(path), format_args!("{} more warnings", warnings.len() - LISTED));
    }
    let wrong = rules.run_examples();
    for problem in wrong.iter().take(LISTED) {
        console.usage(&Usage::new(problem.to_string()));
    }
    if wrong.len() > LISTED {
        console.usage(&Usage::new(format!("{} more problems", wrong.len() - LISTED)));
    }
    let count =
        |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    wrong.is_empty().then(|| {
        let summary = format!(
            "{}: {}, {} (rules for commands)\n",
            called(path),
            count(rules.names().len(), "rule"),
            count(rules.examples(), "example")
        );
        (summary, warnings.len())
    })
}

/// Warns of tools without a filter and of filters without a tool, and returns the number of warnings. Two patterns that
/// match a tool equally well are an error.
fn compare(
    console: &Console,
    manifest: &Manifest,
    tools: &[String],
    path: &Path,
) -> Result<usize, ()> {
    let list = called(path);
    let (mut missing, mut unused, mut ambiguous) = (0, 0, 0);
    let mut found_by_meaning: HashSet<String> = HashSet::new();
    let has_catalog = manifest.settings().catalog() == Some(true);
    for tool in tools {
        // Looking for a similar name compares all names: done only for tools that are printed.
        if !manifest.has(tool) {
            if (has_catalog || tool.starts_with("mcp__"))
                && let Ok(entry) = manifest.find(tool)
            {
                found_by_meaning.insert(entry.name().to_owned());
                continue;
            }
            missing += 1;
            if missing > LISTED {
                continue;
            }
        }
        let Err(error) = manifest.entry(tool) else { continue };
        if error.kind() == ManifestErrorKind::Ambiguous {
            ambiguous += 1;
            if ambiguous <= LISTED {
                print_problems(console, &error);
            }
        } else {
            let message = error.problems().first().map_or("", |problem| problem.message());
            console.warn(&list, message);
        }
    }
    let exact: HashSet<&str> = tools.iter().map(String::as_str).collect();
    for entry in manifest.entries() {
        let mut names = std::iter::once(entry.name()).chain(entry.aliases());
        let used = names.any(|name| exact.contains(name))
            || found_by_meaning.contains(entry.name())
            || (entry.has_pattern() && tools.iter().any(|tool| entry.fits(tool)));
        if !used {
            unused += 1;
            if unused <= LISTED {
                let place = format!("{}:{}", entry.file(), entry.line());
                console.warn(&place, format_args!("`{}` matches no tool of {list}", entry.name()));
            }
        }
    }
    if missing > LISTED {
        console.warn(&list, format_args!("{} more tools have no filter", missing - LISTED));
    }
    if unused > LISTED {
        console.warn(&list, format_args!("{} more filters match no tool", unused - LISTED));
    }
    if ambiguous > 0 { Err(()) } else { Ok(missing + unused) }
}

/// A list of tools in JSON: names or objects with names, alone or in an MCP response.
#[derive(Deserialize)]
#[serde(untagged)]
enum Listed {
    Tools(Vec<Named>),
    List { tools: Vec<Named> },
    Response { result: ListResult },
}

#[derive(Deserialize)]
struct ListResult {
    tools: Vec<Named>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Named {
    Name(String),
    Tool { name: String },
}

/// Reads the names of a list of tools.
fn names(path: &Path) -> Result<Vec<String>, String> {
    let cannot = |error: std::io::Error| format!("cannot be read: {error}");
    let file = if path.as_os_str() == "-" { files::standard_input() } else { File::open(path) };
    let mut bytes = Vec::new();
    file.map_err(cannot)?.take(MOST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > MOST {
        return Err(format!("a list of tools has at most {MOST} bytes"));
    }
    let text = String::from_utf8(bytes)
        .map_err(|error| format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    if !text.trim_start().starts_with(['[', '{']) {
        let lines = text.lines().map(str::trim);
        return Ok(lines.filter(|line| !line.is_empty()).map(str::to_owned).collect());
    }
    let none = |why: &str| {
        format!(
            "not a list of tools{why}: expected one name per line, a JSON array of names, or an MCP `tools/list` result"
        )
    };
    // The engine reports JSON errors with their place.
    Program::compile(&Spec::new())
        .and_then(|all| Ok(filter_reader(&all, text.as_bytes(), std::io::sink())?))
        .map_err(|error| none(&format!(" ({error})")))?;
    let listed = JsonStreamReader::new(text.as_bytes()).deserialize_next::<Listed>();
    let tools = match listed.map_err(|_no_member_of_ours| none(""))? {
        Listed::Tools(tools) | Listed::List { tools } => tools,
        Listed::Response { result } => result.tools,
    };
    let name = |tool| match tool {
        Named::Name(name) | Named::Tool { name } => name,
    };
    Ok(tools.into_iter().map(name).collect())
}
