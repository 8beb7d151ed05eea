//! The hooks that an agent calls: each reads an event, writes the filtered output in the agent's shape.
//!
//! ```text
//! event (stdin) ─▶ event ─▶ gemini | opencode | cursor | codex ─▶ answer (stdout)
//!                              │        │         │        └─ codex_rules: may the command be rewritten?
//!                              └────────┴─────────┴─ command_text: output of a command
//!                                                    mcp_result: result of an MCP tool
//! script (argument) ─▶ shell ─▶ a command that is run and filtered, or one that replaces this process
//! ```
//!
//! A hook never breaks the agent that calls it. If anything is not understood, it prints nothing and exits with 0, and
//! the agent goes on with the original. Rules that remove for safety are the exception: if a result cannot be filtered
//! by them, it is replaced by a notice. No response has a permission, except that of Codex, which takes a rewritten
//! command only with one; see [`codex_rules`].

mod claude;
pub mod codex;
pub mod codex_rules;
pub mod command_text;
pub mod cursor;
pub mod endless;
pub mod event;
pub mod gemini;
pub mod limits;
mod mcp_result;
pub mod never;
pub mod opencode;
pub mod settings;
#[cfg(unix)]
pub mod shell;

use std::fmt;
use std::io::{Read, Write};
use std::str::FromStr;

pub use settings::{HookPlaces, HookSettings};
use tamis_mcp::config::ConfigFiles;

/// A hook that gets an event on standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EventHook {
    /// `PostToolUse` of Claude Code, for its own tools that search.
    Claude,
    /// `PreToolUse` of Codex.
    Codex,
    /// `AfterTool` of Gemini CLI.
    Gemini,
    /// `tool.execute.after` of opencode, through our plugin.
    Opencode,
    /// `postToolUse` of Cursor.
    Cursor,
}

impl EventHook {
    /// All hooks, in the order in which they are listed.
    pub const ALL: [Self; 5] =
        [Self::Claude, Self::Codex, Self::Gemini, Self::Opencode, Self::Cursor];

    /// Returns the name in command lines.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Claude => "claude-code",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Opencode => "opencode",
            Self::Cursor => "cursor",
        }
    }

    /// Reads the event on `input`. Returns the bytes for standard output, which may be none.
    ///
    /// ```
    /// use tamis_agents::hook::{EventHook, HookPlaces, HookSettings};
    ///
    /// let folder = tempfile::tempdir()?;
    /// let settings = HookSettings::load(&HookPlaces::in_folder(folder.path()));
    /// let response = EventHook::Gemini.response(&mut b"no event".as_slice(), &settings);
    /// assert_eq!(response, b"");
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn response(self, input: &mut dyn Read, settings: &HookSettings) -> Vec<u8> {
        let event = event::read(input);
        match self {
            Self::Claude => event.ok().and_then(|event| claude::response(&event, settings)),
            Self::Codex => event.ok().and_then(|event| codex::response(&event, settings)),
            Self::Gemini => gemini::response(event.as_deref().ok(), settings),
            Self::Opencode => opencode::response(event.as_deref().ok(), settings),
            Self::Cursor => Some(cursor::response(event.as_deref().ok(), settings)),
        }
        .unwrap_or_default()
    }

    /// Reads the event on `input` and writes the response to `output`, with the files and folders of this process. Errors
    /// of writing are ignored: the agent then takes the original.
    pub fn run(self, files: ConfigFiles, input: &mut dyn Read, output: &mut dyn Write) {
        let settings = HookSettings::load(&HookPlaces::of_process(files));
        let response = self.response(input, &settings);
        _ = output.write_all(&response).and_then(|()| output.flush());
    }
}

impl fmt::Display for EventHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text is not the name of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownHook;

impl fmt::Display for UnknownHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected shell, claude-code, codex, gemini, opencode or cursor")
    }
}

impl std::error::Error for UnknownHook {}

impl FromStr for EventHook {
    type Err = UnknownHook;

    fn from_str(text: &str) -> Result<Self, UnknownHook> {
        Self::ALL.into_iter().find(|hook| hook.as_str() == text).ok_or(UnknownHook)
    }
}
