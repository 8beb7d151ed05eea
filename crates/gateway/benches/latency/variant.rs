//! The programs that are compared: each is between the client and the upstream server.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tamis::Program;
use tamis_testkit::data::specs::SELECT_REPOSITORIES;

use crate::upstream::Tool;

/// The way in which client, proxy and server are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Stdio,
    Http,
}

impl Transport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
        }
    }
}

/// The program between the client and the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// Nothing.
    Direct,
    /// The proxy without its protocol.
    PassThrough,
    /// The proxy without a filter.
    Off,
    /// A filter that selects 11 of 80 members of each item. The rest is stored.
    Select,
    /// The default profile.
    Standard,
    /// A middleware of fastmcp that selects the same members, run by this Python.
    FastMcp(PathBuf),
}

impl Variant {
    /// Returns all variants, the direct connection first.
    pub(crate) fn all(python: Option<&Path>) -> Vec<Self> {
        let mut all =
            vec![Self::Direct, Self::PassThrough, Self::Off, Self::Select, Self::Standard];
        all.extend(python.map(|python| Self::FastMcp(python.to_owned())));
        all
    }

    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::PassThrough => "pass-through",
            Self::Off => "profile off",
            Self::Select => "select",
            Self::Standard => "profile standard",
            Self::FastMcp(_) => "fastmcp middleware",
        }
    }

    /// Returns the number of calls of a round: fewer for a variant that is much slower.
    pub(crate) fn share_of(&self, calls: usize) -> usize {
        if matches!(self, Self::FastMcp(_)) { calls.div_ceil(10).max(1) } else { calls }
    }

    /// Returns the flags of the proxy.
    pub(crate) fn flags(&self, place: &Place) -> Vec<String> {
        match self {
            Self::PassThrough => vec!["--pass-through".to_owned()],
            Self::Off => ["--profile", "off", "--store", "off"].map(str::to_owned).into(),
            Self::Select => ["--profile", "off", "--manifest", place.manifest().to_str().unwrap()]
                .map(str::to_owned)
                .into(),
            Self::Direct | Self::Standard | Self::FastMcp(_) => Vec::new(),
        }
    }

    /// Checks a response of a tool.
    pub(crate) fn check(&self, tool: Tool, response: &[u8]) {
        let response: Value = serde_json::from_slice(response).unwrap();
        let blocks = response["result"]["content"].as_array().expect("a result");
        let text = blocks[0]["text"].as_str().unwrap();
        let (name, source) = (self.name(), tool.text());
        if tool == Tool::Short {
            assert_eq!(text, source, "{name}");
            return;
        }
        let program = Program::compile(&SELECT_REPOSITORIES.spec()).unwrap();
        let selected = || tamis::filter_slice(&program, source.as_bytes()).unwrap().0;
        match self {
            Self::Direct | Self::PassThrough | Self::Off => assert!(text == source, "{name}"),
            Self::Select => {
                assert!(text.as_bytes() == selected(), "{name}");
                let notice = blocks[1]["text"].as_str().unwrap();
                assert!(notice.contains("tamis_retrieve"), "{name}: {notice}");
            }
            Self::Standard => assert!(text.len() < source.len(), "{name}"),
            Self::FastMcp(_) => {
                let values = |text: &[u8]| serde_json::from_slice::<Value>(text).unwrap();
                assert!(values(text.as_bytes()) == values(&selected()), "{name}");
            }
        }
    }
}

/// A folder that is the home of the proxies, with the manifest.
pub(crate) struct Place(tempfile::TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        let manifest = manifest();
        fs::write(place.manifest(), manifest.to_string()).unwrap();
        // A full store changes what is done. Each call fills a store as it would in its first minutes.
        let own = place.0.path().join(".config/tamis");
        fs::create_dir_all(&own).unwrap();
        let settings = "version: 1\nstore: {at: memory, max_total: 16G}\nfilters: {}\n";
        fs::write(own.join("tamis.yaml"), settings).unwrap();
        place
    }

    fn manifest(&self) -> PathBuf {
        self.0.path().join("select.yaml")
    }

    /// Returns a command that runs in the folder.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.0.path()).env("HOME", self.0.path());
        for variable in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "TAMIS_STATE_DIR"] {
            command.env_remove(variable);
        }
        command
    }
}

/// Returns the manifest of [`Variant::Select`]. JSON is YAML too.
pub(crate) fn manifest() -> Value {
    let spec = SELECT_REPOSITORIES.spec();
    json!({"version": 1, "filters": {Tool::Long.name(): spec}})
}
