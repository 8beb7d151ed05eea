//! The settings of a hook: the user's `tamis.yaml`, the store, and the folders of the process.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use tamis_command::OverflowFolder;
use tamis_command::{CommandRules, OutputFilterRegistry};
use tamis_manifest::NativeTools;
use tamis_mcp::config::{Config, ConfigFiles, ConfigFlags, ConfigPlaces, FileCommands};
use tamis_mcp::rules::Profile;
use tamis_store::calls::{CallLine, UserLog};
use tamis_store::{Store, StoreConfig};

use super::never;
use crate::accepted;
#[cfg(unix)]
use crate::recorder::StoreRecorder;
#[cfg(unix)]
use crate::session_files::SessionFiles;

/// The most tokens of an output under the profile `standard`.
const STANDARD_TOKENS: u64 = 8_000;
/// The most tokens of an output under the profile `tight`.
const TIGHT_TOKENS: u64 = 2_000;

/// The rule of the profile `lossless`: of every output, escape sequences, carriage returns and backspaces are resolved.
const LOSSLESS: &str = r#"
[[rules]]
name = "lossless"
match = { regex = "." }
strip_ansi = true
"#;

/// Where the files of a hook are.
#[derive(Clone, Debug)]
pub struct HookPlaces {
    /// Which configuration files are read.
    pub files: ConfigFiles,
    /// Where configuration files are looked for.
    pub config: ConfigPlaces,
    /// The store of the user.
    pub store: Option<StoreConfig>,
    /// The log of savings.
    pub log: Option<UserLog>,
    /// The folder for full outputs if the store cannot be written to.
    pub temporary: Option<PathBuf>,
    /// The folders of programs.
    pub path: Vec<PathBuf>,
    /// The folder of Codex, `$CODEX_HOME`.
    pub codex_home: Option<PathBuf>,
    /// The folder of the system's files for Codex.
    pub codex_system: PathBuf,
    /// The file of the running program, by the path by which it was started.
    pub program: Option<PathBuf>,
    /// `TAMIS=off`: what saves is off.
    pub is_off: bool,
    /// The folder of the session of Claude Code for files with full outputs.
    #[cfg(unix)]
    pub session_files: Option<SessionFiles>,
    /// The state folder, with the files of projects that the user accepted.
    pub state: Option<PathBuf>,
}

impl HookPlaces {
    /// Returns the places of this process.
    #[must_use]
    pub fn of_process(files: ConfigFiles) -> Self {
        let config = ConfigPlaces::of_process();
        let codex_home = std::env::var_os("CODEX_HOME").map(PathBuf::from);
        let codex_home = codex_home.filter(|path| path.is_absolute());
        let codex_home = codex_home.or_else(|| Some(config.home.as_ref()?.join(".codex")));
        let path = std::env::var_os("PATH").unwrap_or_default();
        Self {
            files,
            store: StoreConfig::of_user(),
            log: UserLog::to_append(),
            temporary: None,
            path: std::env::split_paths(&path).collect(),
            codex_home,
            codex_system: PathBuf::from("/etc/codex"),
            program: crate::program::as_started(),
            is_off: tamis_store::process::is_off(),
            #[cfg(unix)]
            session_files: SessionFiles::of_claude(),
            state: tamis_store::state::folder_of_user(),
            config,
        }
    }

    /// Returns places that are all in one folder, for tests.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            files: ConfigFiles::User,
            config: ConfigPlaces {
                home: Some(folder.to_owned()),
                config: Some(folder.join(".config")),
                working: folder.to_owned(),
            },
            store: Some(StoreConfig::folder(folder.join("store"))),
            log: Some(UserLog::in_folder(folder)),
            temporary: Some(folder.join("tmp")),
            path: vec![folder.join("bin")],
            codex_home: Some(folder.join(".codex")),
            codex_system: folder.join("etc-codex"),
            program: Some(folder.join("bin/tamis")),
            is_off: false,
            #[cfg(unix)]
            session_files: None,
            state: Some(folder.join("state")),
        }
    }
}

/// The settings of a hook.
#[derive(Debug)]
pub struct HookSettings {
    pub(super) places: HookPlaces,
    /// `None` if the file cannot be used.
    pub(super) config: Option<Config>,
    may_remove_for_safety: bool,
    never: Vec<String>,
    rules: Vec<CommandRules>,
}

impl HookSettings {
    /// Reads the configuration. A file that is not valid counts as none, but if it may have been meant to remove for
    /// safety, results of tools are withheld.
    #[must_use]
    pub fn load(places: &HookPlaces) -> Self {
        let flags =
            ConfigFlags { files: places.files, off: places.is_off, ..ConfigFlags::default() };
        let config = Config::load(&flags, &places.config).ok();
        let may_remove_for_safety = match &config {
            Some(config) => config.may_remove_for_safety(),
            None => places.config.seem_to_protect(places.files),
        };
        let mut settings = Self {
            places: places.clone(),
            config,
            may_remove_for_safety,
            never: Vec::new(),
            rules: Vec::new(),
        };
        settings.add_commands();
        settings
    }

    /// Adds the rules for commands of the user, and those of the project that the user accepted. Rules of a project come first.
    fn add_commands(&mut self) {
        let Some(config) = &self.config else { return };
        let state = self.places.state.as_deref();
        let accepted = |found: &FileCommands<'_>| {
            state.is_some_and(|state| accepted::is_accepted(state, found.file, found.commands))
        };
        let all = config.project_commands().filter(accepted).into_iter();
        for FileCommands { commands, file } in all.chain(config.user_commands()) {
            self.never.extend_from_slice(commands.never());
            // A file that is not valid has no rules; `tamis doctor` reports it.
            let rules = accepted::rules_files(file, commands).into_iter();
            self.rules.extend(rules.filter_map(|path| CommandRules::load(path).ok()));
        }
    }

    /// Returns whether the output of a command is never changed: the user says so, or the command itself.
    pub(super) fn leaves_alone(&self, typed: &str) -> bool {
        never::is_raw(typed) || never::is_never(typed, &self.never)
    }

    /// Returns the limit of the own tools of an agent.
    pub(super) fn native(&self) -> Option<NativeTools> {
        self.config.as_ref().and_then(Config::native)
    }

    /// Returns whether a rule for any tool may remove for safety.
    #[must_use]
    pub fn may_remove_for_safety(&self) -> bool {
        self.may_remove_for_safety
    }

    /// Returns the profile for the outputs of commands.
    fn profile(&self) -> Profile {
        let otherwise = if self.places.is_off { Profile::Off } else { Profile::default() };
        self.config.as_ref().map_or(otherwise, Config::profile)
    }

    /// Returns whether filters may leave out lines of the outputs of commands. Without a store, they could not be read again.
    pub(super) fn shortens_commands(&self) -> bool {
        !matches!(self.profile(), Profile::Off | Profile::Lossless) && !self.store_is_off()
    }

    /// Returns whether the configuration turns the store off.
    fn store_is_off(&self) -> bool {
        self.config.as_ref().is_some_and(|config| config.store().is_none())
    }

    /// Returns the filters for the outputs of commands. `None`: no output is changed.
    #[must_use]
    pub fn command_filters(&self) -> Option<OutputFilterRegistry> {
        match self.profile() {
            Profile::Off => None,
            Profile::Lossless => {
                let rules = CommandRules::parse("lossless", LOSSLESS).ok()?;
                Some(OutputFilterRegistry::new().register_rules(rules))
            }
            _ => {
                let mut registry = OutputFilterRegistry::new();
                for rules in &self.rules {
                    registry = registry.register_rules(rules.clone());
                }
                Some(registry.register_rules(CommandRules::builtin()))
            }
        }
    }

    /// Returns the most tokens of the output of a command. `None`: no limit.
    #[must_use]
    pub fn max_tokens(&self) -> Option<u64> {
        match self.profile() {
            Profile::Standard => Some(STANDARD_TOKENS),
            Profile::Tight => Some(TIGHT_TOKENS),
            _ => None,
        }
    }

    /// Returns whether invisible characters are removed from outputs.
    #[must_use]
    pub fn removes_invisible(&self) -> bool {
        self.profile() != Profile::Off && self.config.as_ref().is_none_or(Config::removes_invisible)
    }

    /// Returns the store of the user, unless the configuration turns it off.
    #[must_use]
    pub fn store(&self) -> Option<Store> {
        self.places.store.clone().filter(|_| !self.store_is_off()).map(Store::open)
    }

    /// Appends a call to the log of savings. No hook fails for its log.
    pub fn log(&self, call: &CallLine<'_>) {
        if let Some(log) = &self.places.log {
            _ = log.append(call);
        }
    }

    /// Returns the folder of the agent's session for files with full outputs. A hook without a store writes no files.
    #[cfg(unix)]
    pub(super) fn session_files(&self) -> Option<SessionFiles> {
        self.places.session_files.clone().filter(|_| !self.store_is_off())
    }

    /// Returns what records the full output of a command. `name` is the name of the record. Without a store, nothing is
    /// recorded, so nothing is filtered.
    #[cfg(unix)]
    #[must_use]
    pub(super) fn recorder(&self, name: String) -> StoreRecorder {
        let recorder = StoreRecorder::new(self.store(), name);
        if self.store_is_off() {
            return recorder;
        }
        recorder.with_fallback(match &self.places.temporary {
            Some(path) => OverflowFolder::new(path),
            None => StoreRecorder::temporary_folder(),
        })
    }
}
