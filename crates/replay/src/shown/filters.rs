//! Results as tamis shows them: with the means that `tamis install` sets up for the agent, or with other rules before them.
//!
//! | agent | commands | MCP tools |
//! |---|---|---|
//! | Claude Code | the filter of the command and the limits of the prefix script | the proxy (`--mcp`): the filter of the tool, or the profile |
//! | Codex | `tamis run`, for the commands that the hook may rewrite | likewise |
//! | opencode | the hook's filter and limit, if the text gets shorter | the hook: the filter of the tool, or the profile |
//! | Gemini CLI | the hook's filter and limit, if it saves a fifth | likewise |
//!
//! Nothing is written: results that can be fetched back are kept in memory, up to its limit, and forgotten.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use tamis_agents::agent::Agent;
use tamis_agents::hook::limits::output_cap;
use tamis_agents::hook::{HookPlaces, HookSettings, codex, gemini};
use tamis_command::{CommandLine, CommandRules, FullOutput, OutputFilterRegistry};
use tamis_mcp::config::{Config, ConfigFiles, ConfigFlags, ConfigPlaces};
use tamis_mcp::tool_result::{ResultFilter, ToolName};
use tamis_store::{Scope, Store, StoreConfig, Window};

use super::cuts::RECALL;
use super::{Rest, View, agent, wrapping};
use crate::transcript::event::{ToolKind, ToolResult};

/// The most tools whose filter is kept.
const MOST_TOOLS: usize = 1_000;

/// Which rules a run uses.
#[derive(Clone, Debug)]
pub struct FilterSettings {
    /// Where the user's `tamis.yaml` is.
    pub places: ConfigPlaces,
    /// Files of rules that come first: manifests of tools, and rules for commands in TOML.
    pub manifests: Vec<PathBuf>,
}

impl FilterSettings {
    /// The user's own settings.
    #[must_use]
    pub fn of_process() -> Self {
        Self { places: ConfigPlaces::of_process(), manifests: Vec::new() }
    }

    /// No settings: the defaults.
    #[must_use]
    pub fn plain() -> Self {
        Self { places: ConfigPlaces::default(), manifests: Vec::new() }
    }
}

/// Rules that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayError(String);

impl fmt::Display for ReplayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReplayError {}

/// Rules, ready for results.
#[derive(Debug)]
pub(super) struct Filters {
    installed: Rules,
    manifest: Option<Rules>,
}

struct Rules {
    commands: Option<OutputFilterRegistry>,
    max_tokens: Option<u64>,
    config: Config,
    store: Option<Store>,
    tools: HashMap<(Agent, String), Option<ResultFilter>>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("commands", &self.commands).finish_non_exhaustive()
    }
}

impl Filters {
    pub(super) fn new(settings: FilterSettings) -> Result<Self, ReplayError> {
        let FilterSettings { places, manifests } = settings;
        let installed = Rules::new(&places, &[])?;
        let manifest = match manifests.is_empty() {
            true => None,
            false => Some(Rules::new(&places, &manifests)?),
        };
        Ok(Self { installed, manifest })
    }

    pub(super) fn installed(&mut self, agent: Agent, result: &ToolResult) -> Option<View> {
        self.installed.view(agent, result)
    }

    pub(super) fn with_manifest(&mut self, agent: Agent, result: &ToolResult) -> Option<View> {
        self.manifest.as_mut()?.view(agent, result)
    }
}

impl Rules {
    fn new(places: &ConfigPlaces, manifests: &[PathBuf]) -> Result<Self, ReplayError> {
        let failed = |error: &dyn fmt::Display| ReplayError(error.to_string());
        let is_toml = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "toml");
        let (rules, manifests): (Vec<&PathBuf>, Vec<&PathBuf>) =
            manifests.iter().partition(is_toml);
        let hooks = HookPlaces {
            files: ConfigFiles::User,
            config: places.clone(),
            store: None,
            log: None,
            ..HookPlaces::of_process(ConfigFiles::User)
        };
        let hooks = HookSettings::load(&hooks);
        let flags = ConfigFlags {
            manifests: manifests.into_iter().cloned().collect(),
            files: ConfigFiles::User,
            ..ConfigFlags::default()
        };
        let config = Config::load(&flags, places).map_err(|error| failed(&error))?;
        let mut commands = hooks.command_filters();
        if !rules.is_empty() {
            let mut registry = OutputFilterRegistry::new();
            for path in rules {
                let text = std::fs::read_to_string(path)
                    .map_err(|error| ReplayError(format!("{}: {error}", path.display())))?;
                let rules = CommandRules::parse(&path.display().to_string(), &text);
                registry = registry.register_rules(rules.map_err(|error| failed(&error))?);
            }
            commands = Some(registry.register_rules(CommandRules::builtin()));
        }
        let store = config.store().is_some().then(memory_store);
        // Without a store nothing can be read again, so nothing is filtered.
        let commands = commands.filter(|_| store.is_some());
        let max_tokens = hooks.max_tokens();
        Ok(Self { commands, max_tokens, config, store, tools: HashMap::new() })
    }

    /// Returns what is shown of a result. `None`: it is not changed.
    fn view(&mut self, agent: Agent, result: &ToolResult) -> Option<View> {
        let view = match result.kind {
            ToolKind::Shell => self.command(agent, result),
            ToolKind::Mcp => self.tool(agent, result),
            ToolKind::Native => None,
        }?;
        let text = view.text.as_deref()?;
        let failed = result.exit_code.is_some_and(|code| code != 0);
        match agent::cut(agent, result.kind, failed, text) {
            // The agent keeps what the filter returned, which names where the rest is.
            Some(cut) => Some(View { text: Some(cut.text), ..view }),
            None => Some(view),
        }
    }

    fn command(&self, agent: Agent, result: &ToolResult) -> Option<View> {
        let registry = self.commands.as_ref()?;
        let command = result.call.command.as_deref()?;
        // A filter might have treated the whole output differently.
        if !result.is_complete || (agent == Agent::Codex && !codex::may_rewrite(command)) {
            return None;
        }
        let wrapped = wrapping::split(agent, result);
        let output = result.full.as_deref().unwrap_or(wrapped.output);
        let line = CommandLine::parse(command);
        let cap = output_cap(agent, self.max_tokens, command);
        let name = registry.filter_for(&line);
        if name.is_none() && (cap.is_unlimited() || output.len() <= 8_000) {
            return None;
        }
        let limits = tamis::Limits::new();
        let mut filter = registry.start(&line, &limits, Vec::new()).with_cap(cap);
        filter.write(output.as_bytes()).ok()?;
        filter.set_exit_code(result.exit_code);
        filter.set_full_output(FullOutput::command(RECALL));
        filter.end().ok()?;
        let text = String::from_utf8_lossy(&filter.into_sink()).into_owned();
        if text == output && result.full.is_none() {
            return None;
        }
        let text = match agent {
            Agent::Opencode if text.len() >= result.received.len() => return None,
            Agent::Gemini if !gemini::is_worthwhile(output.len(), text.trim_end().len()) => {
                return None;
            }
            Agent::Gemini => format!(
                "[tamis: the command succeeded (exit code 0); this is its filtered output]\n<untrusted_context>\nOutput: {text}"
            ),
            Agent::Codex if result.full.is_some() => text,
            _ => [wrapped.before, &text, wrapped.after].concat(),
        };
        // The agent would have shown the same.
        if text == result.received {
            return None;
        }
        Some(View { text: Some(text), rest: Rest::Kept, filter: name.or(Some("limit".to_owned())) })
    }

    fn tool(&mut self, agent: Agent, result: &ToolResult) -> Option<View> {
        if !result.is_complete {
            return None;
        }
        let tool = result.call.tool.as_str();
        let key = (agent, tool.to_owned());
        if self.tools.len() >= MOST_TOOLS && !self.tools.contains_key(&key) {
            self.tools.clear();
        }
        let (config, store) = (&self.config, &self.store);
        let filter = self.tools.entry(key).or_insert_with(|| {
            let (config, names, store) = (config.clone(), names(agent, tool), store.clone());
            match agent {
                // A proxy filters the results of these agents, and a hook those of the others.
                Agent::ClaudeCode => ResultFilter::for_client(config, &names, store, "claude-code"),
                Agent::Codex => ResultFilter::for_client(config, &names, store, "codex-mcp-client"),
                _ => ResultFilter::new(config, &names, store),
            }
            .ok()
        });
        let filter = filter.as_ref()?;
        let wrapped = wrapping::split(agent, result);
        let source = result.full.as_deref().unwrap_or(wrapped.output);
        let value = serde_json::json!({
            "content": [{"type": "text", "text": source}],
            "isError": result.is_error,
        });
        let filtered = filter.run(value.to_string().as_bytes());
        let value: serde_json::Value = serde_json::from_slice(filtered.bytes.as_ref()?).ok()?;
        let blocks = value.get("content")?.as_array()?.iter();
        let texts: Vec<&str> = blocks.filter_map(|block| block.get("text")?.as_str()).collect();
        let text = texts.join("\n");
        // A part of a full output that the agent cut has other lines around it.
        let text = match result.full {
            Some(_) => text,
            None => [wrapped.before, &text, wrapped.after].concat(),
        };
        let record = filtered.record;
        let name = record.as_ref().map(|record| record.source.as_str().to_owned());
        let handle = record.and_then(|record| record.handle);
        let rest = match (handle, &self.store) {
            (Some(handle), Some(store)) => {
                let mut stored = Vec::new();
                let window = Window::new().with_limit(None);
                match store.read(&Scope::user(), &handle, &window, &mut stored) {
                    Ok(_) => Rest::Stored(String::from_utf8_lossy(&stored).into_owned()),
                    Err(_) => Rest::Gone,
                }
            }
            _ => Rest::Gone,
        };
        Some(View { text: Some(text), rest, filter: name })
    }
}

/// Opens a store in memory. Its handles are numbers, so that every run of a replay has the same figures.
fn memory_store() -> Store {
    let next = AtomicU64::new(1);
    let handle = move || {
        let mut bytes = [0; 16];
        let number = next.fetch_add(1, Ordering::Relaxed).to_be_bytes();
        bytes.iter_mut().skip(8).zip(number).for_each(|(to, from)| *to = from);
        bytes
    };
    Store::open(StoreConfig::memory().with_handles(handle))
}

/// Returns the names that a tool of an MCP server may have.
fn names(agent: Agent, tool: &str) -> Vec<ToolName> {
    match agent {
        Agent::ClaudeCode | Agent::Codex => {
            let rest = tool.strip_prefix("mcp__").unwrap_or(tool);
            match rest.split_once("__") {
                Some((server, tool)) => vec![ToolName::of_server(server, tool)],
                None => vec![ToolName::alone(rest)],
            }
        }
        _ => ToolName::of_joined(tool.strip_prefix("mcp_").unwrap_or(tool), "_"),
    }
}
