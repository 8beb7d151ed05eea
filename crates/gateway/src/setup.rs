//! From flags to the handlers of clients: reads the configuration and opens the store.

use std::sync::Arc;

use tamis::spec::Redact;
use tamis_gateway::transport::{HandlerFactory, PassThrough};
use tamis_manifest::{StorePlace, StoreScope};
use tamis_mcp::config::{Config, ConfigFiles, ConfigFlags, ConfigPlaces};
use tamis_mcp::program::McpArgs;
use tamis_mcp::rules::{Profile, Structured};
use tamis_mcp::spool::SpoolLimits;
use tamis_mcp::{MessageLimits, Proxy, Session};
use tamis_store::{Scope, Store, StoreConfig};

use crate::{Failure, note};

/// The part of the configuration that transports use.
pub(crate) struct Setup {
    pub(crate) handlers: HandlerFactory,
    /// Who may read a stored result over HTTP, where a client has no session.
    pub(crate) scope: StoreScope,
    /// Who may read a stored result on standard input and output: this process, or the user, whose other commands read
    /// the same folder.
    pub(crate) local_scope: Scope,
}

impl Setup {
    /// Reads the configuration. `limits` apply to each message.
    pub(crate) fn new(args: &McpArgs, limits: SpoolLimits) -> Result<Self, Failure> {
        if args.pass_through {
            let handlers: HandlerFactory = Arc::new(|| Box::new(PassThrough));
            let (scope, local_scope) = (StoreScope::default(), Scope::process());
            return Ok(Self { handlers, scope, local_scope });
        }
        let fail = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
        let config = config(args)?;
        let scope = config.scope().clone();
        let store = config.store().filter(|_| config.may_save());
        let in_memory = store.is_none_or(StoreConfig::is_in_memory);
        let local_scope = if in_memory { Scope::process() } else { Scope::user() };
        if let Some(error) = config.store_warning() {
            note(format_args!("results are kept in memory, until the proxy ends: {error}"));
        }
        if let Some(error) = store.and_then(|store| Store::open(store.clone()).reserve().err()) {
            let place = args.store.as_deref().map(|place| format!(" in {}", place.display()));
            let place = place.unwrap_or_default();
            note(format_args!(
                "results are not shortened, because they cannot be stored{place}: {error}"
            ));
        }
        let options = config.proxy_options().map_err(|error| fail(&error))?;
        let words = args.command.iter().map(|word| word.as_encoded_bytes());
        let options = options.with_origin(words.chain(args.upstream.as_deref().map(str::as_bytes)));
        let options = options.with_schema_compiler(crate::schema::compiler());
        if let Some(store) = options.store().cloned() {
            // It ends with the process.
            std::thread::spawn(move || sweep_hourly(&store));
        }
        let limits = MessageLimits { spool: limits, ..MessageLimits::default() };
        let proxy = Proxy::new(options.with_limits(limits).with_warnings(|warning| note(warning)));
        Ok(Self { handlers: Arc::new(move || Box::new(Session::new(&proxy))), scope, local_scope })
    }
}

/// Reads the configuration. A file that is not valid is an error, unless an installer has put the proxy before the server
/// (`--config` without `--manifest`) and the file seems to have no rule that removes for safety: then its filters are
/// left out, because nobody should lose a server for filters that only save.
fn config(args: &McpArgs) -> Result<Config, Failure> {
    let (flags, places) = (flags(args)?, ConfigPlaces::of_process());
    let fail = |error: &dyn std::fmt::Display| Failure::usage(error.to_string());
    Config::load(&flags, &places).or_else(|error| {
        let is_installed = args.config.is_some() && args.manifest.is_empty();
        if !is_installed || places.seem_to_protect(flags.files) {
            return Err(fail(&error));
        }
        note(format_args!("the filters of the file are not used: {error}"));
        Config::load(&flags, &ConfigPlaces::default()).map_err(|error| fail(&error))
    })
}

/// Removes expired entries now and every hour.
fn sweep_hourly(store: &Store) {
    loop {
        // Reservations remove them as well, so that a failure can wait for the next attempt.
        _ = store.sweep();
        std::thread::sleep(std::time::Duration::from_secs(60 * 60));
    }
}

/// Returns the part of the command line that configuration files can say too. The parser has checked the words.
fn flags(args: &McpArgs) -> Result<ConfigFlags, Failure> {
    let profile = args.profile.as_deref().map(str::parse::<Profile>).transpose();
    let reads = args.client_reads.as_deref().map(str::parse).transpose();
    let store = match args.store.as_deref().map(|place| (place, place.to_str())) {
        None => None,
        Some((_, Some("memory"))) => Some(StorePlace::Memory),
        Some((_, Some("off"))) => Some(StorePlace::Off),
        Some((_, Some(place))) => {
            let folder = || StorePlace::Folder(place.to_owned());
            Some(StorePlace::of_url(place).unwrap_or_else(folder))
        }
        Some((place, None)) => {
            let place = place.display();
            return Err(Failure::usage(format!("--store {place}: the path is not valid UTF-8")));
        }
    };
    Ok(ConfigFlags {
        manifests: args.manifest.clone(),
        files: match args.config.as_deref() {
            Some("user") => ConfigFiles::User,
            Some("project") => ConfigFiles::Project,
            _ => ConfigFiles::Both,
        },
        profile: profile.map_err(|error| Failure::usage(format!("--profile: {error}")))?,
        service: args.service.clone(),
        name: args.name.clone(),
        structured: args.structured.as_deref().map(|word| match word {
            "drop" => Structured::Drop,
            _ => Structured::Keep,
        }),
        client_reads: reads.map_err(|error| Failure::usage(format!("--client-reads: {error}")))?,
        store,
        is_local: args.listen.is_none() && (args.stdio || args.upstream.is_none()),
        redact: (!args.redact.is_empty()).then(|| {
            let has = |word: &str| args.redact.iter().any(|it| it == word);
            Redact::new().secrets(has("secrets")).personal(has("personal"))
        }),
        // A boundary does not depend on a variable, which a project's settings can set.
        off: !args.closed && tamis_store::process::is_off(),
    })
}
