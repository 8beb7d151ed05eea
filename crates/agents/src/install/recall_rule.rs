//! The rule that lets an agent run `tamis recall` without asking, and call `tamis_retrieve` of wrapped servers.
//!
//! Permission rules of a user allow some commands. `tamis recall`, which notices name, needs its own rule, so in a session
//! without a person the rest of an output could not be read. The rules are printed for the user to add, and never added.
//! Claude Code reads full outputs as files of its session, so only its MCP tools need a rule. Codex and opencode run
//! `tamis recall` by default.

use super::json::text_list;
use super::offer::Offer;
use super::places::{Places, Scope};
use super::shape::{Shape, quoted};
use crate::agent::Agent;
use tamis_store::process::shell_word;

/// Returns the rule that is missing for an agent. `servers` are the names of its wrapped servers.
pub(crate) fn offer(places: &Places, agent: Agent, servers: &[String]) -> Option<Offer> {
    match agent {
        Agent::ClaudeCode => claude(places, servers),
        Agent::Gemini => gemini(places),
        _ => None,
    }
}

/// A user who allows single tools of servers needs the one that fetches the rest, too.
fn claude(places: &Places, servers: &[String]) -> Option<Offer> {
    let settings = places.folder(Agent::ClaudeCode, Scope::User).join("settings.json");
    let text = std::fs::read_to_string(&settings).unwrap_or_default();
    let allowed = text_list(&text, &["permissions", "allow"]).unwrap_or_default();
    let missing = servers.iter().filter_map(|server| {
        let rule = format!("mcp__{server}__tamis_retrieve");
        let begin = format!("mcp__{server}__");
        let has_single = allowed.iter().any(|rule| rule.starts_with(&begin));
        (has_single && !allowed.contains(&rule)).then(|| Shape::text(rule))
    });
    let missing: Vec<Shape> = missing.collect();
    let lines = Shape::object([("allow", Shape::Array(missing.clone()))]);
    (!missing.is_empty()).then(|| Offer {
        reason: format!(
            "your rules allow single tools of these servers; to allow the one that reads the rest of a result, add to {}:",
            places.shown(&settings)
        ),
        lines: Shape::object([("permissions", lines)]).document(),
    })
}

fn gemini(places: &Places) -> Option<Offer> {
    let policies = places.folder(Agent::Gemini, Scope::User).join("policies");
    let prefix = format!("{} recall", shell_word(places.program.to_str()?));
    let files = std::fs::read_dir(&policies).into_iter().flatten().flatten();
    let mut texts = files.filter_map(|file| std::fs::read_to_string(file.path()).ok());
    if texts.any(|text| text.contains(&prefix)) {
        return None;
    }
    let file = policies.join("tamis.toml");
    Some(Offer {
        reason: format!(
            "Gemini CLI asks before it reads the rest of an output with `tamis recall`, and refuses it in sessions without a \
             person; to allow it, write to {}:",
            places.shown(&file)
        ),
        lines: format!(
            "[[rule]]\ntoolName = \"run_shell_command\"\ncommandPrefix = {}\ndecision = \"allow\"\npriority = 100\n",
            quoted(&prefix)
        ),
    })
}
