//! The filters of profiles, with the search of `redact` if there is one.

use std::sync::Arc;

use tamis::spec::Redact;
use tamis_manifest::Profile;

use super::filter::ToolFilter;
use super::redacting;

/// The filters of profiles for the results of a server.
#[derive(Clone, Debug)]
pub(super) struct ProfileFilters {
    /// The values that are replaced in all results.
    redacts: Option<Redact>,
    /// Also used where nothing may be cut, because it could not be fetched back.
    lossless: Option<Arc<ToolFilter>>,
    standard: Option<Arc<ToolFilter>>,
    tight: Option<Arc<ToolFilter>>,
}

impl ProfileFilters {
    pub(super) fn new() -> Result<Self, tamis::Error> {
        let of_profile = |profile| ToolFilter::of_profile(profile).map(|it| it.map(Arc::new));
        Ok(Self {
            redacts: None,
            lossless: of_profile(Profile::Lossless)?,
            standard: of_profile(Profile::Standard)?,
            tight: of_profile(Profile::Tight)?,
        })
    }

    /// Returns the filters with another search in addition.
    pub(super) fn redacting(&self, redact: &Redact) -> Self {
        let searches =
            |filter: &Arc<ToolFilter>| Arc::new(redacting(ToolFilter::clone(filter), redact));
        Self {
            redacts: Some(
                self.redacts.as_ref().map_or_else(|| redact.clone(), |it| it.and(redact)),
            ),
            lossless: self.lossless.as_ref().map(searches),
            standard: self.standard.as_ref().map(searches),
            tight: self.tight.as_ref().map(searches),
        }
    }

    /// Returns the values that are replaced in all results.
    pub(super) fn redacts(&self) -> Option<&Redact> {
        self.redacts.as_ref()
    }

    /// Returns the filter of a profile. `None`: results are not changed.
    pub(super) fn of(&self, profile: Profile) -> Option<&Arc<ToolFilter>> {
        match profile {
            Profile::Standard => self.standard.as_ref(),
            Profile::Tight => self.tight.as_ref(),
            Profile::Off if self.redacts.is_none() => None,
            _ => self.lossless.as_ref(),
        }
    }

    /// Returns the filter that keeps every value.
    pub(super) fn lossless(&self) -> Option<&Arc<ToolFilter>> {
        self.lossless.as_ref()
    }
}
