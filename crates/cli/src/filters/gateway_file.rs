//! Reads a `gateway.yaml`, the file of `tamis serve`, where a manifest is expected: its routes are filters by name.
//!
//! This module must not depend on what is done with a filter.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use tamis::{Error, Program};
use tamis_manifest::{Manifest, ManifestError};
use tamis_mcp::gateway_yaml::{GatewayConfig, RouteRule};

use crate::console::Usage;
use crate::files;
use crate::files::place::called;

/// Maximum size of a manifest, in bytes.
const MOST: u64 = 16 << 20;

/// Reads at most [`MOST`] bytes of a file, plus one that shows that the file is longer.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>, ManifestError> {
    let name = called(path);
    let cannot = |error: std::io::Error| ManifestError::read(&name, &error);
    let file = if path.as_os_str() == "-" { files::standard_input() } else { File::open(path) };
    let mut bytes = Vec::new();
    file.map_err(cannot)?.take(MOST + 1).read_to_end(&mut bytes).map_err(cannot)?;
    Ok(bytes)
}

/// Reads a `gateway.yaml` with the manifests that it names. `None` if the bytes are another file.
///
/// # Errors
/// The first problem of the file.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Option<Result<GatewayConfig, Usage>> {
    let text = std::str::from_utf8(bytes).ok()?;
    GatewayConfig::recognises(path, text).then(|| {
        let config = GatewayConfig::parse(Path::new(&called(path)), text);
        config.map_err(|error| Usage::new(error.to_string()))
    })
}

/// Returns the filters of routes with `spec` and `tool`, each with the name of its route.
pub(crate) fn filters(config: &GatewayConfig) -> Vec<(&str, &Program)> {
    let routes = config.routes().iter().filter_map(|route| match route.rule() {
        RouteRule::Filter(filter) => Some((route.name(), &filter.program)),
        _ => None,
    });
    routes.collect()
}

/// Returns the manifests with the filters of tools, which routes with `mcp` and ExtMcp use.
pub(crate) fn manifests(config: &GatewayConfig) -> Vec<&Manifest> {
    let routes = config.routes().iter().filter_map(|route| match route.rule() {
        RouteRule::Mcp(mcp) => mcp.manifest(),
        _ => None,
    });
    let mut manifests: Vec<&Manifest> = Vec::new();
    for manifest in routes.chain(config.ext_mcp().manifest()) {
        let names = |manifest: &Manifest| -> Vec<(String, usize)> {
            let entries = manifest.entries();
            entries.map(|entry| (entry.file().to_owned(), entry.line())).collect()
        };
        // Routes without manifests of their own share those of the file.
        if !manifests.iter().any(|known| names(known) == names(manifest)) {
            manifests.push(manifest);
        }
    }
    manifests
}

/// Returns the filter of a route or tool in a `gateway.yaml`. `None` if the files are manifests.
///
/// # Errors
/// A file that is not valid, a name that no route has, or other files next to the `gateway.yaml`.
pub(crate) fn program(paths: &[PathBuf], name: Option<&str>) -> Result<Option<Program>, Error> {
    for path in paths.iter().filter(|path| path.as_os_str() != "-") {
        // The error of a file that cannot be read is that of a manifest.
        let Ok(text) = bytes(path) else { continue };
        let Some(config) = read(path, &text) else { continue };
        let config = config.map_err(|usage| Error::spec(usage.to_string()))?;
        if paths.len() > 1 {
            let message = "a file of tamis serve names its manifests itself; leave the others out";
            return Err(Error::spec(format!("{}: {message}", called(path))));
        }
        return one(&config, &called(path), name).map(Some);
    }
    Ok(None)
}

fn one(config: &GatewayConfig, file: &str, name: Option<&str>) -> Result<Program, Error> {
    let filters = filters(config);
    let named = |name: &str| filters.iter().find(|(own, _)| *own == name);
    if let Some((_, program)) = name.and_then(named) {
        return Ok((*program).clone());
    }
    if let Some(name) = name {
        let found = manifests(config).into_iter().find_map(|manifest| manifest.entry(name).ok());
        if let Some(entry) = found {
            return Ok(entry.program().clone());
        }
    }
    if let (None, [(_, program)]) = (name, filters.as_slice()) {
        return Ok((*program).clone());
    }
    let names: Vec<&str> = filters.iter().take(10).map(|(name, _)| *name).collect();
    let names = names.join(", ");
    Err(Error::spec(match (name, filters.len()) {
        (_, 0) => format!("{file}: no route has `spec` or `tool`"),
        (Some(name), _) => {
            format!("{file}: no route with a filter has the name `{name}`; there are: {names}")
        }
        (None, count) => {
            format!("{file}: {count} routes have filters; name one with --tool: {names}")
        }
    }))
}
