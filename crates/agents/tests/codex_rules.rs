//! A command that the hook of Codex rewrites may do no more than the original, whatever the rules are.
//!
//! Random rules and commands are judged twice by a model of Codex: the command of the agent, and what the hook makes of
//! it. The model shares no code with the hook: it judges the command from which the text was made, and reads the rewritten
//! text with a reader of its own.

#![cfg(unix)]
#![allow(
    clippy::indexing_slicing,
    clippy::panic,
    clippy::unwrap_used,
    reason = "in a test a panic is the report"
)]

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::{Value, json};
use tamis_agents::hook::{EventHook, HookPlaces, HookSettings};

const SETS: u64 = 10_000;

/// Numbers that look random (xorshift64*).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn one_in(&mut self, count: usize) -> bool {
        self.below(count) == 0
    }

    fn pick<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const PROGRAMS: [&str; 10] =
    ["cargo", "npm", "make", "ls", "git", "grep", "rm", "tamis", "bash", "sudo"];
const WORDS: [&str; 20] = [
    "test",
    "build",
    "install",
    "run",
    "log",
    "push",
    "reset",
    "branch",
    "-f",
    "rm",
    "--",
    "--release",
    "-lc",
    "a b",
    "it's",
    "*",
    "$HOME",
    "x;y",
    "cargo",
    "a\"b",
];

/// How much a command may do, from nothing to everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Power {
    Refused,
    Asked,
    InSandbox,
    Free,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Decision {
    Allow,
    Prompt,
    Forbidden,
}

#[derive(Clone, Debug)]
struct Rule {
    pattern: Vec<Vec<String>>,
    decision: Decision,
}

impl Rule {
    fn random(numbers: &mut Numbers) -> Self {
        let length = 1 + numbers.below(4);
        let position = |numbers: &mut Numbers, index: usize| {
            let count = 1 + numbers.below(3) * numbers.below(2);
            let from: &[&str] = if index == 0 { &PROGRAMS } else { &WORDS };
            (0..count).map(|_| numbers.pick(from).to_owned()).collect()
        };
        let mut pattern: Vec<Vec<String>> =
            (0..length).map(|index| position(numbers, index)).collect();
        // Rules as an approval of a rewritten command writes them.
        if numbers.one_in(3) {
            let prefix = ["tamis", "run", "--"].map(|word| vec![word.to_owned()]);
            pattern = prefix.into_iter().chain(pattern).collect();
        }
        let decisions = [Decision::Allow, Decision::Allow, Decision::Prompt, Decision::Forbidden];
        Self { pattern, decision: decisions[numbers.below(4)] }
    }

    fn matches(&self, words: &[String]) -> bool {
        let mut index = 0;
        for alternatives in &self.pattern {
            match words.get(index) {
                Some(word) if alternatives.iter().any(|it| it == word) => index += 1,
                _ => return false,
            }
        }
        true
    }

    /// Writes the rule as a user may.
    fn text(&self, numbers: &mut Numbers) -> String {
        let string = |numbers: &mut Numbers, word: &str| match numbers.below(2) {
            0 => format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\"")),
            _ => format!("'{}'", word.replace('\\', "\\\\").replace('\'', "\\'")),
        };
        let space = |numbers: &mut Numbers| numbers.pick(&["", " ", "\n    ", " # no\n  "]);
        let mut positions = Vec::new();
        for alternatives in &self.pattern {
            let words: Vec<String> =
                alternatives.iter().map(|word| string(numbers, word)).collect();
            positions.push(match words.as_slice() {
                [one] if numbers.below(4) > 0 => one.clone(),
                all => format!("[{}{}]", all.join(","), numbers.pick(&["", ","])),
            });
        }
        let pattern = format!("pattern{}=[{}]", numbers.pick(&["", " "]), positions.join(", "));
        let name = match self.decision {
            Decision::Allow => "allow",
            Decision::Prompt => "prompt",
            Decision::Forbidden => "forbidden",
        };
        let decision = format!("decision = {}", string(numbers, name));
        let is_default = self.decision == Decision::Allow && numbers.one_in(2);
        let mut arguments = if is_default { vec![pattern] } else { vec![pattern, decision] };
        if numbers.one_in(4) {
            arguments.push("justification = 'because'".to_owned());
        }
        if numbers.one_in(2) {
            arguments.reverse();
        }
        let between = format!(",{}", space(numbers));
        let (open, end) = (space(numbers), numbers.pick(&["", ","]));
        format!("prefix_rule({open}{}{end}\n)", arguments.join(&between))
    }
}

/// A command of the model, before it is text.
#[derive(Clone, Debug)]
struct Script {
    /// Each command: its assignments, its words, and a redirection after it.
    commands: Vec<(Option<&'static str>, Vec<String>, Option<&'static str>)>,
    joins: Vec<&'static str>,
}

impl Script {
    fn random(numbers: &mut Numbers) -> Self {
        let count = 1 + numbers.below(6).saturating_sub(3);
        let mut commands = Vec::new();
        let mut joins = Vec::new();
        for index in 0..count {
            if index > 0 {
                joins.push(["&&", "&&", "||", ";", "|"][numbers.below(5)]);
            }
            let assignment = numbers.one_in(8).then_some("FOO=1");
            let redirection = numbers.one_in(10).then_some("> out");
            // A change of the folder comes first.
            let kinds = if index == 0 && count > 1 { 2 } else { 8 };
            let words = match numbers.below(kinds) {
                0 => vec!["cd".to_owned(), "app".to_owned()],
                kind => {
                    let first = if kind < 6 {
                        numbers.pick(&PROGRAMS[..5])
                    } else {
                        numbers.pick(&PROGRAMS)
                    };
                    let second = numbers.pick(&WORDS[..10]);
                    let count = numbers.below(3);
                    let rest = (0..count).map(|_| numbers.pick(&WORDS)).collect::<Vec<_>>();
                    [first, second].into_iter().chain(rest).map(str::to_owned).collect()
                }
            };
            commands.push((assignment, words, redirection));
        }
        Self { commands, joins }
    }

    /// Writes the script, and returns whether Codex reads its words.
    fn text(&self, numbers: &mut Numbers) -> (String, bool) {
        let mut text = String::new();
        let mut is_plain = true;
        for (index, (assignment, words, redirection)) in self.commands.iter().enumerate() {
            if index > 0 {
                text.push_str(&format!(" {} ", self.joins[index - 1]));
            }
            if let Some(assignment) = assignment {
                text.push_str(assignment);
                text.push(' ');
                is_plain = false;
            }
            for (index, word) in words.iter().enumerate() {
                if index > 0 {
                    text.push_str(numbers.pick(&[" ", " ", "  ", "\t"]));
                }
                let is_bare = word.chars().all(|char| char.is_ascii_alphanumeric() || char == '-');
                match numbers.below(6) {
                    0..3 if is_bare => text.push_str(word),
                    3 if !word.contains(['"', '$', '\\', '`', '!']) && index > 0 => {
                        text.push_str(&format!("\"{word}\""));
                    }
                    4 if !word.contains('\'') && word.len() > 1 && index > 0 => {
                        let (before, after) = word.split_at(1);
                        text.push_str(&format!("'{before}''{after}'"));
                    }
                    5 if index > 0 && !is_bare => {
                        for char in word.chars() {
                            if !char.is_ascii_alphanumeric() {
                                text.push('\\');
                            }
                            text.push(char);
                        }
                        // Codex reads the backslashes as part of the word.
                        is_plain = false;
                    }
                    _ if is_bare && index == 0 => text.push_str(word),
                    _ if word.contains('\'') => {
                        text.push_str(&format!("'{}'", word.replace('\'', "'\"'\"'")));
                    }
                    _ => text.push_str(&format!("'{word}'")),
                }
            }
            if let Some(redirection) = redirection {
                text.push(' ');
                text.push_str(redirection);
                is_plain = false;
            }
        }
        (text, is_plain)
    }

    /// The permissions that Codex gives the script.
    fn power(&self, text: &str, is_plain: bool, rules: &[&Rule]) -> Power {
        if is_plain {
            let commands: Vec<Vec<String>> =
                self.commands.iter().map(|(_, words, _)| words.clone()).collect();
            power(&commands, rules)
        } else {
            power(&[["bash", "-lc", text].map(str::to_owned).to_vec()], rules)
        }
    }
}

fn power(commands: &[Vec<String>], rules: &[&Rule]) -> Power {
    let mut strictest = None;
    let mut are_all_allowed = true;
    for words in commands {
        let mut decisions: Vec<Decision> =
            rules.iter().filter(|rule| rule.matches(words)).map(|rule| rule.decision).collect();
        are_all_allowed &= decisions.contains(&Decision::Allow);
        // In a session that never asks, a dangerous command for which there is no rule is refused.
        if decisions.is_empty() && is_dangerous(words) {
            decisions.push(Decision::Forbidden);
        }
        strictest = strictest.max(decisions.into_iter().max());
    }
    match strictest {
        Some(Decision::Forbidden) => Power::Refused,
        Some(Decision::Prompt) => Power::Asked,
        Some(Decision::Allow) if are_all_allowed => Power::Free,
        Some(Decision::Allow) | None => Power::InSandbox,
    }
}

/// Whether any version of Codex has the command in its list of dangerous ones.
fn is_dangerous(words: &[String]) -> bool {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let has_force = |rest: &[&str]| rest.contains(&"-f");
    match words.as_slice() {
        ["sudo", rest @ ..] => {
            is_dangerous(&rest.iter().map(|&word| word.to_owned()).collect::<Vec<_>>())
        }
        ["rm", rest @ ..] => has_force(rest),
        ["git", "reset" | "rm" | "branch", ..] => true,
        ["git", "push", rest @ ..] => has_force(rest),
        _ => false,
    }
}

/// Reads the words of a simple command, as a shell does. `None`: it is not simple.
fn words(text: &str) -> Option<Vec<String>> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for char in text.chars() {
        match (quote, char) {
            (Some(open), char) if char == open => quote = None,
            (Some('"'), '$' | '`' | '\\') => return None,
            (Some(_), char) => word.get_or_insert_default().push(char),
            (None, '\'' | '"') => {
                quote = Some(char);
                word.get_or_insert_default();
            }
            (None, ' ' | '\t') => words.extend(word.take()),
            (None, '|' | '&' | ';' | '<' | '>' | '(' | ')' | '$' | '`' | '\\' | '*' | '\n') => {
                return None;
            }
            (None, char) => word.get_or_insert_default().push(char),
        }
    }
    words.extend(word);
    quote.is_none().then_some(words)
}

/// Lines that a rules file may have, and the hook does not understand.
const ODD: [&str; 5] = [
    "X = ['cargo']",
    "prefix_rule(pattern = ['a'] + ['b'])",
    "network_rule(host = 'a', protocol = 'https', decision = 'deny')",
    "load('x', 'y')",
    "prefix_rule(['cargo'])",
];

#[test]
fn a_rewritten_command_does_no_more() {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path();
    let tamis = folder.join("bin/tamis").to_str().unwrap().to_owned();
    let layers = ["etc-codex", ".codex", "p/.codex", "p/q/.codex"];
    for name in PROGRAMS {
        let path = folder.join("bin").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    for layer in layers {
        fs::create_dir_all(folder.join(layer).join("rules")).unwrap();
    }
    let context = json!({"type": "turn_context", "payload": {
        "turn_id": "t", "approval_policy": "never", "sandbox_policy": {"type": "workspace-write"},
    }});
    fs::write(folder.join("rollout"), format!("{context}\n")).unwrap();
    let settings = HookSettings::load(&HookPlaces::in_folder(folder));
    let mut numbers = Numbers(0x7a6d_6973);
    let mut rewritten = 0;
    // For the real Codex: see `tests/real/execpolicy.py`.
    let mut cases =
        std::env::var_os("TAMIS_CODEX_CASES").map(|path| fs::File::create(path).unwrap());
    // By the number of commands before, and whether there is an assignment.
    let mut numbers_of = std::collections::BTreeMap::new();
    for set in 0..SETS {
        let mut rules: Vec<Vec<Rule>> = Vec::new();
        let mut files = Vec::new();
        let mut is_odd = false;
        for layer in layers {
            let count = numbers.below(4).saturating_sub(1) * numbers.below(3);
            let mut own: Vec<Rule> = (0..count).map(|_| Rule::random(&mut numbers)).collect();
            // Rewritten commands begin with the path.
            let first = own.iter_mut().filter_map(|rule| rule.pattern.first_mut()).flatten();
            first.filter(|word| *word == "tamis").for_each(|word| word.clone_from(&tamis));
            let mut texts: Vec<String> = own.iter().map(|rule| rule.text(&mut numbers)).collect();
            if numbers.one_in(60) {
                is_odd = true;
                texts.push(numbers.pick(&ODD).to_owned());
            }
            fs::write(folder.join(layer).join("rules/a.rules"), texts.join("\n")).unwrap();
            files.push(texts.join("\n"));
            rules.push(own);
        }
        let script = Script::random(&mut numbers);
        let (text, is_plain) = script.text(&mut numbers);
        let Some(command) = ask(folder, &settings, &text) else { continue };
        let say = || format!("set {set}: {text} -> {command}, with {rules:?}");
        assert!(!is_odd, "{}", say());
        rewritten += 1;
        // Only the start of tamis is added, before the words of the last command. `cd` and assignments stay before it.
        let start = format!("{tamis} run -- ");
        let (before, after) = command.split_once(&start).unwrap_or_else(|| panic!("{}", say()));
        assert_eq!(format!("{before}{after}"), text, "{}", say());
        let Some((last, folder_changes)) = script.commands.split_last() else {
            panic!("{}", say())
        };
        let (assignment, old, None) = last else { panic!("{}", say()) };
        let changed: Vec<_> =
            folder_changes.iter().map(|(name, words, to)| (*name, &words[0][..], *to)).collect();
        assert!(
            changed.is_empty() || changed == [(None, "cd", None)] && script.joins == ["&&"],
            "{}",
            say()
        );
        assert_eq!(words(after).unwrap_or_else(|| panic!("{}", say())), old[..], "{}", say());
        let mut changed = script.clone();
        let mut new = [tamis.as_str(), "run", "--"].map(str::to_owned).to_vec();
        new.extend(old.iter().cloned());
        *changed.commands.last_mut().unwrap() = (*assignment, new, None);
        if let Some(file) = &mut cases {
            let line = |text: &str| json!(["bash", "-lc", text]);
            let (before, after) = match is_plain {
                true => (json!(old), json!(changed.commands.last().unwrap().1)),
                false => (line(&text), line(&command)),
            };
            let case = json!({"rules": files, "before": before, "after": after});
            writeln!(file, "{case}").unwrap();
        }
        *numbers_of.entry((folder_changes.len(), assignment.is_some())).or_insert(0) += 1;
        // Whichever layers are active.
        for active in 0..1_usize << layers.len() {
            let rules: Vec<&Rule> = rules
                .iter()
                .enumerate()
                .filter(|(index, _)| active >> index & 1 == 1)
                .flat_map(|(_, rules)| rules)
                .collect();
            let before = script.power(&text, is_plain, &rules);
            let after = changed.power(&command, is_plain, &rules);
            assert_eq!(after, before, "layers {active:b}, {}", say());
        }
    }
    // The property says something.
    assert!(rewritten > 800, "{rewritten} commands are rewritten");
    let forms = [(0, false), (0, true), (1, false), (1, true)];
    assert!(numbers_of.keys().eq(&forms), "{numbers_of:?}");
}

/// Returns the command that the hook gives.
fn ask(folder: &Path, settings: &HookSettings, command: &str) -> Option<String> {
    let event = json!({
        "turn_id": "t",
        "transcript_path": folder.join("rollout"),
        "cwd": folder.join("p/q"),
        "hook_event_name": "PreToolUse",
        "permission_mode": "bypassPermissions",
        "tool_name": "Bash",
        "tool_input": {"command": command},
    });
    let answer = EventHook::Codex.response(&mut event.to_string().as_bytes(), settings);
    if answer.is_empty() {
        return None;
    }
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["permissionDecision"], "allow");
    Some(output["updatedInput"]["command"].as_str().unwrap().to_owned())
}
