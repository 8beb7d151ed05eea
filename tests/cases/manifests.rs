//! Manifests: errors and warnings with their places, names, specs, and the output of a tool's spec:
//! `tests/cases/manifests/*.toml`. A case tests an error, or names and tools.

use std::collections::BTreeMap;

use serde::Deserialize;
use tamis::reserved::ReservedParameters;
use tamis::{CallOptions, Error, Filter, Program, Report, SkipReason, Spec, filter_slice};
use tamis_manifest::{Manifest, ManifestErrorKind};
use tamis_testkit::cases::{self, CaseTest};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ManifestCase {
    name: String,
    /// The name of the file; default `tools.yaml`.
    file: Option<String>,
    manifest: String,
    /// Manifests that are merged with it, by the names of their files.
    #[serde(default)]
    with: BTreeMap<String, String>,
    /// The whole error of reading or merging.
    error: Option<String>,
    /// The names, in their order.
    names: Option<Vec<String>>,
    /// The keys that only a gateway reads, as text; keys that are absent have no value.
    settings: Option<BTreeMap<String, String>>,
    /// The whole warnings.
    #[serde(default)]
    warnings: Vec<String>,
    #[serde(default)]
    tool: Vec<Tool>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tool {
    name: String,
    /// The whole error of the look-up.
    error: Option<String>,
    spec: Option<Spec>,
    /// The serialisable part of the spec, for formats whose specs have more.
    declares: Option<Spec>,
    summary: Option<String>,
    /// The values of `retrieve`, `structured`, `text_beside`, `error_text` and `servers`.
    delivery: Option<String>,
    /// The names of its reserved parameters.
    reserved: Option<Vec<String>>,
    #[serde(default)]
    raw: bool,
    #[serde(default)]
    is_error: bool,
    input: Option<String>,
    output: Option<String>,
    /// The run's error.
    fails: Option<String>,
    skipped: Option<String>,
    /// The place of the payload in the report.
    root: Option<String>,
    /// Whether the run is a total miss.
    #[serde(default)]
    missed: bool,
}

pub(crate) fn tests() -> Vec<CaseTest> {
    cases::tests("manifests", |case: &cases::Case<ManifestCase>| {
        run(&case.data);
        Ok(())
    })
}

fn read(case: &ManifestCase) -> Result<Manifest, tamis_manifest::ManifestError> {
    let file = case.file.as_deref().unwrap_or("tools.yaml");
    let mut all = vec![Manifest::parse(file, &case.manifest)?];
    for (file, text) in &case.with {
        all.push(Manifest::parse(file, text)?);
    }
    Manifest::merge(all)
}

/// The keys of a manifest that only a gateway reads.
fn settings(manifest: &Manifest) -> BTreeMap<String, String> {
    let settings = manifest.settings();
    let store = settings.store().map(|store| {
        let (entry, total) = (store.max_entry(), store.max_total());
        let age = store.max_age();
        format!("{:?}, {entry:?}, {total:?}, {age:?}, {:?}", store.place(), store.scope())
    });
    let all = [
        ("profile", settings.profile().map(|profile| profile.to_string())),
        ("service", settings.service().map(str::to_owned)),
        ("catalog", settings.catalog().map(|catalog| catalog.to_string())),
        ("store", store),
    ];
    all.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?))).collect()
}

fn run(case: &ManifestCase) {
    let manifest = match (read(case), &case.error) {
        (Err(error), Some(expected)) => {
            assert_eq!(error.to_string(), expected.trim_end(), "{}", case.name);
            assert_eq!(error.kind(), ManifestErrorKind::Invalid, "{}", case.name);
            return;
        }
        (Err(error), None) => panic!("{}:\n{error}", case.name),
        (Ok(_), Some(expected)) => panic!("{}: not refused: {expected}", case.name),
        (Ok(manifest), None) => manifest,
    };
    assert!(case.names.is_some() || !case.tool.is_empty(), "{} tests nothing", case.name);
    if let Some(names) = &case.names {
        assert!(manifest.names().eq(names.iter()), "{}", case.name);
    }
    let warnings = manifest.entries().flat_map(|entry| entry.warnings()).map(ToString::to_string);
    let expected: Vec<_> = case.warnings.iter().map(|text| text.trim_end().to_owned()).collect();
    assert_eq!(warnings.collect::<Vec<_>>(), expected, "{}", case.name);
    if let Some(expected) = &case.settings {
        assert_eq!(settings(&manifest), *expected, "{}", case.name);
    }
    for tool in &case.tool {
        let at = format!("{}: {}", case.name, tool.name);
        let program = match (manifest.program(&tool.name), &tool.error) {
            (Err(error), Some(expected)) => {
                assert_eq!(error.to_string(), expected.trim_end(), "{at}");
                continue;
            }
            (Err(error), None) => panic!("{at}:\n{error}"),
            (Ok(_), Some(expected)) => panic!("{at}: not refused: {expected}"),
            (Ok(program), None) => program,
        };
        assert_eq!(program.spec(), manifest.spec(&tool.name).unwrap(), "{at}");
        if let Some(spec) = &tool.spec {
            assert_eq!(program.spec(), spec, "{at}");
        }
        if let Some(spec) = &tool.declares {
            let written = |spec: &Spec| serde_json::to_value(spec).unwrap();
            assert_eq!(written(program.spec()), written(spec), "{at}");
        }
        if let Some(delivery) = &tool.delivery {
            let entry = manifest.entry(&tool.name).unwrap();
            let structured = format!("{:?}", entry.structured()).to_lowercase();
            let found = format!(
                "{} {structured} {:?} {:?} {:?}",
                entry.retrieve().as_str(),
                entry.text_beside(),
                entry.error_text(),
                entry.servers()
            );
            assert_eq!(found, *delivery, "{at}");
        }
        if let Some(summary) = &tool.summary {
            assert_eq!(program.spec().summary(), *summary, "{at}");
        }
        if let Some(names) = &tool.reserved {
            let reserved = manifest.reserved_parameters(&tool.name).unwrap();
            let found = reserved.iter().flat_map(ReservedParameters::iter);
            assert!(found.map(|parameter| parameter.name()).eq(names.iter()), "{at}");
            assert_eq!(reserved, program.spec().reserved_parameters(), "{at}");
        }
        let Some(input) = &tool.input else { continue };
        let options = tamis_testkit::call_options().with_raw(tool.raw).with_is_error(tool.is_error);
        let whole =
            filter_slice(program.with_options(&options), input.as_bytes()).map_err(Error::from);
        assert_eq!(shown(&whole), shown(&by_bytes(&program, &options, input)), "{at}");
        match whole {
            Ok((output, report)) => {
                assert_eq!(
                    String::from_utf8(output).unwrap(),
                    *tool.output.as_ref().unwrap(),
                    "{at}"
                );
                assert_eq!(report.skipped.map(SkipReason::as_str), tool.skipped.as_deref(), "{at}");
                if tool.root.is_some() {
                    assert_eq!(report.root.map(String::from), tool.root, "{at}");
                    assert_eq!(report.fallback.is_some(), tool.missed, "{at}");
                }
            }
            Err(error) => assert_eq!(Some(error.to_string()), tool.fails, "{at}"),
        }
    }
}

type Run = Result<(Vec<u8>, Report), Error>;

/// The parts of a result that must not depend on chunks.
fn shown(run: &Run) -> String {
    match run {
        Ok((output, report)) => {
            let output = String::from_utf8_lossy(output);
            let Report { skipped, partial_miss, fallback, root, .. } = report;
            format!("{output} {skipped:?} {partial_miss:?} {fallback:?} {root:?}")
        }
        Err(error) => error.to_string(),
    }
}

fn by_bytes(program: &Program, options: &CallOptions, input: &str) -> Run {
    let mut filter = Filter::new(program.with_options(options), Vec::new());
    for byte in input.as_bytes() {
        filter.write(&[*byte])?;
    }
    let report = filter.end()?;
    Ok((filter.into_sink(), report))
}
