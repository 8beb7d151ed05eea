//! Filters one result of a tool, outside of a proxy.
//!
//! A hook of a coding agent gets the result of one call, long after the proxy could have seen it. It is filtered by the
//! same rules and with the same guarantees as in the proxy: a filter that only saves never loses a result, and one that
//! removes for safety fails closed.

use std::sync::Arc;

use tamis_store::{Scope, Store};

use crate::config::{Config, ConfigError};
use crate::record::{CallOutcome, CallRecord};
use crate::spool::Spool;
use crate::{Action, Exchange, MessageLimits, Proxy, Route, Session};

/// The name of a tool, as an agent knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolName {
    /// The name of its server in the agent's configuration, if the agent says it.
    pub server: Option<String>,
    /// Its own name.
    pub tool: String,
}

impl ToolName {
    /// Creates the name of a tool of a server.
    #[must_use]
    pub fn of_server(server: &str, tool: &str) -> Self {
        Self { server: Some(server.to_owned()), tool: tool.to_owned() }
    }

    /// Creates the name of a tool whose server is not known.
    #[must_use]
    pub fn alone(tool: &str) -> Self {
        Self { server: None, tool: tool.to_owned() }
    }

    /// Returns the names that `SERVER_TOOL` may stand for. Both parts may have the separator in them.
    ///
    /// ```
    /// use tamis_mcp::tool_result::ToolName;
    ///
    /// let names = ToolName::of_joined("my_crm_list", "_");
    /// assert_eq!(names[0], ToolName::alone("my_crm_list"));
    /// assert_eq!(names[1], ToolName::of_server("my", "crm_list"));
    /// assert_eq!(names[2], ToolName::of_server("my_crm", "list"));
    /// ```
    #[must_use]
    pub fn of_joined(joined: &str, separator: &str) -> Vec<Self> {
        let splits = joined.match_indices(separator).filter_map(|(at, _)| {
            let (server, tool) = (joined.get(..at)?, joined.get(at + separator.len()..)?);
            let is_name = !server.is_empty() && !tool.is_empty();
            is_name.then(|| Self::of_server(server, tool))
        });
        std::iter::once(Self::alone(joined)).chain(splits.take(MOST_NAMES)).collect()
    }
}

/// The most ways to split a name that are tried.
const MOST_NAMES: usize = 32;

/// The filter of one tool, ready for a result.
///
/// ```
/// use tamis_mcp::config::{Config, ConfigFlags, ConfigPlaces};
/// use tamis_mcp::tool_result::{ResultFilter, ToolName};
///
/// let config = Config::load(&ConfigFlags::default(), &ConfigPlaces::default())?;
/// let filter = ResultFilter::new(config, &[ToolName::of_server("crm", "list")], None)?;
/// let result = br#"{"content":[{"type":"text","text":"[1, 2]"}]}"#;
/// let filtered = filter.run(result);
/// assert_eq!(filtered.bytes.unwrap(), br#"{"content":[{"type":"text","text":"[1,2]"}]}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ResultFilter {
    proxy: Arc<Proxy>,
    tool: String,
    /// Whether rules that remove for safety match several of the names.
    is_ambiguous: bool,
    /// The request by which the client says its name.
    hello: Option<String>,
}

/// A filtered result.
#[derive(Clone, Debug, Default)]
pub struct FilteredResult {
    /// The JSON text of the new result. `None`: the result is unchanged.
    pub bytes: Option<Vec<u8>>,
    /// Sizes and names of the call, for a log.
    pub record: Option<CallRecord>,
}

impl FilteredResult {
    /// Returns whether the result was withheld, because a filter that removes for safety failed.
    #[must_use]
    pub fn is_withheld(&self) -> bool {
        self.record.as_ref().is_some_and(|record| record.outcome == CallOutcome::FailedClosed)
    }
}

impl ResultFilter {
    /// The most bytes of a result that is not cut. A longer one is cut to about a quarter of it, if it can be stored.
    pub const LONGEST: u64 = 120_000;

    /// Chooses the filter of a tool that may have several names: the first name that has a filter of its own, and before
    /// it one whose filter removes for safety. Without any, the profile applies. Notices name `tamis recall`, so `store`
    /// is that of the user; without a store, profiles cut nothing.
    ///
    /// # Errors
    /// The rules cannot be compiled.
    pub fn new(
        config: Config,
        names: &[ToolName],
        store: Option<Store>,
    ) -> Result<Self, ConfigError> {
        Self::with(config, names, store, None)
    }

    /// Chooses the filter of a tool for the client with this name, as a proxy for its server would.
    ///
    /// # Errors
    /// The rules cannot be compiled.
    pub fn for_client(
        config: Config,
        names: &[ToolName],
        store: Option<Store>,
        client: &str,
    ) -> Result<Self, ConfigError> {
        Self::with(config, names, store, Some(client))
    }

    fn with(
        config: Config,
        names: &[ToolName],
        store: Option<Store>,
        client: Option<&str>,
    ) -> Result<Self, ConfigError> {
        // Hooks see only what a model is shown.
        let factor = config.factor().or(client.is_none().then_some(true));
        let mut rules = config.rules()?;
        let mut chosen: Option<(&ToolName, bool)> = None;
        let mut is_ambiguous = false;
        for name in names {
            rules = rules.with_service(name.server.as_deref());
            match (rules.own_removes_for_safety(&name.tool), chosen) {
                (Some(true), Some((_, true))) => is_ambiguous = true,
                (Some(true), _) => chosen = Some((name, true)),
                (Some(false), None) => chosen = Some((name, false)),
                (Some(false), Some(_)) | (None, _) => {}
            }
        }
        let name = chosen.map(|(name, _)| name).or(names.first());
        let server = name.and_then(|name| name.server.as_deref());
        // A tool with several names may be one of any of their servers.
        let rules =
            rules.with_service(server).with_server_name(server.filter(|_| names.len() == 1));
        let limits = match client {
            Some(_) => MessageLimits::default(),
            None => MessageLimits { output: Self::LONGEST, ..MessageLimits::default() },
        };
        let options = crate::ProxyOptions::new(rules).with_store(store).with_factor(factor);
        let proxy = Proxy::new(options.with_recall(true).with_limits(limits));
        let tool = name.map(|name| name.tool.clone()).unwrap_or_default();
        let hello = client.map(|name| {
            let name = serde_json::Value::from(name);
            format!(
                r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{{"protocolVersion":"2025-06-18","capabilities":{{}},"clientInfo":{{"name":{name},"version":"1"}}}}}}"#
            )
        });
        Ok(Self { proxy, tool, is_ambiguous, hello })
    }

    /// Returns whether the filter of the tool removes for safety.
    #[must_use]
    pub fn removes_for_safety(&self) -> bool {
        self.is_ambiguous || self.proxy.tool_removes_for_safety(&self.tool)
    }

    /// Filters a result: an object with `content`, as `tools/call` returns it.
    #[must_use]
    pub fn run(&self, result: &[u8]) -> FilteredResult {
        if self.is_ambiguous {
            return self.withheld("several rules match the tool");
        }
        let name = serde_json::Value::from(self.tool.as_str()).to_string();
        let request = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":{name}}}}}"#
        );
        let response = [RESPONSE.as_slice(), result, b"}"].concat();
        let mut session = Session::new(&self.proxy);
        if let Some(hello) = &self.hello {
            let hello = Spool::from_vec(hello.clone().into_bytes());
            session.from_client(&hello, &mut Exchange::stdio());
        }
        let mut exchange = Exchange::stdio().with_scope(Scope::user());
        match session.from_client(&Spool::from_vec(request.into_bytes()), &mut exchange) {
            Route::Forward => {}
            Route::Run(_) | Route::Answer(_) | Route::Reject { .. } | Route::Drop(_) => {
                return self.lost();
            }
        }
        let response = Spool::from_vec(response);
        let job = match session.from_server(&response, &exchange) {
            Route::Forward => return FilteredResult::default(),
            Route::Run(job) => job,
            Route::Answer(_) | Route::Reject { .. } | Route::Drop(_) => return self.lost(),
        };
        let outcome = job.run(&response);
        let record = outcome.records.into_iter().next();
        let bytes = match outcome.action {
            Action::Original => None,
            Action::Send(message) => {
                let bytes = message.into_vec().ok();
                match bytes.as_deref().and_then(inner) {
                    Some(result) => Some(result.to_vec()),
                    None => return self.lost(),
                }
            }
            Action::Answer(_) | Action::Drop(_) => return self.lost(),
        };
        FilteredResult { bytes, record }
    }

    /// Returns what becomes of a result that cannot be read.
    fn lost(&self) -> FilteredResult {
        if self.removes_for_safety() {
            return self.withheld("it has a form that the filter does not know");
        }
        FilteredResult::default()
    }

    fn withheld(&self, reason: &'static str) -> FilteredResult {
        let (bytes, record) = crate::rewrite::job::withheld_call(&self.tool, reason);
        FilteredResult { bytes: Some(bytes), record: Some(record) }
    }
}

/// The beginning of the response, up to its result.
const RESPONSE: &[u8; 33] = br#"{"jsonrpc":"2.0","id":1,"result":"#;

/// Returns the result in a response. Ours has its members in this order; one that is withheld may have another.
fn inner(message: &[u8]) -> Option<&[u8]> {
    if let Some(rest) = message.strip_prefix(RESPONSE.as_slice()) {
        return rest.strip_suffix(b"}");
    }
    #[derive(serde::Deserialize)]
    struct Response<'a> {
        #[serde(borrow)]
        result: &'a serde_json::value::RawValue,
    }
    let response: Response<'_> = serde_json::from_slice(message).ok()?;
    Some(response.result.get().as_bytes())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::{ResultFilter, ToolName};
    use crate::config::{Config, ConfigFlags, ConfigPlaces};
    use tamis_store::{Store, StoreConfig};

    fn filter(yaml: &str, names: &[ToolName], store: Option<Store>) -> ResultFilter {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir_all(home.path().join("tamis")).unwrap();
        fs::write(home.path().join("tamis/tamis.yaml"), yaml).unwrap();
        let places = ConfigPlaces {
            home: Some(home.path().into()),
            config: Some(home.path().into()),
            working: home.path().into(),
        };
        let config = Config::load(&ConfigFlags::default(), &places).unwrap();
        ResultFilter::new(config, names, store).unwrap()
    }

    fn text(filter: &ResultFilter, text: &str) -> Option<String> {
        let block = serde_json::json!({"content": [{"type": "text", "text": text}]});
        let bytes = filter.run(block.to_string().as_bytes()).bytes?;
        let result: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let blocks = result["content"].as_array().unwrap();
        let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
        Some(texts.join("\n"))
    }

    #[test]
    fn a_tool_is_found_by_any_of_its_names() {
        let yaml = "version: 1\nfilters:\n  crm.list: {select: [id]}\n";
        for (names, expected) in [
            (vec![ToolName::of_server("crm", "list")], r#"[{"id":1}]"#),
            (vec![ToolName::of_server("my", "list")], r#"[{"id":1,"b":2}]"#),
            (ToolName::of_joined("crm_list", "_"), r#"[{"id":1}]"#),
            (vec![ToolName::alone("crm.list")], r#"[{"id":1}]"#),
        ] {
            let filter = filter(yaml, &names, None);
            let output = text(&filter, r#"[{"id": 1, "b": 2}]"#).unwrap();
            assert_eq!(output.lines().next(), Some(expected), "{names:?}");
        }
    }

    #[test]
    fn rules_for_safety_win_and_fail_closed() {
        let yaml = "version: 1\nfilters:\n  a_b_c: {select: [id]}\n  c: {exclude: [ssn]}\n";
        let names = ToolName::of_joined("a_b_c", "_");
        let one = filter(yaml, &names, None);
        assert_eq!(text(&one, r#"{"id":1,"ssn":2}"#).as_deref(), Some(r#"{"id":1}"#));
        let withheld = text(&one, "no JSON, ssn 2").unwrap();
        assert!(withheld.contains("withheld") && !withheld.contains("ssn"), "{withheld}");
        assert!(one.run(b"{\"content\":7").is_withheld());

        let yaml = "version: 1\nfilters:\n  b_c: {exclude: [a]}\n  c: {exclude: [ssn]}\n";
        let both = filter(yaml, &names, None);
        assert!(text(&both, "{}").unwrap().contains("several rules"));
    }

    #[test]
    fn notices_name_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(StoreConfig::folder(folder.path().join("store")));
        let filter = filter("version: 1\nfilters: {}\n", &[ToolName::alone("big")], Some(store));
        let long = "a line of text\n".repeat(10_000);
        let output = text(&filter, &long).unwrap();
        assert!(output.contains("; tamis recall tm_"), "{}", &output[output.len() - 200..]);
        assert!(output.len() < 40_000);
    }

    /// A client that shows less gets less, and one that shows only the structured result gets that.
    #[test]
    fn clients_have_their_limits() {
        let config = || Config::load(&ConfigFlags::default(), &ConfigPlaces::default()).unwrap();
        let lines: Vec<String> = (0..8_000).map(|n| format!("line {n} of a long text")).collect();
        let length = |client| {
            let store = Some(Store::open(StoreConfig::memory()));
            let names = [ToolName::alone("big")];
            let filter = ResultFilter::for_client(config(), &names, store, client).unwrap();
            text(&filter, &lines.join("\n")).unwrap().len()
        };
        assert!(length("Cline") <= 6_000);
        assert!(length("unknown") > 20_000);
    }

    #[test]
    fn other_values_than_a_result_pass() {
        let filter = filter("version: 1\nfilters: {}\n", &[ToolName::alone("t")], None);
        for result in ["7", "null", "[]", "{}", "", "{\"content\":7}", "{\"content\":[1,null]}"] {
            assert!(filter.run(result.as_bytes()).bytes.is_none(), "{result}");
        }
    }
}
