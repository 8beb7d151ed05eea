//! MCP servers over HTTP: the proxy is started as a command and connects to the URL.
//!
//! No script can connect in its place, so there is no fallback. The entry from before is kept in a variable of the new
//! one, which is how it is recognised and restored.

use super::servers::Servers;
use super::wrapping::{REDACT, Wrapping, config};
use crate::install::json::{JsonFault, JsonNode, parse};
use crate::install::shape::Shape;

/// The variable with the entry from before.
const ORIGINAL: &str = "TAMIS_ORIGINAL";

/// Members that say how to connect, which the new entry says in another way.
const REPLACED: [&str; 5] = ["type", "url", "httpUrl", "serverUrl", "headers"];
/// Members that mean the same for a command.
const KEPT: [&str; 9] = [
    "enabled",
    "disabled",
    "timeout",
    "trust",
    "description",
    "tools",
    "includeTools",
    "excludeTools",
    "alwaysAllow",
];

/// Returns the entry for the proxy, or the reason why the server cannot have one.
pub(super) fn proxied(
    server: &JsonNode<'_>,
    kind: Servers,
    wrapping: Wrapping<'_>,
) -> Result<Result<Shape, String>, JsonFault> {
    let no = |reason: &str| Ok(Err(reason.to_owned()));
    let members = server.members()?;
    if let Some(other) = members.iter().find(|member| {
        !REPLACED.contains(&member.name.as_str()) && !KEPT.contains(&member.name.as_str())
    }) {
        return Ok(Err(format!(
            "it is over HTTP and has `{}`, which the proxy cannot do",
            other.name
        )));
    }
    let text = |name: &str| -> Result<Option<String>, JsonFault> {
        Ok(server.get(name)?.and_then(|value| value.string()))
    };
    let has_sse = text("type")?.is_some_and(|kind| kind == "sse");
    let (url, other) = (text("url")?, text("httpUrl")?);
    let Some(url) = other.or(url).or(text("serverUrl")?).filter(|url| url.starts_with("http"))
    else {
        return no("its URL is not known before it starts");
    };
    if has_sse {
        return no("its transport is SSE, and the proxy speaks streamable HTTP");
    }
    let headers =
        server.get("headers")?.map(|headers| headers.members()).transpose()?.unwrap_or_default();
    if headers.is_empty() {
        return no(
            "it is over HTTP without a static header, so it may need a login that only the agent can do",
        );
    }
    let redact = if wrapping.redacts == Some(true) { &REDACT[..] } else { &[] };
    let first = ["mcp", "--config", config(wrapping.scope), "--closed"];
    let last = ["--stdio", "--upstream", &url];
    let name = wrapping.name_words();
    let words = first.iter().chain(redact).chain(&name).chain(&last);
    let mut args: Vec<String> = words.map(|word| (*word).to_owned()).collect();
    let mut env = vec![(ORIGINAL.to_owned(), Shape::text(server.raw()))];
    for (at, header) in headers.iter().enumerate() {
        let Some(value) = header.value.string().filter(|value| !value.contains(['$', '{'])) else {
            return no("it is over HTTP, and not all of its headers are static");
        };
        let variable = format!("TAMIS_HEADER_{}", at + 1);
        args.extend(["--header".to_owned(), format!("{}=@env:{variable}", header.name)]);
        env.push((variable, Shape::Text(value)));
    }
    if url.contains(['$', '{']) {
        return no("its URL is not known before it starts");
    }
    if !wrapping.is_closed {
        return no("it is over HTTP, where the proxy has no fallback; add --closed to wrap it");
    }
    let words = args.iter().map(Shape::text);
    let mut entry = if kind == Servers::Words {
        let words = [Shape::text(wrapping.program)].into_iter().chain(words);
        vec![
            ("type".to_owned(), Shape::text("local")),
            ("command".to_owned(), Shape::Array(words.collect())),
            ("environment".to_owned(), Shape::Object(env)),
        ]
    } else {
        vec![
            ("command".to_owned(), Shape::text(wrapping.program)),
            ("args".to_owned(), Shape::Array(words.collect())),
            ("env".to_owned(), Shape::Object(env)),
        ]
    };
    let kind_of = members.iter().any(|member| member.name == "type") && kind != Servers::Words;
    if kind_of {
        entry.insert(0, ("type".to_owned(), Shape::text("stdio")));
    }
    let kept = members.iter().filter(|member| KEPT.contains(&member.name.as_str()));
    entry.extend(
        kept.map(|member| (member.name.clone(), Shape::Raw(member.value.raw().to_owned()))),
    );
    Ok(Ok(Shape::Object(entry)))
}

/// Returns the entry from before of a server that goes through the proxy.
pub(super) fn original(server: &JsonNode<'_>) -> Result<Option<String>, JsonFault> {
    for name in ["env", "environment"] {
        let variable = server.get(name)?.map(|env| env.get(ORIGINAL)).transpose()?.flatten();
        let text = variable.and_then(|value| value.string());
        if let Some(text) = text.filter(|text| parse(text).is_ok_and(|value| value.is_object())) {
            return Ok(Some(text));
        }
    }
    Ok(None)
}
