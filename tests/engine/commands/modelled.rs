//! Random rules over random outputs: the engine against the model, through every cut.

use tamis::Limits;
use tamis_command::{CommandRules, OutputFilterRegistry};

use tamis_testkit::commands::drivers::{Subject, agree};
use tamis_testkit::commands::model::{Declared, output};
use tamis_testkit::effort::share;
use tamis_testkit::prng::Prng;

#[test]
fn the_engine_does_what_the_model_does() {
    let mut prng = Prng::named("model");
    let (limits, mut changed) = (Limits::new(), 0);
    let runs = share(800);
    for run in 0..runs {
        let declared = Declared::random(&mut prng);
        let times = if prng.one_in(10) { 2000 } else { 12 };
        let raw = output(&mut prng, times);
        let toml = declared.toml();
        let rules = CommandRules::parse("x.toml", &toml).unwrap_or_else(|error| panic!("{error}"));
        let registry = OutputFilterRegistry::new().register_rules(rules);
        let subject = Subject {
            registry: &registry,
            limits: &limits,
            command: "x",
            exit_code: None,
            quiet: true,
            full_output: "full.log",
            cap: tamis_command::OutputCap::new(),
            output: raw.as_bytes(),
        };
        let what = format!("run {run}: {toml}\n{raw:?}");
        let (out, report) = if raw.len() < 300 { agree(&what, subject) } else { subject.push([]) };
        assert_eq!(String::from_utf8(out).unwrap(), declared.run(&raw), "{what}");
        changed += u64::from(report.changed);
    }
    assert!(changed > runs / 4, "{changed} texts were changed");
}
