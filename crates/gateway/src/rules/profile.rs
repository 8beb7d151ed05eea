//! The filters of tools that no manifest and no catalog names.

use std::fmt;
use std::str::FromStr;

use tamis::Spec;
use tamis::spec::{Budget, Omitted};

/// How much is cut from the results of tools without a filter of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// White space between tokens goes, and a copy of the structured result that the client does not show.
    Lossless,
    /// Also nulls, empty values and long binary data, and whatever exceeds 8,000 tokens.
    #[default]
    Standard,
    /// As `standard`, with 2,000 tokens.
    Tight,
    /// Results pass as they come.
    Off,
}

impl Profile {
    const ALL: [(Self, &'static str); 4] = [
        (Self::Lossless, "lossless"),
        (Self::Standard, "standard"),
        (Self::Tight, "tight"),
        (Self::Off, "off"),
    ];

    /// Returns the name of the profile.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        Self::ALL.iter().find(|(profile, _)| *profile == self).map_or("", |(_, name)| name)
    }

    /// Returns the most tokens of a result.
    #[must_use]
    pub fn max_tokens(self) -> Option<u64> {
        match self {
            Self::Standard => Some(8_000),
            Self::Tight => Some(2_000),
            Self::Lossless | Self::Off => None,
        }
    }

    /// Returns whether results keep every value, so that they still fit their schema and nothing has to be stored.
    #[must_use]
    pub fn keeps_everything(self) -> bool {
        matches!(self, Self::Lossless | Self::Off)
    }

    /// Returns the rules of the profile.
    pub(super) fn spec(self) -> Spec {
        let spec = Spec::new();
        match self.max_tokens() {
            None => spec,
            Some(tokens) => spec
                .drop_nulls(true)
                .drop_empty(true)
                .budget(Budget::Tokens(tokens))
                .omitted(Omitted::Silent),
        }
    }
}

impl FromStr for Profile {
    type Err = UnknownProfile;

    fn from_str(name: &str) -> Result<Self, UnknownProfile> {
        let known = Self::ALL.iter().find(|(_, known)| *known == name);
        known.map(|(profile, _)| *profile).ok_or(UnknownProfile)
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The error of a name that no profile has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownProfile;

impl fmt::Display for UnknownProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown profile; expected lossless, standard, tight or off")
    }
}

impl std::error::Error for UnknownProfile {}
