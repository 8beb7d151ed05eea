//! The binary that `tamis mcp` and `tamis serve` start.
//!
//! It parses flags, opens what they name, and runs a transport of the library. Only [`main`] sets the exit code: 2 for a
//! wrong command line, 1 for other failures.

mod schema;
#[cfg(feature = "serve")]
mod serve_command;
mod setup;
#[cfg(feature = "otel")]
mod telemetry;

use std::ffi::OsString;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Parser, Subcommand};
use tamis_gateway::callers::CallerCheck;
use tamis_gateway::observe::log::CallLog;
use tamis_gateway::observe::{Observer, endpoint};
use tamis_gateway::transport::bridge::HttpBridge;
use tamis_gateway::transport::child::ServerCommand;
use tamis_gateway::transport::http::headers::InjectedHeader;
use tamis_gateway::transport::http::upstream::Upstream;
use tamis_gateway::transport::http::{HttpProxy, PATH};
use tamis_gateway::transport::shutdown::Shutdown;
use tamis_gateway::transport::stdio::StdioProxy;
use tamis_mcp::program::{
    MCP_HELP, MCP_HELP_SHORT, McpArgs, SERVE_HELP, ServeArgs, check_writable,
};
use tamis_mcp::spool::SpoolLimits;
use tamis_store::calls::UserLog;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use setup::Setup;

/// Refuses `tamis serve`, which this build does not have.
#[cfg(not(feature = "serve"))]
mod serve_command {
    use super::{Failure, ServeArgs};

    pub(crate) fn run(_: &ServeArgs) -> Result<u8, Failure> {
        Err(Failure::usage(
            "this build has no servers for gateways; install it from a checkout with: cargo install --path crates/gateway --profile dist --features serve",
        ))
    }
}

/// The address for clients over HTTP, unless another is given.
const LISTEN: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8931);

#[cfg_attr(
    feature = "serve",
    doc = "Filters the results of MCP servers (started by tamis mcp) and responses for Envoy and agentgateway (tamis serve)"
)]
#[cfg_attr(
    not(feature = "serve"),
    doc = "Filters the results of MCP servers; started by tamis mcp"
)]
#[derive(Debug, Parser)]
#[command(name = "tamis-gateway", version, max_term_width = 100, disable_help_subcommand = true)]
struct Args {
    /// Accepted because `tamis` passes its whole command line on
    #[arg(long, global = true, hide = true, value_name = "WHEN")]
    color: Option<String>,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Runs a proxy in front of an MCP server: filters the results of its tools
    #[command(
        args_override_self = true,
        after_help = MCP_HELP_SHORT,
        after_long_help = MCP_HELP
    )]
    Mcp(Box<McpArgs>),
    /// Runs servers for Envoy and agentgateway, which filter the responses that these forward
    #[command(after_help = SERVE_HELP)]
    Serve(ServeArgs),
}

/// A failure with its message and exit code.
struct Failure {
    message: String,
    code: u8,
}

impl Failure {
    fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 2 }
    }

    fn run(message: impl Into<String>) -> Self {
        Self { message: message.into(), code: 1 }
    }
}

fn main() -> ExitCode {
    let mut typed = std::env::args_os();
    if let Some(code) = launched(&mut typed) {
        return code;
    }
    let done = match Args::try_parse() {
        Ok(Args { command, .. }) => can_print().and_then(|()| match command {
            Command::Mcp(args) => mcp(&args),
            Command::Serve(args) => serve_command::run(&args),
        }),
        Err(error) => {
            _ = error.print();
            let serves = std::env::args_os().nth(1).is_some_and(|word| word == "serve");
            if let Some(remedy) = remedy(&error, serves) {
                note(remedy);
            }
            return ExitCode::from(if error.use_stderr() { 2 } else { 0 });
        }
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            note(failure.message);
            ExitCode::from(failure.code)
        }
    }
}

/// Returns what to write instead of a command line without a server, or with a word in the wrong place.
fn remedy(error: &clap::Error, serves: bool) -> Option<String> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(word)))
            if !word.starts_with('-') =>
        {
            Some(match serves {
                true => format!("name the file of the routes: tamis serve --config {word}"),
                false => format!("put -- before the command of the server: tamis mcp -- {word}"),
            })
        }
        (ErrorKind::MissingRequiredArgument, Some(ContextValue::Strings(missing)))
            if missing.iter().any(|name| name.contains("COMMAND")) =>
        {
            Some("name the server: its command after --, or its address with --upstream URL".into())
        }
        _ => None,
    }
}

/// Becomes an MCP server if this process was started for that. Returns only if that failed, or was not asked for.
#[cfg(target_os = "linux")]
fn launched(typed: &mut impl Iterator<Item = OsString>) -> Option<ExitCode> {
    use tamis_gateway::transport::child;

    if typed.nth(1)? != child::LAUNCH {
        return None;
    }
    let error = child::launch(typed);
    note(format_args!("the server cannot be executed: {error}"));
    let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
    Some(ExitCode::from(code))
}

#[cfg(not(target_os = "linux"))]
fn launched(_: &mut impl Iterator<Item = OsString>) -> Option<ExitCode> {
    None
}

/// Fails if standard output is closed: a client would wait for responses.
fn can_print() -> Result<(), Failure> {
    check_writable(io::stdout())
        .map_err(|error| Failure::run(format!("standard output: cannot write the output: {error}")))
}

/// Runs `tamis mcp`.
fn mcp(args: &McpArgs) -> Result<u8, Failure> {
    // An installer wrote the flag `--config`: then it is a server of an agent of this user.
    let user_log = args.config.as_ref().and_then(|_| UserLog::to_append());
    let log = open_log(args.log.as_deref())?.with_user_log(user_log);
    let observer = Arc::new(Observer::new(Some(log)));
    observer.metrics().register_calls();
    match &args.upstream {
        None => over_stdio(args, observer),
        Some(url) if args.stdio => bridged(args, url, &observer),
        Some(url) => over_http(args, url, observer),
    }
}

fn open_log(path: Option<&Path>) -> Result<CallLog, Failure> {
    let Some(path) = path else { return Ok(CallLog::on_standard_error()) };
    CallLog::open(path)
        .map_err(|error| Failure::usage(format!("--log {}: {error}", path.display())))
}

/// Runs the proxy between a client and a server on standard input and output.
fn over_stdio(args: &McpArgs, observer: Arc<Observer>) -> Result<u8, Failure> {
    let mut command = args.command.iter().cloned();
    let program = command.next().ok_or_else(|| Failure::usage("expected a command after --"))?;
    let command = ServerCommand::new(program, command.collect()).with_launcher(true);
    let limits = line_limits(args);
    let setup = Setup::new(args, limits)?;
    let runtime = runtime(&mut Builder::new_current_thread())?;
    // The server must be started by this thread, whose end the kernel counts as that of the proxy.
    let ended = runtime.block_on(async {
        serve_metrics(args, &observer).await?;
        let shutdown = shutdown()?;
        let proxy = StdioProxy::new(command, limits, observer).with_scope(setup.local_scope);
        let ended = proxy.run((setup.handlers)(), shutdown).await;
        ended.map_err(|error| Failure { message: error.to_string(), code: error.exit_code() })
    });
    runtime.shutdown_background();
    ended
}

/// Runs the proxy between clients and a server over HTTP.
fn over_http(args: &McpArgs, url: &str, observer: Arc<Observer>) -> Result<u8, Failure> {
    let upstream = upstream(args, url)?;
    let limits =
        SpoolLimits { held: args.held.unwrap_or(4 << 20), spill: args.spill.unwrap_or(1 << 30) };
    let setup = Setup::new(args, limits)?;
    let runtime = runtime(&mut Builder::new_multi_thread())?;
    let ended = runtime.block_on(async {
        let shutdown = shutdown()?;
        serve_metrics(args, &observer).await?;
        let (listener, address) = listen(args.listen.unwrap_or(LISTEN)).await?;
        if !address.ip().is_loopback() {
            note(format_args!("anyone who reaches {address} can use the server"));
        }
        let callers = CallerCheck::new(address, args.allow_origin.clone());
        let proxy = HttpProxy::new(upstream, setup.handlers, callers, limits, observer)
            .with_scope(setup.scope);
        note(format_args!("listening at http://{address}{PATH}"));
        Ok(proxy.serve(listener, shutdown).await)
    });
    runtime.shutdown_background();
    ended
}

/// Runs the proxy between a client on standard input and output and a server over HTTP.
fn bridged(args: &McpArgs, url: &str, observer: &Arc<Observer>) -> Result<u8, Failure> {
    let limits = line_limits(args);
    let setup = Setup::new(args, limits)?;
    let bridge = HttpBridge::new(upstream(args, url)?, limits, Arc::clone(observer))
        .with_scope(setup.local_scope);
    let runtime = runtime(Builder::new_multi_thread().worker_threads(2))?;
    let ended = runtime.block_on(async {
        let shutdown = shutdown()?;
        serve_metrics(args, observer).await?;
        Ok(bridge.run(&setup.handlers, shutdown).await)
    });
    runtime.shutdown_background();
    ended
}

/// Returns the limits of a line.
fn line_limits(args: &McpArgs) -> SpoolLimits {
    SpoolLimits { held: args.held.unwrap_or(4 << 20), spill: args.spill.unwrap_or(60 << 20) }
}

/// Creates the client for the server, with the headers of the command line.
fn upstream(args: &McpArgs, url: &str) -> Result<Upstream, Failure> {
    let headers = args.header.iter().map(|header| {
        InjectedHeader::parse(header, |name| std::env::var_os(name))
            // The text may hold a secret that was meant for the environment.
            .map_err(|error| Failure::usage(format!("--header: {error}")))
    });
    let headers = headers.collect::<Result<Vec<_>, _>>()?;
    Upstream::new(url, headers).map_err(|error| Failure::usage(format!("--upstream: {error}")))
}

/// Prints a line on standard error.
fn note(message: impl std::fmt::Display) {
    // There is no other place to report it.
    _ = io::stderr().write_all(format!("tamis: {message}\n").as_bytes());
}

fn runtime(builder: &mut Builder) -> Result<Runtime, Failure> {
    builder
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("cannot start the runtime: {error}")))
}

fn shutdown() -> Result<Shutdown, Failure> {
    Shutdown::on_signals().map_err(|error| Failure::run(format!("cannot receive signals: {error}")))
}

/// Serves the metrics in the background, if they are asked for.
async fn serve_metrics(args: &McpArgs, observer: &Arc<Observer>) -> Result<(), Failure> {
    let Some(address) = args.metrics else { return Ok(()) };
    let (listener, address) = listen(address).await?;
    note(format_args!("metrics at http://{address}/metrics"));
    tokio::spawn(endpoint::serve(listener, Arc::clone(observer)));
    Ok(())
}

/// Listens at an address. Returns it with the port, which the system may have chosen.
async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let fail = |error| Failure::run(format!("cannot listen at {address}: {error}"));
    let listener = TcpListener::bind(address).await.map_err(fail)?;
    let address = listener.local_addr().map_err(fail)?;
    Ok((listener, address))
}
