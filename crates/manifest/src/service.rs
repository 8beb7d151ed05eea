//! The service that an artifact is bound to (seed 003; SPEC §9.3). Names of tools are unique within their service.
//!
//! Filters of several artifacts may have the same name if their services differ. A lookup must then name the service.

use super::entry::ManifestEntry;
use super::error::{Diagnostic, ManifestError, ManifestErrorKind};
use super::manifest::Manifest;
use super::suggest;

impl Manifest {
    /// Returns the filters of a service, `NAME@VERSION`, and those that are bound to no service. reShapr's artifacts
    /// name their service; the other formats have no services.
    ///
    /// ```
    /// use tamis_manifest::Manifest;
    ///
    /// let artifact = |version: &str, field: &str| Manifest::parse("artifact.yaml", &format!("
    /// apiVersion: reshapr.io/v1alpha1
    /// kind: ToolsFilters
    /// service: {{name: Crm, version: '{version}'}}
    /// filters: {{get_user: {{retain: [/{field}]}}}}
    /// "));
    /// let both = Manifest::merge([artifact("1", "name")?, artifact("2", "fullName")?])?;
    /// assert!(both.program("get_user").is_err());
    /// assert!(both.for_service("Crm@2")?.program("get_user").is_ok());
    /// assert_eq!(
    ///     both.for_service("Crm@3").unwrap_err().to_string(),
    ///     "artifact.yaml: no artifact for the service `Crm@3`; expected one of Crm@1, Crm@2"
    /// );
    /// # Ok::<(), tamis_manifest::ManifestError>(())
    /// ```
    ///
    /// # Errors
    /// [`ManifestErrorKind::UnknownService`] if there are artifacts, but none for this service.
    pub fn for_service(&self, service: &str) -> Result<Self, ManifestError> {
        let is_bound = |entry: &&ManifestEntry| entry.service.is_some();
        let fits = |entry: &&ManifestEntry| {
            entry.service.as_ref().is_none_or(|own| own.to_string() == service)
        };
        if self.entries().any(|entry| is_bound(&entry))
            && !self.entries().filter(is_bound).any(|entry| fits(&entry))
        {
            let mut services: Vec<String> = Vec::new();
            for own in self.entries().filter_map(|entry| entry.service.as_ref()) {
                let own = suggest::short(&own.to_string());
                if services.len() <= 10 && !services.contains(&own) {
                    services.push(own);
                }
            }
            let message = format!(
                "no artifact for the service `{}`; expected one of {}",
                suggest::short(service),
                services.join(", ")
            );
            let problem = Diagnostic::nowhere(&self.files_named(), message);
            return Err(ManifestError::new(ManifestErrorKind::UnknownService, problem));
        }
        let entries = self.entries().filter(fits).cloned().collect();
        self.with_entries(entries)
    }
}
