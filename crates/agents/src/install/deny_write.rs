//! The rule of a sandbox that keeps commands from replacing the files that an agent starts.
//!
//! Sandboxes let commands write to the working directory. In a session that begins in the home folder, or above it, that
//! includes the script and the program. The rules of each sandbox were seen in the agents themselves:
//!
//! - Claude Code 2.1.330 and 2.1.332: `sandbox.filesystem.denyWrite` in the user's settings. The path of a file is enough:
//!   folders above it can then not be moved either.
//! - Codex 0.169.0 and 0.171.0: `read` in a permission profile. The folders above a file can still be moved, so the
//!   rule names the folder that lies directly in the home folder. `sandbox_mode` in the same file turns profiles off. Codex
//!   itself protects its own folder.

use std::path::{Path, PathBuf};

use super::agents::{prefix_of, title};
use super::json::text_list;
use super::offer::Offer;
use super::places::{Places, Scope};
use super::shape::{Shape, quoted};
use super::toml_text::TomlText;
use super::trust::resolved;
use crate::agent::Agent;

const CLAUDE_RULE: [&str; 3] = ["sandbox", "filesystem", "denyWrite"];

/// Returns the rule that is missing for an agent. `programs` are those that its entries start.
pub(crate) fn offer(
    places: &Places,
    agent: Agent,
    scope: Scope,
    programs: &[PathBuf],
) -> Option<Offer> {
    match agent {
        Agent::ClaudeCode => claude(places, scope, programs),
        Agent::Codex => codex(places, programs),
        _ => None,
    }
}

fn claude(places: &Places, scope: Scope, programs: &[PathBuf]) -> Option<Offer> {
    let (_, script, _) = prefix_of(places, scope);
    let settings = places.folder(Agent::ClaudeCode, Scope::User).join("settings.json");
    let text = std::fs::read_to_string(&settings).unwrap_or_default();
    let rules = text_list(&text, &CLAUDE_RULE).unwrap_or_default();
    let rules: Vec<PathBuf> = rules.iter().map(|rule| resolved(rule, places)).collect();
    let files = in_home(places, programs.iter().chain([&script]));
    let files = files.filter(|file| !rules.iter().any(|rule| file.starts_with(rule)));
    let files = files.map(|file| Shape::text(file.to_string_lossy())).collect::<Vec<_>>();
    let lines = CLAUDE_RULE
        .iter()
        .rev()
        .fold(Shape::Array(files.clone()), |inner, name| Shape::object([(*name, inner)]));
    (!files.is_empty()).then(|| Offer {
        reason: format!(
            "{}; to deny it, add to {}:",
            reason(Agent::ClaudeCode),
            places.shown(&settings)
        ),
        lines: lines.document(),
    })
}

fn codex(places: &Places, programs: &[PathBuf]) -> Option<Offer> {
    let config = places.folder(Agent::Codex, Scope::User).join("config.toml");
    let text = std::fs::read_to_string(&config).unwrap_or_default();
    let toml = TomlText::parse(&text).ok();
    let value = |names: &[&str]| toml.as_ref().and_then(|toml| toml.get(names));
    let profile = value(&["default_permissions"]).and_then(|name| name.string());
    let own = profile.filter(|name| !name.starts_with(':'));
    let is_denied = |folder: &Path| {
        let rules = own.and_then(|name| value(&["permissions", name, "filesystem"]));
        let rules = rules.map(|rules| rules.members()).unwrap_or_default();
        rules.iter().any(|(path, access)| {
            folder.starts_with(path) && matches!(access.string(), Some("read" | "deny"))
        })
    };
    let has_mode = value(&["sandbox_mode"]).is_some();
    let mut folders: Vec<PathBuf> = in_home(places, programs.iter())
        .filter_map(|file| {
            let rest = file.strip_prefix(&places.home).ok()?;
            Some(places.home.join(rest.components().next()?))
        })
        .filter(|folder| has_mode || !is_denied(folder))
        .collect();
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        return None;
    }
    let name = own.unwrap_or("tamis");
    let mut lines = String::new();
    if own.is_none() {
        let base = quoted(profile.unwrap_or(":workspace"));
        lines = format!(
            "default_permissions = \"{name}\"\n\n[permissions.{name}]\nextends = {base}\n\n"
        );
    }
    lines.push_str(&format!("[permissions.{}.filesystem]\n", key(name)));
    for folder in folders {
        lines.push_str(&format!("{} = \"read\"\n", quoted(&folder.to_string_lossy())));
    }
    let instead = if has_mode { " instead of sandbox_mode" } else { "" };
    Some(Offer {
        reason: format!(
            "{}; to deny it, write{instead} to {}:",
            reason(Agent::Codex),
            places.shown(&config)
        ),
        lines,
    })
}

fn reason(agent: Agent) -> String {
    format!(
        "in a session that begins in your home folder, the sandbox of {} lets commands replace what it starts",
        title(agent)
    )
}

/// Returns a name as a key of TOML.
fn key(name: &str) -> String {
    let is_bare = name.chars().all(|char| char.is_ascii_alphanumeric() || "-_".contains(char));
    if is_bare && !name.is_empty() { name.to_owned() } else { quoted(name) }
}

/// Returns the files that lie below the home folder, and what their links lead to.
fn in_home<'a>(
    places: &'a Places,
    files: impl Iterator<Item = &'a PathBuf>,
) -> impl Iterator<Item = PathBuf> {
    let home = places.home.canonicalize().unwrap_or_else(|_| places.home.clone());
    let mut found: Vec<PathBuf> = Vec::new();
    for file in files {
        let mut both = vec![file.clone()];
        if let Ok(real) = file.canonicalize() {
            // As the user writes the home folder, also where that is a link.
            both.push(match real.strip_prefix(&home) {
                Ok(rest) => places.home.join(rest),
                Err(_) => real,
            });
        }
        for file in both {
            if file.starts_with(&places.home) && !found.contains(&file) {
                found.push(file);
            }
        }
    }
    found.into_iter()
}
