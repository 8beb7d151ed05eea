//! Reads a `gateway.yaml`: checks what is written, reads the manifests and compiles the filters.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tamis_manifest::error::{Problems, Text};
use tamis_manifest::node::Node;
use tamis_manifest::placed::Placed;
use tamis_manifest::rule_place;
use tamis_manifest::yaml::{self, FileLimits};
use tamis_manifest::{
    Diagnostic, Manifest, ManifestEntry, ManifestError, ManifestErrorKind, SpecWarning,
};

use super::action::Action;
use super::filter::HttpFilter;
use super::gateway::{GatewayConfig, RecallTarget};
use super::order::RouteOrder;
use super::route::{Route, RouteRule};
use super::when::Conditions;
use super::written::{WrittenGateway, WrittenMcp, WrittenRoute};
use crate::config::{Config, ConfigFiles, ConfigFlags, ConfigPlaces};

/// The most bytes of a file.
const MOST: u64 = 4 << 20;

/// The most routes.
const ROUTES: usize = 10_000;

/// All of these routes must fit, since they cannot be in several files.
const YAML: FileLimits = FileLimits { nodes: 1_000_000, is_divisible: false };

/// The most warnings that are listed. Each has the text of its line, which has to be found in the file.
const WARNINGS: usize = 100;

/// The bytes that all responses together may hold in memory, unless others are given.
const POOL_MEMORY: u64 = 256 << 20;

/// The bytes that all responses together may hold in temporary files, unless others are given.
const POOL_SPILL: u64 = 4 << 30;

/// The address for gateways, unless another is given.
const LISTEN: &str = "127.0.0.1:4445";

pub(super) fn load(path: &Path) -> Result<GatewayConfig, ManifestError> {
    let name = path.display().to_string();
    let cannot = |error: io::Error| ManifestError::read(&name, &error);
    let length = fs::metadata(path).map_err(cannot)?.len();
    if length > MOST {
        let message = format!("the file has {length} bytes, more than {MOST}");
        return Err(invalid(Diagnostic::nowhere(&name, message).into()));
    }
    parse(path, &fs::read_to_string(path).map_err(cannot)?)
}

fn invalid(problems: Problems) -> ManifestError {
    ManifestError::new(ManifestErrorKind::Invalid, problems)
}

pub(super) fn parse(path: &Path, text: &str) -> Result<GatewayConfig, ManifestError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let source = &Text::new(&path.display().to_string(), text);
    let tree = yaml::parse(source, &YAML).map_err(invalid)?;
    let written = tree.read_rendered::<WrittenGateway>(text);
    let written = written.map_err(|flaw| {
        invalid(source.problem(flaw.at.unwrap_or(tree.at.start), flaw.message()).into())
    })?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut reading = Reading {
        source,
        tree: &tree,
        folder,
        files: vec![path.to_owned()],
        hash: Sha256::new(),
        shared: Vec::new(),
        warnings: Vec::new(),
        more_warnings: 0,
    };
    reading.hash.update(env!("CARGO_PKG_VERSION"));
    reading.hash.update(text);
    reading.gateway(written).map_err(|problem| invalid(problem.into()))
}

/// Returns the keys of the outermost map. If the text cannot be parsed, they are those at the start of a line.
pub(super) fn top_keys(text: &str) -> Vec<String> {
    match yaml::parse(&Text::new("", text), &YAML) {
        Ok(tree) => tree.entries().into_iter().flatten().map(|(key, _)| key.text.clone()).collect(),
        Err(_) => {
            let lines = text.lines().filter_map(|line| line.split_once(':'));
            lines.map(|(key, _)| key.trim_matches(['"', '\'']).to_owned()).collect()
        }
    }
}

/// Adds what is read from a file to a hash.
struct HashedRead<'a> {
    file: File,
    hash: &'a mut Sha256,
}

impl Read for HashedRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(buffer)?;
        self.hash.update(buffer.get(..count).unwrap_or_default());
        Ok(count)
    }
}

/// The state while a file is read.
struct Reading<'a> {
    source: &'a Text<'a>,
    tree: &'a Node,
    folder: &'a Path,
    files: Vec<PathBuf>,
    hash: Sha256,
    /// The manifests for all routes.
    shared: Vec<PathBuf>,
    warnings: Vec<String>,
    /// How many warnings were found in addition.
    more_warnings: usize,
}

impl Reading<'_> {
    /// Returns a problem of the whole file.
    fn of_file(&self, message: impl Into<String>) -> Diagnostic {
        Diagnostic::nowhere(self.source.name(), message)
    }

    fn gateway(&mut self, written: WrittenGateway) -> Result<GatewayConfig, Diagnostic> {
        if written.version.value != 1 {
            let message = format!("expected `version: 1`, not {}", written.version.value);
            return Err(self.source.problem(written.version.at, message));
        }
        if written.routes.len() > ROUTES {
            let message = format!("more than {ROUTES} routes");
            return Err(self.of_file(message));
        }
        let listen = self.address(written.listen.as_ref())?;
        let listen = listen
            .or_else(|| LISTEN.parse().ok())
            .ok_or_else(|| self.of_file("expected an address for `listen`"))?;
        let metrics = self.address(written.metrics.as_ref())?;
        let (shared, manifest) = self.manifests(&written.manifests)?;
        self.shared = shared;
        let idle = written.idle_seconds;
        if let Some(seconds) = idle.as_ref().filter(|seconds| seconds.value == 0) {
            let message = "expected at least 1 second for `idle_seconds`, not 0";
            return Err(self.source.problem(seconds.at, message));
        }
        let mut routes = Vec::with_capacity(written.routes.len());
        let mut order = RouteOrder::default();
        for (at, route) in written.routes.into_iter().enumerate() {
            let (place, named) = (route.at, route.value.name.as_ref());
            let name_at = named.map_or(place, |name| name.at);
            let route = self.route(at, route, manifest.as_ref())?;
            order.add(&route, [place, name_at], self.source)?;
            routes.push(route);
        }
        let ext_mcp = match written.ext_mcp {
            Some(mcp) => self.mcp(&mcp)?,
            None => self
                .config(&WrittenMcp::default(), self.shared.clone())
                .map_err(|why| self.of_file(why))?,
        };
        let recall = match written.recall {
            None => None,
            Some(recall) => self
                .address(Some(&recall.listen))?
                .map(|listen| RecallTarget { listen, target: recall.target }),
        };
        let digest = std::mem::take(&mut self.hash).finalize();
        let version = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
        if self.more_warnings > 0 {
            let more = format!("warning: {} more warnings", self.more_warnings);
            self.warnings.push(self.of_file(more).to_string());
        }
        let seconds = |count: Option<u64>| Duration::from_secs(count.unwrap_or(30));
        Ok(GatewayConfig {
            listen,
            metrics,
            default: written.default.value,
            store: written.store.unwrap_or_default(),
            drain: seconds(written.drain_seconds),
            idle: seconds(idle.map(|seconds| seconds.value)),
            pool: [
                written.pool.memory.map_or(POOL_MEMORY, |count| count.0),
                written.pool.spill.map_or(POOL_SPILL, |count| count.0),
            ],
            routes,
            ext_mcp,
            recall,
            version,
            files: std::mem::take(&mut self.files),
            warnings: std::mem::take(&mut self.warnings),
        })
    }

    fn address(&self, text: Option<&Placed<String>>) -> Result<Option<SocketAddr>, Diagnostic> {
        let Some(text) = text else { return Ok(None) };
        let expected = || format!("expected an address such as 0.0.0.0:4445, not `{}`", text.value);
        let parsed = text.value.parse();
        parsed.map(Some).map_err(|_error| self.source.problem(text.at, expected()))
    }

    /// Reads manifests, notes their files, and merges them. `None` without any.
    fn manifests(
        &mut self,
        names: &[Placed<String>],
    ) -> Result<(Vec<PathBuf>, Option<Manifest>), Diagnostic> {
        let mut paths = Vec::new();
        let mut manifests = Vec::new();
        for name in names {
            let path = self.folder.join(&name.value);
            let fail = |error: &dyn std::fmt::Display| {
                self.source.problem(name.at, format!("the manifest cannot be used: {error}"))
            };
            let file = File::open(&path)
                .map_err(|error| fail(&format!("cannot read {}: {error}", path.display())))?;
            // The version has to be that of the rules that were read, even if the file changes now.
            let read = HashedRead { file, hash: &mut self.hash };
            let manifest = Manifest::read(&path.display().to_string(), read);
            let manifest = manifest.map_err(|error| fail(&error))?;
            for warning in manifest.entries().flat_map(ManifestEntry::warnings) {
                self.warn(warning.to_string());
            }
            manifests.push(manifest);
            self.files.push(path.clone());
            paths.push(path);
        }
        let Some(last) = names.last() else { return Ok((paths, None)) };
        let merged = Manifest::merge(manifests);
        let merged = merged.map_err(|error| self.source.problem(last.at, error.to_string()))?;
        Ok((paths, Some(merged)))
    }

    fn route(
        &mut self,
        at: usize,
        route: Placed<WrittenRoute>,
        shared: Option<&Manifest>,
    ) -> Result<Route, Diagnostic> {
        let (place, route) = (route.at, route.value);
        let name = route.name.map_or_else(|| format!("route {}", at + 1), |name| name.value);
        let mut when = Conditions::new(route.when, self.source)?;
        let kinds = [
            route.recall.is_some(),
            route.tool.is_some(),
            route.spec.is_some(),
            route.mcp.is_some(),
            route.action.is_some(),
        ];
        if kinds.iter().filter(|has| **has).count() != 1 {
            let message =
                "expected exactly one of `tool`, `spec`, `mcp`, `action` and `recall` in a route";
            return Err(self.source.problem(place, message));
        }
        let is_filter = route.tool.is_some() || route.spec.is_some();
        if let Some(unknown) = route.on_unknown.as_ref().filter(|_| !is_filter) {
            let message = "`on_unknown` is only for routes with `tool` or `spec`";
            return Err(self.source.problem(unknown.at, message));
        }
        if let Some(manifest) = route.manifest.as_ref().filter(|_| route.tool.is_none()) {
            let message = "`manifest` is only for routes with `tool`";
            return Err(self.source.problem(manifest.at, message));
        }
        let unknown = route.on_unknown.map_or(Action::Refuse(502), |action| action.value);
        let rule = if let Some(tool) = route.tool {
            let own = self.manifests(route.manifest.as_slice())?.1;
            let filter = self.tool(&tool, own.as_ref().or(shared), unknown)?;
            RouteRule::Filter(Box::new(filter))
        } else if let Some(spec) = route.spec {
            let filter = HttpFilter::compile(&spec.value, unknown);
            let filter = filter.map_err(|error| self.spec_error(at, spec.at, &error))?;
            for warning in SpecWarning::of(&spec.value) {
                let place =
                    self.spec_place(at, |spec| Some(spec.entry(warning.rule())?.0.at.start));
                let message = format!("warning: {name}: {}", warning.message());
                let warning = self.source.problem(place.unwrap_or(spec.at), message);
                self.warn(warning.to_string());
            }
            RouteRule::Filter(Box::new(filter))
        } else if let Some(mcp) = route.mcp {
            if when.ask_response() {
                let message =
                    "a route with `mcp` reads requests, so it cannot have `status` or `media_type`";
                return Err(self.source.problem(mcp.at, message));
            }
            RouteRule::Mcp(Box::new(self.mcp(&mcp)?))
        } else if let Some(prefix) = route.recall {
            when = when
                .for_recall(&prefix.value)
                .map_err(|why| self.source.problem(prefix.at, why))?;
            RouteRule::Recall
        } else {
            RouteRule::Act(route.action.map_or(Action::REFUSE, |action| action.value))
        };
        Ok(Route { name, when, rule })
    }

    /// Returns the error of a spec, at the text or key that it is about, or else at the key `spec`.
    fn spec_error(&self, route: usize, at: usize, error: &tamis::Error) -> Diagnostic {
        let find = |spec: &Node| rule_place::error_at(self.source.text, spec, error);
        let place = self.spec_place(route, find);
        self.source.problem(place.unwrap_or(at), error.to_string())
    }

    /// Returns a place in the spec of a route, or that of the key `spec`.
    fn spec_place(&self, route: usize, find: impl FnOnce(&Node) -> Option<usize>) -> Option<usize> {
        let routes = self.tree.get("routes")?.items()?;
        let (key, spec) = routes.get(route)?.entry("spec")?;
        Some(find(spec).unwrap_or(key.at.start))
    }

    /// Adds a warning. A manifest that several routes name is read for each.
    fn warn(&mut self, warning: String) {
        if self.warnings.contains(&warning) {
            return;
        }
        if self.warnings.len() < WARNINGS {
            self.warnings.push(warning);
        } else {
            self.more_warnings += 1;
        }
    }

    /// Finds the filter of a tool: in a manifest, or in the catalog.
    fn tool(
        &self,
        tool: &Placed<String>,
        manifest: Option<&Manifest>,
        unknown: Action,
    ) -> Result<HttpFilter, Diagnostic> {
        let fail = |error: &dyn std::fmt::Display| self.source.problem(tool.at, error.to_string());
        let entry = match manifest {
            Some(manifest) => {
                manifest.find(&tool.value).map_err(|error| fail(&error))?.into_owned()
            }
            None => Manifest::catalog_entry(&tool.value).map_err(|error| fail(&error))?,
        };
        HttpFilter::new(entry.program().clone(), entry.spec(), unknown)
            .map(|filter| filter.named(&tool.value))
            .map_err(|error| fail(&error))
    }

    fn mcp(&mut self, mcp: &Placed<WrittenMcp>) -> Result<Config, Diagnostic> {
        let (own, _) = self.manifests(&mcp.value.manifests)?;
        let manifests = if own.is_empty() { self.shared.clone() } else { own };
        let config = self.config(&mcp.value, manifests);
        config.map_err(|why| self.source.problem(mcp.at, why))
    }

    fn config(&self, mcp: &WrittenMcp, manifests: Vec<PathBuf>) -> Result<Config, String> {
        let flags = ConfigFlags {
            manifests,
            files: ConfigFiles::Both,
            profile: mcp.profile,
            service: mcp.service.clone(),
            structured: mcp.structured,
            ..ConfigFlags::default()
        };
        // Only the files that are named here are read.
        Config::load(&flags, &ConfigPlaces::default()).map_err(|error| error.to_string())
    }
}
