//! Scopes: the callers that may read an entry.
//!
//! An entry belongs to the scope in which it was written, and every read names the scope of the reader. A handle is not
//! enough to read the entry of another session or another user. Only hashes of credentials are kept.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// The caller to whom an entry belongs.
///
/// ```
/// use tamis_store::Scope;
///
/// let mine = Scope::authorization(Some(b"Bearer a"));
/// assert!(mine.may_read(&Scope::authorization(Some(b"Bearer a"))));
/// assert!(!mine.may_read(&Scope::authorization(Some(b"Bearer b"))));
/// assert!(!mine.may_read(&Scope::user()));
/// // Without a credential, whoever knows the handle may read.
/// assert!(mine.may_read(&Scope::authorization(None)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Scope {
    kind: ScopeKind,
    /// SHA-256 of what identifies the caller. `None` for kinds with a single caller.
    key: Option<[u8; 32]>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum ScopeKind {
    Process,
    User,
    Handle,
    Session,
    Authorization,
    Header,
}

impl ScopeKind {
    const ALL: [(Self, &'static str); 6] = [
        (Self::Process, "process"),
        (Self::User, "user"),
        (Self::Handle, "handle"),
        (Self::Session, "session"),
        (Self::Authorization, "authorization"),
        (Self::Header, "header"),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(kind, _)| *kind == self).map_or("", |(_, name)| name)
    }

    /// Whether the kind has many callers, which are told apart by a key.
    fn has_key(self) -> bool {
        matches!(self, Self::Session | Self::Authorization | Self::Header)
    }
}

impl Scope {
    /// The scope of a process with a single client, such as a proxy over standard input and output. For stores in
    /// memory.
    #[must_use]
    pub fn process() -> Self {
        Self { kind: ScopeKind::Process, key: None }
    }

    /// The scope of the user to whom the folder of the store belongs. `tamis recall` reads in this scope.
    #[must_use]
    pub fn user() -> Self {
        Self { kind: ScopeKind::User, key: None }
    }

    /// The scope of a session, by the value of its `Mcp-Session-Id` header.
    #[must_use]
    pub fn session(id: &[u8]) -> Self {
        Self::keyed(ScopeKind::Session, &[id])
    }

    /// The scope of the callers in a session with this value of a header.
    #[must_use]
    pub fn session_with(id: &[u8], name: &str, value: Option<&[u8]>) -> Self {
        let name = name.to_ascii_lowercase();
        match value {
            Some(value) => Self::keyed(ScopeKind::Session, &[id, name.as_bytes(), value]),
            None => Self::keyed(ScopeKind::Session, &[id, name.as_bytes()]),
        }
    }

    /// The scope of the callers with this value of the `Authorization` header. Without the header, everyone who knows
    /// the handle may read the entry.
    #[must_use]
    pub fn authorization(value: Option<&[u8]>) -> Self {
        match value {
            Some(value) => Self::keyed(ScopeKind::Authorization, &[value]),
            None => Self { kind: ScopeKind::Handle, key: None },
        }
    }

    /// The scope of the callers with this value of a header. Callers without the header have a scope of their own.
    /// Names are compared without regard to case.
    #[must_use]
    pub fn header(name: &str, value: Option<&[u8]>) -> Self {
        let name = name.to_ascii_lowercase();
        match value {
            Some(value) => Self::keyed(ScopeKind::Header, &[name.as_bytes(), value]),
            None => Self::keyed(ScopeKind::Header, &[name.as_bytes()]),
        }
    }

    fn keyed(kind: ScopeKind, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        hash.update(kind.name());
        for part in parts {
            // The length keeps `a` + `bc` apart from `ab` + `c`.
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        Self { kind, key: Some(hash.finalize().into()) }
    }

    /// Returns whether it is one of several in the process, which share its store.
    pub(crate) fn is_one_of_several(&self) -> bool {
        !matches!(self.kind, ScopeKind::Process | ScopeKind::User)
    }

    /// Returns whether a caller in this scope may read an entry that was written in the scope `owner`.
    #[must_use]
    pub fn may_read(&self, owner: &Self) -> bool {
        owner.kind == ScopeKind::Handle || self == owner
    }

    /// Parses what [`Display`](fmt::Display) wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let (name, key) = match text.split_once(':') {
            Some((name, key)) => (name, Some(key)),
            None => (text, None),
        };
        let (kind, _) = *ScopeKind::ALL.iter().find(|(_, known)| *known == name)?;
        if kind.has_key() != key.is_some() {
            return None;
        }
        let key = match key {
            Some(key) => Some(from_hex(key)?),
            None => None,
        };
        Some(Self { kind, key })
    }
}

/// The text in the header of an entry: the kind, and the hash in hexadecimal.
impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name())?;
        if let Some(key) = &self.key {
            f.write_str(":")?;
            key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        }
        Ok(())
    }
}

/// Parses 64 hexadecimal digits.
fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut key = [0; 32];
    if text.len() != 2 * key.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(key)
}

#[cfg(test)]
mod tests {
    use super::Scope;

    fn all() -> Vec<Scope> {
        vec![
            Scope::process(),
            Scope::user(),
            Scope::session(b"1"),
            Scope::session(b"2"),
            Scope::authorization(Some(b"1")),
            Scope::authorization(Some(b"")),
            Scope::header("x-user", Some(b"1")),
            Scope::header("x-tenant", Some(b"1")),
            Scope::header("x-user", Some(b"")),
            Scope::header("x-user", None),
        ]
    }

    #[test]
    fn only_the_same_scope_may_read() {
        for (at, reader) in all().iter().enumerate() {
            for (other, owner) in all().iter().enumerate() {
                assert_eq!(reader.may_read(owner), at == other, "{reader} {owner}");
            }
            let open = Scope::authorization(None);
            assert!(reader.may_read(&open) && !open.may_read(reader), "{reader}");
        }
        assert_eq!(Scope::header("X-User", Some(b"1")), Scope::header("x-user", Some(b"1")));
    }

    #[test]
    fn scopes_are_written_and_parsed() {
        for scope in all().into_iter().chain([Scope::authorization(None)]) {
            assert_eq!(Scope::parse(&scope.to_string()), Some(scope));
        }
        let session = Scope::session(b"1").to_string();
        for text in ["", "users", "user:", "session", "session:", &session[1..], &session[..70]] {
            assert_eq!(Scope::parse(text), None, "{text}");
        }
    }
}
