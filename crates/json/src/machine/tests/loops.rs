//! The shortcuts do what the walk does, for a handler that uses all of them.

use tamis_testkit::effort::share;
use tamis_testkit::loops::documents::{self, NAMES};
use tamis_testkit::loops::{Focus, LoopTrial};
use tamis_testkit::prng::Prng;

use super::super::MachineConfig;
use super::table_handler::{TableHandler, TableRule};
use super::{FULL, RunEnd, run};
use crate::fast_paths::{FastPath, plain_walk, without};

const RULES: [TableRule; 6] = [
    TableRule::Select,
    TableRule::SelectFirst,
    TableRule::Exclude { nulls: false, empty: false },
    TableRule::Exclude { nulls: true, empty: false },
    TableRule::Exclude { nulls: false, empty: true },
    TableRule::Exclude { nulls: true, empty: true },
];

/// A machine and a handler that are compared with and without shortcuts.
#[derive(Debug)]
struct MachineTrial {
    config: MachineConfig,
    rule: TableRule,
    names: Vec<&'static str>,
}

impl MachineTrial {
    fn new(prng: &mut Prng, focus: Focus, key: Option<usize>, depth: Option<usize>) -> Self {
        let rule = prng.pick(&RULES);
        let config = MachineConfig {
            depth: depth.unwrap_or(FULL.depth),
            key: key.unwrap_or(FULL.key),
            longest_key: key.unwrap_or(FULL.key),
            structure: prng.one_in(2),
            detect_empty_strings: prng.one_in(3)
                || matches!(rule, TableRule::Exclude { empty: true, .. }),
            ..FULL
        };
        let most = prng.pick(&[0, 1, 2, 4, NAMES.len()]);
        let mut names: Vec<&str> = (0..most).map(|_| focus.name(prng)).collect();
        if prng.one_in(6) {
            // A table of more names than a set for quick rejection takes.
            names = NAMES.to_vec();
        }
        Self { config, rule, names }
    }

    /// Returns the trace and the end of a run.
    fn run(&self, document: &[u8], cuts: &[usize]) -> (String, RunEnd) {
        let mut handler = TableHandler::new(self.rule, &self.names);
        let end = run(&self.config, document, cuts, &mut handler);
        (handler.trace(), end)
    }

    /// Compares a run with one without shortcuts. Returns whether it failed.
    fn compare(&self, document: &[u8], cuts: &[usize]) -> bool {
        let fast = self.run(document, cuts);
        let plain = plain_walk(|| self.run(document, cuts));
        assert!(
            fast == plain,
            "the loops differ from the walk\n  {self:?}\n  cuts: {cuts:?}\n  document: {}\n  \
             loops: {fast:?}\n  walk:  {plain:?}",
            document.escape_ascii()
        );
        let path = FastPath::cycle(document.len() + cuts.first().copied().unwrap_or(0));
        let other = without(path, || self.run(document, cuts));
        assert!(
            other == plain,
            "without {path:?}, the result differs from the walk\n  {self:?}\n  cuts: {cuts:?}\n  \
             document: {}\n  found: {other:?}\n  walk:  {plain:?}",
            document.escape_ascii()
        );
        plain.1 != RunEnd::Complete
    }
}

#[test]
fn loops_do_what_the_walk_does() {
    let mut failed = 0;
    let trials = share(6000);
    for seed in 0..trials {
        let mut prng = Prng::new(seed);
        let trial = LoopTrial::new(&mut prng);
        let machine = MachineTrial::new(&mut prng, trial.focus, trial.key, trial.depth);
        for cuts in &trial.cuts {
            failed += u64::from(machine.compare(&trial.document, cuts));
        }
    }
    assert!((trials..3 * trials).contains(&failed), "{failed} of {} runs failed", 4 * trials);
}

#[test]
fn loops_do_what_the_walk_does_at_every_cut() {
    for seed in 0..share(600) {
        let mut prng = Prng::new(seed);
        let focus = Focus::new(&mut prng);
        let key = prng.pick(&[None, None, Some(4), Some(9)]);
        let limit = key.unwrap_or(documents::LONG_KEY);
        let document = documents::small_document(&mut prng, focus, limit);
        let machine = MachineTrial::new(&mut prng, focus, key, None);
        let every: Vec<usize> = (1..document.len()).collect();
        machine.compare(&document, &every);
        for cut in 0..document.len().min(400) {
            machine.compare(&document, &[cut]);
        }
    }
}
