//! The configuration of a proxy: files and flags.
//!
//! | from | may say |
//! |---|---|
//! | flags | everything |
//! | files that flags name (`--manifest`) | everything |
//! | the user's own file | everything |
//! | a file that was found in the project | `filters`, `profile` and `profiles` |
//!
//! Earlier rows of this table take precedence. A file that was merely found may come from somebody whom the user does not
//! trust. So it cannot name a service or a folder, and the user's rules that remove for safety apply in addition to its
//! own.

mod files;

use std::fmt;
use std::path::{Path, PathBuf};

use tamis::spec::Redact;
use tamis_manifest::{
    CommandSettings, Manifest, ManifestEntry, ManifestError, NativeTools, Settings, StorePlace,
    StoreScope, StoreSettings,
};

pub use files::{ConfigFiles, ConfigPlaces};

use tamis_store::{CloudPlace, Store, StoreConfig, StoreLimits};

use crate::rules::{Profile, Rules, Structured};
use crate::{ClientReads, ProxyOptions, ServerRules};

/// The settings of the command line.
#[derive(Clone, Debug, Default)]
pub struct ConfigFlags {
    /// Files with filters, in any format of a manifest.
    pub manifests: Vec<PathBuf>,
    /// Which files are read in addition.
    pub files: ConfigFiles,
    /// The filter of tools without one.
    pub profile: Option<Profile>,
    /// The service of the catalog that the server is.
    pub service: Option<String>,
    /// The name that the server has in the configuration of the client.
    pub name: Option<String>,
    /// Whether results keep `structuredContent`.
    pub structured: Option<Structured>,
    /// Which part of a result the client shows.
    pub client_reads: Option<ClientReads>,
    /// Where results are stored.
    pub store: Option<StorePlace>,
    /// Whether the process has one client, of this user, as on standard input and output.
    pub is_local: bool,
    /// The values that are replaced in all results.
    pub redact: Option<Redact>,
    /// Whether all that only saves ends, as with `profile: off`, whatever profile the files name.
    pub off: bool,
}

/// The configuration of a proxy.
#[derive(Clone, Debug)]
pub struct Config {
    first: Option<Manifest>,
    /// Whether `first` was named on the command line for this server, and not found.
    is_first_named: bool,
    user: Option<Manifest>,
    profile: Profile,
    service: Option<String>,
    uses_catalog: bool,
    structured: Option<Structured>,
    client_reads: Option<ClientReads>,
    store: Option<StoreConfig>,
    store_warning: Option<String>,
    scope: StoreScope,
    redact: Option<Redact>,
    keeps_invisible: bool,
    factor: Option<bool>,
    put_back: Vec<String>,
    servers: ServerRules,
    /// Whether results of any tool may be shortened.
    saves: bool,
    native: Option<NativeTools>,
    user_path: Option<PathBuf>,
    found_path: Option<PathBuf>,
}

/// Rules for commands, and the file that has them.
#[derive(Clone, Copy, Debug)]
pub struct FileCommands<'a> {
    /// The rules.
    pub commands: &'a CommandSettings,
    /// The file.
    pub file: &'a Path,
}

impl Config {
    /// Reads the files that flags name and that are found, and combines them.
    ///
    /// ```
    /// use tamis_mcp::config::{Config, ConfigFlags, ConfigPlaces};
    /// use tamis_mcp::rules::Profile;
    ///
    /// let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("tamis.yaml"), "version: 1\nprofile: tight\nfilters: {}\n")?;
    /// let places = ConfigPlaces { working: folder.path().into(), ..ConfigPlaces::default() };
    /// let config = Config::load(&ConfigFlags::default(), &places)?;
    /// assert_eq!(config.profile(), Profile::Tight);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// A file cannot be read or is not valid, or a file that was found has a key that it may not have.
    pub fn load(flags: &ConfigFlags, places: &ConfigPlaces) -> Result<Self, ConfigError> {
        let user_path = places.user_file().filter(|_| flags.files != ConfigFiles::Project);
        let user = user_path.as_ref().map(Manifest::load).transpose()?;
        let mut found_path = None;
        let first = if flags.manifests.is_empty() {
            let found = places.project_file().filter(|_| flags.files != ConfigFiles::User);
            let found =
                found.filter(|path| !user_path.as_ref().is_some_and(|user| same(user, path)));
            found_path.clone_from(&found);
            let found = found.map(Manifest::load).transpose()?;
            found.map(|manifest| manifest.check_found().map(|()| manifest)).transpose()?
        } else {
            let manifests: Result<Vec<_>, _> = flags.manifests.iter().map(Manifest::load).collect();
            Some(Manifest::merge(manifests?)?)
        };
        let settings =
            || [first.as_ref(), user.as_ref()].into_iter().flatten().map(Manifest::settings);
        let profile = settings().find_map(|settings| settings.profile());
        let service = settings().find_map(|settings| settings.service().map(str::to_owned));
        let catalog = settings().find_map(|settings| settings.catalog());
        let keeps_invisible = settings().find_map(Settings::keeps_invisible);
        let factor = settings().find_map(Settings::factor);
        let put_back = settings().find_map(Settings::put_back).unwrap_or_default().to_vec();
        let servers = ServerRules::of_files(settings()).with_name(flags.name.as_deref());
        let servers = servers.with_one_profile(flags.off || flags.profile.is_some());
        let redact = servers.check_redact(flags.redact.as_ref());
        redact.map_err(|error| ConfigError(format!("`redact`: {}", error.message())))?;
        let native = settings().find_map(Settings::native);
        let of_user = user.as_ref().and_then(|user| user.settings().store()).is_some();
        let stored = settings().find_map(|settings| settings.store().cloned()).unwrap_or_default();
        let place = flags.store.as_ref().unwrap_or_else(|| stored.place());
        let of_user = of_user && flags.store.is_none();
        let file = user_path.as_deref().filter(|_| of_user);
        let profile = match flags.off {
            true => Profile::Off,
            false => flags.profile.or(profile).unwrap_or_default(),
        };
        // Without savings nothing is stored, so no folder is created.
        let saves = profile != Profile::Off || servers.may_save();
        let is_local = flags.is_local && saves;
        let (store, store_warning) = store(place, is_local, &stored, places, file)?;
        let service = flags.service.clone().or(service);
        if let Some(service) = &service {
            known_service(service, [first.as_ref(), user.as_ref()])?;
        }
        Ok(Self {
            profile,
            service,
            uses_catalog: catalog.unwrap_or(true),
            structured: flags.structured,
            client_reads: flags.client_reads,
            store,
            store_warning,
            scope: stored.scope().clone(),
            redact: flags.redact.clone(),
            keeps_invisible: keeps_invisible.unwrap_or_default(),
            factor,
            put_back,
            servers: servers.with_savings(profile != Profile::Off),
            saves,
            native,
            found_path,
            first,
            is_first_named: !flags.manifests.is_empty(),
            user_path: user_path.filter(|_| user.is_some()),
            user,
        })
    }

    /// Returns the profile for tools without a filter.
    #[must_use]
    pub fn profile(&self) -> Profile {
        self.profile
    }

    /// Returns whether results of any tool may be shortened, so that they are stored.
    #[must_use]
    pub fn may_save(&self) -> bool {
        self.saves
    }

    /// Returns whether invisible characters are removed from outputs of tools and commands.
    #[must_use]
    pub fn removes_invisible(&self) -> bool {
        self.profile != Profile::Off && !self.keeps_invisible
    }

    /// Returns whether profiles write once what the items of a result share. `None`: that depends on the client.
    #[must_use]
    pub fn factor(&self) -> Option<bool> {
        self.factor
    }

    /// Returns the limit of the own tools of coding agents.
    #[must_use]
    pub fn native(&self) -> Option<NativeTools> {
        self.native
    }

    /// Returns the user's rules for the commands of coding agents.
    #[must_use]
    pub fn user_commands(&self) -> Option<FileCommands<'_>> {
        commands_of(self.user.as_ref(), self.user_path.as_deref())
    }

    /// Returns the rules for commands of the file that was found in the project. The user has to accept them.
    #[must_use]
    pub fn project_commands(&self) -> Option<FileCommands<'_>> {
        commands_of(self.first.as_ref(), self.found_path.as_deref())
    }

    /// Returns who may read a stored result over HTTP, where a client has no session.
    #[must_use]
    pub fn scope(&self) -> &StoreScope {
        &self.scope
    }

    /// Returns the reason why results are kept in memory instead of the user's folder, if that could not be used.
    #[must_use]
    pub fn store_warning(&self) -> Option<&str> {
        self.store_warning.as_deref()
    }

    /// Returns where results are stored. `None`: nowhere.
    #[must_use]
    pub fn store(&self) -> Option<&StoreConfig> {
        self.store.as_ref()
    }

    /// Returns the manifests that flags name, or the one that was found in the project.
    #[must_use]
    pub fn manifest(&self) -> Option<&Manifest> {
        self.first.as_ref()
    }

    /// Returns whether a filter of any tool removes for safety.
    #[must_use]
    pub fn may_remove_for_safety(&self) -> bool {
        let manifests = [&self.first, &self.user].into_iter().flatten();
        let redacts = self.redact.is_some() || self.servers.redacts();
        redacts || manifests.flat_map(Manifest::entries).any(ManifestEntry::removes_for_safety)
    }

    /// Returns the settings of the proxy, with its store open.
    ///
    /// # Errors
    /// The rules cannot be compiled.
    pub fn proxy_options(mut self) -> Result<ProxyOptions, ConfigError> {
        // Without savings nothing is cut, so that nothing has to be stored.
        let store = self.store.take().filter(|_| self.saves).map(Store::open);
        let reads = self.client_reads;
        let keeps_invisible = self.keeps_invisible;
        let factor = self.factor;
        let put_back = std::mem::take(&mut self.put_back);
        let servers = self.servers.clone();
        let options = ProxyOptions::new(self.rules()?).with_invisible(keeps_invisible);
        let options = options.with_factor(factor).with_put_back(put_back).with_servers(servers);
        Ok(options.with_store(store).with_client_reads(reads))
    }

    /// Returns the rules for tools.
    ///
    /// # Errors
    /// A profile cannot be compiled.
    pub fn rules(self) -> Result<Rules, ConfigError> {
        let rules = Rules::new(self.profile).map_err(|error| ConfigError(error.to_string()))?;
        let mut rules = rules
            .with_service(self.service.as_deref())
            .with_catalog(self.uses_catalog)
            .with_structured(self.structured);
        if self.profile == Profile::Off {
            rules = rules.without_savings();
        }
        if let Some(redact) = &self.redact {
            rules = rules.with_redact(redact);
        }
        rules = self.servers.redacting(rules);
        if let Some(manifest) = self.first {
            rules = rules.with_manifest(manifest);
            if self.is_first_named {
                rules = rules.with_checked_names();
            }
        }
        if let Some(manifest) = self.user {
            rules = rules.with_user_manifest(manifest);
        }
        Ok(rules)
    }
}

fn commands_of<'a>(
    manifest: Option<&'a Manifest>,
    file: Option<&'a Path>,
) -> Option<FileCommands<'a>> {
    Some(FileCommands { commands: manifest?.settings().commands()?, file: file? })
}

fn same(one: &Path, other: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_error| path.to_owned());
    real(one) == real(other)
}

/// Checks that filters are known for a service: those of the catalog, or those of a manifest.
fn known_service(service: &str, manifests: [Option<&Manifest>; 2]) -> Result<(), ConfigError> {
    let prefixes = [format!("{service}."), format!("mcp__{service}__")];
    let names_it = |name: &str| prefixes.iter().any(|prefix| name.starts_with(prefix.as_str()));
    let mut entries = manifests.into_iter().flatten().flat_map(Manifest::entries);
    let is_known = Manifest::services().any(|known| known == service)
        || entries.any(|entry| entry.is_pattern() || names_it(entry.name()));
    if is_known && !service.is_empty() {
        return Ok(());
    }
    let known = Manifest::services().collect::<Vec<_>>().join(", ");
    Err(ConfigError(format!(
        "no filter is known for the service `{}`; the catalog has {known}; a manifest has others by names such as `{}.list`",
        service.escape_debug(),
        if service.is_empty() { "crm".into() } else { service.escape_debug().to_string() },
    )))
}

/// Opens the store of settings that a file at `file` has. `None`: nothing is stored.
///
/// # Errors
/// The place cannot be used.
pub fn open_store(
    settings: &StoreSettings,
    places: &ConfigPlaces,
    file: Option<&Path>,
) -> Result<Option<Store>, ConfigError> {
    let (config, _) = store(settings.place(), false, settings, places, file)?;
    Ok(config.map(Store::open))
}

/// Returns the store for a place, and the reason if it is not the usual one.
///
/// Limits of the configuration apply to any place but the user's folder, where other processes keep outputs as well: a proxy
/// with limits on the whole or on the age keeps its results in memory.
fn store(
    place: &StorePlace,
    is_local: bool,
    settings: &StoreSettings,
    places: &ConfigPlaces,
    file: Option<&Path>,
) -> Result<(Option<StoreConfig>, Option<String>), ConfigError> {
    let mut warning = None;
    let is_shared = settings.max_total().is_none() && settings.max_age().is_none();
    let of_user = || StoreConfig::of_user().filter(|_| is_local && is_shared);
    let (config, mut limits) = match place {
        StorePlace::Off => return Ok((None, None)),
        StorePlace::Automatic => {
            let config = of_user();
            let reserve = |config: &StoreConfig| Store::open(config.clone()).reserve().err();
            warning = config.as_ref().and_then(reserve).map(|error| error.to_string());
            match config.filter(|_| warning.is_none()) {
                Some(config) => (config, StoreLimits::folder()),
                None => (StoreConfig::memory(), StoreLimits::memory()),
            }
        }
        StorePlace::Memory => (StoreConfig::memory(), StoreLimits::memory()),
        StorePlace::Folder(path) => {
            let Some(folder) = places.expand(path, file) else {
                return Err(ConfigError(format!("cannot find the home folder for {path}")));
            };
            (StoreConfig::folder(folder), StoreLimits::folder())
        }
        StorePlace::Cloud(url) => (cloud(url)?, StoreLimits::folder()),
        place => return Err(ConfigError(format!("cannot store results in {place:?}"))),
    };
    if let Some(bytes) = settings.max_entry() {
        limits = limits.with_entry(bytes);
    }
    if let Some(bytes) = settings.max_total() {
        limits = limits.with_total(bytes);
    }
    if let Some(age) = settings.max_age() {
        limits = limits.with_age(age);
    }
    Ok((Some(config.with_limits(limits)), warning))
}

/// Returns the store in an object store, with the settings of the environment.
fn cloud(url: &str) -> Result<StoreConfig, ConfigError> {
    let place = CloudPlace::of_environment(url);
    place.map(StoreConfig::cloud).map_err(|error| ConfigError(error.to_string()))
}

/// A configuration that cannot be used, with the place in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl From<ManifestError> for ConfigError {
    fn from(error: ManifestError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

#[cfg(test)]
mod tests;
