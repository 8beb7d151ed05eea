//! Reads the keys for MCP servers, at the top of a manifest for all servers, or under `servers: NAME` for one.
//!
//! A proxy asks for them at each message, because a server says its name only after the first one.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use tamis::spec::Redact;
use tamis::{Program, Spec};
use tamis_json::glob;

use super::profile::{Invisible, Profile};

/// The settings for one server, or for all of them.
///
/// ```
/// use tamis_manifest::Manifest;
///
/// let manifest = Manifest::parse("tamis.yaml", "
/// version: 1
/// filters: {}
/// tools: {deny: ['delete_*']}
/// servers:
///   github: {tools: {allow: ['get_*', 'list_*']}}
/// ")?;
/// let all = manifest.settings().for_all_servers();
/// assert!(!all.tools().unwrap().allows("delete_repository"));
/// let (name, github) = manifest.settings().by_server().next().unwrap();
/// assert_eq!(name, "github");
/// assert!(!github.tools().unwrap().allows("push_files"));
/// # Ok::<(), tamis_manifest::ManifestError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerSettings {
    tools: Option<ToolAccess>,
    descriptions: Option<DescriptionLimit>,
    handles: Option<HandleUse>,
    notices: Option<NoticeRules>,
    delta: Option<DeltaRule>,
    typed: Option<bool>,
    profiles: Option<ToolProfiles>,
    profile: Option<Profile>,
    factor: Option<bool>,
    invisible: Option<Invisible>,
    redact: Option<ServerRedact>,
    #[serde(deserialize_with = "only_at_top")]
    native: (),
    #[serde(deserialize_with = "only_at_top")]
    commands: (),
}

impl ServerSettings {
    /// The keys at the top of a manifest, in the order in which they are documented. The others are [`Settings`] there.
    pub(super) const KEYS: [&'static str; 8] =
        ["tools", "descriptions", "handles", "notices", "delta", "typed", "profiles", "redact"];

    /// Returns which tools of the server a client sees.
    #[must_use]
    pub fn tools(&self) -> Option<&ToolAccess> {
        self.tools.as_ref()
    }

    /// Returns the longest description in a list of tools.
    #[must_use]
    pub fn descriptions(&self) -> Option<DescriptionLimit> {
        self.descriptions
    }

    /// Returns whether calls may have handles of stored results in place of values.
    #[must_use]
    pub fn handles(&self) -> Option<&HandleUse> {
        self.handles.as_ref()
    }

    /// Returns what happens to calls that have a notice in place of what it stands for.
    #[must_use]
    pub fn notices(&self) -> Option<&NoticeRules> {
        self.notices.as_ref()
    }

    /// Returns whether a result may only say what has changed.
    #[must_use]
    pub fn delta(&self) -> Option<DeltaRule> {
        self.delta
    }

    /// Returns whether results have a type, which the list of tools declares.
    #[must_use]
    pub fn typed(&self) -> Option<bool> {
        self.typed
    }

    /// Returns the profile of a tool: that of the pattern with the most literal characters, or else that of the server.
    #[must_use]
    pub fn profile_of(&self, tool: &str) -> Option<Profile> {
        self.profiles.as_ref().and_then(|profiles| profiles.of(tool)).or(self.profile)
    }

    /// Returns whether a tool may have a profile under which results are shortened or stored.
    #[must_use]
    pub fn may_save(&self) -> bool {
        let of_tools = self.profiles.iter().flat_map(|profiles| &profiles.0);
        of_tools.map(|(_, profile)| profile).chain(&self.profile).any(|it| *it != Profile::Off)
    }

    /// Returns whether profiles write once what the items of a result of the server share.
    #[must_use]
    pub fn factor(&self) -> Option<bool> {
        self.factor
    }

    /// Returns whether invisible characters are kept in results of the server.
    #[must_use]
    pub fn keeps_invisible(&self) -> Option<bool> {
        self.invisible.map(|invisible| invisible == Invisible::Keep)
    }

    /// Returns the values that are replaced in all results of the server.
    #[must_use]
    pub fn redact(&self) -> Option<&Redact> {
        self.redact.as_ref().map(|ServerRedact(rule)| rule)
    }

    /// Returns the settings of two manifests that have no key in common.
    pub(super) fn or(self, later: &Self) -> Self {
        Self {
            tools: self.tools.or_else(|| later.tools.clone()),
            descriptions: self.descriptions.or(later.descriptions),
            handles: self.handles.or_else(|| later.handles.clone()),
            notices: self.notices.or_else(|| later.notices.clone()),
            delta: self.delta.or(later.delta),
            typed: self.typed.or(later.typed),
            profiles: self.profiles.or_else(|| later.profiles.clone()),
            profile: self.profile.or(later.profile),
            factor: self.factor.or(later.factor),
            invisible: self.invisible.or(later.invisible),
            redact: self.redact.or_else(|| later.redact.clone()),
            native: (),
            commands: (),
        }
    }
}

/// The values that are replaced in all results: `redact: secrets`, or a map as in a filter. Paths are those of one tool.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ServerRedact(Redact);

impl<'de> Deserialize<'de> for ServerRedact {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rule = Redact::deserialize(deserializer)?;
        if !rule.paths.is_empty() || rule.with.is_some() {
            return Err(de::Error::custom(
                "`redact` for a server has no `paths` and no `with`: write these in the filters of its tools",
            ));
        }
        let compiled = Program::compile(&Spec::new().redact(rule.clone()));
        compiled.map(|_| Self(rule)).map_err(|error| de::Error::custom(error.message()))
    }
}

/// Refuses a key that is about coding agents and not about one server.
fn only_at_top<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(de::Error::custom(
        "`native` and `commands` are for coding agents, not for a server: write them at the top of the file",
    ))
}

/// The profiles of tools: `profiles: {'linear_*': off}`. Names are exact, or patterns with `*` and `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
struct ToolProfiles(BTreeMap<String, Profile>);

impl ToolProfiles {
    fn of(&self, tool: &str) -> Option<Profile> {
        let fitting = self.0.iter().filter(|(pattern, _)| glob::fits(pattern, tool));
        Some(*fitting.max_by_key(|(pattern, _)| (*pattern == tool, literals(pattern)))?.1)
    }
}

/// Returns the number of characters of a pattern that stand for themselves.
fn literals(pattern: &str) -> usize {
    pattern.chars().filter(|it| !matches!(it, '*' | '?')).count()
}

/// The tools of a server that a client sees and may call: `tools: {allow: [get_*], deny: [get_secret]}`.
///
/// Names are exact, or patterns with `*` and `?`.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolAccess {
    allow: Option<Vec<String>>,
    deny: Vec<String>,
}

impl ToolAccess {
    /// Returns whether clients see a tool. A denied tool is hidden even if it is allowed as well.
    #[must_use]
    pub fn allows(&self, tool: &str) -> bool {
        let is_in = |patterns: &[String]| patterns.iter().any(|it| glob::fits(it, tool));
        self.allow.as_deref().is_none_or(is_in) && !is_in(&self.deny)
    }
}

/// The longest description of a tool and of each of its parameters: `descriptions: {max: 200}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptionLimit(u32);

impl DescriptionLimit {
    /// The least limit: a shorter description says nothing.
    const LEAST: u32 = 20;

    /// Returns the most characters of a description.
    #[must_use]
    pub fn characters(self) -> usize {
        self.0 as usize
    }
}

impl<'de> Deserialize<'de> for DescriptionLimit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            max: u32,
        }
        let Written { max } = Written::deserialize(deserializer)?;
        if max < Self::LEAST {
            let message = format!("`max` must be at least {} characters, not {max}", Self::LEAST);
            return Err(de::Error::custom(message));
        }
        Ok(Self(max))
    }
}

/// The use of stored results as arguments: `handles: use`, `handles: off`, or `handles: {use: [SERVER]}` for results of other
/// servers as well.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandleUse {
    is_on: bool,
    servers: Vec<String>,
}

impl HandleUse {
    /// Returns whether handles may be used at all.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.is_on
    }

    /// Returns the other servers whose results may be used.
    #[must_use]
    pub fn servers(&self) -> &[String] {
        &self.servers
    }
}

impl<'de> Deserialize<'de> for HandleUse {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The map form.
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            r#use: Vec<String>,
        }
        /// Reads either form.
        struct HandleVisitor;
        impl<'de> Visitor<'de> for HandleVisitor {
            type Value = HandleUse;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`use`, `off`, or a map with `use`: the other servers whose results may be used")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<HandleUse, E> {
                match word {
                    "use" | "off" => Ok(HandleUse { is_on: word == "use", servers: Vec::new() }),
                    _ => Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                }
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<HandleUse, E> {
                // YAML reads `off` as false.
                if yes {
                    return Err(E::invalid_value(de::Unexpected::Bool(yes), &self));
                }
                Ok(HandleUse { is_on: false, servers: Vec::new() })
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<HandleUse, A::Error> {
                let Written { r#use } =
                    Written::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(HandleUse { is_on: true, servers: r#use })
            }
        }
        deserializer.deserialize_any(HandleVisitor)
    }
}

/// The rules for calls that have a notice: `notices: pass`, or a word for each tool (`notices: {'comment_*': pass}`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NoticeRules {
    /// Patterns of names, and whether calls of these tools pass.
    tools: Vec<(String, bool)>,
}

impl NoticeRules {
    /// Returns whether calls of a tool pass although they have a notice: what the pattern with the most literal characters
    /// says, and otherwise no.
    #[must_use]
    pub fn pass(&self, tool: &str) -> bool {
        let fitting = self.tools.iter().filter(|(pattern, _)| glob::fits(pattern, tool));
        let closest = fitting.max_by_key(|(pattern, _)| (pattern == tool, literals(pattern)));
        closest.is_some_and(|(_, passes)| *passes)
    }
}

/// The handling of a call with a notice.
#[derive(Clone, Copy, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoticeWord {
    Refuse,
    Pass,
}

impl<'de> Deserialize<'de> for NoticeRules {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Reads either form.
        struct NoticeVisitor;
        impl<'de> Visitor<'de> for NoticeVisitor {
            type Value = NoticeRules;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("`refuse`, `pass`, or a map from names of tools to these words")
            }

            fn visit_str<E: de::Error>(self, word: &str) -> Result<NoticeRules, E> {
                let passes = match word {
                    "refuse" => false,
                    "pass" => true,
                    _ => return Err(E::invalid_value(de::Unexpected::Str(word), &self)),
                };
                Ok(NoticeRules { tools: vec![("*".to_owned(), passes)] })
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<NoticeRules, A::Error> {
                let mut tools = Vec::new();
                while let Some((pattern, word)) = map.next_entry::<String, NoticeWord>()? {
                    tools.push((pattern, matches!(word, NoticeWord::Pass)));
                }
                Ok(NoticeRules { tools })
            }
        }
        deserializer.deserialize_any(NoticeVisitor)
    }
}

/// Results that only say what has changed since an earlier one: `delta: true`, `false`, or `{calls: 20}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeltaRule(u64);

impl DeltaRule {
    /// The age of an earlier result, in results, unless another is set.
    const CALLS: u64 = 20;

    /// Returns how many results ago the earlier one may be. 0: results are always sent in full.
    #[must_use]
    pub fn calls(self) -> u64 {
        self.0
    }
}

impl<'de> Deserialize<'de> for DeltaRule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// The map form.
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Written {
            calls: u64,
        }
        /// Reads either form.
        struct DeltaVisitor;
        impl<'de> Visitor<'de> for DeltaVisitor {
            type Value = DeltaRule;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a map with `calls`: how many results ago the earlier one may be")
            }

            fn visit_bool<E: de::Error>(self, yes: bool) -> Result<DeltaRule, E> {
                Ok(DeltaRule(if yes { DeltaRule::CALLS } else { 0 }))
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<DeltaRule, A::Error> {
                let Written { calls } =
                    Written::deserialize(de::value::MapAccessDeserializer::new(map))?;
                Ok(DeltaRule(calls))
            }
        }
        deserializer.deserialize_any(DeltaVisitor)
    }
}

/// The value of `servers`.
#[derive(Clone, Debug)]
pub(super) enum Servers {
    /// The servers whose tools the filters of the file are for.
    Filtered(Arc<[String]>),
    /// The settings of each server.
    Settings(Arc<BTreeMap<String, ServerSettings>>),
}

impl<'de> Deserialize<'de> for Servers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// Reads either form: a list of names, or a map from names to settings.
        struct ServersVisitor;
        impl<'de> Visitor<'de> for ServersVisitor {
            type Value = Servers;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list of the servers that the filters are for, or a map from names of servers to their settings",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Servers, A::Error> {
                let mut names = Vec::new();
                while let Some(name) = list.next_element::<String>()? {
                    names.push(name);
                }
                Ok(Servers::Filtered(names.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Servers, A::Error> {
                let mut settings = BTreeMap::new();
                while let Some((name, value)) = map.next_entry::<String, ServerSettings>()? {
                    settings.insert(name, value);
                }
                Ok(Servers::Settings(Arc::new(settings)))
            }
        }
        deserializer.deserialize_any(ServersVisitor)
    }
}

#[cfg(test)]
mod tests {
    use crate::Manifest;

    fn parse(keys: &str) -> Result<Manifest, crate::ManifestError> {
        Manifest::parse("tamis.yaml", &format!("version: 1\nfilters: {{}}\n{keys}\n"))
    }

    #[test]
    fn deny_wins_over_allow() {
        let manifest = parse("tools: {allow: ['get_*', delete_all], deny: ['*_all']}").unwrap();
        let tools = manifest.settings().for_all_servers().tools().unwrap();
        for (tool, allowed) in
            [("get_issue", true), ("get_all", false), ("delete_all", false), ("push", false)]
        {
            assert_eq!(tools.allows(tool), allowed, "{tool}");
        }
        let manifest = parse("tools: {allow: []}").unwrap();
        assert!(!manifest.settings().for_all_servers().tools().unwrap().allows("any"));
    }

    #[test]
    fn notices_pass_by_the_closest_pattern() {
        let manifest = parse(
            "notices: {'*': pass, 'write_*': refuse, write_comment: pass}\nhandles: {use: [wiki]}",
        )
        .unwrap();
        let all = manifest.settings().for_all_servers();
        let notices = all.notices().unwrap();
        for (tool, passes) in [("read", true), ("write_file", false), ("write_comment", true)] {
            assert_eq!(notices.pass(tool), passes, "{tool}");
        }
        assert_eq!(all.handles().unwrap().servers(), ["wiki"]);
        assert!(
            !parse("handles: off").unwrap().settings().for_all_servers().handles().unwrap().is_on()
        );
    }

    #[test]
    fn the_closest_pattern_chooses_the_profile() {
        use crate::Profile::{Lossless, Off, Tight};
        let manifest =
            parse("profiles: {'*': tight, 'get_*': 'off', get_page: lossless, 'get_page*': tight}")
                .unwrap();
        let all = manifest.settings().for_all_servers();
        for (tool, profile) in [("list", Tight), ("get_issue", Off), ("get_page", Lossless)] {
            assert_eq!(all.profile_of(tool), Some(profile), "{tool}");
        }
        let manifest =
            parse("servers: {github: {profile: off, factor: false, invisible: keep}}").unwrap();
        let (_, github) = manifest.settings().by_server().next().unwrap();
        assert_eq!((github.profile_of("any"), github.may_save()), (Some(Off), false));
        assert_eq!((github.factor(), github.keeps_invisible()), (Some(false), Some(true)));
    }

    #[test]
    fn mistakes_have_hints() {
        for (keys, message) in [
            ("tools: {allowed: [a]}", "allowed"),
            ("servers: {github: {tool: {deny: [a]}}}", "tool"),
            ("tools: [a]", "tools"),
            ("descriptions: {max: 3}", "at least 20 characters"),
            ("descriptions: 30", "descriptions"),
            ("handles: used", "`use`, `off`"),
            ("delta: 5", "true, false, or a map"),
            ("notices: allow", "`refuse`, `pass`"),
            ("notices: {a: allow}", "allow"),
            ("profiles: {a: tigth}", "tight"),
            ("profiles: off", "profiles"),
            ("redact: {secrets: true, paths: [ssn]}", "in the filters of its tools"),
            ("servers: {github: {redact: {patterns: {badge: '('}}}}", "badge"),
            ("redact: ssn", "ssn"),
            ("servers: {github: {native: off}}", "at the top of the file"),
            ("servers: {github: {commands: {never: [ls]}}}", "at the top of the file"),
            ("servers: {github: {profile: none}}", "none"),
            ("tool: {deny: [a]}", "did you mean `tools`"),
        ] {
            let error = parse(keys).unwrap_err().to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_key_stands_in_one_file_only() {
        let one = parse("tools: {deny: [a]}").unwrap();
        let other = parse("descriptions: {max: 99}").unwrap();
        let both = Manifest::merge([one.clone(), other]).unwrap();
        let all = both.settings().for_all_servers();
        assert!(all.tools().is_some() && all.descriptions().is_some());
        let error = Manifest::merge([one.clone(), one]).unwrap_err().to_string();
        assert!(error.contains("`tools` is set already"), "{error}");
    }

    #[test]
    fn a_file_that_was_found_has_none_of_them() {
        for keys in
            ["tools: {deny: [a]}", "servers: {github: {tools: {deny: [a]}}}", "redact: secrets"]
        {
            let error = parse(keys).unwrap().check_found().unwrap_err().to_string();
            assert!(error.contains("is not allowed in a file that was found"), "{error}");
        }
    }
}
