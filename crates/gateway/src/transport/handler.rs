//! The seam between transports and the protocol: what a transport asks about each message.

use std::sync::Arc;

use tamis_mcp::spool::Spool;
use tamis_mcp::{Exchange, OverflowScan, Route, Session};

/// Decides what happens to each message of one client.
///
/// [`Session`] is the handler that filters. [`PassThrough`] forwards everything: a bench compares the two to measure
/// what filtering costs.
///
/// No method may block on anything but the spool, because transports hold a lock during the calls. The work on large
/// messages is in [`Route::Run`].
#[allow(
    clippy::wrong_self_convention,
    reason = "a message comes from the client or from the server"
)]
pub trait MessageHandler: Send {
    /// Decides about a message of the client, and notes in `exchange` which request it carries.
    fn from_client(&mut self, message: &Spool, exchange: &mut Exchange) -> Route;

    /// Decides about a message of the server.
    fn from_server(&mut self, message: &Spool, exchange: &Exchange) -> Route;

    /// Returns a response, without a line end, to each request that the server's process did not respond to.
    fn upstream_ended(&mut self, status: &str) -> Vec<Vec<u8>>;

    /// Returns the response to the request of `exchange`, whose HTTP response ended without one. `None` if no response is
    /// owed.
    fn exchange_ended(&mut self, exchange: &Exchange, why: &str) -> Option<Vec<u8>>;

    /// Notes that the job of the last message of the client in `exchange` has responded to it, so that it is not sent.
    fn responded(&mut self, _: &mut Exchange) {}

    /// Notes that the session of an exchange has ended.
    fn session_ended(&mut self, _: &Exchange) {}

    /// Returns whether a rule removes for safety, so that nothing may be shown or forwarded that no rule covers.
    fn may_remove_for_safety(&self) -> bool;

    /// Returns whether a message that is too long to be collected may be forwarded unfiltered.
    fn may_forward_unseen(&self) -> bool;

    /// Returns the response to send after a message of the server was too long.
    fn from_server_overflow(
        &mut self,
        scan: OverflowScan,
        exchange: &Exchange,
        forwarded: bool,
    ) -> Option<Vec<u8>>;

    /// Returns the response to a message of the client that was too long, and was not forwarded.
    fn from_client_overflow(&mut self, scan: OverflowScan) -> Vec<u8>;
}

/// Makes the handler of a new client.
pub type HandlerFactory = Arc<dyn Fn() -> Box<dyn MessageHandler> + Send + Sync>;

impl MessageHandler for Session {
    fn from_client(&mut self, message: &Spool, exchange: &mut Exchange) -> Route {
        Self::from_client(self, message, exchange)
    }

    fn from_server(&mut self, message: &Spool, exchange: &Exchange) -> Route {
        Self::from_server(self, message, exchange)
    }

    fn upstream_ended(&mut self, status: &str) -> Vec<Vec<u8>> {
        Self::upstream_ended(self, status)
    }

    fn exchange_ended(&mut self, exchange: &Exchange, why: &str) -> Option<Vec<u8>> {
        Self::exchange_ended(self, exchange, why)
    }

    fn responded(&mut self, exchange: &mut Exchange) {
        Self::responded(self, exchange);
    }

    fn session_ended(&mut self, exchange: &Exchange) {
        Self::session_ended(self, exchange);
    }

    fn may_remove_for_safety(&self) -> bool {
        Self::may_remove_for_safety(self)
    }

    fn may_forward_unseen(&self) -> bool {
        Self::may_forward_unseen(self)
    }

    fn from_server_overflow(
        &mut self,
        scan: OverflowScan,
        exchange: &Exchange,
        forwarded: bool,
    ) -> Option<Vec<u8>> {
        Self::from_server_overflow(self, scan, exchange, forwarded)
    }

    fn from_client_overflow(&mut self, scan: OverflowScan) -> Vec<u8> {
        Self::from_client_overflow(self, scan)
    }
}

/// A handler that forwards every message unchanged.
#[derive(Debug, Default)]
pub struct PassThrough;

impl MessageHandler for PassThrough {
    fn from_client(&mut self, _: &Spool, _: &mut Exchange) -> Route {
        Route::Forward
    }

    fn from_server(&mut self, _: &Spool, _: &Exchange) -> Route {
        Route::Forward
    }

    fn upstream_ended(&mut self, _: &str) -> Vec<Vec<u8>> {
        Vec::new()
    }

    fn exchange_ended(&mut self, _: &Exchange, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn may_remove_for_safety(&self) -> bool {
        false
    }

    fn may_forward_unseen(&self) -> bool {
        true
    }

    fn from_server_overflow(&mut self, _: OverflowScan, _: &Exchange, _: bool) -> Option<Vec<u8>> {
        None
    }

    fn from_client_overflow(&mut self, _: OverflowScan) -> Vec<u8> {
        br#"{"jsonrpc":"2.0","error":{"code":-32600,"message":"message too long"}}"#.to_vec()
    }
}
