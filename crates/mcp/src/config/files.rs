//! The files that a configuration may come from.

use std::env;
use std::path::{Path, PathBuf};

/// The name of a configuration file.
const NAME: &str = "tamis.yaml";

/// Keys of a filter that removes for safety. A file that cannot be read as a manifest but has one of them may be meant
/// to protect.
const KEYS_FOR_SAFETY: [&str; 6] = ["exclude", "retain", "patches", "when", "redact", "closed"];

/// Which files are read besides those of the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfigFiles {
    /// The user's own file.
    User,
    /// The file of the project.
    Project,
    /// Both.
    #[default]
    Both,
}

/// The folders that configuration files are looked for in.
#[derive(Clone, Debug, Default)]
pub struct ConfigPlaces {
    /// The home folder of the user.
    pub home: Option<PathBuf>,
    /// The folder for configuration: `~/.config` in most cases.
    pub config: Option<PathBuf>,
    /// The working directory.
    pub working: PathBuf,
}

impl ConfigPlaces {
    /// Returns the places of this process. Relative paths in environment variables are ignored, as the XDG specification
    /// requires.
    #[must_use]
    pub fn of_process() -> Self {
        let absolute = |path: &PathBuf| path.is_absolute();
        let home = env::home_dir().filter(absolute);
        let config = env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(absolute);
        let config = config.or_else(|| Some(home.as_ref()?.join(".config")));
        let working = env::current_dir().unwrap_or_default();
        Self { home, config, working }
    }

    /// Returns the files that exist and are read.
    #[must_use]
    pub fn files(&self, files: ConfigFiles) -> Vec<PathBuf> {
        let user = self.user_file().filter(|_| files != ConfigFiles::Project);
        let project = self.project_file().filter(|_| files != ConfigFiles::User);
        project.into_iter().chain(user).collect()
    }

    /// Returns whether the files that are read seem to have rules that remove for safety, even if they are not valid
    /// manifests: whether they have a key of such a rule. A file that cannot be read at all may have one.
    #[must_use]
    pub fn seem_to_protect(&self, files: ConfigFiles) -> bool {
        self.files(files).iter().any(|path| match std::fs::read(path) {
            Err(_) => true,
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                KEYS_FOR_SAFETY.iter().any(|key| text.contains(key))
            }
        })
    }

    /// Returns the user's own file, if it exists.
    pub(super) fn user_file(&self) -> Option<PathBuf> {
        let path = self.config.as_ref()?.join("tamis").join(NAME);
        path.is_file().then_some(path)
    }

    /// Returns the file of the project: the first one in the working directory and the folders around it, up to the
    /// root of the repository or the home folder. Outside of both, only the working directory is searched: a folder
    /// such as `/tmp` belongs to everybody.
    pub(super) fn project_file(&self) -> Option<PathBuf> {
        let is_root =
            |folder: &Path| folder.join(".git").exists() || Some(folder) == self.home.as_deref();
        let ends = self.working.ancestors().position(is_root);
        let count = ends.map_or(1, |end| end + 1);
        let mut paths = self.working.ancestors().take(count).map(|folder| folder.join(NAME));
        paths.find(|path| path.is_file())
    }

    /// Returns a path as a file of the user writes it: `~` is the home folder, and relative paths begin at the folder of
    /// the file. `None`: there is no home folder.
    pub(super) fn expand(&self, path: &str, file: Option<&Path>) -> Option<PathBuf> {
        let folder = file.and_then(Path::parent).unwrap_or(&self.working);
        match path.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => {
                Some(self.home.as_ref()?.join(rest.trim_start_matches('/')))
            }
            _ => Some(folder.join(path)),
        }
    }
}
