//! Where the files of an agent are.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::agent::Agent;

/// The folders of the user and of the project, as this process sees them.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The home folder of the user.
    pub home: PathBuf,
    /// The working directory: the project.
    pub working: PathBuf,
    /// The folder in which programs keep their state for this user.
    pub state: PathBuf,
    /// `$XDG_CONFIG_HOME`, else `~/.config`.
    pub config: PathBuf,
    /// `$CLAUDE_CONFIG_DIR`.
    pub claude: Option<PathBuf>,
    /// `$CODEX_HOME`.
    pub codex: Option<PathBuf>,
    /// `$GEMINI_CLI_HOME`.
    pub gemini: Option<PathBuf>,
    /// `$COPILOT_HOME`.
    pub copilot: Option<PathBuf>,
    /// `$OPENCODE_CONFIG`: one more file of opencode.
    pub opencode: Option<PathBuf>,
    /// `$PATH`.
    pub path: OsString,
    /// Folders for temporary files.
    pub temporary: Vec<PathBuf>,
    /// This program, by the path by which it was started.
    pub program: PathBuf,
}

impl Places {
    /// Returns the places of this process. `None`: there is no home folder.
    #[must_use]
    pub fn of_process() -> Option<Self> {
        let variable = |name| env::var_os(name).map(PathBuf::from);
        let absolute = |name| variable(name).filter(|path: &PathBuf| path.is_absolute());
        let home = env::home_dir().filter(|path| path.is_absolute())?;
        let working = env::current_dir().ok()?;
        let given = |name| variable(name).filter(|path| !path.as_os_str().is_empty());
        let in_working = |name| given(name).map(|path| working.join(path));
        Some(Self {
            state: tamis_store::state::folder_of_user()?,
            config: absolute("XDG_CONFIG_HOME").unwrap_or_else(|| home.join(".config")),
            claude: in_working("CLAUDE_CONFIG_DIR"),
            codex: in_working("CODEX_HOME"),
            gemini: in_working("GEMINI_CLI_HOME"),
            copilot: in_working("COPILOT_HOME"),
            opencode: in_working("OPENCODE_CONFIG"),
            path: env::var_os("PATH").unwrap_or_default(),
            temporary: ["/tmp", "/var/tmp", "/private/tmp", "/dev/shm"]
                .map(PathBuf::from)
                .into_iter()
                .chain([env::temp_dir()])
                .collect(),
            program: crate::program::as_started()?,
            home,
            working,
        })
    }

    /// Returns the folder of an agent's files.
    pub(crate) fn folder(&self, agent: Agent, scope: Scope) -> PathBuf {
        let named = |variable: &Option<PathBuf>, name: &str| {
            variable.clone().unwrap_or_else(|| self.home.join(name))
        };
        match (scope, agent) {
            (Scope::User, Agent::ClaudeCode) => named(&self.claude, ".claude"),
            (Scope::User, Agent::Codex) => named(&self.codex, ".codex"),
            (Scope::User, Agent::Opencode) => self.config.join("opencode"),
            (Scope::User, Agent::Gemini) => {
                self.gemini.as_ref().unwrap_or(&self.home).join(".gemini")
            }
            (Scope::User, Agent::Cursor) => self.home.join(".cursor"),
            (Scope::User, Agent::Copilot) => named(&self.copilot, ".copilot"),
            (Scope::User, Agent::VsCode) => self.applications().join("Code/User"),
            (Scope::User, Agent::Windsurf) => self.home.join(".codeium/windsurf"),
            (Scope::User, Agent::Cline) => {
                self.applications().join("Code/User/globalStorage/saoudrizwan.claude-dev/settings")
            }
            (Scope::User, Agent::Zed) => self.config.join("zed"),
            (Scope::User, Agent::Amp) => self.config.join("amp"),
            (Scope::User, Agent::Crush) => self.config.join("crush"),
            (Scope::User, Agent::Goose) => self.config.join("goose"),
            (Scope::User, Agent::Qwen) => self.home.join(".qwen"),
            (Scope::User, Agent::ClaudeDesktop) => self.applications().join("Claude"),
            (Scope::Project, Agent::ClaudeCode) => self.working.join(".claude"),
            (Scope::Project, Agent::Codex) => self.working.join(".codex"),
            (Scope::Project, Agent::Opencode) => self.working.join(".opencode"),
            (Scope::Project, Agent::Gemini) => self.working.join(".gemini"),
            (Scope::Project, Agent::Cursor) => self.working.join(".cursor"),
            (Scope::Project, Agent::Copilot) => self.working.join(".github"),
            (Scope::Project, Agent::VsCode | Agent::Cline) => self.working.join(".vscode"),
            (Scope::Project, Agent::Zed) => self.working.join(".zed"),
            (Scope::Project, Agent::Amp) => self.working.join(".amp"),
            (Scope::Project, Agent::Qwen) => self.working.join(".qwen"),
            (
                Scope::Project,
                Agent::Windsurf | Agent::Crush | Agent::Goose | Agent::ClaudeDesktop,
            ) => self.working.clone(),
        }
    }

    /// Returns the folder in which applications with windows have their settings.
    fn applications(&self) -> PathBuf {
        if cfg!(target_os = "macos") {
            self.home.join("Library/Application Support")
        } else if cfg!(windows) {
            self.home.join("AppData/Roaming")
        } else {
            self.config.clone()
        }
    }

    /// The file with Claude Code's own state, which has the MCP servers of the user.
    pub(crate) fn claude_state(&self) -> PathBuf {
        let old = self.folder(Agent::ClaudeCode, Scope::User).join(".config.json");
        if old.is_file() {
            return old;
        }
        self.claude.as_ref().unwrap_or(&self.home).join(".claude.json")
    }

    /// The user's `tamis.yaml`.
    pub(crate) fn configuration(&self) -> PathBuf {
        self.config.join("tamis/tamis.yaml")
    }

    /// The folder with full outputs.
    pub(crate) fn store(&self) -> PathBuf {
        self.state.join("store")
    }

    /// The file with the record of what was installed.
    pub(crate) fn record(&self) -> PathBuf {
        self.state.join("installed.json")
    }

    /// Returns `tamis-gateway` in the folder of this program.
    pub(crate) fn gateway(&self) -> PathBuf {
        self.program.with_file_name(format!("tamis-gateway{}", env::consts::EXE_SUFFIX))
    }

    /// Returns a program on the path.
    pub(crate) fn program(&self, name: &str) -> Option<PathBuf> {
        self.all_programs(name).next()
    }

    /// Returns the programs of a name on the path, in its order.
    pub(crate) fn all_programs(&self, name: &str) -> impl Iterator<Item = PathBuf> {
        let name = format!("{name}{}", env::consts::EXE_SUFFIX);
        let folders = env::split_paths(&self.path);
        folders.map(move |folder| folder.join(&name)).filter(|file| is_program(file))
    }

    /// Returns a path as people write it: with `~` for the home folder.
    pub(crate) fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.home) {
            Ok(rest) if !self.home.as_os_str().is_empty() => format!("~/{}", rest.display()),
            _ => path.display().to_string(),
        }
    }
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

/// Whose files are changed, and which `tamis.yaml` applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// Those of the user.
    #[default]
    User,
    /// Those of the project in the working directory.
    Project,
}

impl Scope {
    /// Returns the value of `--config`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}
