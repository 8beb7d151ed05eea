//! The keys of tamis' own format that hooks of coding agents read: `commands` and `native`.

use serde::{Deserialize, Deserializer};

/// The user's rules for the commands of coding agents.
///
/// ```
/// use tamis_manifest::Manifest;
///
/// let text = "version: 1\nfilters: {}\ncommands: {never: [git diff, 'curl *'], rules: [own.toml]}\n";
/// let manifest = Manifest::parse("tamis.yaml", text)?;
/// let commands = manifest.settings().commands().expect("the manifest has them");
/// assert_eq!(commands.never(), ["git diff", "curl *"]);
/// assert_eq!(commands.rules(), ["own.toml"]);
/// # Ok::<(), tamis_manifest::ManifestError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CommandSettings {
    never: Vec<String>,
    rules: Vec<String>,
}

impl CommandSettings {
    /// Returns the commands whose output is never changed, by their leading words.
    #[must_use]
    pub fn never(&self) -> &[String] {
        &self.never
    }

    /// Returns the files with rules for commands, which take precedence over the built-in ones. Relative paths begin at the
    /// folder of the manifest.
    #[must_use]
    pub fn rules(&self) -> &[String] {
        &self.rules
    }
}

/// The value of `native`: how much of the result of an agent's own tool is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NativeTools {
    /// Results pass unchanged.
    Off,
    /// At most this many tokens.
    Tokens(u64),
}

impl<'de> Deserialize<'de> for NativeTools {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Tokens(u64),
            Switch(bool),
            Word(String),
        }
        let written = Written::deserialize(deserializer);
        match written {
            Ok(Written::Tokens(tokens)) if tokens > 0 => Ok(Self::Tokens(tokens)),
            Ok(Written::Switch(false)) => Ok(Self::Off),
            Ok(Written::Word(word)) if word == "off" => Ok(Self::Off),
            _ => Err(serde::de::Error::custom("`native` must be a number of tokens, or off")),
        }
    }
}
