//! MCP servers in `config.toml`.

use super::wrapping::{self, Outcome, Outcomes, Wrapping, is_proxied, is_wrapped, started_by};
use crate::install::edit::splice;
use crate::install::record::{FileRecord, pointer};
use crate::install::shape::{newline_of, quoted};
use crate::install::started::Started;
use crate::install::toml_text::{TomlNode, TomlText};

const TABLE: &str = "mcp_servers";

/// Returns a string of TOML: a literal one, where that needs no escapes.
fn text_of(word: &str) -> String {
    if word.contains('"') && !word.contains('\'') { format!("'{word}'") } else { quoted(word) }
}

fn servers<'t, 'a>(toml: &'t TomlText<'a>) -> Vec<(String, TomlNode<'t, 'a>)> {
    toml.get(&[TABLE]).map(|table| table.members()).unwrap_or_default()
}

fn words<'t>(server: &TomlNode<'t, '_>) -> Option<Vec<&'t str>> {
    let Some(args) = server.get("args") else { return Some(Vec::new()) };
    args.is_array().then(|| args.elements().iter().map(TomlNode::string).collect()).flatten()
}

fn is_wrapped_server(server: &TomlNode<'_, '_>) -> bool {
    let is_shell = server.get("command").and_then(|command| command.string()) == Some("sh");
    is_shell && words(server).is_some_and(is_wrapped)
}

fn checked(old: &str, new: String) -> Result<String, String> {
    let what = "cannot be edited safely; the file is left as it is";
    let same = |text: &str| TomlText::parse(text).map(|toml| servers(&toml).len());
    match (same(old), same(&new)) {
        (Ok(before), Ok(after)) if before == after => Ok(new),
        _ => Err(what.to_owned()),
    }
}

fn parse(text: &str) -> Result<TomlText<'_>, String> {
    TomlText::parse(text)
        .map_err(|reason| format!("not valid TOML: {reason}; the file is left as it is"))
}

/// Wraps all servers that can be wrapped.
pub(super) fn wrap(
    text: &str,
    wrapping: Wrapping<'_>,
    record: &mut FileRecord,
) -> Result<(String, Outcomes), String> {
    let toml = parse(text)?;
    let (mut splices, mut outcomes) = (Vec::new(), Vec::new());
    for (name, server) in servers(&toml) {
        let wrapping = wrapping.of_server(&name);
        let kept = |reason: &str| Outcome::Kept(reason.to_owned());
        let command = server.get("command");
        let outcome = match (&command, command.and_then(|command| command.string()), words(&server))
        {
            _ if is_wrapped_server(&server) => {
                let args = server.get("args").map(|args| args.elements()).unwrap_or_default();
                let wrapping = wrapping.renewed(words(&server).unwrap_or_default().into_iter());
                for (old, new) in args.iter().zip(wrapping.words()) {
                    if old.string() != Some(&new) {
                        splices.push((old.span(), text_of(&new)));
                    }
                }
                Outcome::Renewed { is_closed: wrapping.is_closed }
            }
            _ if server.get("url").is_some() => {
                kept("it is over HTTP; wrap it by hand with `tamis mcp --stdio --upstream URL`")
            }
            (Some(node), Some(program), Some(args)) => {
                if is_proxied(program, args.first().copied()) {
                    outcomes.push((name, Outcome::Own));
                    continue;
                }
                let raw = text.get(node.span()).unwrap_or_default();
                let words = wrapping.words().map(|word| text_of(&word)).join(", ") + ", " + raw;
                splices.push((node.span(), quoted("sh")));
                let list = server.get("args");
                let first = list.and_then(|list| list.elements().first().map(TomlNode::span));
                match (list, first) {
                    (_, Some(first)) => {
                        splices.push((first.start..first.start, format!("{words}, ")))
                    }
                    (Some(list), None) => {
                        let at = list.span().start + 1;
                        splices.push((at..at, words));
                    }
                    (None, None) => {
                        let server_path = pointer(&pointer("", TABLE), &name);
                        record.added.insert(pointer(&server_path, "args"));
                        let at = node.span().end;
                        let lead = separator(text, node);
                        splices.push((at..at, format!("{lead}args = [{words}]")));
                    }
                }
                Outcome::Wrapped
            }
            (_, None, _) => kept("it has no command"),
            _ => kept("its arguments are not a list of strings"),
        };
        outcomes.push((name, outcome));
    }
    Ok((checked(text, splice(text, splices))?, outcomes))
}

/// Returns what is written between the command and the name `args`: in an inline table a comma, else the end of a line.
fn separator(text: &str, command: &TomlNode<'_, '_>) -> String {
    let before = text.get(..command.span().start).unwrap_or_default();
    let line =
        before.rsplit_once('\n').map_or(before, |(_, line)| line).trim_start_matches('\u{feff}');
    let key = line.trim_end_matches(|char: char| char == '=' || char.is_whitespace());
    if key.contains(['{', ',']) {
        return ", ".to_owned();
    }
    // A dotted name begins with that of the server.
    let names = ["command", "\"command\"", "'command'"];
    let prefix = names.iter().find_map(|name| key.strip_suffix(name));
    format!("{}{}", newline_of(text), prefix.unwrap_or_default())
}

/// Removes the proxy from all servers.
pub(super) fn unwrap(text: &str, record: &FileRecord) -> Result<String, String> {
    let toml = parse(text)?;
    let mut splices = Vec::new();
    for (name, server) in servers(&toml) {
        let (Some(command), Some(args)) = (server.get("command"), server.get("args")) else {
            continue;
        };
        let words = args.elements();
        let (Some(first), Some(own)) = (words.first(), words.get(3)) else { continue };
        if !is_wrapped_server(&server) {
            continue;
        }
        let raw = text.get(own.span()).unwrap_or_default();
        splices.push((command.span(), raw.to_owned()));
        let path = pointer(&pointer(&pointer("", TABLE), &name), "args");
        if let Some(next) = words.get(4) {
            splices.push((first.span().start..next.span().start, String::new()));
        } else if record.added.contains(&path) && command.span().end < args.span().start {
            splices.push((command.span().end..args.span().end, String::new()));
        } else {
            splices.push((first.span().start..own.span().end, String::new()));
        }
    }
    checked(text, splice(text, splices))
}

/// Returns the scripts of servers that start the proxy, but not in a form of ours.
pub(super) fn altered(text: &str) -> Result<Vec<String>, String> {
    let toml = parse(text)?;
    let all = servers(&toml);
    let scripts = all.iter().filter_map(|(_, server)| {
        let command = server.get("command").and_then(|command| command.string())?;
        wrapping::altered(command, words(server)?)
    });
    Ok(scripts.map(str::to_owned).collect())
}

/// Returns the program that each wrapped server starts.
pub(super) fn started(text: &str) -> Result<Vec<Started>, String> {
    let toml = parse(text)?;
    let servers = servers(&toml);
    let wrapped = servers.iter().filter(|(_, server)| is_wrapped_server(server));
    Ok(wrapped.map(|(_, server)| words(server)?.get(2).copied().and_then(started_by)).collect())
}
