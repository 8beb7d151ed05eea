//! Files with the filters of many tools.

use std::path::Path;

use tamis::manifest::{Manifest, ManifestErrorKind};

use crate::error::BindingError;
use crate::program::BindingProgram;

/// A file that maps names of tools to compiled filters. Cheap to clone.
#[derive(Clone, Debug)]
pub struct BindingManifest(Manifest);

impl BindingManifest {
    /// Reads a manifest from text. Errors call it `name`.
    ///
    /// # Errors
    /// Fails with the kind `manifest` and all problems.
    pub fn parse(name: &str, text: &str) -> Result<Self, BindingError> {
        Ok(Self(Manifest::parse(name, text)?))
    }

    /// Reads a manifest from a file.
    ///
    /// # Errors
    /// As for [`parse`](Self::parse), and with the kind `read` if the file cannot be read.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, BindingError> {
        Ok(Self(Manifest::load(path)?))
    }

    /// Returns the built-in filters for common APIs.
    ///
    /// # Errors
    /// None in a released version.
    pub fn catalog() -> Result<Self, BindingError> {
        Ok(Self(Manifest::catalog()?))
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
        Ok(BindingProgram::of_entry(&*self.0.find(tool)?))
    }

    /// Returns the filter of a tool, or `None` if the manifest has none.
    ///
    /// # Errors
    /// Fails with the kind `ambiguous`.
    pub fn find(&self, tool: &str) -> Result<Option<BindingProgram>, BindingError> {
        match self.0.find(tool) {
            Ok(entry) => Ok(Some(BindingProgram::of_entry(&entry))),
            Err(error) if error.kind() == ManifestErrorKind::UnknownTool => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the names of all filters, in the order of the file.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.0.names().collect()
    }

    /// Returns the warnings about filters, each with its place.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let warnings = self.0.entries().flat_map(tamis::manifest::ManifestEntry::warnings);
        warnings.map(ToString::to_string).collect()
    }
}
