//! The configuration of a gateway, with all filters compiled.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use http::{HeaderMap, HeaderName, Method};
use tamis_manifest::{ManifestError, StoreSettings};

use super::action::Action;
use super::pattern::RequestPath;
use super::read;
use super::route::Route;
use crate::config::Config;

/// An MCP server with the tool `tamis_retrieve`, which agentgateway has as one of its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecallTarget {
    pub(super) listen: SocketAddr,
    pub(super) target: String,
}

impl RecallTarget {
    /// Returns the address for agentgateway.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Returns the name of the target in the configuration of agentgateway.
    #[must_use]
    pub fn target(&self) -> &str {
        &self.target
    }
}

/// The configuration of a gateway, with all filters compiled.
#[derive(Clone, Debug)]
pub struct GatewayConfig {
    pub(super) listen: SocketAddr,
    pub(super) metrics: Option<SocketAddr>,
    pub(super) default: Action,
    pub(super) store: StoreSettings,
    pub(super) drain: Duration,
    pub(super) idle: Duration,
    pub(super) pool: [u64; 2],
    pub(super) routes: Vec<Route>,
    pub(super) ext_mcp: Config,
    pub(super) recall: Option<RecallTarget>,
    pub(super) version: String,
    pub(super) files: Vec<PathBuf>,
    pub(super) warnings: Vec<String>,
}

impl GatewayConfig {
    /// Reads a file and the manifests that it names. Their paths are relative to its folder.
    ///
    /// # Errors
    /// The problems that were found, with their places.
    pub fn load(path: &Path) -> Result<Self, ManifestError> {
        read::load(path)
    }

    /// Reads a text. `path` is its name in errors; manifests are relative to its folder.
    ///
    /// ```
    /// use std::path::Path;
    /// use tamis_mcp::gateway_yaml::GatewayConfig;
    ///
    /// let text = "version: 1\ndefault: refuse\nroutes:\n- when: {pth: /a}\n  action: pass\n";
    /// let error = GatewayConfig::parse(Path::new("gateway.yaml"), text).unwrap_err();
    /// assert!(error.to_string().starts_with("gateway.yaml:4:10: unknown key `pth`; did you mean `path`?"));
    /// ```
    ///
    /// # Errors
    /// The problems that were found, with their places.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ManifestError> {
        read::parse(path, text)
    }

    /// Returns whether a file seems to be a `gateway.yaml` rather than a manifest: it has the key `routes` or `default`, or
    /// this name, and not the key `filters`.
    ///
    /// ```
    /// use std::path::Path;
    /// use tamis_mcp::gateway_yaml::GatewayConfig;
    ///
    /// let recognises = |path, text| GatewayConfig::recognises(Path::new(path), text);
    /// assert!(recognises("rules.json", r#"{"version": 1, "default": "pass"}"#));
    /// assert!(recognises("gateway.yaml", "version: 1\nrouts: []\n"));
    /// assert!(!recognises("tamis.yaml", "version: 1\nfilters: {}\n"));
    /// ```
    #[must_use]
    pub fn recognises(path: &Path, text: &str) -> bool {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_named = name == "gateway.yaml" || name == "gateway.yml";
        // A key may be written with an escape.
        let may_have = |name: &str| text.contains(name) || text.contains('\\');
        if !is_named && !may_have("routes") && !may_have("default") {
            return false;
        }
        let keys = read::top_keys(text);
        let has = |name: &str| keys.iter().any(|key| key == name);
        (is_named || has("routes") || has("default")) && !has("filters")
    }

    /// Returns the address for gateways.
    #[must_use]
    pub fn listen(&self) -> SocketAddr {
        self.listen
    }

    /// Returns the address for metrics.
    #[must_use]
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Returns where results are stored, and who may read them.
    #[must_use]
    pub fn store_settings(&self) -> &StoreSettings {
        &self.store
    }

    /// Returns how long open streams may continue after SIGTERM.
    #[must_use]
    pub fn drain(&self) -> Duration {
        self.drain
    }

    /// Returns how long a body may make no progress.
    #[must_use]
    pub fn idle(&self) -> Duration {
        self.idle
    }

    /// Returns how many bytes all responses together may hold, in memory and in temporary files.
    #[must_use]
    pub fn pool(&self) -> [u64; 2] {
        self.pool
    }

    /// Returns the rules for results that come through ExtMcp.
    #[must_use]
    pub fn ext_mcp(&self) -> &Config {
        &self.ext_mcp
    }

    /// Returns the MCP server that reads stored results for clients of agentgateway.
    #[must_use]
    pub fn recall(&self) -> Option<&RecallTarget> {
        self.recall.as_ref()
    }

    /// Returns the routes, in the order in which they are tried.
    #[must_use]
    pub fn routes(&self) -> &[Route] {
        &self.routes
    }

    /// Returns what happens to a response that no route matches.
    #[must_use]
    pub fn default_action(&self) -> Action {
        self.default
    }

    /// Returns a hash of the file and its manifests, which changes with the rules.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Returns the files that were read.
    #[must_use]
    pub fn files(&self) -> &[PathBuf] {
        &self.files
    }

    /// Returns the warnings about valid rules that may not do what they appear to do, in the specs of routes and in the
    /// manifests that were read. Each is ready to be shown: its place, a message, and the line of the file.
    ///
    /// ```
    /// use std::path::Path;
    /// use tamis_mcp::gateway_yaml::GatewayConfig;
    ///
    /// let text = "version: 1\ndefault: refuse\nroutes:\n- spec: {exclude: [ssn]}\n";
    /// let config = GatewayConfig::parse(Path::new("gateway.yaml"), text)?;
    /// let expected = "gateway.yaml:4:10: warning: route 1: `exclude` with an automatic root";
    /// assert!(config.warnings()[0].starts_with(expected));
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    #[must_use]
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// Returns the routes that match a request, in order. The first one that does not
    /// [ask for the response](super::Conditions::ask_response) is the last: no other can be chosen.
    ///
    /// `None` if servers may read the path in different ways, such as `/users/..%2fhealth`, and another route would be
    /// chosen by one of them. Such a request must be refused.
    #[must_use]
    pub fn candidates(
        &self,
        method: &Method,
        path: &RequestPath,
        headers: &HeaderMap,
    ) -> Option<Vec<usize>> {
        let mut found = path.forms().map(|form| self.candidates_of(method, form, headers));
        let first = found.next()?;
        found.all(|other| other == first).then_some(first)
    }

    fn candidates_of(&self, method: &Method, form: &[String], headers: &HeaderMap) -> Vec<usize> {
        let mut found = Vec::new();
        for (at, route) in self.routes.iter().enumerate() {
            if route.when.match_request(method, form, headers) {
                found.push(at);
                if !route.when.ask_response() {
                    break;
                }
            }
        }
        found
    }

    /// Returns the request headers that any route depends on.
    #[must_use]
    pub fn vary(&self) -> Vec<HeaderName> {
        let mut names: Vec<HeaderName> = Vec::new();
        for name in self.routes.iter().flat_map(|route| route.when.headers()) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}
