//! Finds the filter of a tool in manifests or in the built-in catalog.
//!
//! This module must not depend on other flags or what is done with the filter.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use tamis::spec::{Encode, Redact, Siblings, Validation, Whitespace};
use tamis::{Error, Program};
use tamis_manifest::{Level, Manifest, ManifestError, ManifestErrorKind};

use crate::console::Usage;
use crate::files;
use crate::files::place::{called, read_once};
use crate::filters::gateway_file;
use crate::flags::groups::Selection;

/// A filter that is selected by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tool {
    /// Empty for the built-in catalog.
    pub(crate) manifests: Vec<PathBuf>,
    /// Optional if there is only one filter.
    pub(crate) name: Option<String>,
    /// Only artifacts of this service are used.
    pub(crate) service: Option<String>,
    pub(crate) level: Level,
    pub(crate) validation: Option<Validation>,
    pub(crate) whitespace: Option<Whitespace>,
    /// Set by `--lines`.
    pub(crate) siblings: Option<Siblings>,
    /// The form that replaces that of the filter.
    pub(crate) encode: Option<Encode>,
    /// Set by `--factor`.
    pub(crate) factor: bool,
    /// Set by `--redact`: added to the values that the filter replaces.
    pub(crate) redact: Option<Redact>,
    /// Set once the filter was found: it is from the built-in catalog.
    is_builtin: OnceCell<bool>,
}

/// Returns the selected tool, or `None` if the rules are given as flags.
///
/// # Errors
/// Rules from both sources.
pub(crate) fn resolve(args: &Selection) -> Result<Option<Tool>, Usage> {
    if args.manifest.is_empty() && args.service.is_some() {
        return Err(Usage::new("--service needs --manifest: it selects artifacts of the manifest"));
    }
    if args.manifest.is_empty() && args.tool.is_none() {
        if args.level.is_some() {
            return Err(Usage::new(
                "--level needs --tool or --manifest: rules given as flags have one level",
            ));
        }
        return Ok(None);
    }
    let by = if args.tool.is_some() { "--tool" } else { "--manifest" };
    let rules: [(&str, bool); 18] = [
        ("--extract", args.extract.is_some()),
        ("--select", !args.select.is_empty()),
        ("--exclude", !args.exclude.is_empty()),
        ("--omit", !args.omit.is_empty()),
        ("--requires", !args.requires.is_empty()),
        ("--on-kind", args.on_kind.is_some()),
        ("--retain", !args.retain.is_empty()),
        ("--patch", !args.patch.is_empty()),
        ("--lenient-remove", args.lenient_remove),
        ("--root", args.root.is_some()),
        ("--siblings", args.siblings.is_some()),
        ("--where", !args.conditions.is_empty()),
        ("--max-items", args.max_items.is_some()),
        ("--stop-early", args.stop_early),
        ("--drop-nulls", args.drop_nulls),
        ("--drop-empty", args.drop_empty),
        ("--on-error", args.on_error.is_some()),
        ("--duplicate-keys", args.duplicate_keys.is_some()),
    ];
    if let Some((flag, _)) = rules.iter().find(|(_, given)| *given) {
        return Err(Usage::new(format!(
            "{flag} and {by}: the rules of a tool are those of its manifest; leave {flag} out, or change the manifest"
        )));
    }
    read_once(&args.manifest)?;
    Ok(Some(Tool {
        manifests: args.manifest.clone(),
        name: args.tool.clone(),
        service: args.service.clone(),
        level: args.level.unwrap_or_default(),
        validation: args.validation,
        whitespace: args.whitespace,
        siblings: None,
        encode: None,
        factor: args.factor,
        redact: args.redaction(),
        is_builtin: OnceCell::new(),
    }))
}

impl Tool {
    /// Returns the compiled filter.
    ///
    /// # Errors
    /// The manifests are invalid, or have no filter of this name.
    pub(crate) fn program(&self) -> Result<Program, Error> {
        let program = match (self.manifests.as_slice(), &self.name) {
            ([], Some(name)) if self.service.is_none() => {
                _ = self.is_builtin.set(true);
                let entry = Manifest::catalog_entry(name).map_err(|error| self.remedied(error))?;
                entry.program_at(self.level).clone()
            }
            (paths, name) => {
                if let Some(program) = gateway_file::program(paths, name.as_deref())? {
                    return self.adjusted(program);
                }
                let manifest = load_all(paths)?;
                let manifest = match &self.service {
                    Some(service) => manifest.for_service(service)?,
                    None => manifest,
                };
                match name {
                    Some(name) => {
                        let entry = manifest.find(name)?;
                        _ = self.is_builtin.set(entry.is_builtin());
                        entry.program_at(self.level).clone()
                    }
                    None => self.only(&manifest)?,
                }
            }
        };
        self.adjusted(program)
    }

    /// Returns a program with the rules that flags add.
    fn adjusted(&self, program: Program) -> Result<Program, Error> {
        if (self.validation, self.whitespace, self.siblings, self.encode)
            == (None, None, None, None)
            && self.redact.is_none()
            && !self.factor
        {
            return Ok(program);
        }
        let mut spec = program.spec().clone();
        if let Some(redact) = &self.redact {
            spec = spec.redact_also(redact);
        }
        if self.factor {
            spec = spec.factor(true);
        }
        if let Some(encode) = self.encode {
            spec = spec.encode(encode);
        }
        if let Some(validation) = self.validation {
            spec = spec.validation(validation);
        }
        if let Some(whitespace) = self.whitespace {
            spec = spec.whitespace(whitespace);
        }
        if let Some(siblings) = self.siblings {
            let program = Program::compile(&spec.clone().siblings(siblings));
            // With branches the rules on siblings are theirs.
            return program.or_else(|_| Program::compile(&spec));
        }
        Program::compile(&spec)
    }

    /// Returns whether the filter that [`program`](Self::program) found is from the built-in catalog.
    pub(crate) fn is_builtin(&self) -> bool {
        self.is_builtin.get().copied().unwrap_or(false)
    }

    /// Adds advice to the error for a tool that is not in the catalog.
    fn remedied(&self, error: ManifestError) -> Error {
        if error.kind() == ManifestErrorKind::UnknownTool {
            return Error::spec(format!(
                "{error} (`tamis tools` lists all; --manifest FILE uses your own)"
            ));
        }
        error.into()
    }

    /// Returns the only filter of the manifests.
    fn only(&self, manifest: &Manifest) -> Result<Program, Error> {
        let mut files: Vec<String> = self.manifests.iter().take(5).map(called).collect();
        if self.manifests.len() > files.len() {
            files.push("…".to_owned());
        }
        let files = files.join(", ");
        let mut entries = manifest.entries();
        match (entries.next(), entries.len()) {
            (Some(entry), 0) => Ok(entry.program_at(self.level).clone()),
            (None, _) => Err(Error::spec(format!(
                "{files}: no filter; add one under `filters:` (see tamis help manifests)"
            ))),
            (Some(_), more) => {
                let mut names: Vec<&str> = manifest.names().take(10).collect();
                if manifest.names().len() > names.len() {
                    names.push("…");
                }
                Err(Error::spec(format!(
                    "{files}: there are {} filters; name one with --tool: {}",
                    more + 1,
                    names.join(", ")
                )))
            }
        }
    }
}

/// Reads manifests and merges them.
///
/// # Errors
/// As for [`load`], and for a name that is in two manifests.
pub(crate) fn load_all(paths: &[PathBuf]) -> Result<Manifest, ManifestError> {
    Manifest::merge(paths.iter().map(load).collect::<Result<Vec<_>, _>>()?)
}

/// Reads a manifest; `-` is standard input.
///
/// # Errors
/// As for [`Manifest::load`].
pub(crate) fn load(path: impl AsRef<Path>) -> Result<Manifest, ManifestError> {
    let path = path.as_ref();
    if path.as_os_str() != "-" {
        return Manifest::load(path);
    }
    let name = &called(path);
    let input = files::standard_input().map_err(|error| ManifestError::read(name, &error))?;
    Manifest::read(name, input)
}
