//! The handlers of legacy sessions, by their `Mcp-Session-Id`.
//!
//! The response to a POST may arrive on a GET of the same session, so both must ask the same handler. A modern request,
//! and the first request of a legacy session, have a handler of their own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::{HandlerFactory, MessageHandler};

/// Sessions that are remembered. Beyond it, those that were not used for the longest time are forgotten: a response
/// that arrives later for one of them belongs to nothing, and is treated as such.
const SESSIONS: usize = 10_000;

/// Longest id of a session.
const ID: usize = 1_024;

/// A handler that several requests use.
#[derive(Clone)]
pub(crate) struct SharedHandler(Arc<Mutex<Box<dyn MessageHandler>>>);

impl SharedHandler {
    /// Creates a handler for a client.
    pub(crate) fn new(factory: &HandlerFactory) -> Self {
        Self(Arc::new(Mutex::new(factory())))
    }

    /// Locks the handler for a decision. The guard must not be held across an await.
    pub(crate) fn lock(&self) -> MutexGuard<'_, Box<dyn MessageHandler>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Entry {
    handler: SharedHandler,
    /// When the session was used, as a count of uses of all sessions.
    used: u64,
}

/// The sessions of a proxy.
pub(crate) struct Sessions {
    factory: HandlerFactory,
    table: Mutex<Table>,
}

#[derive(Default)]
struct Table {
    entries: HashMap<String, Entry>,
    uses: u64,
}

impl Sessions {
    pub(crate) fn new(factory: HandlerFactory) -> Self {
        Self { factory, table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the handler of a session, or a new one.
    ///
    /// A session that is not known, for example after a restart of the proxy, becomes known: the server decides whether
    /// it exists.
    pub(crate) fn handler(&self, id: Option<&str>) -> SharedHandler {
        let Some(id) = id.filter(|id| id.len() <= ID) else {
            return SharedHandler::new(&self.factory);
        };
        let mut table = self.table();
        table.uses += 1;
        let uses = table.uses;
        if let Some(entry) = table.entries.get_mut(id) {
            entry.used = uses;
            return entry.handler.clone();
        }
        let handler = SharedHandler::new(&self.factory);
        table.insert(id, handler.clone());
        handler
    }

    /// Remembers the handler of the request that created a session.
    pub(crate) fn begin(&self, id: &str, handler: &SharedHandler) {
        if id.len() <= ID {
            let mut table = self.table();
            table.uses += 1;
            table.insert(id, handler.clone());
        }
    }

    /// Forgets a session.
    pub(crate) fn end(&self, id: &str) {
        self.table().entries.remove(id);
    }

    /// Returns the number of sessions.
    pub(crate) fn len(&self) -> usize {
        self.table().entries.len()
    }
}

impl Table {
    fn insert(&mut self, id: &str, handler: SharedHandler) {
        if self.entries.len() >= SESSIONS && !self.entries.contains_key(id) {
            self.forget_old();
        }
        let used = self.uses;
        self.entries.insert(String::from(id), Entry { handler, used });
    }

    /// Forgets a tenth of the sessions, so that the search for them is rare.
    fn forget_old(&mut self) {
        let mut uses: Vec<u64> = self.entries.values().map(|entry| entry.used).collect();
        let (_, oldest, _) = uses.select_nth_unstable(SESSIONS / 10);
        let oldest = *oldest;
        self.entries.retain(|_, entry| entry.used >= oldest);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{SESSIONS, Sessions};
    use crate::transport::PassThrough;

    #[test]
    fn a_session_keeps_its_handler_until_it_ends() {
        let sessions = Sessions::new(Arc::new(|| Box::new(PassThrough)));
        let same = |one: &super::SharedHandler, other: &super::SharedHandler| {
            Arc::ptr_eq(&one.0, &other.0)
        };
        let first = sessions.handler(None);
        sessions.begin("a", &first);
        assert!(same(&sessions.handler(Some("a")), &first));
        assert!(!same(&sessions.handler(None), &first));
        let other = sessions.handler(Some("b"));
        assert!(same(&sessions.handler(Some("b")), &other));
        sessions.end("a");
        assert!(!same(&sessions.handler(Some("a")), &first));
        assert!(!same(&sessions.handler(Some(&"x".repeat(2_000))), &first));
        assert_eq!(sessions.len(), 2);
    }

    #[test]
    fn the_oldest_sessions_are_forgotten() {
        let sessions = Sessions::new(Arc::new(|| Box::new(PassThrough)));
        for number in 0..SESSIONS {
            sessions.handler(Some(&number.to_string()));
        }
        let used = sessions.handler(Some("0"));
        for number in 0..SESSIONS {
            sessions.handler(Some(&format!("new {number}")));
            if number % 500 == 0 {
                assert!(Arc::ptr_eq(&sessions.handler(Some("0")).0, &used.0));
            }
            assert!(sessions.len() <= SESSIONS);
        }
    }
}
