//! Replays sessions: follows facts and costs from event to event, and asks each variant what it shows.
//!
//! ```text
//! Result ─▶ views of the variants ─▶ facts of the source, with a bit for each variant that shows them ─▶ table
//! Model, Call ─▶ facts ─▶ table: whose fact is it? ─▶ the open result counts it
//! Request ─▶ usage, prices ─▶ what the open results cost
//! ```
//!
//! Memory is bounded by one result, the table of facts, and a few hundred bytes for each result of the open session.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::BuildHasherDefault;

use tamis_agents::agent::Agent;
use tamis_text::estimate::Estimate;

use crate::cost::{Carrier, Prices, Usage};
use crate::facts::{self, Fact, FactKind, Owner, Plain, Shown, Table};
use crate::open_result::{OpenResult, OpenView};
use crate::report::{
    Example, FactUse, Fate, Figures, GroupReport, LostFact, Report, VariantReport,
};
use crate::shown::{self, Rest, Variants, View};
use crate::transcript::event::{Call, Event, Events, Request, ToolKind, ToolResult};

/// The most groups of results. Later ones are counted as `(others)`.
const MOST_GROUPS: usize = 10_000;
/// The most results of a session that are followed at a time. Earlier ones are counted as if the session ended.
const MOST_OPEN: usize = 50_000;
/// The least estimated tokens between two requests that say something about the estimate.
const LEAST_GROWTH: u64 = 500;
/// The most characters of a fact or a command in a report.
const LONGEST: usize = 200;
/// The most versions of an agent that are listed.
const MOST_VERSIONS: usize = 20;

type HashSetOfFacts = HashSet<u64, BuildHasherDefault<Plain>>;

/// A receiver of later-used facts.
pub type FactObserver<'a> = dyn FnMut(&FactUse<'_>) + 'a;

/// A run over any number of transcripts.
pub(crate) struct Sessions<'a> {
    pub(crate) report: Report,
    variants: Variants,
    prices: Prices,
    most_examples: usize,
    observer: Option<&'a mut FactObserver<'a>>,
    groups: Vec<Group>,
    by_key: HashMap<(Agent, String, String, String), usize>,
    file: String,
    place: u64,
    agent: Option<Agent>,
    table: Table,
    open: Vec<OpenResult>,
    /// The number of the first open result.
    first_open: Owner,
    /// The results from this place of `open` were not sent yet.
    unsent: usize,
    carrier: Carrier,
    /// The names of files in which the agent keeps outputs of this session.
    kept_files: HashSetOfFacts,
    read_price: f64,
    growth: Growth,
    /// The facts of the result in each variant, for reuse.
    shown: Vec<HashSetOfFacts>,
    stored: Vec<HashSetOfFacts>,
}

/// The results of one tool, program and filter.
#[derive(Debug)]
struct Group {
    agent: Agent,
    tool: String,
    program: String,
    filter: String,
    figures: Vec<Figures>,
}

/// The new parts of the next prompt.
#[derive(Debug, Default)]
struct Growth {
    /// The prompt and the output of the last request.
    last: Option<Usage>,
    estimate: u64,
}

impl<'a> Sessions<'a> {
    pub(crate) fn new(
        variants: Variants,
        prices: Prices,
        most_examples: usize,
        exact_tokens: bool,
        observer: Option<&'a mut FactObserver<'a>>,
    ) -> Self {
        let count = variants.list.len();
        let report = Report {
            exact_tokens,
            unit: prices.unit().to_owned(),
            subject: variants.subject(),
            variants: variants
                .list
                .iter()
                .map(|variant| VariantReport {
                    name: variant.name(),
                    variant: Some(*variant),
                    ..VariantReport::default()
                })
                .collect(),
            ..Report::default()
        };
        Self {
            report,
            variants,
            prices,
            most_examples,
            observer,
            groups: Vec::new(),
            by_key: HashMap::new(),
            file: String::new(),
            place: 0,
            agent: None,
            table: Table::default(),
            open: Vec::new(),
            first_open: 0,
            unsent: 0,
            carrier: Carrier::default(),
            kept_files: HashSetOfFacts::default(),
            read_price: 0.0,
            growth: Growth::default(),
            shown: (0..count).map(|_| HashSetOfFacts::default()).collect(),
            stored: (0..count).map(|_| HashSetOfFacts::default()).collect(),
        }
    }

    /// Begins a file.
    pub(crate) fn file(&mut self, name: String) {
        self.end_session();
        self.file = name;
    }

    /// Ends the last session and returns the report.
    pub(crate) fn into_report(mut self) -> Report {
        self.end_session();
        self.report.facts_left_out = self.table.left_out();
        let subject = self.report.subject;
        let named = |name: &dyn Fn(&Group) -> (String, String)| {
            let sums = sums(&self.groups, name).into_iter();
            let mut groups: Vec<GroupReport> = sums
                .filter(|((_, name), _)| !name.is_empty())
                .map(|((agent, name), variants)| GroupReport { agent, name, variants })
                .collect();
            groups.sort_by_key(|group| {
                std::cmp::Reverse(group.variants.first().map_or(0, |figures| figures.tokens))
            });
            groups
        };
        self.report.tools = named(&|group| (group.agent.to_string(), group.tool.clone()));
        self.report.commands = named(&|group| (String::new(), group.program.clone()));
        self.report.filters = named(&|group| (String::new(), group.filter.clone()));
        let steps = |group: &Group| {
            let steps = [group.agent.as_str(), &group.tool, &group.program];
            steps.into_iter().filter(|step| !step.is_empty()).map(str::to_owned).collect()
        };
        self.report.places = sums(&self.groups, steps).into_iter().collect();
        let lost = |example: &Example| (example.facts.gone, example.facts.fetchable);
        self.report.examples.sort_by_key(|example| std::cmp::Reverse(lost(example)));
        self.report.examples.truncate(self.most_examples);
        debug_assert!(subject < self.report.variants.len().max(1));
        self.report
    }

    fn tokens(&self, text: &str) -> u64 {
        if self.report.exact_tokens {
            let mut counter = tamis_tokens::counter();
            counter.push(text.as_bytes());
            return counter.finish();
        }
        Estimate::of(text.as_bytes()).tokens()
    }

    fn end_session(&mut self) {
        let open = std::mem::take(&mut self.open);
        open.into_iter().for_each(|result| self.close(result));
        self.first_open = 0;
        self.unsent = 0;
        self.table.clear();
        self.carrier = Carrier::default();
        self.kept_files.clear();
        self.growth = Growth::default();
        self.agent = None;
    }

    /// Adds the figures of a result to the sums.
    #[allow(clippy::cast_precision_loss, reason = "costs of estimated tokens")]
    fn close(&mut self, result: OpenResult) {
        let now = self.carrier.now();
        let (turns, price) = result.carried(&now);
        let Some(group) = self.groups.get_mut(result.group) else { return };
        for (at, view) in result.views.iter().enumerate() {
            let figures = Figures {
                results: 1,
                changed: u64::from(view.is_changed),
                bytes: view.bytes,
                tokens: view.tokens,
                carried_tokens: view.tokens.saturating_mul(turns),
                cost: view.tokens as f64 * price / 1e6,
                facts: view.facts,
            };
            if let Some(sums) = group.figures.get_mut(at) {
                sums.add(&figures);
            }
            let Some(variant) = self.report.variants.get_mut(at) else { continue };
            variant.figures.add(&figures);
            variant.beyond_agent.add(&view.beyond_agent);
            if let Some(cost) = result.fetch_cost(view, &now) {
                variant.fetches += 1;
                variant.fetch_cost += cost / 1e6;
            }
        }
        let subject = self.report.subject;
        let Some(view) = result.views.get(subject) else { return };
        if view.facts.fetchable + view.facts.gone == 0 || self.most_examples == 0 {
            return;
        }
        let example = Example {
            file: self.file.clone(),
            place: result.place,
            agent: group.agent.to_string(),
            tool: group.tool.clone(),
            command: result.command,
            filter: result.filter,
            tokens: [result.views.first().map_or(0, |view| view.tokens), view.tokens],
            facts: view.facts,
            lost: result.lost.into_iter().map(|(fact, _)| fact).collect(),
        };
        self.report.examples.push(example);
        if self.report.examples.len() > self.most_examples.saturating_mul(8).max(64) {
            let lost = |example: &Example| (example.facts.gone, example.facts.fetchable);
            self.report.examples.sort_by_key(|example| std::cmp::Reverse(lost(example)));
            self.report.examples.truncate(self.most_examples);
        }
    }

    fn other(&mut self, text: &str) {
        self.growth.estimate += Estimate::of(text.as_bytes()).tokens();
        let table = &mut self.table;
        facts::each(text, &mut |fact| table.other(fact.hash));
    }

    /// Counts the facts in a text of the model, or the lines that an edit replaces.
    fn used(&mut self, text: &str, is_replaced: bool) {
        let mut found = Vec::new();
        let table = &mut self.table;
        let mut repeated_line = None;
        let mut used = |fact: Fact<'_>| {
            let Some(use_) = table.model(fact.hash) else { return };
            // A repeated line counts once, and not again by its phrases.
            if fact.kind == FactKind::Phrase && repeated_line == Some(fact.line) {
                return;
            }
            if fact.kind == FactKind::Line {
                repeated_line = Some(fact.line);
            }
            found.push((fact.kind, fact.text.to_owned(), use_));
        };
        match is_replaced {
            true => facts::each_edited_line(text, &mut used),
            false => facts::each(text, &mut used),
        }
        for (kind, text, use_) in found {
            self.count(kind, &text, use_);
        }
    }

    fn count(&mut self, kind: FactKind, text: &str, use_: facts::Found) {
        let at = use_.owner.checked_sub(self.first_open).map(|at| at as usize);
        let Some(result) = at.and_then(|at| self.open.get_mut(at)) else { return };
        let fates: Vec<Fate> = (0..self.variants.list.len())
            .map(|variant| {
                match (use_.shown.shown >> variant & 1, use_.shown.kept >> variant & 1) {
                    (1, _) => Fate::Shown,
                    (_, 1) => Fate::Fetchable,
                    _ => Fate::Gone,
                }
            })
            .collect();
        result.used(&fates, &self.carrier, self.read_price);
        let agent_shows = fates.first() == Some(&Fate::Shown);
        if agent_shows {
            for (variant, fate) in self.report.variants.iter_mut().zip(&fates) {
                variant.kinds.entry(kind.name()).or_default().count(*fate);
            }
        }
        let short: String = text.chars().take(LONGEST).collect();
        let subject = self.report.subject;
        if let Some(fate) = fates.get(subject).filter(|fate| agent_shows && **fate != Fate::Shown) {
            let fact = LostFact { kind, text: short.clone(), used_at: self.place, fate: *fate };
            result.lose(fact, subject);
        }
        let Some(observer) = &mut self.observer else { return };
        let Some(group) = self.groups.get(result.group) else { return };
        observer(&FactUse {
            text: &short,
            kind,
            agent: group.agent.as_str(),
            tool: &group.tool,
            command: result.command.as_deref(),
            file: &self.file,
            result_at: result.place,
            used_at: self.place,
            fates: &fates,
        });
    }

    fn call(&mut self, call: &Call) {
        self.used(&call.replaced, true);
        self.used(&call.text, false);
    }

    fn request(&mut self, request: &Request) {
        let Some(agent) = self.agent else { return };
        let price = self.prices.of_model(&request.model);
        let agents = self.report.agents.entry(agent.to_string()).or_default();
        let model = agents.usage.entry(request.model.clone()).or_default();
        model.usage += request.usage;
        if let Some(before) = &request.replaces {
            model.usage -= *before;
        } else {
            model.requests += 1;
            agents.requests += 1;
            self.report.unpriced_requests += u64::from(price.is_none());
        }
        model.cost = price.map(|price| price.of(&model.usage));
        if request.replaces.is_some() {
            // The prompt is that of the first report.
            self.growth.last = Some(request.usage);
            return;
        }
        if let Some(last) = self.growth.last {
            let grown = request.usage.prompt().checked_sub(last.prompt() + last.output);
            if let Some(grown) = grown.filter(|_| self.growth.estimate >= LEAST_GROWTH) {
                agents.recorded_growth += grown;
                agents.estimated_growth += self.growth.estimate;
            }
        }
        self.growth = Growth { last: Some(request.usage), estimate: 0 };
        let none = crate::cost::Price { input: 0, cache_write: 0, cache_read: 0, output: 0 };
        let is_priced = price.is_some();
        let price = price.unwrap_or(none);
        #[allow(clippy::cast_precision_loss, reason = "a price")]
        {
            self.read_price = price.cache_read as f64;
        }
        let parts = self.carrier.request(&request.usage, &price);
        if is_priced {
            agents.prompts.add(&parts);
        }
        for result in self.open.iter_mut().skip(self.unsent) {
            result.sent(&self.carrier);
        }
        self.unsent = self.open.len();
    }

    fn result(&mut self, result: &ToolResult) {
        let Some(agent) = self.agent else { return };
        self.report.results += 1;
        self.growth.estimate += Estimate::of(result.received.as_bytes()).tokens();
        self.compare_with_agent(agent, result);
        if self.is_read_back(result) {
            self.report.read_backs += 1;
            let table = &mut self.table;
            let text = &result.received;
            facts::each(text, &mut |fact| table.read_back(fact.hash));
            return self.open_result(
                agent,
                result,
                &vec![View::default(); self.variants.list.len()],
            );
        }
        if result.received.contains("[tamis") {
            self.report.filtered_before += 1;
        }
        if result.is_kept {
            let kept_files = &mut self.kept_files;
            let head: String = result.received.chars().take(1_000).collect();
            file_names(&head, &mut |name| {
                kept_files.insert(facts::hash(name.as_bytes()));
            });
        }
        let views = self.variants.views(agent, result);
        self.open_result(agent, result, &views);
        let Some(owner) = u32::try_from(self.open.len() - 1).ok().map(|at| self.first_open + at)
        else {
            return;
        };
        self.follow(result, &views, owner);
    }

    /// Adds the facts of a result to the table, with the variants that show them.
    fn follow(&mut self, result: &ToolResult, views: &[View], owner: Owner) {
        let source = shown::source(result);
        let received = &result.received;
        let is_whole = result.full.is_none();
        // Variants whose text is the source show all of it.
        let (mut all, mut kept) = (0_u16, 0_u16);
        for (at, view) in views.iter().enumerate() {
            let (Some(shown), Some(stored)) = (self.shown.get_mut(at), self.stored.get_mut(at))
            else {
                continue;
            };
            shown.clear();
            stored.clear();
            match &view.text {
                None if is_whole => all |= 1 << at,
                text => collect(text.as_ref().unwrap_or(received), shown),
            }
            match &view.rest {
                Rest::Gone => {}
                Rest::Kept => kept |= 1 << at,
                Rest::Stored(text) => collect(text, stored),
            }
        }
        let (sets, stored) = (&self.shown, &self.stored);
        let of = |hash: u64| {
            let mut bits = Shown { shown: all, kept };
            for (at, set) in sets.iter().enumerate().take(views.len()) {
                bits.shown |= u16::from(set.contains(&hash)) << at;
            }
            for (at, set) in stored.iter().enumerate().take(views.len()) {
                bits.kept |= u16::from(set.contains(&hash)) << at;
            }
            bits
        };
        let table = &mut self.table;
        facts::each(source, &mut |fact| table.result(fact.hash, owner, || of(fact.hash)));
        if !is_whole {
            // The agent itself wrote the rest, such as the path of the file.
            facts::each(received, &mut |fact| table.read_back(fact.hash));
        }
    }

    fn open_result(&mut self, agent: Agent, result: &ToolResult, views: &[View]) {
        let subject = views.get(self.report.subject);
        let filter = subject.and_then(|view| view.filter.clone());
        let group = self.group(agent, result, filter.as_deref().unwrap_or_default());
        let received = (result.received.len() as u64, self.tokens(&result.received));
        let figures = views.iter().map(|view| match &view.text {
            None => OpenView { bytes: received.0, tokens: received.1, ..OpenView::default() },
            Some(text) => OpenView {
                bytes: text.len() as u64,
                tokens: self.tokens(text),
                is_changed: true,
                ..OpenView::default()
            },
        });
        let figures = figures.collect();
        let mut open = OpenResult::new(group, self.place, figures, &self.carrier);
        let command = result.call.command.as_deref();
        open.command = command.map(|command| command.chars().take(LONGEST).collect());
        open.filter = filter;
        self.open.push(open);
        if self.open.len() > MOST_OPEN {
            let early: Vec<_> = self.open.drain(..MOST_OPEN / 2).collect();
            self.first_open += u32::try_from(early.len()).unwrap_or(0);
            self.unsent = self.unsent.saturating_sub(early.len());
            early.into_iter().for_each(|result| self.close(result));
        }
    }

    fn group(&mut self, agent: Agent, result: &ToolResult, filter: &str) -> usize {
        let program = match (&result.call.command, result.kind) {
            (Some(command), ToolKind::Shell) => {
                let line = tamis_command::CommandLine::parse(command);
                let name = line.program_name().unwrap_or("(unclear)");
                name.rsplit('/').next().unwrap_or(name).to_owned()
            }
            _ => String::new(),
        };
        let mut tool = result.call.tool.clone();
        let mut key = (agent, tool.clone(), program, filter.to_owned());
        if self.groups.len() >= MOST_GROUPS && !self.by_key.contains_key(&key) {
            tool = "(others)".to_owned();
            key = (agent, tool.clone(), String::new(), String::new());
        }
        if let Some(at) = self.by_key.get(&key) {
            return *at;
        }
        let figures = vec![Figures::default(); self.variants.list.len()];
        let (_, _, program, filter) = key.clone();
        self.groups.push(Group { agent, tool, program, filter, figures });
        self.by_key.insert(key, self.groups.len() - 1);
        self.groups.len() - 1
    }

    /// Returns whether a result reads an earlier one again.
    fn is_read_back(&self, result: &ToolResult) -> bool {
        let text = &result.call.text;
        if text.contains("tamis recall ") || result.call.tool.contains("tamis_retrieve") {
            return true;
        }
        let mut is_kept = false;
        if !self.kept_files.is_empty() {
            file_names(text, &mut |name| {
                is_kept |= self.kept_files.contains(&facts::hash(name.as_bytes()));
            });
        }
        is_kept
    }

    /// Compares the model of the agent's cut with what the agent did.
    fn compare_with_agent(&mut self, agent: Agent, result: &ToolResult) {
        self.report.incomplete += u64::from(!result.is_complete);
        let Some(full) = result.full.as_deref().filter(|_| result.is_complete) else { return };
        self.report.cut_by_agent += 1;
        let failed = result.exit_code.is_some_and(|code| code != 0);
        let cut = shown::agent::cut(agent, result.kind, failed, full);
        let is_alike = cut.is_some_and(|cut| {
            let (a, b) = (cut.text.len(), result.received.len());
            cut.is_kept == result.is_kept && a.abs_diff(b) <= 400 + b / 50
        });
        self.report.cut_alike += u64::from(is_alike);
    }
}

/// Returns the sums of the groups that have the same key.
fn sums<K: Ord>(groups: &[Group], key: impl Fn(&Group) -> K) -> BTreeMap<K, Vec<Figures>> {
    let mut all: BTreeMap<K, Vec<Figures>> = BTreeMap::new();
    for group in groups {
        let sums = all.entry(key(group)).or_default();
        sums.resize(group.figures.len(), Figures::default());
        sums.iter_mut().zip(&group.figures).for_each(|(sum, figures)| sum.add(figures));
    }
    all
}

/// Collects the facts of a text.
fn collect(text: &str, set: &mut HashSetOfFacts) {
    facts::each(text, &mut |fact| {
        set.insert(fact.hash);
    });
}

/// Calls `found` with the last name of each path in a text.
fn file_names(text: &str, found: &mut dyn FnMut(&str)) {
    for word in text.split(|char: char| char.is_whitespace() || matches!(char, '"' | '\'' | '`')) {
        if let Some((_, name)) = word.rsplit_once('/').filter(|(_, name)| name.len() > 5) {
            found(name);
        }
    }
}

impl Events for Sessions<'_> {
    fn at(&mut self, place: u64) {
        self.place = place;
    }

    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Session(start) => {
                self.end_session();
                self.agent = Some(start.agent);
                self.report.sessions += 1;
                let agent = self.report.agents.entry(start.agent.to_string()).or_default();
                agent.sessions += 1;
                let is_new = !start.version.is_empty() && !agent.versions.contains(&start.version);
                if is_new && agent.versions.len() < MOST_VERSIONS {
                    agent.versions.push(start.version.clone());
                }
            }
            Event::Other(text) => self.other(text),
            Event::Model(text) => self.used(text, false),
            Event::Call(call) => self.call(call),
            Event::Request(request) => self.request(request),
            Event::Result(result) => self.result(result),
            Event::Compacted => {
                let carrier = &self.carrier;
                self.open.iter_mut().for_each(|result| result.dropped(carrier));
                self.growth = Growth::default();
            }
        }
    }
}
