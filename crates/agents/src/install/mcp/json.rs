//! MCP servers in JSON files.

use std::borrow::Cow;
use std::ops::Range;

use super::http::{original, proxied};
use super::servers::Servers;
use super::wrapping::{
    self, Outcome, Outcomes, REDACT, Wrapping, is_proxied, is_wrapped, started_by,
};
use crate::install::edit::{Step, remove, splice};
use crate::install::json::{JsonFault, JsonMember, JsonNode, parse, without_comments};
use crate::install::record::{FileRecord, pointer};
use crate::install::shape::{Layout, Shape, indent_at, quoted};
use crate::install::started::Started;

/// A server in the text: the names that lead to it, and its value.
struct Server<'a> {
    path: Vec<String>,
    value: JsonNode<'a>,
}

impl Server<'_> {
    fn name(&self) -> String {
        match self.path.as_slice() {
            [_, project, _, name] => format!("{name} of {project}"),
            path => path.last().cloned().unwrap_or_default(),
        }
    }

    fn pointer(&self) -> String {
        self.path.iter().fold(String::new(), |path, name| pointer(&path, name))
    }
}

fn servers<'a>(root: &JsonNode<'a>, kind: Servers) -> Result<Vec<Server<'a>>, JsonFault> {
    let mut found = Vec::new();
    let key = kind.key();
    let mut list = |path: &[&str], parent: &JsonNode<'a>| -> Result<(), JsonFault> {
        for JsonMember { name, value, .. } in members(parent.get(key)?)? {
            let parents = path.iter().copied().chain([key]).map(str::to_owned);
            found.push(Server { path: parents.chain([name]).collect(), value });
        }
        Ok(())
    };
    list(&[], root)?;
    if kind == Servers::Projects {
        for JsonMember { name, value, .. } in members(root.get("projects")?)? {
            list(&["projects", &name], &value)?;
        }
    }
    Ok(found)
}

fn members<'a>(node: Option<JsonNode<'a>>) -> Result<Vec<JsonMember<'a>>, JsonFault> {
    node.map_or(Ok(Vec::new()), |node| node.members())
}

/// The words of a server's command line: the places of their strings.
struct CommandLine<'a> {
    /// The string of the command, where it is not one of the words.
    command: Option<JsonMember<'a>>,
    /// The array.
    list: Option<JsonNode<'a>>,
    words: Vec<(String, Range<usize>)>,
}

impl<'a> CommandLine<'a> {
    /// Reads the command line. `Err`: the reason why the server cannot be wrapped.
    fn read(server: &JsonNode<'a>, kind: Servers) -> Result<Result<Self, String>, JsonFault> {
        let (command, list) = if kind == Servers::Words {
            (None, server.get("command")?)
        } else {
            let command = server.member("command")?;
            if command.as_ref().is_none_or(|command| command.value.string().is_none()) {
                return Ok(Err("it has no command".to_owned()));
            }
            (command, server.get("args")?)
        };
        let elements = list.map(|list| list.elements()).transpose()?.unwrap_or_default();
        let words: Option<Vec<_>> =
            elements.iter().map(|word| Some((word.string()?, word.start..word.end))).collect();
        let is_list = list.is_none_or(|list| list.is_array());
        Ok(match words.filter(|_| is_list) {
            None => Err("its arguments are not a list of strings".to_owned()),
            Some(words) if command.is_none() && words.is_empty() => {
                Err("it has no command".to_owned())
            }
            Some(words) => Ok(Self { command, list, words }),
        })
    }

    /// Returns the words after the command.
    fn args(&self) -> impl Iterator<Item = &str> {
        let skipped = usize::from(self.command.is_none());
        self.words.iter().skip(skipped).map(|(word, _)| word.as_str())
    }

    fn program(&self) -> String {
        match &self.command {
            Some(command) => command.value.string().unwrap_or_default(),
            None => self.words.first().map(|(word, _)| word.clone()).unwrap_or_default(),
        }
    }

    fn is_wrapped(&self) -> bool {
        self.program() == "sh" && is_wrapped(self.args())
    }

    /// Whether it starts the proxy itself.
    fn is_proxied(&self) -> bool {
        is_proxied(&self.program(), self.args().next())
    }
}

/// Wraps all servers that can be wrapped.
pub(super) fn wrap(
    text: &str,
    kind: Servers,
    wrapping: Wrapping<'_>,
    record: &mut FileRecord,
) -> Result<(String, Outcomes), String> {
    let fault = |fault: JsonFault| format!("{fault}; the file is left as it is");
    let (original, plain) = (text, plain(text, kind));
    let text = &*plain;
    let root = parse(text).map_err(fault)?;
    let (mut splices, mut outcomes) = (Vec::new(), Vec::new());
    for server in servers(&root, kind).map_err(fault)? {
        let name = server.name();
        let span = server.value.start..server.value.end;
        if is_remote(&server.value) && original.get(span.clone()) != text.get(span) {
            let reason = "it is over HTTP and has comments, which would be lost";
            outcomes.push((name, Outcome::Kept(reason.to_owned())));
            continue;
        }
        let wrapping = wrapping.of_server(&name);
        let outcome = wrap_server(text, &server, kind, wrapping, record, &mut splices);
        outcomes.push((name, outcome.map_err(fault)?));
    }
    Ok((splice(original, splices), outcomes))
}

/// Returns the text with spaces in place of what only some agents allow in JSON. All values stay where they are.
fn plain(text: &str, kind: Servers) -> Cow<'_, str> {
    match kind.allows_comments() && parse(text) == Err(JsonFault::Comments) {
        true => Cow::Owned(without_comments(text)),
        false => Cow::Borrowed(text),
    }
}

/// Whether a server is over HTTP.
fn is_remote(server: &JsonNode<'_>) -> bool {
    ["url", "httpUrl", "serverUrl"].iter().any(|name| matches!(server.get(name), Ok(Some(_))))
}

type Splices = Vec<(Range<usize>, String)>;

fn wrap_server(
    text: &str,
    server: &Server<'_>,
    kind: Servers,
    wrapping: Wrapping<'_>,
    record: &mut FileRecord,
    splices: &mut Splices,
) -> Result<Outcome, JsonFault> {
    let value = &server.value;
    if !value.is_object() {
        return Ok(Outcome::Kept("it is not an object".to_owned()));
    }
    if original(value)?.is_some() {
        let Some(line) = CommandLine::read(value, kind)?.ok().filter(CommandLine::is_proxied)
        else {
            return Ok(Outcome::Own);
        };
        if let Some(redacts) = wrapping.redacts {
            splices.extend(redacted(text, &line, redacts));
        }
        return Ok(Outcome::Renewed { is_closed: true });
    }
    if is_remote(value) {
        return Ok(match proxied(value, kind, wrapping)? {
            Err(reason) => Outcome::Kept(reason),
            Ok(new) => {
                splices.push((value.start..value.end, rendered(text, value, &new)?));
                Outcome::Wrapped
            }
        });
    }
    let line = match CommandLine::read(value, kind)? {
        Ok(line) => line,
        Err(reason) => return Ok(Outcome::Kept(reason)),
    };
    if line.is_wrapped() {
        let own = usize::from(line.command.is_none());
        let wrapping = wrapping.renewed(line.args());
        for ((old, range), new) in line.words.iter().skip(own).zip(wrapping.words()) {
            if *old != new {
                splices.push((range.clone(), quoted(&new)));
            }
        }
        return Ok(Outcome::Renewed { is_closed: wrapping.is_closed });
    }
    if line.is_proxied() {
        return Ok(Outcome::Own);
    }
    let mut words: Vec<String> = wrapping.words().iter().map(|word| quoted(word)).collect();
    match &line.command {
        None => words.insert(0, quoted("sh")),
        Some(command) => {
            words.push(command.value.raw().to_owned());
            splices.push((command.value.start..command.value.end, quoted("sh")));
        }
    }
    let words = words.join(", ");
    match (&line.list, line.words.first(), &line.command) {
        (_, Some((_, first)), _) => {
            splices.push((first.start..first.start, format!("{words}, ")));
        }
        (Some(list), None, _) => splices.push((list.start + 1..list.start + 1, words)),
        (None, None, Some(command)) => {
            record.added.insert(pointer(&server.pointer(), "args"));
            let before = text.get(..command.start).unwrap_or_default();
            let blanks = before.len() - before.trim_end().len();
            let lead = before.get(before.len() - blanks..).unwrap_or_default();
            let between = text.get(command.start..command.value.start).unwrap_or_default();
            let colon = if between.ends_with(' ') { ": " } else { ":" };
            let at = command.value.end;
            splices.push((at..at, format!(",{lead}\"args\"{colon}[{words}]")));
        }
        (None, None, None) => {}
    }
    Ok(Outcome::Wrapped)
}

/// Returns the changes after which the arguments of a proxy say whether it replaces credentials. All other words are unchanged,
/// and so is `personal`.
fn redacted(text: &str, line: &CommandLine<'_>, redacts: bool) -> Splices {
    let [flag, secrets] = REDACT;
    let words = &line.words;
    let own = words.iter().take_while(|(word, _)| word != "--").count();
    let places = (0..own).filter_map(|at| {
        let (word, _) = words.get(at)?;
        if word == flag {
            return Some((at, at + 1, "", words.get(at + 1)?.0.as_str()));
        }
        let (prefix, value) = word.split_at_checked(flag.len() + 1)?;
        (prefix.strip_suffix('=') == Some(flag)).then_some((at, at, prefix, value))
    });
    let places: Vec<_> = places.collect();
    let has_secrets = |value: &str| value.split(',').any(|what| what == secrets);
    let span = |at: usize| words.get(at).map(|(_, range)| range.clone());
    let mut splices = Splices::new();
    if !redacts {
        for (first, last, prefix, value) in
            places.into_iter().filter(|(_, _, _, value)| has_secrets(value))
        {
            let others: Vec<_> = value.split(',').filter(|what| *what != secrets).collect();
            // `mcp` is before the flag.
            let before = first.checked_sub(1).and_then(span);
            let (Some(before), Some(end)) = (before, span(last)) else { continue };
            splices.push(if others.is_empty() {
                (before.end..end.end, String::new())
            } else {
                (end, quoted(&format!("{prefix}{}", others.join(","))))
            });
        }
        return splices;
    }
    if places.iter().any(|(_, _, _, value)| has_secrets(value)) {
        return splices;
    }
    if let Some((_, last, prefix, value)) = places.first() {
        let new = quoted(&format!("{prefix}{secrets},{value}"));
        splices.extend(span(*last).map(|range| (range, new)));
    } else {
        // After `--closed`, as in new entries, or else after `mcp`.
        let after = |name: &str| words.iter().take(own).position(|(word, _)| word == name);
        let at = after("--closed").or_else(|| after("mcp")).and_then(span);
        let before = at.as_ref().and_then(|at| {
            words.iter().rev().find(|(_, range)| range.end <= at.start).map(|(_, range)| range.end)
        });
        if let Some(at) = at {
            let blanks = before.and_then(|end| text.get(end..at.start)).unwrap_or(", ");
            let new = format!("{blanks}{}{blanks}{}", quoted(flag), quoted(secrets));
            splices.push((at.end..at.end, new));
        }
    }
    splices
}

/// Returns the text of a new entry in the place of an old one.
fn rendered(text: &str, old: &JsonNode<'_>, new: &Shape) -> Result<String, JsonFault> {
    let layout = Layout::of(text, &parse(text)?)?;
    let indent = indent_at(text, old.start);
    let is_long = old.raw().contains('\n');
    Ok(new.render(&if is_long { layout } else { layout.on_one_line() }, indent))
}

/// Removes the proxy from all servers.
pub(super) fn unwrap(text: &str, kind: Servers, record: &FileRecord) -> Result<String, String> {
    let fault = |fault: JsonFault| format!("{fault}; the file is left as it is");
    let (mut whole, plain_text) = (text.to_owned(), plain(text, kind));
    let text = &*plain_text;
    let root = parse(text).map_err(fault)?;
    let (mut splices, mut added) = (Vec::new(), Vec::new());
    for server in servers(&root, kind).map_err(fault)? {
        if let Some(raw) = original(&server.value).map_err(fault)? {
            splices.push((server.value.start..server.value.end, raw));
            continue;
        }
        let Ok(line) = CommandLine::read(&server.value, kind).map_err(fault)? else { continue };
        if !line.is_wrapped() {
            continue;
        }
        let own = if line.command.is_some() { 3 } else { 4 };
        let (Some((_, first)), Some((_, command))) = (line.words.first(), line.words.get(own))
        else {
            continue;
        };
        match &line.command {
            None => splices.push((first.start..command.start, String::new())),
            Some(old) => {
                let raw = text.get(command.clone()).unwrap_or_default().to_owned();
                splices.push((old.value.start..old.value.end, raw));
                let next = line.words.get(own + 1).map(|(_, next)| next.start);
                splices.push((first.start..next.unwrap_or(command.end), String::new()));
                if next.is_none() && record.added.contains(&pointer(&server.pointer(), "args")) {
                    added.push(server.path);
                }
            }
        }
    }
    whole = splice(&whole, splices);
    for path in added {
        let steps = path.iter().map(|name| Step::Name(name)).chain([Step::Name("args")]);
        let steps: Vec<_> = steps.collect();
        let text = plain(&whole, kind).into_owned();
        let edited = remove(&text, &steps, Some(record)).map_err(fault)?.unwrap_or_default();
        whole = with_removed(&whole, &text, &edited);
    }
    Ok(whole)
}

/// Removes from `original` what was removed from `plain`, the same text without comments, at one place.
fn with_removed(original: &str, plain: &str, edited: &str) -> String {
    let same = |(one, other): &(u8, u8)| one == other;
    let start = plain.bytes().zip(edited.bytes()).take_while(same).count();
    let most = edited.len() - start;
    let end = plain.bytes().rev().zip(edited.bytes().rev()).take(most).take_while(same).count();
    let parts = [
        original.get(..start),
        edited.get(start..edited.len() - end),
        original.get(original.len() - end..),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns the scripts of servers that start the proxy, but not in a form of ours.
pub(super) fn altered(text: &str, kind: Servers) -> Result<Vec<String>, String> {
    let fault = |fault: JsonFault| fault.to_string();
    let mut found = Vec::new();
    let text = &*plain(text, kind);
    for server in servers(&parse(text).map_err(fault)?, kind).map_err(fault)? {
        let Ok(line) = CommandLine::read(&server.value, kind).map_err(fault)? else { continue };
        found.extend(wrapping::altered(&line.program(), line.args()).map(str::to_owned));
    }
    Ok(found)
}

/// Returns the program that each wrapped server starts.
pub(super) fn started(text: &str, kind: Servers) -> Result<Vec<Started>, String> {
    let fault = |fault: JsonFault| fault.to_string();
    let mut found = Vec::new();
    let text = &*plain(text, kind);
    for server in servers(&parse(text).map_err(fault)?, kind).map_err(fault)? {
        let line = CommandLine::read(&server.value, kind).map_err(fault)?;
        let is_remote = original(&server.value).map_err(fault)?.is_some();
        let Ok(line) = line else { continue };
        if is_remote {
            found.push(started_by(&line.program()));
        } else if line.is_wrapped() {
            found.push(line.args().nth(2).and_then(started_by));
        }
    }
    Ok(found)
}
