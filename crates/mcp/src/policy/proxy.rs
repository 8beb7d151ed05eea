//! State that all sessions of a process share.

use std::collections::HashMap;
use std::fmt;
use std::hash::BuildHasher as _;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest as _, Sha256};
use tamis_store::{OmissionNotice, Store};

use super::clients::{self, ClientReads};
use super::memory::Memory;
use super::retrieval::InnerTools;
use super::server_rules::ServerRules;
use super::tool_call::ListedSchema;
use crate::jsonrpc::text;
use crate::rules::{LONGEST_TOOL_NAME, Parameters, Profile, Rules, Structured, ToolFilter};
use crate::schema_check::SchemaCompiler;
use crate::spool::SpoolLimits;

/// The most tools whose own parameters are remembered.
const MOST_TOOLS: usize = 4096;

/// The most filters that a warning names.
const MOST_NAMED: usize = 20;

/// Bounds of messages and tables.
#[derive(Clone, Debug)]
pub struct MessageLimits {
    /// How much of one message is in memory and on disk.
    pub spool: SpoolLimits,
    /// The most bytes of one message that is sent over standard output or as an event. The TypeScript SDK closes the
    /// connection at 10 MiB.
    pub output: u64,
    /// The most requests of one client that are open at a time.
    pub open_requests: usize,
    /// The most requests that are remembered after nobody waits for them any more.
    pub closed_requests: usize,
    /// The most resources and the most tasks that are remembered.
    pub remembered: usize,
}

impl Default for MessageLimits {
    fn default() -> Self {
        Self {
            spool: SpoolLimits::default(),
            output: 8 << 20,
            open_requests: 10_000,
            closed_requests: 4096,
            remembered: 4096,
        }
    }
}

/// The settings of a [`Proxy`].
#[derive(Debug)]
pub struct ProxyOptions {
    rules: Rules,
    store: Option<Store>,
    client_reads: Option<ClientReads>,
    recalls: bool,
    keeps_invisible: bool,
    factor: Option<bool>,
    is_retrieved_elsewhere: bool,
    put_back: Vec<String>,
    servers: ServerRules,
    schema_compiler: Option<SchemaCompiler>,
    origin: String,
    limits: MessageLimits,
    warn: Option<fn(&str)>,
}

impl ProxyOptions {
    /// Returns the settings of a proxy without a store.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        let limits = MessageLimits::default();
        Self {
            rules,
            store: None,
            client_reads: None,
            recalls: false,
            keeps_invisible: false,
            factor: None,
            is_retrieved_elsewhere: false,
            put_back: Vec::new(),
            servers: ServerRules::default(),
            schema_compiler: None,
            origin: random_word(),
            limits,
            warn: None,
        }
    }

    /// Sets the store. Without one, profiles cut nothing.
    #[must_use]
    pub fn with_store(mut self, store: Option<Store>) -> Self {
        self.store = store;
        self
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> Option<&Store> {
        self.store.as_ref()
    }

    /// Sets which part of a result the client shows to the model, instead of judging by the client's name.
    #[must_use]
    pub fn with_client_reads(mut self, reads: Option<ClientReads>) -> Self {
        self.client_reads = reads;
        self
    }

    /// Sets who gets warnings about the configuration, which have no data of results.
    #[must_use]
    pub fn with_warnings(mut self, warn: fn(&str)) -> Self {
        self.warn = Some(warn);
        self
    }

    /// Sets whether notices name the command `tamis recall` instead of the tool `tamis_retrieve`, for clients that have
    /// no such tool. The store must be that of the user.
    #[must_use]
    pub fn with_recall(mut self, yes: bool) -> Self {
        self.recalls = yes;
        self
    }

    /// Sets whether invisible characters of results are kept: Unicode tags, floods of zero-width characters, and open
    /// bidirectional overrides. Under the profile `off` they always are.
    #[must_use]
    pub fn with_invisible(mut self, keeps: bool) -> Self {
        self.keeps_invisible = keeps;
        self
    }

    /// Sets whether profiles and the catalog write once what the items of a result share, instead of judging by the client's
    /// name.
    #[must_use]
    pub fn with_factor(mut self, factor: Option<bool>) -> Self {
        self.factor = factor;
        self
    }

    /// Sets whether another server has the tool `tamis_retrieve`. Then it is not listed, and calls of a tool with that
    /// name are forwarded.
    #[must_use]
    pub fn with_retrieval_elsewhere(mut self, yes: bool) -> Self {
        self.is_retrieved_elsewhere = yes;
        self
    }

    /// Sets the names of tools, or patterns with `*` and `?`, whose calls get the values of personal data: where an argument has
    /// the mark `[email:1]`, the server gets the address that the session replaced by it. Needs sessions: marks of clients
    /// without one have no numbers.
    ///
    /// ### Default
    /// None.
    #[must_use]
    pub fn with_put_back(mut self, tools: impl IntoIterator<Item = String>) -> Self {
        self.put_back = tools.into_iter().collect();
        self
    }

    /// Sets the settings for servers.
    #[must_use]
    pub fn with_servers(mut self, rules: ServerRules) -> Self {
        self.servers = rules;
        self
    }

    /// Sets what checks arguments with values by handle.
    ///
    /// ### Default
    /// None: calls with such values are refused.
    #[must_use]
    pub fn with_schema_compiler(mut self, compiler: SchemaCompiler) -> Self {
        self.schema_compiler = Some(compiler);
        self
    }

    /// Sets what identifies the server, such as the words of its command or its URL. A call may insert a stored value if the
    /// server that returned it has the same words. This also holds after a restart.
    ///
    /// ### Default
    /// Words that no other proxy has.
    #[must_use]
    pub fn with_origin<'a>(mut self, words: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hash = Sha256::new();
        for word in words {
            hash.update((word.len() as u64).to_le_bytes());
            hash.update(word);
        }
        self.origin = hash.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        self
    }

    /// Sets the bounds of messages and tables.
    #[must_use]
    pub fn with_limits(mut self, limits: MessageLimits) -> Self {
        self.limits = limits;
        self
    }
}

/// The shared part of a proxy in front of one server: rules, store, and what the server said about itself.
pub struct Proxy {
    pub(crate) options: ProxyOptions,
    /// The name that the server gave itself.
    server: Mutex<Option<Arc<str>>>,
    /// Tools with parameters that matter here.
    own_parameters: Mutex<HashMap<String, OwnParameters>>,
    /// The input schemas of tools, if calls may use handles.
    schemas: Mutex<InputSchemas>,
    pub(crate) inner_tools: InnerTools,
    /// The tasks and resources of clients without sessions.
    pub(crate) memory: Arc<Memory>,
    pub(crate) may_remove_for_safety: bool,
}

impl Proxy {
    /// Creates a proxy.
    #[must_use]
    pub fn new(options: ProxyOptions) -> Arc<Self> {
        let memory = Arc::new(Memory::new(options.limits.remembered));
        let may_remove_for_safety = options.rules.may_remove_for_safety();
        let (server, own_parameters) = (Mutex::default(), Mutex::default());
        let (schemas, inner_tools) = Default::default();
        Arc::new(Self {
            options,
            server,
            own_parameters,
            schemas,
            inner_tools,
            memory,
            may_remove_for_safety,
        })
    }

    /// Returns the bounds of messages and tables.
    #[must_use]
    pub fn limits(&self) -> &MessageLimits {
        &self.options.limits
    }

    /// Returns whether a filter of any tool removes for safety.
    pub fn removes_for_safety(&self) -> bool {
        self.may_remove_for_safety
    }

    /// Returns whether the filter of a tool removes for safety.
    pub(crate) fn tool_removes_for_safety(&self, tool: &str) -> bool {
        self.filter(tool).is_some_and(|filter| filter.removes_for_safety)
    }

    /// Returns whether calls of a tool get the values of personal data.
    pub(crate) fn puts_back(&self, tool: &str) -> bool {
        self.options.put_back.iter().any(|pattern| tamis_json::glob::fits(pattern, tool))
    }

    /// Returns whether clients may see and call a tool of the server.
    pub(crate) fn allows(&self, tool: &str) -> bool {
        let server = self.server();
        self.options.servers.allows(tool, server.as_deref())
    }

    /// Returns whether a tool may be hidden.
    pub(crate) fn hides_tools(&self) -> bool {
        self.options.servers.hides_tools()
    }

    /// Returns whether messages are refused that two readers may understand in two ways.
    pub(crate) fn is_strict(&self) -> bool {
        self.may_remove_for_safety || self.hides_tools()
    }

    /// Returns the most characters of descriptions in a list of tools.
    pub(crate) fn longest_description(&self) -> Option<usize> {
        self.options.servers.longest_description(self.server().as_deref())
    }

    /// Returns the word for the server.
    pub(crate) fn origin(&self) -> &str {
        &self.options.origin
    }

    /// Returns the name of the server: of its entry, or the one that it gave itself.
    pub(crate) fn server_name(&self) -> Option<String> {
        let given = self.server();
        self.options.servers.name(given.as_deref()).map(str::to_owned)
    }

    /// Returns the other servers whose results calls may use. `None`: calls may not use any.
    pub(crate) fn handle_use(&self) -> Option<Vec<String>> {
        self.options.servers.handle_use(self.server().as_deref())
    }

    /// Returns how many calls ago an earlier result may be of which a new one only says what has changed. 0: results are sent in
    /// full. Without a store, nothing could be fetched.
    pub(crate) fn delta_calls(&self) -> u64 {
        match self.has_retrieval() {
            true => self.options.servers.delta_calls(self.server().as_deref()),
            false => 0,
        }
    }

    /// Returns whether a call of a tool passes although it has a notice.
    pub(crate) fn notices_pass(&self, tool: &str) -> bool {
        self.options.servers.notices_pass(tool, self.server().as_deref())
    }

    /// Returns whether arguments with handles are checked before they are sent.
    pub(crate) fn checks_arguments(&self) -> bool {
        self.options.store.is_some() || self.options.servers.uses_handles()
    }

    /// Returns whether input schemas are remembered.
    pub(crate) fn keeps_schemas(&self) -> bool {
        self.options.servers.uses_handles()
    }

    /// Returns what checks arguments.
    pub(crate) fn schema_compiler(&self) -> Option<SchemaCompiler> {
        self.options.schema_compiler
    }

    /// Remembers the input schema of a tool.
    pub(crate) fn learn_schema(&self, tool: &str, schema: Vec<u8>) {
        let mut schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.insert(tool, schema);
    }

    /// Returns the input schema of a tool, if it was listed.
    pub(crate) fn input_schema(&self, tool: &str) -> Option<Arc<[u8]>> {
        let schemas = self.schemas.lock().unwrap_or_else(PoisonError::into_inner);
        schemas.by_tool.get(tool).map(Arc::clone)
    }

    /// Returns the name that the server gave itself.
    fn server(&self) -> Option<Arc<str>> {
        self.server.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns whether notices name a command rather than a tool.
    pub(crate) fn recalls(&self) -> bool {
        self.options.recalls
    }

    /// Returns whether invisible characters are removed from results of a tool, or from other messages.
    pub(crate) fn removes_invisible(&self, tool: Option<&str>) -> bool {
        let server = self.server();
        let keeps = self.options.servers.keeps_invisible(server.as_deref());
        !keeps.unwrap_or(self.options.keeps_invisible)
            && self.profile_of(tool, server.as_deref()).is_some()
    }

    /// Returns the filter of a tool without one of its own.
    fn profile_of(&self, tool: Option<&str>, server: Option<&str>) -> Option<&Arc<ToolFilter>> {
        self.options.rules.profile(server, self.chosen(tool, server))
    }

    /// Returns the profile that files give a tool. `None`: the default.
    fn chosen(&self, tool: Option<&str>, server: Option<&str>) -> Option<Profile> {
        self.options.servers.profile(tool.unwrap_or_default(), server)
    }

    /// Returns whether the proxy has the tool `tamis_retrieve`.
    pub(crate) fn has_retrieval(&self) -> bool {
        self.options.store.is_some() && !self.options.is_retrieved_elsewhere
    }

    /// Returns the name of this tool, also if another server has it. It has a number if the server is a proxy with such a tool.
    pub(crate) fn retrieval_tool(&self) -> &'static str {
        let own = self.inner_tools.own_name().filter(|_| self.has_retrieval());
        own.unwrap_or(OmissionNotice::TOOL)
    }

    pub(crate) fn store(&self) -> Option<&Store> {
        self.options.store.as_ref()
    }

    /// Remembers the name that the server gave itself.
    pub(crate) fn learn_server(&self, name: String) {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        if server.as_deref() != Some(&name) {
            *server = Some(name.into());
            drop(server);
            self.warn_of_misspelled();
        }
    }

    /// Returns the filter of a tool. Where clients know the type of its results from the server, profiles and the catalog cut
    /// nothing.
    pub(crate) fn filter(&self, tool: &str) -> Option<Arc<ToolFilter>> {
        let filter = self.untyped_filter(tool)?;
        // A result that another proxy has stored is sent as it is, unless a rule removes for safety.
        if self.inner_tools.has(tool) && !filter.removes_for_safety {
            return None;
        }
        let listed = self.listed_schema(tool, &filter);
        let is_servers = matches!(listed, ListedSchema::Servers { .. });
        let lossless = self.lossless().filter(|_| is_servers && !filter.is_of_user());
        Some(lossless.map_or(filter, Arc::clone))
    }

    /// Returns the filter of a tool, whatever the type of its results is. Without a store, the catalog and profiles cut nothing.
    pub(crate) fn untyped_filter(&self, tool: &str) -> Option<Arc<ToolFilter>> {
        let server = self.server();
        let chosen = self.chosen(Some(tool), server.as_deref());
        let filter = self.options.rules.filter(tool, server.as_deref(), chosen)?;
        if filter.is_of_user() {
            return Some(filter);
        }
        let lossless = self.lossless().filter(|_| self.store().is_none());
        Some(lossless.map_or(filter, Arc::clone))
    }

    /// Notes that the server lists a tool.
    pub(crate) fn note_listed(&self, tool: &str) {
        let server = self.server();
        self.options.rules.note_listed(tool, server.as_deref());
    }

    /// Warns about filters that match no tool, after the server has listed all of them.
    pub(crate) fn warn_of_unlisted(&self) {
        let unlisted = self.options.rules.take_unlisted();
        let Some(warn) = self.options.warn.filter(|_| !unlisted.is_empty()) else { return };
        let names =
            unlisted.iter().take(MOST_NAMED).map(|name| format!("`{}`", name.escape_debug()));
        let names = names.collect::<Vec<_>>().join(", ");
        let more = match unlisted.len().saturating_sub(MOST_NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        warn(&format!("the server lists no tool for these filters of the manifest: {names}{more}"));
    }

    /// Warns of rules for safety that hold for a server of another name, which is nearly that of this one.
    fn warn_of_misspelled(&self) {
        let server = self.server();
        let servers = &self.options.servers;
        let Some(warn) = self.options.warn else { return };
        for other in servers.misspelled(server.as_deref()) {
            let own = servers.name(server.as_deref()).unwrap_or_default();
            let [other, own] = [other, own].map(|name| text::short(name, 100));
            warn(&format!(
                "servers: the rules of `{other}` do not hold for this server, whose name is `{own}`"
            ));
        }
    }

    /// Returns the filter of a tool without one of its own. Without a store, a profile cuts nothing.
    pub(crate) fn profile(&self, tool: &str) -> Option<Arc<ToolFilter>> {
        let profile = self.profile_of(Some(tool), self.server().as_deref())?;
        let lossless = self.lossless().filter(|_| self.store().is_none());
        Some(Arc::clone(lossless.unwrap_or(profile)))
    }

    /// Returns the filter that keeps every value.
    pub(crate) fn lossless(&self) -> Option<&Arc<ToolFilter>> {
        self.options.rules.lossless(self.server().as_deref())
    }

    /// Returns the most bytes that a client shows whole, with a reserve, of a message with this many bytes.
    pub(crate) fn client_limit(&self, client: Option<&str>, bytes: u64) -> Option<u64> {
        client.and_then(|client| clients::limit(client, bytes))
    }

    /// Returns which part of a result a client shows to the model.
    pub(crate) fn client_reads(&self, client: Option<&str>) -> ClientReads {
        let by_name = || client.map_or(ClientReads::Both, clients::reads);
        self.options.client_reads.unwrap_or_else(by_name)
    }

    /// Returns whether results for a client are factored where no filter of the user decides.
    pub(crate) fn factors(&self, client: Option<&str>) -> bool {
        let by_name = || client.is_some_and(clients::shows_results);
        let of_server = self.options.servers.factor(self.server().as_deref());
        of_server.or(self.options.factor).unwrap_or_else(by_name)
    }

    /// Remembers the parameters of a tool that matter here.
    pub(crate) fn learn_parameters(&self, tool: String, own: OwnParameters) {
        let mut known = self.own_parameters.lock().unwrap_or_else(PoisonError::into_inner);
        if own == OwnParameters::default() || tool.len() > LONGEST_TOOL_NAME {
            known.remove(&tool);
        } else if known.len() < MOST_TOOLS || known.contains_key(&tool) {
            known.insert(tool, own);
        }
    }

    /// Returns the parameters of a tool's own that have the name of one of ours.
    pub(crate) fn own_parameters(&self, tool: &str) -> Parameters {
        self.learned(tool).as_ours
    }

    /// Returns the argument of a tool that makes its results smaller, if the list of tools has one.
    pub(crate) fn shrinking_argument(&self, tool: &str) -> Option<&'static str> {
        self.learned(tool).shrinking
    }

    /// Returns the schema that clients know of the results of a tool with a filter. A client may list tools after it has called
    /// one, and then compares the result with the list.
    pub(crate) fn listed_schema(&self, tool: &str, filter: &ToolFilter) -> ListedSchema {
        match self.learned(tool).listed {
            Some(listed) => listed,
            None if !self.types_results() || filter.structured == Structured::Drop => {
                ListedSchema::Nothing
            }
            None if filter.output_type.is_some() => ListedSchema::Ours,
            None if filter.removes_for_safety => ListedSchema::Nothing,
            None => ListedSchema::Servers { is_open: false },
        }
    }

    /// Returns whether results have a type.
    pub(crate) fn types_results(&self) -> bool {
        self.options.schema_compiler.is_some()
            && self.options.servers.types_results(self.server().as_deref())
    }

    fn learned(&self, tool: &str) -> OwnParameters {
        let known = self.own_parameters.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(tool).copied().unwrap_or_default()
    }
}

/// Returns a word that no other proxy has.
fn random_word() -> String {
    let random = || std::hash::RandomState::new().hash_one(0);
    format!("{:016x}{:016x}", random(), random())
}

/// The input schemas of tools, within a limit.
#[derive(Debug, Default)]
struct InputSchemas {
    by_tool: HashMap<String, Arc<[u8]>>,
    bytes: usize,
}

impl InputSchemas {
    /// The most bytes of all schemas.
    const MOST_BYTES: usize = 16 << 20;

    fn insert(&mut self, tool: &str, schema: Vec<u8>) {
        if let Some(old) = self.by_tool.remove(tool) {
            self.bytes -= old.len();
        }
        let fits = self.bytes + schema.len() <= Self::MOST_BYTES && self.by_tool.len() < MOST_TOOLS;
        if fits && tool.len() <= LONGEST_TOOL_NAME {
            self.bytes += schema.len();
            self.by_tool.insert(tool.to_owned(), schema.into());
        }
    }
}

/// The parameters of a tool's own that matter here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct OwnParameters {
    /// Those that have the name of one of ours.
    pub(crate) as_ours: Parameters,
    /// One that makes results smaller.
    pub(crate) shrinking: Option<&'static str>,
    /// The schema that the list has for the results. `None`: results have no type.
    pub(crate) listed: Option<ListedSchema>,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxy").field("options", &self.options).finish_non_exhaustive()
    }
}
