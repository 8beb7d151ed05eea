//! The rules that are in force, which are replaced as a whole when files change.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tamis::http::{DecodeOptions, HeldPool};
use tamis::{CallOptions, Limits};
use tamis_mcp::config::{Config, ConfigError};
use tamis_mcp::gateway_yaml::{GatewayConfig, RouteRule};
use tamis_mcp::spool::SpoolLimits;
use tamis_mcp::{MessageLimits, Proxy, ProxyOptions, Session};
use tamis_store::Store;

use super::failures::FailureLog;
use super::metrics::RouteMetrics;
use super::outcome::{DEFAULT, expected, outcome_of};
use crate::observe::Observer;
use crate::transport::HandlerFactory;
use crate::transport::http::front::Relay;
use crate::transport::http::sessions::Sessions;

/// The most targets of agentgateway whose rules are kept.
const SERVERS: usize = 1000;

/// The state that remains when the rules are replaced.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) store: Option<Store>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) metrics: Arc<RouteMetrics>,
    pub(crate) failures: Arc<FailureLog>,
    /// The limit for the bytes that all responses together hold.
    pub(crate) pool: HeldPool,
}

/// The rules in force. An exchange keeps those with which it began.
pub(crate) struct Table {
    pub(super) config: GatewayConfig,
    pub(super) metrics: Arc<RouteMetrics>,
    pub(super) failures: Arc<FailureLog>,
    /// Counts and logs the calls of agentgateway.
    pub(super) observer: Arc<Observer>,
    pub(super) decoding: DecodeOptions,
    /// The limits of each response, with the pool of all.
    pub(super) options: CallOptions,
    /// The store of results, if there is one.
    pub(super) store: Option<Store>,
    /// The relay of each route of MCP, by the index of the route.
    relays: Vec<Option<Arc<Relay>>>,
    /// The proxies for agentgateway, by the name of the server.
    ext_mcp: Mutex<HashMap<String, Arc<Proxy>>>,
    /// The store for agentgateway, if its clients can read it.
    ext_mcp_store: Option<Store>,
    /// The relay of the MCP server that reads the store.
    recall: Option<Arc<Relay>>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Table {
    /// Compiles the rules of a configuration.
    ///
    /// # Errors
    /// The rules cannot be compiled.
    pub(crate) fn new(config: GatewayConfig, shared: &Shared) -> Result<Self, ConfigError> {
        let mut relays = Vec::with_capacity(config.routes().len());
        shared.metrics.known(DEFAULT, outcome_of(config.default_action()));
        for route in config.routes() {
            shared.metrics.known(route.name(), expected(route.rule()));
            let RouteRule::Mcp(mcp) = route.rule() else {
                relays.push(None);
                continue;
            };
            let proxy = proxy(mcp, shared.store.clone())?;
            relays.push(Some(relay(&config, proxy, shared)));
        }
        if config.recall().is_some() || relays.iter().any(Option::is_some) {
            shared.observer.metrics().register_calls();
        }
        let ext_mcp_store = shared.store.clone().filter(|_| config.recall().is_some());
        // Finds mistakes before the first call.
        ext_mcp_proxy(config.ext_mcp(), "", ext_mcp_store.clone())?;
        let rules = config.ext_mcp().clone().rules()?;
        let recall = ext_mcp_store.as_ref().map(|store| {
            let options = ProxyOptions::new(rules).with_store(Some(store.clone()));
            relay(&config, Proxy::new(options), shared)
        });
        Ok(Self {
            config,
            metrics: Arc::clone(&shared.metrics),
            failures: Arc::clone(&shared.failures),
            observer: Arc::clone(&shared.observer),
            decoding: DecodeOptions::new(),
            options: CallOptions::new()
                .with_token_counter(tamis_tokens::o200k_base())
                .with_limits(Limits::new().with_pool(&shared.pool)),
            store: shared.store.clone(),
            relays,
            ext_mcp: Mutex::default(),
            ext_mcp_store,
            recall,
        })
    }

    /// Returns the proxy for a target of agentgateway.
    ///
    /// # Errors
    /// The rules cannot be compiled.
    pub(super) fn ext_mcp(&self, server: &str) -> Result<Arc<Proxy>, ConfigError> {
        self.observer.metrics().register_calls();
        let mut proxies = self.ext_mcp.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = proxies.get(server) {
            return Ok(Arc::clone(proxy));
        }
        let proxy = ext_mcp_proxy(self.config.ext_mcp(), server, self.ext_mcp_store.clone())?;
        if proxies.len() < SERVERS {
            proxies.insert(server.to_owned(), Arc::clone(&proxy));
        }
        Ok(proxy)
    }

    /// Returns whether a server of agentgateway is our own, which reads the store.
    pub(super) fn is_recall(&self, server: &str) -> bool {
        self.recall.is_some()
            && self.config.recall().is_some_and(|recall| recall.target() == server)
    }

    /// Returns the relay of the MCP server that reads the store.
    pub(super) fn recall(&self) -> Option<&Relay> {
        self.recall.as_deref()
    }

    /// Returns the relay of a route of MCP.
    pub(super) fn relay(&self, route: usize) -> Option<&Arc<Relay>> {
        self.relays.get(route)?.as_ref()
    }
}

/// Without another target that reads the store, nothing is cut that would have to be stored.
fn ext_mcp_proxy(
    config: &Config,
    server: &str,
    store: Option<Store>,
) -> Result<Arc<Proxy>, ConfigError> {
    let rules = config.clone().rules()?;
    let rules = if server.is_empty() { rules } else { rules.with_service(Some(server)) };
    Ok(Proxy::new(ProxyOptions::new(rules).with_store(store).with_retrieval_elsewhere(true)))
}

fn relay(config: &GatewayConfig, proxy: Arc<Proxy>, shared: &Shared) -> Arc<Relay> {
    let handlers: HandlerFactory = Arc::new(move || Box::new(Session::new(&proxy)));
    Arc::new(Relay {
        sessions: Sessions::new(handlers),
        limits: SpoolLimits::default(),
        observer: Arc::clone(&shared.observer),
        scope: config.store_settings().scope().clone(),
    })
}

fn proxy(config: &Config, store: Option<Store>) -> Result<Arc<Proxy>, ConfigError> {
    let options = ProxyOptions::new(config.clone().rules()?).with_store(store);
    Ok(Proxy::new(options.with_limits(MessageLimits::default())))
}
