//! Which callers may use a listener of this process.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{HOST, ORIGIN};

/// Decides which callers may use a listener, by `Host` and `Origin`.
///
/// A web page can send requests to this machine, and can give its own name the address of this machine to do so (DNS
/// rebinding). Both show in these headers, which a page cannot choose.
#[derive(Clone, Debug)]
pub struct CallerCheck {
    loopback: bool,
    origins: Vec<String>,
}

impl CallerCheck {
    /// Creates the check for a listener. `origins` are allowed in addition to those of this machine.
    #[must_use]
    pub fn new(listener: SocketAddr, origins: Vec<String>) -> Self {
        Self { loopback: listener.ip().is_loopback(), origins }
    }

    /// Returns the reason why a request is refused. `authority` is the target of the request, in HTTP/2 and in requests to proxies.
    pub(crate) fn refuse(
        &self,
        headers: &HeaderMap,
        authority: Option<&str>,
    ) -> Option<RefusedCaller> {
        let mut hosts = headers.get_all(HOST).iter().map(|host| host.to_str().unwrap_or_default());
        let host = hosts.next().or(authority).unwrap_or_default();
        let are_local = || hosts.chain(authority).chain([host]).all(is_local);
        if self.loopback && !are_local() {
            return Some(RefusedCaller::Host);
        }
        let mut origins = headers.get_all(ORIGIN).iter();
        let origin = origins.next()?;
        let allowed = origins.next().is_none()
            && origin.to_str().is_ok_and(|origin| self.allows(origin, host));
        (!allowed).then_some(RefusedCaller::Origin)
    }

    fn allows(&self, origin: &str, host: &str) -> bool {
        if self.origins.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin)) {
            return true;
        }
        let name = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        // On a public address, a page of the same host may use the proxy.
        name.is_some_and(|name| {
            is_local(name) || (!self.loopback && name.eq_ignore_ascii_case(host))
        })
    }
}

/// Why a caller is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RefusedCaller {
    /// The name in `Host` is another machine's.
    Host,
    /// A web page of another origin.
    Origin,
}

impl RefusedCaller {
    /// Returns the reason for the caller.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Host => "the Host header does not name this machine",
            Self::Origin => "web pages of this origin may not use this address",
        }
    }
}

/// Returns whether a host, with or without a port, is this machine by its name.
fn is_local(host: &str) -> bool {
    let (name, port) = match host.strip_prefix('[') {
        Some(address) => match address.split_once(']') {
            Some((address, "")) => (address, None),
            Some((address, rest)) if rest.starts_with(':') => (address, rest.get(1..)),
            _ => return false,
        },
        None => host.split_once(':').map_or((host, None), |(name, port)| (name, Some(port))),
    };
    if port.is_some_and(|port| !port.bytes().all(|byte| byte.is_ascii_digit())) {
        return false;
    }
    let address = name.parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use hyper::HeaderMap;
    use hyper::header::{HOST, ORIGIN};

    use super::{CallerCheck, is_local};

    #[test]
    fn callers_of_a_local_proxy_are_on_this_machine() {
        // Host, origin, whether the request is accepted.
        let cases = [
            ("127.0.0.1:8931", None, true),
            ("localhost", None, true),
            ("[::1]:8931", None, true),
            ("LOCALHOST:1", Some("http://localhost:6274"), true),
            ("127.0.0.1:8931", Some("https://127.0.0.1"), true),
            ("127.0.0.1:8931", Some("http://[::1]:5"), true),
            ("127.0.0.1:8931", Some("https://app.example"), true),
            ("127.0.0.1:8931", Some("HTTPS://APP.example"), true),
            ("127.0.0.1:8931", Some("https://app.example.evil"), false),
            ("127.0.0.1:8931", Some("http://evil.example"), false),
            ("127.0.0.1:8931", Some("http://localhost.evil.example"), false),
            ("127.0.0.1:8931", Some("http://localhost@evil.example"), false),
            ("127.0.0.1:8931", Some("null"), false),
            ("127.0.0.1:8931", Some(""), false),
            ("evil.example:8931", None, false),
            ("evil.example", Some("http://evil.example"), false),
            ("127.0.0.1.evil.example", None, false),
            ("", None, false),
        ];
        let origins = vec![String::from("https://app.example")];
        let check = CallerCheck::new("127.0.0.1:8931".parse().unwrap(), origins);
        for (host, origin, accepted) in cases {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            if let Some(origin) = origin {
                headers.insert(ORIGIN, origin.parse().unwrap());
            }
            assert_eq!(check.refuse(&headers, None).is_none(), accepted, "{host} {origin:?}");
        }
    }

    #[test]
    fn callers_of_a_public_proxy_are_pages_of_its_host() {
        let check = CallerCheck::new("0.0.0.0:80".parse().unwrap(), Vec::new());
        for (origin, accepted) in [("https://mcp.example", true), ("https://evil.example", false)] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, "mcp.example".parse().unwrap());
            assert!(check.refuse(&headers, None).is_none());
            headers.insert(ORIGIN, origin.parse().unwrap());
            assert_eq!(check.refuse(&headers, None).is_none(), accepted, "{origin}");
        }
    }

    #[test]
    fn local_names_are_exact() {
        for host in ["localhost", "127.0.0.1", "127.9.9.9:1", "[::1]", "[::1]:443"] {
            assert!(is_local(host), "{host}");
        }
        for host in [
            "localhost.",
            "0.0.0.0",
            "::1",
            "[::1",
            "[::1]x",
            "[::1]:a",
            "localhost:80@evil.example",
            "[::2]",
            "10.0.0.1",
            "a:1",
        ] {
            assert!(!is_local(host), "{host}");
        }
    }
}
