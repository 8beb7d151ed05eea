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

mod facts;
mod filter;
mod names;
mod profile;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

pub use filter::{Structured, ToolFilter};
pub(crate) use filter::{Parameters, StoredForm};
pub use profile::{Profile, UnknownProfile};
use tamis::Program;
use tamis::manifest::{Manifest, ManifestErrorKind};

use crate::mcp::RuleSource;

/// The most tools whose filters are kept. Filters of further tools are made for each call.
const MOST_TOOLS: usize = 4096;

/// The rules of a proxy.
#[derive(Debug)]
pub struct Rules {
    /// The manifest that is asked first.
    first: Option<Manifest>,
    /// The user's own, which is asked second. Its rules that remove for safety apply in any case.
    user: Option<Manifest>,
    /// The service that the server is said to be.
    service: Option<String>,
    uses_catalog: bool,
    profile: Option<Arc<ToolFilter>>,
    /// Used where nothing may be cut, because it could not be fetched back.
    lossless: Option<Arc<ToolFilter>>,
    cache: Mutex<HashMap<(String, Option<String>), Option<Arc<ToolFilter>>>>,
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
            uses_catalog: true,
            profile: ToolFilter::of_profile(profile)?.map(Arc::new),
            lossless: ToolFilter::of_profile(Profile::Lossless)?.map(Arc::new),
            cache: Mutex::default(),
        })
    }

    /// Sets the manifest that is asked first: those of the command line, or the one that was found in the project.
    #[must_use]
    pub fn with_manifest(mut self, manifest: Manifest) -> Self {
        self.first = Some(manifest);
        self
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

    /// Sets whether the built-in catalog is used.
    #[must_use]
    pub fn with_catalog(mut self, yes: bool) -> Self {
        self.uses_catalog = yes;
        self
    }

    /// Returns the filter of a tool, by the name that the server gave itself. `None`: results pass as they come.
    pub(crate) fn filter(&self, tool: &str, server: Option<&str>) -> Option<Arc<ToolFilter>> {
        let key = (tool.to_owned(), server.map(str::to_owned));
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(filter) = cache.get(&key) {
            return filter.clone();
        }
        let filter = self.find(tool, server);
        if cache.len() < MOST_TOOLS {
            cache.insert(key, filter.clone());
        }
        filter
    }

    /// Returns the filter that keeps every value.
    pub(crate) fn lossless(&self) -> Option<&Arc<ToolFilter>> {
        self.lossless.as_ref()
    }

    /// Returns whether a filter of any tool removes for safety.
    pub(crate) fn may_remove_for_safety(&self) -> bool {
        let manifests = [&self.first, &self.user].into_iter().flatten();
        manifests.flat_map(Manifest::entries).any(|entry| {
            ToolFilter::own(entry.program(), RuleSource::Manifest)
                .map_or(true, |filter| filter.removes_for_safety)
        })
    }

    fn find(&self, tool: &str, server: Option<&str>) -> Option<Arc<ToolFilter>> {
        let known = self.service.as_deref().or_else(|| server.and_then(names::service_of));
        let first = self.first.as_ref().and_then(|manifest| named(manifest, tool, known));
        let user = self.user.as_ref().and_then(|manifest| named(manifest, tool, known));
        if let Some(own) = first.map(own_filter) {
            return Some(Arc::new(match user.map(own_filter) {
                Some(user) if user.removes_for_safety => both(own, user),
                _ => own,
            }));
        }
        if let Some(user) = user.map(own_filter) {
            return Some(Arc::new(user));
        }
        if self.uses_catalog
            && let Some(filter) = of_catalog(tool, known)
        {
            return Some(Arc::new(filter));
        }
        self.profile.clone()
    }
}

/// Looks a tool up under all names that it may have. An error means that its rules cannot be used.
fn named(
    manifest: &Manifest,
    tool: &str,
    service: Option<&str>,
) -> Option<Result<Program, &'static str>> {
    for name in names::candidates(tool, service) {
        match manifest.entry(&name) {
            Ok(entry) => return Some(Ok(entry.program().clone())),
            Err(error) if error.kind() == ManifestErrorKind::UnknownTool => {}
            Err(_) => return Some(Err("several rules match the tool equally well")),
        }
    }
    None
}

fn own_filter(program: Result<Program, &'static str>) -> ToolFilter {
    let compiled = program.and_then(|program| {
        ToolFilter::own(&program, RuleSource::Manifest)
            .map_err(|_error| "the rules for text cannot be compiled")
    });
    compiled.unwrap_or_else(ToolFilter::refusing)
}

fn of_catalog(tool: &str, known: Option<&str>) -> Option<ToolFilter> {
    let name = match (names::split(tool), known) {
        (Some((service, name)), known) if known.is_none_or(|known| known == service) => {
            names::of_catalog(service, name)
        }
        (_, Some(service)) => names::of_catalog(service, tool),
        (_, None) => return None,
    };
    let manifest = Manifest::catalog_for(&name).ok()?;
    let program = manifest.program(&name).ok()?;
    ToolFilter::own(&program, RuleSource::Catalog).ok()
}

/// Combines a filter of a file that was found with one of the user that removes for safety.
///
/// The user's rules apply first, to the names of the source: a file that only came with a project cannot rename what
/// they remove. They apply again to the output, where the same names may appear.
fn both(own: ToolFilter, user: ToolFilter) -> ToolFilter {
    if own.refuses.is_some() {
        return own;
    }
    if user.refuses.is_some() {
        return user;
    }
    let mut programs = user.programs.clone();
    programs.extend(own.programs.iter().cloned());
    ToolFilter {
        programs,
        stored: user.stored.clone(),
        keeps_text: user.keeps_text,
        keeps_error_text: user.keeps_error_text,
        removes_for_safety: true,
        parameters: Parameters { raw: false, ..own.parameters },
        keeps_everything: false,
        ..own
    }
}

#[cfg(test)]
mod tests;
