//! The settings for MCP servers, of all files. Decides which of them hold for the server of this proxy.
//!
//! ```text
//! servers: NAME of the first file ──▶ its top ──▶ servers: NAME of the next file ──▶ its top
//! ```
//!
//! The first of these that has a key decides. `tools` is different: a tool that any of them hides is hidden.

use std::collections::BTreeMap;
use std::sync::Arc;

use tamis::spec::Redact;
use tamis::{Program, Spec};
use tamis_json::nearest::closest;
use tamis_manifest::{DeltaRule, HandleUse, Profile, ServerSettings, Settings};

use crate::rules::Rules;

/// The settings for servers, by file.
#[derive(Clone, Debug, Default)]
pub struct ServerRules {
    files: Vec<FileRules>,
    /// The name of the server in the client's configuration.
    name: Option<Arc<str>>,
    /// Whether rules apply that only save.
    saves: bool,
    /// Whether the profile is the same for all tools, because the command line names it.
    has_one_profile: bool,
}

#[derive(Clone, Debug)]
struct FileRules {
    all: ServerSettings,
    servers: BTreeMap<String, ServerSettings>,
}

impl ServerRules {
    /// Returns the rules of files, of which the first takes precedence.
    #[must_use]
    pub fn of_files<'a>(files: impl IntoIterator<Item = &'a Settings>) -> Self {
        let rules = |settings: &Settings| FileRules {
            all: settings.for_all_servers().clone(),
            servers: settings.by_server().map(|(name, it)| (name.to_owned(), it.clone())).collect(),
        };
        Self {
            files: files.into_iter().map(rules).collect(),
            name: None,
            saves: true,
            has_one_profile: false,
        }
    }

    /// Sets the name that the server has in the configuration of the client. Without one, the name that it gives itself
    /// counts.
    #[must_use]
    pub fn with_name(mut self, name: Option<&str>) -> Self {
        self.name = name.map(Arc::from);
        self
    }

    /// Sets whether rules apply that only save.
    #[must_use]
    pub fn with_savings(mut self, yes: bool) -> Self {
        self.saves = yes;
        self
    }

    /// Sets whether the profile is the same for all tools, whatever the files say.
    #[must_use]
    pub fn with_one_profile(mut self, yes: bool) -> Self {
        self.has_one_profile = yes;
        self
    }

    /// Returns whether a tool may have a profile of its own under which results are shortened or stored.
    #[must_use]
    pub fn may_save(&self) -> bool {
        let mut all = self.files.iter().flat_map(|file| file.servers.values().chain([&file.all]));
        !self.has_one_profile && all.any(ServerSettings::may_save)
    }

    /// Returns the profile that files give a tool, or its server. `None`: the default.
    pub(crate) fn profile(&self, tool: &str, given: Option<&str>) -> Option<Profile> {
        let mut layers = self.layers(self.name(given)).filter(|_| !self.has_one_profile);
        layers.find_map(|settings| settings.profile_of(tool))
    }

    /// Returns whether profiles write once what the items of a result share. `None`: the default.
    pub(crate) fn factor(&self, given: Option<&str>) -> Option<bool> {
        self.layers(self.name(given)).find_map(ServerSettings::factor)
    }

    /// Returns whether invisible characters are kept. `None`: the default.
    pub(crate) fn keeps_invisible(&self, given: Option<&str>) -> Option<bool> {
        self.layers(self.name(given)).find_map(ServerSettings::keeps_invisible)
    }

    /// Returns the name of the server, if it gives itself this one.
    pub(crate) fn name<'a>(&'a self, given: Option<&'a str>) -> Option<&'a str> {
        self.name.as_deref().or(given)
    }

    /// Returns the names under `servers` that are probably meant for this server, but are not its name, and have rules that remove for
    /// safety or hide tools.
    pub(crate) fn misspelled(&self, given: Option<&str>) -> Vec<&str> {
        let Some(own) = self.name(given) else { return Vec::new() };
        let files = self.files.iter().flat_map(|file| &file.servers);
        let removes =
            |settings: &ServerSettings| settings.redact().is_some() || settings.tools().is_some();
        let names = files.filter(|(name, settings)| *name != own && removes(settings));
        let folded = own.to_lowercase();
        let is_near = |name: &&str| {
            let name = name.to_lowercase();
            let has = |long: &str, short: &str| short.len() > 2 && long.contains(short);
            has(&folded, &name)
                || has(&name, &folded)
                || closest(&name, [folded.as_str()]).is_some()
        };
        names.map(|(name, _)| name.as_str()).filter(is_near).collect()
    }

    /// Returns the settings that hold for a server, those that take precedence first.
    fn layers<'a>(&'a self, server: Option<&'a str>) -> impl Iterator<Item = &'a ServerSettings> {
        self.files.iter().flat_map(move |file| {
            let own = server.and_then(|name| file.servers.get(name));
            own.into_iter().chain([&file.all])
        })
    }

    /// Returns whether clients of a server may see and call a tool.
    ///
    /// Before the server has said its name, it may be any: then the rules of every server hold.
    pub(crate) fn allows(&self, tool: &str, given: Option<&str>) -> bool {
        let hides = |settings: &ServerSettings| settings.tools().is_some_and(|it| !it.allows(tool));
        match self.name(given) {
            Some(name) => !self.layers(Some(name)).any(hides),
            None => {
                let servers = self.files.iter().flat_map(|file| file.servers.values());
                !self.layers(None).chain(servers).any(hides)
            }
        }
    }

    /// Returns whether a tool of any server may be hidden.
    pub(crate) fn hides_tools(&self) -> bool {
        let all = |file: &FileRules| {
            let mut settings = file.servers.values().chain([&file.all]);
            settings.any(|settings| settings.tools().is_some())
        };
        self.files.iter().any(all)
    }

    /// Returns the other servers whose results calls may use. `None`: calls may not use any.
    pub(crate) fn handle_use(&self, given: Option<&str>) -> Option<Vec<String>> {
        let mut layers = self.layers(self.name(given));
        let rule = layers.find_map(ServerSettings::handles).filter(|rule| rule.is_on())?;
        Some(rule.servers().to_vec())
    }

    /// Returns whether a call of a tool passes although it has a notice.
    pub(crate) fn notices_pass(&self, tool: &str, given: Option<&str>) -> bool {
        let mut layers = self.layers(self.name(given));
        layers.find_map(ServerSettings::notices).is_some_and(|rules| rules.pass(tool))
    }

    /// Returns how many calls ago an earlier result may be of which a new one only says what has changed. 0: results are sent in
    /// full.
    pub(crate) fn delta_calls(&self, given: Option<&str>) -> u64 {
        let mut layers = self.layers(self.name(given)).filter(|_| self.saves);
        layers.find_map(ServerSettings::delta).map_or(0, DeltaRule::calls)
    }

    /// Returns whether results have a type, which the list of tools declares.
    pub(crate) fn types_results(&self, given: Option<&str>) -> bool {
        let mut layers = self.layers(self.name(given)).filter(|_| self.saves);
        layers.find_map(ServerSettings::typed).unwrap_or_default()
    }

    /// Returns whether calls of any server may use handles.
    pub(crate) fn uses_handles(&self) -> bool {
        let mut all = self.files.iter().flat_map(|file| file.servers.values().chain([&file.all]));
        all.any(|settings| settings.handles().is_some_and(HandleUse::is_on))
    }

    /// Returns rules under which the values are replaced that the files name, in addition to what the rules replace.
    #[must_use]
    pub fn redacting(&self, mut rules: Rules) -> Rules {
        for redact in self.files.iter().filter_map(|file| file.all.redact()) {
            rules = rules.with_redact(redact);
        }
        for (server, redact) in self.redacts_by_server() {
            rules = rules.with_server_redact(server, redact);
        }
        rules.with_server_name(self.name.as_deref())
    }

    /// Checks that the rules of all files, and those that are `given`, can be used together.
    ///
    /// # Errors
    /// They are too large together.
    pub(crate) fn check_redact(&self, given: Option<&Redact>) -> Result<(), tamis::Error> {
        let of_files = self.files.iter().filter_map(|file| file.all.redact());
        let of_servers = self.redacts_by_server().map(|(_, redact)| redact);
        let all = given.into_iter().chain(of_files).chain(of_servers);
        match all.cloned().reduce(|all, one| all.and(&one)) {
            Some(all) => Program::compile(&Spec::new().redact(all)).map(drop),
            None => Ok(()),
        }
    }

    /// Returns whether values are replaced in results of any server that this one may be.
    #[must_use]
    pub fn redacts(&self) -> bool {
        self.files.iter().any(|file| file.all.redact().is_some())
            || self.redacts_by_server().next().is_some()
    }

    /// Returns the values that are replaced in the results of single servers. If the name of the server is known, there is only its
    /// own.
    fn redacts_by_server(&self) -> impl Iterator<Item = (&str, &Redact)> {
        let servers = self.files.iter().flat_map(|file| &file.servers);
        let is_own = |name: &str| self.name.as_deref().is_none_or(|own| own == name);
        let own = servers.filter(move |(name, _)| is_own(name));
        own.filter_map(|(name, settings)| Some((name.as_str(), settings.redact()?)))
    }

    /// Returns the most characters of descriptions in a list of tools. `None`: they are not shortened.
    pub(crate) fn longest_description(&self, given: Option<&str>) -> Option<usize> {
        let mut layers = self.layers(self.name(given)).filter(|_| self.saves);
        layers.find_map(ServerSettings::descriptions).map(|limit| limit.characters())
    }
}

#[cfg(test)]
mod tests {
    use tamis_manifest::Manifest;

    use super::ServerRules;

    #[test]
    fn every_file_may_hide_a_tool() {
        let parse = |keys: &str| {
            Manifest::parse("tamis.yaml", &format!("version: 1\nfilters: {{}}\n{keys}\n")).unwrap()
        };
        let named = parse(
            "tools: {deny: [a]}\nservers: {github: {tools: {allow: [b, c]}, descriptions: {max: 50}}}",
        );
        let user = parse("tools: {deny: [c]}\ndescriptions: {max: 90}");
        let rules = ServerRules::of_files([named.settings(), user.settings()]);
        for (tool, server, allowed) in [
            ("a", Some("linear"), false),
            ("b", Some("linear"), true),
            ("c", Some("linear"), false),
            ("b", Some("github"), true),
            ("d", Some("github"), false),
            ("d", Some("linear"), true),
            // Not known yet.
            ("d", None, false),
        ] {
            assert_eq!(rules.allows(tool, server), allowed, "{tool} {server:?}");
        }
        assert!(rules.hides_tools());
        assert_eq!(rules.longest_description(Some("github")), Some(50));
        assert_eq!(rules.longest_description(Some("linear")), Some(90));
        // The name of the entry counts, whatever the server says.
        let rules = rules.with_name(Some("github")).with_savings(false);
        assert!(!rules.allows("d", Some("linear")));
        assert_eq!(rules.longest_description(Some("github")), None);
    }

    #[test]
    fn rules_for_nearly_this_server_are_found() {
        let keys = "servers: {Linear: {redact: secrets}, githb: {tools: {deny: [a]}}, jira: {profile: tight}}";
        let text = format!("version: 1\nfilters: {{}}\n{keys}\n");
        let manifest = Manifest::parse("tamis.yaml", &text).unwrap();
        let rules = ServerRules::of_files([manifest.settings()]);
        for (server, expected) in [
            ("linear", &["Linear"][..]),
            ("io.github.linear", &["Linear"]),
            ("Linear", &[]),
            ("github", &["githb"]),
            // It only saves.
            ("jirra", &[]),
            ("files", &[]),
        ] {
            assert_eq!(rules.misspelled(Some(server)), expected, "{server}");
        }
        assert!(rules.with_name(Some("githb")).misspelled(Some("github")).is_empty());
    }
}
