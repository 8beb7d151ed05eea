//! A suggested filter: its members, and its manifest with a comment on every line.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde::Serialize;

use super::choose::{self, Choice};
use super::names::MemberKind;
use super::rank::{Candidate, Reason, candidates};
use super::root::{self, Payload};
use super::sample::{PathNode, Samples};
use super::sources::{Source, excluded, join, path_from, sources};
use crate::is_hidden;

/// The members that were left out and have a line each.
const MAX_LINES: usize = 40;

/// The members that are omitted. More are names that are data.
const MAX_OMITTED: usize = 500;

/// The number of items from which a limit is suggested, and the limit.
const MANY_ITEMS: u64 = 200;
const MAX_ITEMS: u64 = 100;

/// A member of the samples, and what the suggested filter does with it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Member {
    /// The path from the item.
    pub path: String,
    /// The filter keeps it.
    pub kept: bool,
    /// Its purpose.
    pub kind: MemberKind,
    /// Why it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The number of its values, without nulls and empty ones.
    pub values: u64,
    /// The bytes of all its values, with their names.
    pub bytes: u64,
    /// It holds credentials or personal numbers, so it is never selected.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_credential: bool,
    /// The beginning of its first value. Absent if a value has a credential.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub example: Option<String>,
}

/// A filter that samples suggest.
///
/// Serialises to an object with the members of [`members`](Self::members) and the text of the manifest.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Suggestion {
    root: String,
    documents: u64,
    items: u64,
    bytes: u64,
    members: Vec<Member>,
    manifest: String,
}

impl Suggestion {
    /// Returns the manifest in tamis' own format, with one filter.
    #[must_use]
    pub fn manifest(&self) -> &str {
        &self.manifest
    }

    /// Returns the root: `first` for an array, `object` for a single object, or a path.
    #[must_use]
    pub fn root(&self) -> &str {
        &self.root
    }

    /// Returns the number of items in the samples.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Returns the members of an item, in document order.
    #[must_use]
    pub fn members(&self) -> &[Member] {
        &self.members
    }
}

impl Samples {
    /// Suggests a careful filter with this name: it keeps everything but noise, nulls and credentials.
    ///
    /// The same samples always give the same filter.
    #[must_use]
    pub fn suggest(&self, name: &str) -> Suggestion {
        let payload = self.payload();
        let mut candidates = candidates(self, &payload);
        let choice = choose::careful(self, &payload, &mut candidates);
        self.suggestion(name, &payload, &candidates, &choice, None)
    }

    /// Suggests a tight filter with this name, which selects members: it aims at 30 % of the tokens. It selects no personal data.
    ///
    /// The same samples always give the same filter.
    #[must_use]
    pub fn suggest_tight(&self, name: &str) -> Suggestion {
        let payload = self.payload();
        let mut candidates = candidates(self, &payload);
        let mut choice = choose::tight(self, &payload, &candidates);
        for this in &mut candidates {
            let is_personal = self.node(this.node).is_some_and(PathNode::is_personal);
            if is_personal && this.reason != Some(Reason::Credential) {
                this.reason = Some(Reason::Personal);
                choice.kept.remove(&this.node);
            }
        }
        let sources = sources(self, payload.item, &choice.kept);
        self.suggestion(name, &payload, &candidates, &choice, Some(&sources))
    }

    /// Returns where the items are: the document, if a credential is outside of them.
    fn payload(&self) -> Payload {
        let found = root::find(self);
        match choose::has_sibling_credential(self, &found) {
            true => Payload { item: 0, path: Vec::new(), is_array: false },
            false => found,
        }
    }

    fn suggestion(
        &self,
        name: &str,
        payload: &Payload,
        candidates: &[Candidate],
        choice: &Choice,
        sources: Option<&[Source]>,
    ) -> Suggestion {
        let members =
            candidates.iter().filter_map(|this| self.member(payload, choice, this)).collect();
        let writer = ManifestWriter { samples: self, payload, choice, text: String::new() };
        Suggestion {
            root: self.root(payload),
            documents: self.documents,
            items: self.items(payload),
            bytes: self.bytes,
            members,
            manifest: writer.manifest(name, sources, candidates),
        }
    }

    fn member(&self, payload: &Payload, choice: &Choice, this: &Candidate) -> Option<Member> {
        let node = self.node(this.node)?;
        let kept = choice.kept.contains(&this.node);
        let is_credential = this.reason == Some(Reason::Credential);
        // The query of an address may have a key, and a `value` may be that of a credential.
        let shows_example = !is_credential
            && node.credentials == 0
            && !node.example.as_deref().is_some_and(|example| example.contains('?'))
            && node.name.as_deref() != Some("value");
        Some(Member {
            path: path_from(self, payload.item, this.node),
            kept,
            kind: this.kind,
            reason: (!kept).then(|| self.reason(payload, this)),
            values: node.scalars,
            bytes: node.bytes,
            is_credential,
            example: node.example.as_deref().filter(|_| shows_example).map(str::to_owned),
        })
    }

    fn root(&self, payload: &Payload) -> String {
        match (payload.is_array, payload.path.as_slice()) {
            (false, _) => "object".to_owned(),
            (true, []) => "first".to_owned(),
            (true, path) => {
                let names = path.iter().filter_map(|node| self.node(*node)?.name.as_deref());
                let root = names.fold(String::new(), |path, name| join(&path, name));
                if ["auto", "array", "object", "first"].contains(&root.as_str()) {
                    format!("/{root}")
                } else {
                    root
                }
            }
        }
    }

    fn items(&self, payload: &Payload) -> u64 {
        self.node(payload.item)
            .map_or(0, |item| item.objects + item.arrays + item.scalars + item.nulls + item.empties)
    }

    /// Describes why a member is left out.
    fn reason(&self, payload: &Payload, this: &Candidate) -> String {
        match &this.reason {
            Some(Reason::Address) => "address".to_owned(),
            Some(Reason::Template(template)) => {
                // A query may have a key.
                let (address, _) = template.split_once('?').unwrap_or((template, ""));
                format!("address, follows from {}", one_line(address))
            }
            Some(Reason::Opaque) => "base64 or an id for programs".to_owned(),
            Some(Reason::Hash) => "hash".to_owned(),
            Some(Reason::Uuid) => "UUID".to_owned(),
            Some(Reason::Long) => "long text".to_owned(),
            Some(Reason::Technical) => "for programs".to_owned(),
            Some(Reason::Constant) => "always the same".to_owned(),
            Some(Reason::Same(other)) => {
                format!("same as {}", one_line(&path_from(self, payload.item, *other)))
            }
            Some(Reason::Empty) => "always null or empty".to_owned(),
            Some(Reason::Detail) => "detail".to_owned(),
            Some(Reason::NamesAreData) => "names are data".to_owned(),
            Some(Reason::Credential) => "a credential or a personal number".to_owned(),
            Some(Reason::Personal) => "personal data".to_owned(),
            None => format!("{}, costs more than it says", this.kind.word()),
        }
    }
}

/// Members that go together: all of a container, or one.
struct Group<'c> {
    node: usize,
    costliest: &'c Candidate,
    members: usize,
    bytes: u64,
}

struct ManifestWriter<'a> {
    samples: &'a Samples,
    payload: &'a Payload,
    choice: &'a Choice,
    text: String,
}

impl ManifestWriter<'_> {
    fn manifest(
        mut self,
        name: &str,
        sources: Option<&[Source]>,
        candidates: &[Candidate],
    ) -> String {
        let samples = self.samples;
        let documents = match samples.documents {
            1 => "1 sample".to_owned(),
            count => format!("{count} samples"),
        };
        self.line(
            0,
            &format!("# Suggested by `tamis suggest` from {documents} of {} bytes.", samples.bytes),
        );
        self.line(0, "# Figures: values, bytes with names, tokens estimated at four bytes each, share of the samples.");
        self.line(0, "version: 1");
        self.line(0, "filters:");
        self.line(2, &format!("{}:", yaml(name)));
        self.root();
        match sources {
            None => self.omitted(candidates),
            Some(sources) => self.selected(sources, candidates),
        }
        self.drops();
        self.line(4, "redact: secrets  # credentials in what is left");
        if sources.is_some_and(|sources| !sources.is_empty()) {
            self.left_out(candidates);
        }
        self.text
    }

    fn selected(&mut self, sources: &[Source], candidates: &[Candidate]) {
        let total = self.items();
        if self.payload.is_array && total > MANY_ITEMS * self.samples.documents.max(1) {
            self.line(4, &format!("max_items: {MAX_ITEMS}  # the samples have {total} items"));
        }
        if sources.is_empty() {
            self.line(4, "# No members are worth more than others, so all of them are kept.");
            self.excluded(candidates);
        } else {
            self.line(4, "select:");
        }
        let kinds: HashMap<usize, MemberKind> =
            candidates.iter().map(|this| (this.node, this.kind)).collect();
        for source in sources {
            self.source(source, &output_key(source, sources), &kinds);
        }
    }

    /// Omits noise, and excludes credentials.
    fn omitted(&mut self, candidates: &[Candidate]) {
        let is_noise = |this: &Candidate| {
            this.reason.as_ref().is_some_and(|reason| *reason != Reason::Credential)
        };
        let stays: HashSet<usize> = candidates
            .iter()
            .filter(|this| !is_noise(this))
            .flat_map(|this| &this.path)
            .copied()
            .collect();
        let groups = self.groups(candidates.iter().filter(|this| is_noise(this)), &stays);
        if groups.is_empty() {
            self.line(4, "# No member is known to be noise, so all of them are kept.");
        } else {
            self.line(4, "omit:");
        }
        for group in groups.iter().take(MAX_OMITTED) {
            let path = path_from(self.samples, self.payload.item, group.node);
            let why = self.why(group);
            self.line(6, &format!("- {}  # {why}", yaml(&path)));
        }
        if let Some(more) = groups.len().checked_sub(MAX_OMITTED).filter(|more| *more > 0) {
            self.line(6, &format!("# and {more} more, which are kept"));
        }
        self.excluded(candidates);
    }

    fn items(&self) -> u64 {
        self.samples.items(self.payload)
    }

    fn root(&mut self) {
        let root = self.samples.root(self.payload);
        let item = self.samples.node(self.payload.item).map_or(0, |item| item.bytes);
        let comment = if self.payload.is_array {
            let items = self.items();
            let word = if items == 1 { "item" } else { "items" };
            format!("{items} {word}, {}", self.share(item))
        } else {
            "a single object".to_owned()
        };
        self.line(4, &format!("root: {}  # {comment}", yaml(&root)));
        let bytes = self.choice.sibling_bytes;
        if self.choice.drops_siblings {
            let comment = format!("{bytes} bytes outside of the items, {}", self.share(bytes));
            self.line(4, &format!("siblings: drop  # {comment}"));
        } else if bytes > 0 {
            self.line(4, &format!("siblings: keep  # {bytes} bytes outside of the items"));
        }
    }

    fn source(&mut self, source: &Source, key: &str, kinds: &HashMap<usize, MemberKind>) {
        let (mut values, mut bytes) = (0, 0);
        let mut words: Vec<&str> = Vec::new();
        for member in &source.members {
            let Some(node) = self.samples.node(*member) else { continue };
            (values, bytes) = (values + node.scalars, bytes + node.bytes);
            let word = kinds.get(member).map_or("value", |kind| kind.word());
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let figures = self.figures(values, bytes);
        let line =
            format!("{}: {}  # {}: {figures}", yaml(key), yaml(&source.path), words.join(", "));
        self.line(6, &line);
    }

    /// Excludes the credentials of items that are kept as a whole.
    fn excluded(&mut self, candidates: &[Candidate]) {
        let secret = candidates.iter().filter(|this| this.reason == Some(Reason::Credential));
        let paths: Vec<_> = secret.map(|this| this.path.as_slice()).collect();
        let paths: Vec<String> =
            excluded(self.samples, &paths).iter().map(|path| yaml(path)).collect();
        if !paths.is_empty() {
            let comment = "# credentials and personal numbers";
            self.line(4, &format!("exclude: [{}]  {comment}", paths.join(", ")));
        }
        if self.samples.uncounted > 0 {
            let count = self.samples.uncounted;
            self.line(4, &format!("# {count} values at further paths were not counted."));
        }
    }

    fn drops(&mut self) {
        let (mut nulls, mut empties) = (0, 0);
        for node in &self.samples.nodes {
            nulls += node.nulls;
            empties += node.empties;
        }
        self.line(4, &format!("drop_nulls: true  # {nulls} nulls"));
        self.line(4, &format!("drop_empty: true  # {empties} empty texts, arrays and objects"));
    }

    /// Lists what is left out, the largest first.
    fn left_out(&mut self, candidates: &[Candidate]) {
        let samples = self.samples;
        let (kept, left): (Vec<_>, Vec<_>) =
            candidates.iter().partition(|this| self.choice.kept.contains(&this.node));
        let stays = kept.iter().flat_map(|this| &this.path).copied().collect();
        let groups = self.groups(left.into_iter(), &stays);
        if groups.is_empty() {
            return;
        }
        self.line(4, "# Left out:");
        for group in groups.iter().take(MAX_LINES) {
            let path = one_line(&path_from(samples, self.payload.item, group.node));
            let why = self.why(group);
            self.line(4, &format!("# - {path}: {why}"));
        }
        let rest = groups.get(MAX_LINES..).unwrap_or_default();
        if !rest.is_empty() {
            let sum: u64 = rest.iter().map(|group| group.bytes).sum();
            self.line(4, &format!("# - and {} more: {sum} bytes, {}", rest.len(), self.share(sum)));
        }
        if samples.uncounted > 0 {
            let count = samples.uncounted;
            self.line(4, &format!("# {count} values at further paths were not counted."));
        }
    }

    /// Groups members by the outermost container in which nothing stays, the largest first.
    fn groups<'c>(
        &self,
        members: impl Iterator<Item = &'c Candidate>,
        stays: &HashSet<usize>,
    ) -> Vec<Group<'c>> {
        let mut groups: Vec<Group<'c>> = Vec::new();
        let mut seen: HashMap<usize, usize> = HashMap::new();
        for this in members {
            let Some(node) = this.path.iter().find(|node| !stays.contains(*node)) else {
                continue;
            };
            match seen.get(node).and_then(|at| groups.get_mut(*at)) {
                Some(group) => {
                    group.members += 1;
                    if this.cost > group.costliest.cost {
                        group.costliest = this;
                    }
                }
                None => {
                    seen.insert(*node, groups.len());
                    let bytes = self.samples.node(*node).map_or(0, |node| node.bytes);
                    groups.push(Group { node: *node, costliest: this, members: 1, bytes });
                }
            }
        }
        groups.sort_by_key(|group| (std::cmp::Reverse(group.bytes), group.node));
        groups
    }

    /// Describes why a group goes, and what that saves.
    fn why(&self, group: &Group<'_>) -> String {
        let samples = self.samples;
        let reason = samples.reason(self.payload, group.costliest);
        let what = if group.members == 1 && group.node == group.costliest.node {
            reason
        } else {
            let inside = one_line(&path_from(samples, self.payload.item, group.costliest.node));
            let word = if group.members == 1 { "member" } else { "members" };
            format!("{} {word}, most of it {inside} ({reason})", group.members)
        };
        let values =
            samples.node(group.node).map_or(0, |node| node.scalars + node.objects + node.arrays);
        format!("{what}; {}", self.figures(values, group.bytes))
    }

    fn figures(&self, values: u64, bytes: u64) -> String {
        let word = if values == 1 { "value" } else { "values" };
        format!(
            "{values} {word}, {bytes} bytes, ~{} tokens, {}",
            bytes.div_ceil(4),
            self.share(bytes)
        )
    }

    /// A share of the samples, in tenths of a percent.
    fn share(&self, bytes: u64) -> String {
        let tenths = u128::from(bytes) * 1000 / u128::from(self.samples.bytes.max(1));
        format!("{}.{} %", tenths / 10, tenths % 10)
    }

    fn line(&mut self, indent: usize, line: &str) {
        // Writing to a text cannot fail.
        _ = writeln!(self.text, "{:indent$}{line}", "");
    }
}

/// Returns a text as a scalar of YAML.
fn yaml(text: &str) -> String {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-' | '.');
    let is_word = text.starts_with(|char: char| char.is_ascii_alphabetic())
        && text.chars().all(is_plain)
        && !["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
            .iter()
            .any(|word| text.eq_ignore_ascii_case(word));
    if is_word {
        return text.to_owned();
    }
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            char if is_unsafe(char) => {
                _ = write!(quoted, "\\U{:08x}", u32::from(char));
            }
            char => quoted.push(char),
        }
    }
    quoted.push('"');
    quoted
}

/// Whether a character ends a line, reorders others, or cannot be in a file of YAML.
fn is_unsafe(char: char) -> bool {
    is_hidden(char) || matches!(char, '\u{fffe}' | '\u{ffff}')
}

/// Replaces the characters that a comment cannot have.
fn one_line(text: &str) -> String {
    text.chars().map(|char| if is_unsafe(char) { '\u{fffd}' } else { char }).collect()
}

/// Returns the output key of a source. A key of a select cannot be empty, so the member without a name gets another one.
fn output_key(source: &Source, all: &[Source]) -> String {
    let mut key = source.key.clone();
    while key.is_empty() || (source.key.is_empty() && all.iter().any(|other| other.key == key)) {
        key.push('_');
    }
    key
}
