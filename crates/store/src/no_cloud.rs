//! Object stores in a build without the feature `cloud`: none can be named.

use std::fmt;
use std::sync::Arc;

use crate::backend::Backend;
use crate::limits::StoreLimits;

/// A place in an object store. This build has none.
#[derive(Clone, Debug)]
pub enum CloudPlace {}

impl CloudPlace {
    /// Fails: this build has no object stores.
    ///
    /// # Errors
    /// Always.
    pub fn of_environment(url: &str) -> Result<Self, CloudPlaceError> {
        Err(CloudPlaceError { url: url.to_owned() })
    }

    pub(crate) fn open(self, _: StoreLimits) -> Arc<dyn Backend> {
        match self {}
    }
}

/// A URL of an object store, which this build cannot use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CloudPlaceError {
    url: String,
}

impl fmt::Display for CloudPlaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let why = "this program was built without the feature `cloud`";
        write!(f, "cannot store results in {}: {why}", self.url)
    }
}

impl std::error::Error for CloudPlaceError {}
