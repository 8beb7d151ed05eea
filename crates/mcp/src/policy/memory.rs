//! Tasks and resources that lead to the filter of a tool.
//!
//! A result may come long after the call, as the result of a task, and a client may read a resource that a filtered
//! result named. Both have to be filtered like the result itself.

use std::collections::hash_map::RandomState;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasher, Hash};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tamis::MarkTable;
use tamis_store::Scope;

use super::earlier_results::EarlierResults;
use super::tool_call::ToolCall;
use crate::jsonrpc::Id;

/// The key of a task or a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Named {
    Task,
    Resource,
}

/// The facts about a name.
#[derive(Clone, Debug)]
pub(crate) enum Recalled {
    /// It came from this call.
    Call(Box<ToolCall>),
    /// Nothing.
    Unknown,
    /// Nothing, but names were forgotten that must not pass unfiltered.
    Forgotten,
}

/// Tasks and resources of one client, or of all clients without sessions.
///
/// Only hashes of the names are kept. Two names of one hash would share a filter, which is harmless.
#[derive(Debug)]
pub(crate) struct Memory {
    hasher: RandomState,
    tables: Mutex<Tables>,
    most: usize,
    /// The marks of the session's personal data. Clients without sessions have none: nothing tells their calls apart.
    marks: Option<MarkTable>,
    /// The client has the explanation of factored documents.
    has_explained: AtomicBool,
    earlier: Mutex<EarlierResults>,
}

#[derive(Debug, Default)]
struct Tables {
    /// Names whose filter removes for safety, and the others. They are bounded apart, so that many names of the second
    /// kind do not make the proxy forget those of the first.
    safety: Table,
    saving: Table,
    forgot_safety: bool,
}

#[derive(Debug, Default)]
struct Table {
    calls: HashMap<u64, ToolCall>,
    order: VecDeque<u64>,
}

impl Table {
    /// Adds a name. Returns whether another one was forgotten for it.
    fn add(&mut self, key: u64, call: ToolCall, most: usize) -> bool {
        if self.calls.insert(key, call).is_none() {
            self.order.push_back(key);
        }
        if self.order.len() <= most {
            return false;
        }
        self.order.pop_front().is_some_and(|oldest| self.calls.remove(&oldest).is_some())
    }
}

impl Memory {
    /// Creates the memory of clients without sessions.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            marks: None,
            hasher: RandomState::new(),
            tables: Mutex::default(),
            most,
            has_explained: AtomicBool::new(false),
            earlier: Mutex::default(),
        }
    }

    /// Creates the memory of one session.
    pub(crate) fn of_session(most: usize) -> Self {
        Self { marks: Some(MarkTable::new()), ..Self::new(most) }
    }

    /// Returns the marks of the session's personal data.
    pub(crate) fn marks(&self) -> Option<&MarkTable> {
        self.marks.as_ref()
    }

    /// Returns the results that the client of a session has in full. `None`: clients without sessions share the memory.
    pub(crate) fn earlier(&self) -> Option<MutexGuard<'_, EarlierResults>> {
        self.marks.as_ref()?;
        Some(self.earlier.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes that the client has cancelled a request.
    pub(crate) fn cancel(&self, request: &Id) {
        if let Some(mut earlier) = self.earlier() {
            earlier.cancel(request);
        }
    }

    /// Notes that factored documents are explained. Returns whether they were before.
    pub(crate) fn explain(&self) -> bool {
        self.has_explained.swap(true, Ordering::Relaxed)
    }

    /// Remembers which call a name came from. `scope` tells clients apart that share this memory.
    pub(crate) fn add(&self, kind: Named, scope: &Scope, name: &str, call: &ToolCall) {
        let key = self.key(kind, scope, name);
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if call.filter.removes_for_safety {
            if tables.safety.add(key, call.clone(), self.most) {
                tables.forgot_safety = true;
            }
        } else if !tables.safety.calls.contains_key(&key) {
            tables.saving.add(key, call.clone(), self.most);
        }
    }

    /// Returns what is known of a name.
    pub(crate) fn recall(&self, kind: Named, scope: &Scope, name: &str) -> Recalled {
        let key = self.key(kind, scope, name);
        let tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        let found = tables.safety.calls.get(&key).or_else(|| tables.saving.calls.get(&key));
        match found {
            Some(call) => Recalled::Call(Box::new(call.clone())),
            None if tables.forgot_safety => Recalled::Forgotten,
            None => Recalled::Unknown,
        }
    }

    fn key(&self, kind: Named, scope: &Scope, name: &str) -> u64 {
        let normal;
        let name = match kind {
            Named::Task => name.as_bytes(),
            Named::Resource => {
                normal = normal_uri(name);
                &normal
            }
        };
        self.hasher.hash_one(Key { kind, scope, name })
    }
}

/// Returns a spelling that URIs of one resource share. A server may accept any of them. Two resources of one spelling
/// would share a filter, which is harmless.
fn normal_uri(uri: &str) -> Vec<u8> {
    let uri = uri.trim();
    let uri = uri.split_once('#').map_or(uri, |(before, _)| before);
    let scheme = uri.find(':').unwrap_or(0);
    let mut normal = Vec::with_capacity(uri.len());
    let mut bytes = uri.bytes().enumerate();
    while let Some((at, byte)) = bytes.next() {
        let escaped = uri.get(at + 1..at + 3).filter(|_| byte == b'%');
        let escaped = escaped.filter(|hex| hex.bytes().all(|digit| digit.is_ascii_hexdigit()));
        if let Some(byte) = escaped.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            normal.push(byte);
            _ = bytes.nth(1);
        } else {
            normal.push(if at < scheme { byte.to_ascii_lowercase() } else { byte });
        }
    }
    normal
}

#[derive(Hash)]
struct Key<'a> {
    kind: Named,
    scope: &'a Scope,
    name: &'a [u8],
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tamis::CallOptions;

    use super::{Memory, Named, Recalled};
    use crate::policy::tool_call::{ListedSchema, ToolCall};
    use crate::rules::{Profile, ToolFilter};
    use tamis_store::Scope;

    fn call(safety: bool) -> ToolCall {
        let saving = || ToolFilter::of_profile(Profile::Standard).unwrap().unwrap();
        let filter = if safety { ToolFilter::refusing("") } else { saving() };
        ToolCall {
            tool: "t".into(),
            filter: Arc::new(filter),
            options: CallOptions::new(),
            query: tamis_text::cut::Query::default(),
            delta: None,
            listed: ListedSchema::Nothing,
            in_script: false,
        }
    }

    #[test]
    fn spellings_of_one_uri_are_one_name() {
        let (memory, scope) = (Memory::new(9), Scope::process());
        memory.add(Named::Resource, &scope, "file:///a b", &call(true));
        memory.add(Named::Resource, &scope, "x:1", &call(true));
        memory.add(Named::Task, &scope, "t%31", &call(true));
        for uri in ["file:///a%20b", "FILE:///a b", " x:1 ", "X:1#f", "x:%31", "x:%31#"] {
            let recalled = memory.recall(Named::Resource, &scope, uri);
            assert!(matches!(recalled, Recalled::Call(_)), "{uri}");
        }
        for uri in ["file:///A b", "x:2", "x:%3", "x:1%"] {
            let recalled = memory.recall(Named::Resource, &scope, uri);
            assert!(matches!(recalled, Recalled::Unknown), "{uri}");
        }
        assert!(matches!(memory.recall(Named::Task, &scope, "t1"), Recalled::Unknown));
    }

    #[test]
    fn names_for_safety_are_kept_before_others() {
        let (memory, scope) = (Memory::new(3), Scope::process());
        memory.add(Named::Resource, &scope, "secret", &call(true));
        for number in 0..10 {
            memory.add(Named::Resource, &scope, &number.to_string(), &call(false));
        }
        let recall = |kind, scope: &Scope, name: &str| memory.recall(kind, scope, name);
        assert!(matches!(recall(Named::Resource, &scope, "secret"), Recalled::Call(_)));
        assert!(matches!(recall(Named::Resource, &scope, "9"), Recalled::Call(_)));
        assert!(matches!(recall(Named::Resource, &scope, "0"), Recalled::Unknown));
        assert!(matches!(recall(Named::Task, &scope, "9"), Recalled::Unknown));
        assert!(matches!(recall(Named::Resource, &Scope::user(), "9"), Recalled::Unknown));
        for number in 0..3 {
            memory.add(Named::Resource, &scope, &format!("s{number}"), &call(true));
        }
        assert!(matches!(recall(Named::Resource, &scope, "secret"), Recalled::Forgotten));
    }
}
