//! The keys of tamis' own format that gateways read: `profile`, `service`, `catalog`, `store`, `servers`, `invisible`, `factor`,
//! `put_back`, `commands` and `native`, and those of [`ServerSettings`].
//!
//! They are parsed and checked here, so that `tamis check` finds mistakes and every gateway reads them in the same way.
//! [`Manifest::find`](super::Manifest::find) reads `service` and `catalog`, too. The defaults are the gateway's: a key that is absent is `None`.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Deserialize;

use super::commands::{CommandSettings, NativeTools};
use super::error::{Diagnostic, Problems};
use super::profile::{Invisible, Profile};
use super::server::{ServerSettings, Servers};
use super::store::StoreSettings;
use super::{catalog, suggest};

/// The keys of a manifest that gateways read. Other formats than tamis' own have none of them.
///
/// ```
/// use tamis_manifest::{Manifest, Profile, StorePlace};
///
/// let manifest = Manifest::parse("tamis.yaml", "
/// version: 1
/// filters: {}
/// profile: tight
/// service: github
/// store: {at: ~/results, max_total: 1G}
/// ")?;
/// let settings = manifest.settings();
/// assert_eq!(settings.profile(), Some(Profile::Tight));
/// assert_eq!(settings.service(), Some("github"));
/// let store = settings.store().expect("the manifest has a store");
/// assert_eq!(store.place(), &StorePlace::Folder("~/results".into()));
/// assert_eq!(store.max_total(), Some(1 << 30));
/// # Ok::<(), tamis_manifest::ManifestError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Settings {
    pub(super) profile: Option<Setting<Profile>>,
    pub(super) service: Option<Setting<String>>,
    pub(super) catalog: Option<Setting<bool>>,
    pub(super) store: Option<Setting<StoreSettings>>,
    /// The names are in each entry, too, because manifests can be merged.
    pub(super) servers: Option<Setting<Arc<[String]>>>,
    pub(super) by_server: Option<Setting<Arc<BTreeMap<String, ServerSettings>>>>,
    /// The keys for all servers, and the place of each.
    pub(super) for_servers: ServerSettings,
    pub(super) server_places: Vec<(&'static str, Diagnostic)>,
    pub(super) invisible: Option<Setting<Invisible>>,
    pub(super) factor: Option<Setting<bool>>,
    pub(super) put_back: Option<Setting<Arc<[String]>>>,
    pub(super) commands: Option<Setting<CommandSettings>>,
    pub(super) native: Option<Setting<NativeTools>>,
}

/// A value, and the place of its key.
#[derive(Clone, Debug)]
pub(super) struct Setting<T> {
    pub(super) value: T,
    pub(super) place: Diagnostic,
}

impl Settings {
    /// Returns the profile for tools without a filter.
    #[must_use]
    pub fn profile(&self) -> Option<Profile> {
        self.profile.as_ref().map(|profile| profile.value)
    }

    /// Returns the service of the built-in catalog that the server is: one of [`Manifest::services`](super::Manifest::services).
    #[must_use]
    pub fn service(&self) -> Option<&str> {
        self.service.as_ref().map(|service| service.value.as_str())
    }

    /// Returns whether the built-in catalog is used for tools that the manifest does not name.
    #[must_use]
    pub fn catalog(&self) -> Option<bool> {
        self.catalog.as_ref().map(|catalog| catalog.value)
    }

    /// Returns where results are stored, and within which limits.
    #[must_use]
    pub fn store(&self) -> Option<&StoreSettings> {
        self.store.as_ref().map(|store| &store.value)
    }

    /// Returns whether invisible characters are kept in outputs that are shown to a model (`invisible: keep`).
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// let manifest = Manifest::parse("tamis.yaml", "version: 1\nfilters: {}\ninvisible: keep\n")?;
    /// assert_eq!(manifest.settings().keeps_invisible(), Some(true));
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    #[must_use]
    pub fn keeps_invisible(&self) -> Option<bool> {
        self.invisible.as_ref().map(|invisible| invisible.value == Invisible::Keep)
    }

    /// Returns whether profiles write once what the items of a result share (`factor: true`).
    #[must_use]
    pub fn factor(&self) -> Option<bool> {
        self.factor.as_ref().map(|factor| factor.value)
    }

    /// Returns the tools whose calls get the values of personal data that a session replaced by marks, as names or patterns with `*`
    /// and `?` (`put_back: [send_*]`).
    #[must_use]
    pub fn put_back(&self) -> Option<&[String]> {
        self.put_back.as_ref().map(|tools| &*tools.value)
    }

    /// Returns the user's rules for commands of coding agents.
    #[must_use]
    pub fn commands(&self) -> Option<&CommandSettings> {
        self.commands.as_ref().map(|commands| &commands.value)
    }

    /// Returns the limit of the own tools of coding agents.
    #[must_use]
    pub fn native(&self) -> Option<NativeTools> {
        self.native.as_ref().map(|native| native.value)
    }

    /// Returns the settings that hold for all MCP servers.
    #[must_use]
    pub fn for_all_servers(&self) -> &ServerSettings {
        &self.for_servers
    }

    /// Returns the settings of single MCP servers, with their names: the name of the entry in the configuration of the client
    /// (`tamis mcp --name`), or the name that the server gives itself.
    pub fn by_server(&self) -> impl Iterator<Item = (&str, &ServerSettings)> {
        let servers = self.by_server.iter().flat_map(|servers| servers.value.iter());
        servers.map(|(name, settings)| (name.as_str(), settings))
    }

    /// Returns the settings of two manifests, with a problem for each key that both have.
    pub(super) fn merge(self, later: &Self, problems: &mut Problems) -> Self {
        let mut server_places = self.server_places;
        for (key, place) in &later.server_places {
            match server_places.iter().find(|(known, _)| known == key) {
                Some((_, first)) => problems.push(|| set_already(key, first, place)),
                None => server_places.push((key, place.clone())),
            }
        }
        Self {
            by_server: either("servers", self.by_server, &later.by_server, problems),
            for_servers: self.for_servers.or(&later.for_servers),
            server_places,
            profile: either("profile", self.profile, &later.profile, problems),
            service: either("service", self.service, &later.service, problems),
            catalog: either("catalog", self.catalog, &later.catalog, problems),
            store: either("store", self.store, &later.store, problems),
            // Each list holds for the entries of its own file.
            servers: self.servers.or_else(|| later.servers.clone()),
            invisible: either("invisible", self.invisible, &later.invisible, problems),
            factor: either("factor", self.factor, &later.factor, problems),
            put_back: either("put_back", self.put_back, &later.put_back, problems),
            commands: either("commands", self.commands, &later.commands, problems),
            native: either("native", self.native, &later.native, problems),
        }
    }

    /// Returns each key that has a value, with its place.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'static str, &Diagnostic)> {
        let Self {
            profile,
            service,
            catalog,
            store,
            servers,
            by_server,
            for_servers: _,
            server_places,
            invisible,
            factor,
            put_back,
            commands,
            native,
        } = self;
        let keys = [
            ("servers", by_server.as_ref().map(|setting| &setting.place)),
            ("profile", profile.as_ref().map(|setting| &setting.place)),
            ("service", service.as_ref().map(|setting| &setting.place)),
            ("catalog", catalog.as_ref().map(|setting| &setting.place)),
            ("store", store.as_ref().map(|setting| &setting.place)),
            ("servers", servers.as_ref().map(|setting| &setting.place)),
            ("invisible", invisible.as_ref().map(|setting| &setting.place)),
            ("factor", factor.as_ref().map(|setting| &setting.place)),
            ("put_back", put_back.as_ref().map(|setting| &setting.place)),
            ("commands", commands.as_ref().map(|setting| &setting.place)),
            ("native", native.as_ref().map(|setting| &setting.place)),
        ];
        let of_servers = server_places.iter().map(|(key, place)| (*key, place));
        keys.into_iter().filter_map(|(key, place)| Some((key, place?))).chain(of_servers)
    }
}

/// Returns the setting that one of two manifests has.
fn either<T: Clone>(
    key: &str,
    first: Option<Setting<T>>,
    later: &Option<Setting<T>>,
    problems: &mut Problems,
) -> Option<Setting<T>> {
    if let (Some(first), Some(later)) = (&first, later) {
        problems.push(|| set_already(key, &first.place, &later.place));
    }
    first.or_else(|| later.clone())
}

/// Returns the problem of a key that two manifests have.
fn set_already(key: &str, first: &Diagnostic, later: &Diagnostic) -> Diagnostic {
    let place = first.place();
    later.clone().with_message(format!("`{key}` is set already, at {place}; leave one of them out"))
}

/// The value of `service`: a service of the catalog.
pub(super) struct ServiceName(pub(super) String);

impl<'de> Deserialize<'de> for ServiceName {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if catalog::files::services().any(|known| known == name) {
            return Ok(Self(name));
        }
        let known: Vec<&str> = catalog::files::services().collect();
        let message = format!(
            "`service` must be a service of the built-in catalog ({}), {}",
            super::node::or(&known),
            suggest::instead_of(&name, &known)
        );
        Err(serde::de::Error::custom(message))
    }
}

/// The settings as they are read from the file.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct WrittenSettings {
    pub(super) profile: Option<Profile>,
    pub(super) service: Option<ServiceName>,
    pub(super) catalog: Option<bool>,
    pub(super) store: Option<StoreSettings>,
    pub(super) servers: Option<Servers>,
    pub(super) invisible: Option<Invisible>,
    pub(super) factor: Option<bool>,
    pub(super) put_back: Option<Vec<String>>,
    pub(super) commands: Option<CommandSettings>,
    pub(super) native: Option<NativeTools>,
}

impl WrittenSettings {
    /// The keys, in the order in which they are documented.
    pub(super) const KEYS: [&'static str; 10] = [
        "profile",
        "service",
        "catalog",
        "store",
        "servers",
        "invisible",
        "factor",
        "put_back",
        "commands",
        "native",
    ];

    /// Adds the places of the keys.
    pub(super) fn at(self, place: impl Fn(&str) -> Option<Diagnostic>) -> Settings {
        let Self {
            profile,
            service,
            catalog,
            store,
            servers,
            invisible,
            factor,
            put_back,
            commands,
            native,
        } = self;
        let (filtered, by_server) = match servers {
            Some(Servers::Filtered(names)) => (Some(names), None),
            Some(Servers::Settings(settings)) => (None, Some(settings)),
            None => (None, None),
        };
        Settings {
            by_server: placed(by_server, place("servers")),
            for_servers: ServerSettings::default(),
            server_places: Vec::new(),
            profile: placed(profile, place("profile")),
            service: placed(service.map(|ServiceName(name)| name), place("service")),
            catalog: placed(catalog, place("catalog")),
            store: placed(store, place("store")),
            servers: placed(filtered, place("servers")),
            invisible: placed(invisible, place("invisible")),
            factor: placed(factor, place("factor")),
            put_back: placed(put_back.map(Arc::from), place("put_back")),
            commands: placed(commands, place("commands")),
            native: placed(native, place("native")),
        }
    }
}

/// Returns a value with its place, if it has both.
fn placed<T>(value: Option<T>, place: Option<Diagnostic>) -> Option<Setting<T>> {
    Some(Setting { value: value?, place: place? })
}
