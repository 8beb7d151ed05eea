//! Which filter a tool gets.
//!
//! ```text
//! manifests ──▶ catalog, if the server is known to be the service ──▶ profile
//!     │
//!     └─ a filter of the user that removes for safety applies in addition to another file's, never instead
//! ```
//!
//! Filters of the catalog and of profiles only save. A filter of a manifest may remove for safety, and then fails
//! closed.

mod filter;
mod output_type;
mod profile;
mod profile_filters;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

pub use filter::ToolFilter;
pub(crate) use filter::{Parameters, StoredForm};
pub(crate) use output_type::{OutputCheck, OutputType, is_open};
use tamis::spec::Redact;
use tamis_manifest::{Level, Manifest, ManifestEntry};
pub use tamis_manifest::{Profile, Structured};

use self::profile_filters::ProfileFilters;

/// The most tools whose filters are kept. Filters of further tools are made for each call.
const MOST_TOOLS: usize = 4096;

/// The longest name of a tool, in bytes. The protocol advises 128 characters.
pub(crate) const LONGEST_TOOL_NAME: usize = 1024;

/// The name of a tool, the name that its server gave itself, and the profile that is chosen for it.
type FilterKey = (String, Option<String>, Option<Profile>);

/// The rules of a proxy.
#[derive(Debug)]
pub struct Rules {
    /// The manifest that is asked first.
    first: Option<Manifest>,
    /// The user's own, which is asked second. Its rules that remove for safety apply in any case.
    user: Option<Manifest>,
    /// The service that the server is said to be.
    service: Option<String>,
    /// Whether the catalog is used, where the profile uses it.
    uses_catalog: bool,
    /// The profile of tools for which no other is chosen. It decides the level of filters, and the limit of those of the
    /// catalog.
    given: Profile,
    /// Whether rules that only save apply. Otherwise only those for safety do.
    saves: bool,
    /// Replaces what filters say.
    structured: Option<Structured>,
    /// The filters of profiles.
    profiles: ProfileFilters,
    /// Those for servers in whose results more is replaced.
    by_server: BTreeMap<String, ProfileFilters>,
    /// Those for a server that has not said its name: it may be any.
    unnamed: Option<ProfileFilters>,
    /// The name of the server, if it does not depend on what the server says.
    server: Option<String>,
    cache: Mutex<HashMap<FilterKey, Option<Arc<ToolFilter>>>>,
    /// The names of filters of `first` that no listed tool has matched so far. `None`: they are not checked.
    unlisted: Mutex<Option<BTreeSet<String>>>,
}

impl Rules {
    /// Creates the rules of a proxy without manifests.
    ///
    /// # Errors
    /// None in a released version: a test compiles every profile.
    pub fn new(profile: Profile) -> Result<Self, tamis::Error> {
        Ok(Self {
            first: None,
            user: None,
            service: None,
            given: profile,
            uses_catalog: true,
            saves: true,
            structured: None,
            profiles: ProfileFilters::new()?,
            by_server: BTreeMap::new(),
            unnamed: None,
            server: None,
            cache: Mutex::default(),
            unlisted: Mutex::default(),
        })
    }

    /// Sets the manifest that is asked first: those of the command line, or the one that was found in the project.
    #[must_use]
    pub fn with_manifest(mut self, manifest: Manifest) -> Self {
        self.first = Some(manifest);
        self
    }

    /// Checks that every filter of the manifest that is asked first matches a tool in the first complete list.
    #[must_use]
    pub fn with_checked_names(mut self) -> Self {
        let entries = self.first.iter().flat_map(Manifest::entries);
        let own = entries.filter(|entry| !entry.is_builtin());
        self.unlisted = Mutex::new(Some(own.map(|entry| entry.name().to_owned()).collect()));
        self
    }

    /// Notes that the server lists a tool.
    pub(crate) fn note_listed(&self, tool: &str, server: Option<&str>) {
        let mut unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(names) = unlisted.as_mut() else { return };
        let known = self.services(server);
        match self.first.as_ref().and_then(|manifest| named(manifest, tool, &known)) {
            Some(Ok(entry)) => {
                names.remove(entry.name());
            }
            // Which filters match is not known.
            Some(Err(_)) => *unlisted = None,
            None => {}
        }
    }

    /// Returns the names of filters that matched no listed tool. Empty after the first call, and if they are not checked.
    pub(crate) fn take_unlisted(&self) -> BTreeSet<String> {
        let mut unlisted = self.unlisted.lock().unwrap_or_else(PoisonError::into_inner);
        unlisted.take().unwrap_or_default()
    }

    /// Sets the user's own manifest, which is asked second. Its rules that remove for safety apply to tools of the
    /// first one, too.
    #[must_use]
    pub fn with_user_manifest(mut self, manifest: Manifest) -> Self {
        self.user = Some(manifest);
        self
    }

    /// Sets the service that the server is, whatever name it sends.
    #[must_use]
    pub fn with_service(mut self, service: Option<&str>) -> Self {
        self.service = service.map(str::to_owned);
        self
    }

    /// Sets whether the built-in catalog is used. The profiles `lossless` and `off` use none.
    #[must_use]
    pub fn with_catalog(mut self, yes: bool) -> Self {
        self.uses_catalog = yes;
        self
    }

    /// Ends all that only saves: what remains of a filter are its rules that remove for safety. The profile is to be
    /// [`Profile::Off`].
    #[must_use]
    pub fn without_savings(mut self) -> Self {
        self.saves = false;
        self
    }

    /// Replaces values in all results, whatever their filters say. Without a profile, results are then minified. Paths of the
    /// rule begin at the results of every tool.
    #[must_use]
    pub fn with_redact(mut self, redact: &Redact) -> Self {
        self.profiles = self.profiles.redacting(redact);
        for filters in self.by_server.values_mut().chain(&mut self.unnamed) {
            *filters = filters.redacting(redact);
        }
        self
    }

    /// Replaces more values in the results of a server, by the name of its entry or the one that it gives itself. Before it has said
    /// its name, it may be any of them.
    #[must_use]
    pub fn with_server_redact(mut self, server: &str, redact: &Redact) -> Self {
        let own = self.by_server.get(server).unwrap_or(&self.profiles).redacting(redact);
        self.by_server.insert(server.to_owned(), own);
        self.unnamed = Some(self.unnamed.as_ref().unwrap_or(&self.profiles).redacting(redact));
        self
    }

    /// Sets the name of the server, whatever name it gives itself.
    #[must_use]
    pub fn with_server_name(mut self, server: Option<&str>) -> Self {
        self.server = server.map(str::to_owned);
        self
    }

    /// Sets whether results keep `structuredContent`, whatever their filters say.
    #[must_use]
    pub fn with_structured(mut self, structured: Option<Structured>) -> Self {
        self.structured = structured;
        self
    }

    /// Returns the filter of a tool, by the name that the server gave itself, and by the profile that is chosen for it. `None`:
    /// results are not changed.
    pub(crate) fn filter(
        &self,
        tool: &str,
        server: Option<&str>,
        chosen: Option<Profile>,
    ) -> Option<Arc<ToolFilter>> {
        let key = (tool.to_owned(), server.map(str::to_owned), chosen);
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(filter) = cache.get(&key) {
            return filter.clone();
        }
        let filter = self.find(tool, server, chosen);
        if cache.len() < MOST_TOOLS && tool.len() <= LONGEST_TOOL_NAME {
            cache.insert(key, filter.clone());
        }
        filter
    }

    /// Returns the filter of tools of a server without one of their own. `None`: their results are not changed.
    pub(crate) fn profile<'a>(
        &'a self,
        server: Option<&str>,
        chosen: Option<Profile>,
    ) -> Option<&'a Arc<ToolFilter>> {
        self.profiles(server).of(chosen.unwrap_or(self.given))
    }

    /// Returns the filters of profiles for a server.
    fn profiles<'a>(&'a self, server: Option<&str>) -> &'a ProfileFilters {
        match self.server.as_deref().or(server) {
            Some(name) => self.by_server.get(name).unwrap_or(&self.profiles),
            None => self.unnamed.as_ref().unwrap_or(&self.profiles),
        }
    }

    /// Returns whether rules that only save apply to a tool.
    fn saves(&self, chosen: Option<Profile>) -> bool {
        chosen.map_or(self.saves, |profile| profile != Profile::Off)
    }

    /// Returns the filter that keeps every value of the results of a server.
    pub(crate) fn lossless<'a>(&'a self, server: Option<&str>) -> Option<&'a Arc<ToolFilter>> {
        self.profiles(server).lossless()
    }

    /// Returns whether the filter of a tool's own removes for safety, apart from what is replaced in all results. `None`: it has none.
    pub(crate) fn own_removes_for_safety(&self, tool: &str) -> Option<bool> {
        self.find_written(tool, None, None).map(|filter| filter.removes_for_safety)
    }

    /// Returns whether a filter of any tool removes for safety.
    pub(crate) fn may_remove_for_safety(&self) -> bool {
        let manifests = [&self.first, &self.user].into_iter().flatten();
        let redacts = self.profiles.redacts().is_some() || self.unnamed.is_some();
        redacts || manifests.into_iter().any(protects)
    }

    /// Returns the services that the server is known to offer.
    fn services(&self, server: Option<&str>) -> Vec<&str> {
        match (&self.service, server) {
            (Some(service), _) => vec![service],
            (None, Some(server)) => Manifest::services_of_server(server).to_vec(),
            (None, None) => Vec::new(),
        }
    }

    fn find(
        &self,
        tool: &str,
        server: Option<&str>,
        chosen: Option<Profile>,
    ) -> Option<Arc<ToolFilter>> {
        let mut filter = self.find_own(tool, server, chosen);
        if let (Some(filter), Some(structured)) = (&mut filter, self.structured) {
            filter.structured = structured;
        }
        filter.map(Arc::new).or_else(|| self.profile(server, chosen).cloned())
    }

    fn find_own(
        &self,
        tool: &str,
        server: Option<&str>,
        chosen: Option<Profile>,
    ) -> Option<ToolFilter> {
        let own = self.find_written(tool, server, chosen);
        match self.profiles(server).redacts() {
            Some(redact) => own.map(|own| redacting(own, redact)),
            None => own,
        }
    }

    /// Looks a tool up as [`named`] does. Without savings, only rules that remove for safety are found.
    fn named<'a>(
        manifest: &'a Manifest,
        tool: &str,
        services: &[&str],
        saves: bool,
    ) -> Option<Result<&'a ManifestEntry, &'static str>> {
        match named(manifest, tool, services)? {
            Ok(entry) if !saves && !entry.removes_for_safety() => None,
            Err(_) if !saves && !protects(manifest) => None,
            found => Some(found),
        }
    }

    /// Returns the filter of a tool as a manifest or the catalog has it.
    fn find_written(
        &self,
        tool: &str,
        server: Option<&str>,
        chosen: Option<Profile>,
    ) -> Option<ToolFilter> {
        let known = self.services(server);
        let (saves, profile) = (self.saves(chosen), chosen.unwrap_or(self.given));
        let (first, user) = (self.first.as_ref(), self.user.as_ref());
        let first = first.and_then(|manifest| Self::named(manifest, tool, &known, saves));
        let user = user.and_then(|manifest| Self::named(manifest, tool, &known, saves));
        let level = profile::level(profile);
        let uses_catalog =
            self.uses_catalog && matches!(profile, Profile::Standard | Profile::Tight);
        let own_filter = |entry| own_filter(entry, saves, level);
        match (first, user) {
            (Some(first), Some(Ok(user))) if user.removes_for_safety() => {
                let under = |first: ToolFilter| first.under(user).map_err(|_error| NOT_COMPILED);
                Some(compiled(first.and_then(own_filter).and_then(under)))
            }
            // The user's rules may remove for safety, so they are not left out.
            (_, Some(Err(why))) => Some(ToolFilter::refusing(why)),
            (Some(own), _) | (None, Some(own)) => Some(compiled(own.and_then(own_filter))),
            (None, None) if uses_catalog => of_catalog(tool, &known, profile),
            (None, None) => None,
        }
    }
}

/// Looks a tool up under all names that it may have. An error means that its rules cannot be used.
fn named<'a>(
    manifest: &'a Manifest,
    tool: &str,
    services: &[&str],
) -> Option<Result<&'a ManifestEntry, &'static str>> {
    let found = manifest.entry_of_service(tool, services)?;
    Some(found.map_err(|_error| "several rules match the tool equally well"))
}

const NOT_COMPILED: &str = "the rules for the tool cannot be compiled";

/// Adds the search of `redact` to a filter. None fails in a released version: a test adds it to every profile.
fn redacting(filter: ToolFilter, redact: &Redact) -> ToolFilter {
    filter.redacting(redact).unwrap_or_else(|_| ToolFilter::refusing(NOT_COMPILED))
}

/// Returns the filter of an entry: all of it, or only its rules that remove for safety.
fn own_filter(
    entry: &ManifestEntry,
    saves: bool,
    level: Level,
) -> Result<ToolFilter, &'static str> {
    let own = if saves { ToolFilter::own(entry, level) } else { ToolFilter::for_safety(entry) };
    own.map_err(|_error| NOT_COMPILED)
}

/// Returns whether a rule of a manifest removes for safety.
fn protects(manifest: &Manifest) -> bool {
    manifest.entries().any(ManifestEntry::removes_for_safety)
}

fn compiled(filter: Result<ToolFilter, &'static str>) -> ToolFilter {
    filter.unwrap_or_else(ToolFilter::refusing)
}

fn of_catalog(tool: &str, known: &[&str], profile: Profile) -> Option<ToolFilter> {
    ToolFilter::of_catalog(&Manifest::catalog_entry_of_service(tool, known)?, profile).ok()
}

#[cfg(test)]
mod tests;
