//! Installation, a second one, and removal, on real files: every shape of settings is as before to the byte.

#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

mod changes;
mod credentials;
mod files;
mod more_agents;
mod refusals;
mod servers;
mod shapes;
#[cfg(unix)]
mod trust;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tamis_agents::agent::Agent;
use tamis_agents::install::{
    InstallError, InstallOptions, Places, Plan, Scope, install, uninstall,
};
use tempfile::TempDir;

/// A home folder with a project in it.
pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.path("project")).unwrap();
        home.write("bin/tamis", "");
        home.write("bin/tamis-gateway", "");
        home
    }

    pub(crate) fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            home: self.path(""),
            working: self.path("project"),
            state: self.path(".local/state/tamis"),
            config: self.path(".config"),
            program: self.path("bin/tamis"),
            ..Places::default()
        }
    }

    /// All files and folders: the bytes, the mode, the target of a link.
    pub(crate) fn everything(&self) -> BTreeMap<PathBuf, String> {
        let mut found = BTreeMap::new();
        let mut open = vec![self.path("")];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let data = path.symlink_metadata().unwrap();
                let mode = mode(&data);
                let content = if data.is_dir() {
                    open.push(path.clone());
                    "folder".to_owned()
                } else if data.is_symlink() {
                    format!("link to {}", path.read_link().unwrap().display())
                } else {
                    format!(
                        "{mode:o} {:?}",
                        String::from_utf8_lossy(&std::fs::read(&path).unwrap())
                    )
                };
                found.insert(path, content);
            }
        }
        found
    }

    pub(crate) fn plan(&self, agent: Agent, options: InstallOptions) -> Result<Plan, InstallError> {
        install(agent, options, &self.places())
    }

    #[track_caller]
    pub(crate) fn install(&self, agent: Agent, options: InstallOptions) -> Plan {
        let plan = self.plan(agent, options).unwrap();
        plan.apply().unwrap();
        plan
    }

    #[track_caller]
    pub(crate) fn uninstall(&self, agent: Agent, scope: Scope) -> Plan {
        let plan = uninstall(agent, scope, &self.places()).unwrap();
        plan.apply().unwrap();
        plan
    }
}

#[cfg(unix)]
fn mode(data: &std::fs::Metadata) -> u32 {
    std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o777
}

#[cfg(not(unix))]
fn mode(_: &std::fs::Metadata) -> u32 {
    0
}

pub(crate) const USER: InstallOptions = InstallOptions {
    scope: Scope::User,
    mcp: false,
    closed: false,
    redact: None,
    trust_path: true,
};
pub(crate) const MCP: InstallOptions = InstallOptions { mcp: true, ..USER };
pub(crate) const PROJECT: InstallOptions = InstallOptions { scope: Scope::Project, ..USER };

/// Installs twice and removes: nothing is left.
#[track_caller]
pub(crate) fn round_trip(home: &Home, agent: Agent, options: InstallOptions, name: &str) {
    let before = home.everything();
    assert!(!home.install(agent, options).is_empty(), "{name}: something is installed");
    let installed = home.everything();
    let again = home.install(agent, options);
    assert!(again.is_empty(), "{name}: the second time changes nothing: {}", again.diff());
    assert_eq!(home.everything(), installed, "{name}");
    assert!(!home.uninstall(agent, options.scope).is_empty(), "{name}: something is removed");
    assert_eq!(home.everything(), before, "{name}");
    assert!(home.uninstall(agent, options.scope).is_empty(), "{name}: nothing is left");
    assert_eq!(home.everything(), before, "{name}");
}

/// The files that an installation edits: the agent, the scope, the file.
pub(crate) const JSON_FILES: [(Agent, InstallOptions, &str); 5] = [
    (Agent::ClaudeCode, USER, ".claude/settings.json"),
    (Agent::ClaudeCode, PROJECT, "project/.claude/settings.local.json"),
    (Agent::Codex, USER, ".codex/hooks.json"),
    (Agent::Gemini, PROJECT, "project/.gemini/settings.json"),
    (Agent::Cursor, USER, ".cursor/hooks.json"),
];
