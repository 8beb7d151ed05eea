//! `tamis audit`: attacks filters with hostile documents, and reports what they let through.
//!
//! The library attacks the rules. This module finds the filters and their samples, and divides the time.

mod proxy;
mod table;

use std::collections::HashMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tamis::{Program, Spec, filter_slice};
use tamis_command::CommandRules;
use tamis_insight::audit::{Audit, AuditReport};
use tamis_manifest::{Manifest, ManifestEntry};

use crate::console::print::{json, print};
use crate::console::{Console, Exit, Usage};
use crate::files::gzip::Decoded;
use crate::files::place::called;
use crate::filters::command_rules::print_problems;
use crate::filters::gateway_file;
use crate::filters::samples::{is_sample, tool_of};
use crate::flags::groups::Selection;
use crate::job::resolve;

use proxy::ProxyAttack;
use table::{Audited, Findings};

/// The largest sample, in bytes.
const MAX_SAMPLE: u64 = 4 << 20;

pub(crate) const HELP_SHORT: &str = "For more and for examples see --help.";

pub(crate) const HELP: &str = "\
Attacked are the rules that remove for safety: exclude, retain, patches that remove, all of them in branches of when and in
json_strings, select with on_error: closed, and redact. The planted value begins with canary-. For redact: secrets it is a
credential that belongs to nobody, and for personal: true an e-mail address. Filters of manifests are also attacked as
tamis mcp runs them, with results whose text is no JSON. A finding has the smallest document that was found, what leaves,
and the rule to change.

Examples:
  tamis audit tools.yaml
  tamis audit tools.yaml --samples responses/
  tamis audit --retain /users/id --seed 7
  tamis audit --retain /users/id --json

Exit codes: 0 nothing leaves, 1 a value leaves or a sample cannot be read, 2 the command line or a manifest is wrong.";

#[derive(Debug, clap::Args)]
pub(crate) struct AuditArgs {
    /// The manifests; `-` is standard input
    ///
    /// All filters are attacked, or that of --tool. Without a manifest, the rules given as flags are.
    #[arg(value_name = "MANIFEST")]
    manifests: Vec<PathBuf>,

    /// Also plant values in these sample responses; may be repeated
    ///
    /// A folder, in which TOOL.json and TOOL~ANYTHING.json are responses of TOOL, or such a file. If there is only one
    /// filter, the name of the file does not matter.
    #[arg(long, value_name = "DIR|FILE")]
    samples: Vec<PathBuf>,

    /// The seed of planted values and combinations; equal seeds give equal reports, unless the time is too short
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// The most seconds for all filters together
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// Print the report as JSON, on one line
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    selection: Selection,
}

/// A filter to attack.
struct Attacked {
    name: String,
    /// The file and the format. `None` for rules that are given as flags.
    file: Option<(String, String)>,
    spec: Spec,
    /// The number of the manifest that it is in.
    manifest: Option<usize>,
}

/// Everything to attack.
struct Job {
    filters: Vec<Attacked>,
    /// The manifests, each with names of its own: one of all files, and those of the routes of gateways.
    manifests: Vec<Manifest>,
    /// Files with rules for commands, which remove lines rather than values.
    commands: Vec<String>,
}

/// Runs `tamis audit`.
pub(crate) fn run(mut args: AuditArgs) -> Exit {
    let console = Console::default();
    args.selection.manifest.append(&mut args.manifests);
    let job = match job(&console, &args.selection) {
        Ok(job) => job,
        Err(exit) => return exit,
    };
    let samples = match samples(&console, &job, &args.samples) {
        Ok(samples) => samples,
        Err((path, error)) => return console.fail(&called(path), error),
    };
    let proxies: Vec<_> = job.manifests.iter().cloned().map(ProxyAttack::new).collect();
    let start = Instant::now();
    let time = Duration::from_secs(args.seconds);
    let mut audited = Vec::new();
    for (number, filter) in job.filters.iter().enumerate() {
        let left = u32::try_from(job.filters.len() - number).unwrap_or(u32::MAX);
        let time = time.saturating_sub(start.elapsed()) / left;
        let mut audit = Audit::new(&filter.spec).with_seed(args.seed).with_time(time);
        for sample in samples.get(&number).into_iter().flatten() {
            audit = audit.with_sample(sample);
        }
        let number = filter.manifest;
        let manifest = number.and_then(|number| job.manifests.get(number));
        let proxy = number.and_then(|number| proxies.get(number)?.as_ref());
        match attack(&audit, filter, proxy, manifest) {
            Ok(one) => audited.push(one),
            Err(error) => return console.refuse(&Usage::from(&error)),
        }
    }
    let findings = Findings::new(args.seed, audited, job.commands);
    let printed = if args.json {
        match json(&findings) {
            Ok(text) => print(&text),
            Err(error) => return console.fail("audit", error),
        }
    } else {
        print(findings.to_string().as_bytes())
    };
    if printed == Exit::Done && findings.has_any() { Exit::Failed } else { printed }
}

/// Attacks one filter.
fn attack(
    audit: &Audit,
    filter: &Attacked,
    proxy: Option<&ProxyAttack>,
    manifest: Option<&Manifest>,
) -> Result<Audited, tamis::Error> {
    let report: AuditReport = audit.run()?;
    let entry = manifest.and_then(|manifest| manifest.entry(&filter.name).ok());
    let mut audited = Audited::new(&filter.name, filter.file.as_ref(), report);
    if let (Some(proxy), Some(entry), true) = (proxy, entry, audited.has_places()) {
        let (results, findings) = proxy.run(entry, &audit.documents()?);
        audited.add_results(results, findings);
    }
    Ok(audited)
}

/// Finds the filters to attack.
fn job(console: &Console, selection: &Selection) -> Result<Job, Exit> {
    let refuse = |usage: &Usage| console.refuse(usage);
    for (flag, given) in [
        ("--raw", selection.raw),
        ("--is-error", selection.is_error),
        ("--budget", selection.budget.is_some()),
        ("--budget-tokens", selection.budget_tokens.is_some()),
    ] {
        if given {
            let message = format!(
                "{flag} is an option of a call, and an audit tries all of them; leave it out"
            );
            return Err(refuse(&Usage::new(message)));
        }
    }
    // Refuses flags that cannot be combined.
    let selected = resolve::select(selection).map_err(|usage| refuse(&usage))?;
    if selection.manifest.is_empty() {
        let program = selected.program().map_err(|error| refuse(&Usage::from(&error)))?;
        let spec = program.spec().clone();
        if selection.tool.is_none() && spec == Spec::new() {
            let message = "nothing to attack: name a manifest, or give rules such as --exclude";
            return Err(refuse(&Usage::new(message)));
        }
        let name = selection.tool.clone().unwrap_or_else(|| "the rules".to_owned());
        let filters = vec![Attacked { name, file: None, spec, manifest: None }];
        return Ok(Job { filters, manifests: Vec::new(), commands: Vec::new() });
    }
    let problems = |error: &tamis_manifest::ManifestError| {
        print_problems(console, error);
        Exit::Usage
    };
    let mut commands = Vec::new();
    let mut manifests = Vec::new();
    let mut gateways = Vec::new();
    for path in &selection.manifest {
        let bytes = gateway_file::bytes(path).map_err(|error| problems(&error))?;
        let is_toml = path.extension().is_some_and(|extension| extension == "toml");
        if is_toml || CommandRules::recognises(&bytes) {
            CommandRules::parse_bytes(&called(path), &bytes).map_err(|error| problems(&error))?;
            commands.push(called(path));
        } else if let Some(config) = gateway_file::read(path, &bytes) {
            gateways.push((called(path), config.map_err(|usage| refuse(&usage))?));
        } else {
            let manifest = Manifest::parse_bytes(&called(path), &bytes);
            manifests.push(manifest.map_err(|error| problems(&error))?);
        }
    }
    let mut manifest = Manifest::merge(manifests).map_err(|error| problems(&error))?;
    if let Some(service) = &selection.service {
        manifest = manifest.for_service(service).map_err(|error| problems(&error))?;
    }
    let attacked = |number: usize, entry: &ManifestEntry| Attacked {
        name: entry.name().to_owned(),
        file: Some((entry.file().to_owned(), entry.format().to_owned())),
        spec: entry.spec().clone(),
        manifest: Some(number),
    };
    let mut manifests = vec![manifest];
    let mut filters = Vec::new();
    for (file, config) in &gateways {
        filters.extend(gateway_file::filters(config).into_iter().map(|(name, program)| Attacked {
            name: name.to_owned(),
            file: Some((file.clone(), "gateway".to_owned())),
            spec: program.spec().clone(),
            manifest: None,
        }));
        manifests.extend(gateway_file::manifests(config).into_iter().cloned());
    }
    let Some(tool) = &selection.tool else {
        for (number, manifest) in manifests.iter().enumerate() {
            filters.extend(manifest.entries().map(|entry| attacked(number, entry)));
        }
        return Ok(Job { filters, manifests, commands });
    };
    filters.retain(|filter| filter.name == *tool);
    if filters.is_empty() {
        // The filters of a gateway's tools follow those of the manifests.
        let mut own = manifests.iter().enumerate().skip(1);
        let found = own.find_map(|(number, manifest)| Some((number, manifest.entry(tool).ok()?)));
        filters.push(match (found, manifests.first()) {
            (Some((number, entry)), _) => attacked(number, entry),
            (None, Some(first)) => {
                attacked(0, &*first.find(tool).map_err(|error| problems(&error))?)
            }
            (None, None) => return Ok(Job { filters, manifests, commands }),
        });
    }
    Ok(Job { filters, manifests, commands })
}

/// Reads the samples of each filter, by its number.
fn samples<'a>(
    console: &Console,
    job: &Job,
    paths: &'a [PathBuf],
) -> Result<HashMap<usize, Vec<String>>, (&'a Path, std::io::Error)> {
    let mut found: HashMap<usize, Vec<String>> = HashMap::new();
    for path in paths {
        let with_path = |error| (path.as_path(), error);
        std::fs::metadata(path).map_err(with_path)?;
        let files =
            if path.is_dir() { in_folder(path).map_err(with_path)? } else { vec![path.clone()] };
        if files.is_empty() {
            console.warn(&called(path), "no samples; TOOL.json is a response of TOOL");
        }
        for file in files {
            let number = if job.filters.len() == 1 && !path.is_dir() {
                Some(0)
            } else {
                filter_of(job, &file)
            };
            let Some(number) = number else {
                console.warn(&called(&file), "not used: no filter that is attacked has this name");
                continue;
            };
            found.entry(number).or_default().push(sample(&file).map_err(with_path)?);
        }
    }
    Ok(found)
}

/// Returns the JSON files of a folder, in the order of their names.
fn in_folder(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| is_sample(&name)) {
            files.push(path);
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Returns the number of the filter that a sample is for, by the name of the file.
fn filter_of(job: &Job, file: &Path) -> Option<usize> {
    let name = file.file_name()?.to_string_lossy().into_owned();
    let tool = tool_of(&name);
    let names = job
        .manifests
        .iter()
        .filter_map(|manifest| Some(manifest.find(tool).ok()?.name().to_owned()));
    let names: Vec<String> = std::iter::once(tool.to_owned()).chain(names).collect();
    names.iter().find_map(|name| job.filters.iter().position(|filter| filter.name == *name))
}

fn sample(path: &Path) -> std::io::Result<String> {
    let mut bytes = Vec::new();
    Decoded::new(File::open(path)?).take(MAX_SAMPLE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_SAMPLE {
        return Err(std::io::Error::other(format!("a sample has at most {MAX_SAMPLE} bytes")));
    }
    let all = Program::compile(&Spec::new()).map_err(std::io::Error::other)?;
    filter_slice(&all, &bytes).map_err(std::io::Error::other)?;
    String::from_utf8(bytes).map_err(std::io::Error::other)
}
