//! The profile of results without a filter, and the treatment of their invisible characters.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The rules of a gateway for the results of tools without a filter.
///
/// ```
/// use tamis_manifest::Profile;
///
/// assert_eq!("tight".parse(), Ok(Profile::Tight));
/// assert_eq!("tigth".parse::<Profile>().unwrap_err().to_string(), "expected lossless, standard, tight or off");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Profile {
    /// White space is removed, and nothing else is lost.
    Lossless,
    /// Null and empty values are dropped as well, binary data is left out, and the length is limited.
    #[default]
    Standard,
    /// As `Standard`, with a smaller limit.
    Tight,
    /// Results pass unchanged.
    Off,
}

impl Profile {
    const ALL: [Self; 4] = [Self::Lossless, Self::Standard, Self::Tight, Self::Off];

    /// Returns the word for this profile in a manifest.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Lossless => "lossless",
            Self::Standard => "standard",
            Self::Tight => "tight",
            Self::Off => "off",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no [`Profile`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfile;

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {}", super::node::or(&Profile::ALL.map(Profile::as_str)))
    }
}

impl std::error::Error for UnknownProfile {}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(text: &str) -> Result<Self, UnknownProfile> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == text).ok_or(UnknownProfile)
    }
}

/// The value of `invisible`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Invisible {
    /// Invisible characters are kept.
    Keep,
    /// Unicode tags and floods of zero-width characters are removed, and open overrides made visible.
    Remove,
}
