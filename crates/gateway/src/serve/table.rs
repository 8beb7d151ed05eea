//! The rules that are in force, which are replaced as a whole when files change.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use tamis::http::DecodeOptions;

use super::metrics::RouteMetrics;
use crate::config::{Config, ConfigError};
use crate::mcp::{MessageLimits, Proxy, ProxyOptions, Session};
use crate::observe::Observer;
use crate::routes::{GatewayConfig, RouteRule};
use crate::store::Store;
use crate::transport::HandlerFactory;
use crate::transport::http::front::Relay;
use crate::transport::http::sessions::Sessions;
use crate::transport::spool::SpoolLimits;

/// The most targets of agentgateway whose rules are kept.
const SERVERS: usize = 1000;

/// The state that remains when the rules are replaced.
#[derive(Clone)]
pub(crate) struct Shared {
    pub(crate) store: Option<Store>,
    pub(crate) observer: Arc<Observer>,
    pub(crate) metrics: Arc<RouteMetrics>,
}

/// The rules in force. An exchange keeps those with which it began.
pub(crate) struct Table {
    pub(super) config: GatewayConfig,
    pub(super) metrics: Arc<RouteMetrics>,
    pub(super) decoding: DecodeOptions,
    /// The relay of each route of MCP, by the index of the route.
    relays: Vec<Option<Arc<Relay>>>,
    /// The proxies for agentgateway, by the name of the server.
    ext_mcp: Mutex<HashMap<String, Arc<Proxy>>>,
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
        for route in config.routes() {
            let RouteRule::Mcp(mcp) = route.rule() else {
                relays.push(None);
                continue;
            };
            let proxy = proxy(mcp, shared.store.clone())?;
            let handlers: HandlerFactory = Arc::new(move || Box::new(Session::new(&proxy)));
            relays.push(Some(Arc::new(Relay {
                sessions: Sessions::new(handlers),
                limits: SpoolLimits::default(),
                observer: Arc::clone(&shared.observer),
                scope: config.store_settings().scope().clone(),
            })));
        }
        // Finds mistakes before the first call.
        ext_mcp_proxy(config.ext_mcp(), "")?;
        Ok(Self {
            config,
            metrics: Arc::clone(&shared.metrics),
            decoding: DecodeOptions::new(),
            relays,
            ext_mcp: Mutex::default(),
        })
    }

    /// Returns the proxy for a target of agentgateway.
    ///
    /// # Errors
    /// The rules cannot be compiled.
    pub(super) fn ext_mcp(&self, server: &str) -> Result<Arc<Proxy>, ConfigError> {
        let mut proxies = self.ext_mcp.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(proxy) = proxies.get(server) {
            return Ok(Arc::clone(proxy));
        }
        let proxy = ext_mcp_proxy(self.config.ext_mcp(), server)?;
        if proxies.len() < SERVERS {
            proxies.insert(server.to_owned(), Arc::clone(&proxy));
        }
        Ok(proxy)
    }

    /// Returns the relay of a route of MCP.
    pub(super) fn relay(&self, route: usize) -> Option<&Arc<Relay>> {
        self.relays.get(route)?.as_ref()
    }
}

/// A response of ExtMcp has nothing to read stored results with, so nothing is cut that would have to be stored.
fn ext_mcp_proxy(config: &Config, server: &str) -> Result<Arc<Proxy>, ConfigError> {
    let rules = config.clone().rules()?;
    let rules = if server.is_empty() { rules } else { rules.with_service(Some(server)) };
    Ok(Proxy::new(ProxyOptions::new(rules)))
}

fn proxy(config: &Config, store: Option<Store>) -> Result<Arc<Proxy>, ConfigError> {
    let options = ProxyOptions::new(config.clone().rules()?).with_store(store);
    Ok(Proxy::new(options.with_limits(MessageLimits::default())))
}
