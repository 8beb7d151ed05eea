//! Random histories, compared with the model byte for byte.

use tamis_testkit::effort::share;
use tamis_testkit::history::drivers::{check, slice};
use tamis_testkit::history::generate::{self, prune_of};
use tamis_testkit::history::model;
use tamis_testkit::prng::Prng;

#[test]
fn histories_are_pruned_as_the_model_says() {
    let mut pruned = 0;
    let histories = share(3000);
    for seed in 0..histories {
        let mut prng = Prng::new(seed);
        let rules = generate::rules(&mut prng);
        let history = generate::history(&mut prng);
        let expected = model::prune(&history, &rules);
        let program = tamis_chat::PruneProgram::compile(&prune_of(&rules)).unwrap();
        let output = slice(&program, history.as_bytes()).output.unwrap();
        let output = String::from_utf8(output).unwrap();
        assert_eq!(output, expected, "seed {seed}, {rules:?}, {history}");
        let _: serde_json::Value = serde_json::from_str(&output).unwrap();
        pruned += u64::from(output != history);
        // All drivers and a second run, for some of them.
        if seed % 40 == 0 {
            check(&format!("seed {seed}"), &prune_of(&rules), history.as_bytes());
        }
    }
    assert!(pruned > histories / 5, "{pruned} histories changed");
}
