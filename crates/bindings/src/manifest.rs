//! Files with the filters of many tools.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tamis_manifest::{Manifest, ManifestEntry, ManifestErrorKind};

use crate::error::BindingError;
use crate::program::BindingProgram;

/// A file that maps names of tools to compiled filters. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BindingManifest {
    manifest: Manifest,
    /// The programs of filters that were looked up, by their names and whether they are built in.
    programs: Arc<Mutex<HashMap<(String, bool), BindingProgram>>>,
}

impl From<Manifest> for BindingManifest {
    fn from(manifest: Manifest) -> Self {
        Self { manifest, programs: Arc::default() }
    }
}

impl BindingManifest {
    /// Reads a manifest from text. Errors call it `name`.
    ///
    /// # Errors
    /// Fails with the kind `manifest` and all problems.
    pub fn parse(name: &str, text: &str) -> Result<Self, BindingError> {
        Ok(Manifest::parse(name, text)?.into())
    }

    /// Reads a manifest from a file.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and with the kind `read` if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, BindingError> {
        Ok(Manifest::load(path)?.into())
    }

    /// Returns the built-in filters for common APIs.
    ///
    /// # Errors
    /// None in a released version.
    pub fn catalog() -> Result<Self, BindingError> {
        Ok(Manifest::catalog()?.into())
    }

    /// Combines several manifests into one.
    ///
    /// # Errors
    /// Fails with the kind `manifest` if two of them have a filter for one name, or set the same key.
    ///
    /// ```
    /// use tamis_bindings::BindingManifest;
    ///
    /// let one = BindingManifest::parse("a.yaml", "version: 1\nfilters: {a: {}}\n")?;
    /// let other = BindingManifest::parse("b.yaml", "version: 1\nfilters: {b: {}}\n")?;
    /// assert_eq!(BindingManifest::merge([&one, &other])?.names(), ["a", "b"]);
    /// assert_eq!(BindingManifest::merge([&one, &one]).unwrap_err().kind, "manifest");
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn merge<'a>(manifests: impl IntoIterator<Item = &'a Self>) -> Result<Self, BindingError> {
        let manifests = manifests.into_iter().map(|manifest| manifest.manifest.clone());
        Ok(Manifest::merge(manifests)?.into())
    }

    /// Returns the filters of a service, `NAME@VERSION`, and those that are bound to no service.
    ///
    /// # Errors
    /// Fails with the kind `unknown_service` if there are artifacts, but none for this service.
    pub fn for_service(&self, service: &str) -> Result<Self, BindingError> {
        Ok(self.manifest.for_service(service)?.into())
    }

    /// Returns the filter of a tool. `mcp__crm__list_users` also means `crm.list-users`; with `catalog: true`, tools of
    /// the catalog have a filter.
    ///
    /// # Errors
    /// Fails with the kind `unknown_tool` or `ambiguous`.
    ///
    /// ```
    /// use tamis_bindings::BindingManifest;
    ///
    /// let manifest = BindingManifest::parse("m.yaml", "version: 1\nfilters: {crm.list: {select: [id]}}\n")?;
    /// assert!(manifest.program("mcp__crm__list").is_ok());
    /// assert_eq!(manifest.program("crm.lst").unwrap_err().kind, "unknown_tool");
    /// assert!(manifest.find("crm.lst")?.is_none());
    /// # Ok::<(), tamis_bindings::BindingError>(())
    /// ```
    pub fn program(&self, tool: &str) -> Result<BindingProgram, BindingError> {
        self.compiled(&*self.manifest.find(tool)?)
    }

    /// Returns the filter of a tool, or `None` if the manifest has none.
    ///
    /// # Errors
    /// Fails with the kind `ambiguous`.
    pub fn find(&self, tool: &str) -> Result<Option<BindingProgram>, BindingError> {
        match self.manifest.find(tool) {
            Ok(entry) => self.compiled(&entry).map(Some),
            Err(error) if error.kind() == ManifestErrorKind::UnknownTool => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the program of a filter. Its rules for text are compiled once, and its idle run is shared.
    fn compiled(&self, entry: &ManifestEntry) -> Result<BindingProgram, BindingError> {
        let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (entry.name().to_owned(), entry.is_builtin());
        if let Some(program) = programs.get(&key) {
            return Ok(program.clone());
        }
        let program = BindingProgram::of_entry(entry)?;
        programs.insert(key, program.clone());
        Ok(program)
    }

    /// Returns the names of all filters, in the order of the file.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.manifest.names().collect()
    }

    /// Returns the warnings about filters, each with its place.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.manifest.entries().flat_map(ManifestEntry::warnings);
        warnings.map(ToString::to_string).collect()
    }
}
