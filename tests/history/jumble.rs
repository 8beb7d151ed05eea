//! Messages that are of several shapes at once: members of all of them, in any order and as often as they like.
//!
//! Nothing is known of what should go; the output is valid all the same, and a second run changes nothing.

use tamis::Prune;

use crate::drivers::{check, slice};
use crate::prng::Prng;

/// What stands for a letter: members of an object (`{$M}`), elements of a list (`[$B]`), or a value.
const GRAMMAR: [(char, &[&str]); 9] = [
    (
        'M',
        &[
            r#""role":"tool""#,
            r#""role":"tool""#,
            r#""role":"user""#,
            r#""role":null"#,
            r#""content":$V"#,
            r#""content":[$B]"#,
            r#""parts":[$P]"#,
            r#""parts":[$P]"#,
            r#""metadata":$S"#,
            r#""type":"function_call_output""#,
            r#""output":$V"#,
            r#""tool_call_id":"c""#,
            r#""call_id":"c""#,
            r#""name":"read""#,
            r#""tool_calls":[{"id":"c","function":{"name":"read"}}]"#,
            r#""info":{"role":"user"}"#,
            r#""other":$V"#,
        ],
    ),
    ('B', &["{$K}", "{$K}", "$V"]),
    (
        'K',
        &[
            r#""type":"tool_result""#,
            r#""type":"tool_result""#,
            r#""type":"text""#,
            r#""tool_use_id":"c""#,
            r#""content":$V"#,
            r#""text":$V"#,
            r#""name":"skill""#,
        ],
    ),
    ('P', &["{$Q}", "{$Q}", "$V"]),
    (
        'Q',
        &[
            r#""type":"tool""#,
            r#""type":"tool""#,
            r#""type":"text""#,
            r#""state":$S"#,
            r#""state":$S"#,
            r#""functionResponse":{$R}"#,
            r#""functionResponse":$V"#,
            r#""function_response":{$R}"#,
            r#""functionCall":{$R}"#,
            r#""tool":"read""#,
        ],
    ),
    (
        'S',
        &[
            r#"{"output":$V,$T}"#,
            r"{$T,$T}",
            r#"{$T,"output":$V}"#,
            r#"{"output":$V}"#,
            "{}",
            "null",
            "7",
        ],
    ),
    (
        'T',
        &[
            r#""time":{}"#,
            r#""time":{"start":1}"#,
            r#""time":{ "compacted":1 }"#,
            r#""time":{"compacted":0}"#,
            r#""time":null"#,
            r#""x":$V"#,
        ],
    ),
    (
        'R',
        &[
            r#""response":{}"#,
            r#""response":{"a":$V}"#,
            r#""response":{"a":$V,"b":$V}"#,
            r#""response":$V"#,
            r#""id":"c""#,
        ],
    ),
    (
        'V',
        &[
            r#""a longer text, of which something may stay""#,
            r#""\u00e9\ud83d\ude00\ud83d é" "#,
            r#""""#,
            "null",
            " 1.50 ",
            r#"{"a": [1]}"#,
            "[]",
            r#"[{"type":"text","text":"one"}]"#,
            r#"[{"type":"text","text":"one"},{"text":"two"}]"#,
        ],
    ),
];

/// Writes a text with what stands for the letters in it. Members come often, elements less so, a value once.
fn expand(text: &str, prng: &mut Prng, into: &mut String) {
    let mut pieces = text.split('$');
    into.push_str(pieces.next().unwrap());
    for piece in pieces {
        let letter = piece.chars().next().unwrap();
        let (_, choices) = GRAMMAR.iter().find(|(own, _)| *own == letter).unwrap();
        let times = match letter {
            'M' => 2 + prng.below(6),
            'K' | 'Q' => 1 + prng.below(4),
            'B' | 'P' | 'R' => 1 + prng.below(2),
            _ => 1,
        };
        for number in 0..times {
            into.push_str(if number > 0 { "," } else { "" });
            expand(prng.pick(choices), prng, into);
        }
        into.push_str(&piece[1..]);
    }
}

#[test]
fn what_comes_out_is_valid() {
    let mut pruned = 0;
    for seed in 0..3000 {
        let mut prng = Prng::new(seed);
        let mut history = String::from("[");
        for _ in 0..1 + prng.below(3) {
            expand("{$M},", &mut prng, &mut history);
        }
        history += r#"{"role":"user"}]"#;
        let prune = Prune::new()
            .keep_turns(prng.below(2) as u64)
            .keep_head(if prng.one_in(3) { prng.below(4) as u64 } else { 0 })
            .keep_tail(if prng.one_in(3) { prng.below(4) as u64 } else { 0 })
            .placeholder(prng.pick(&["<tool-output-compacted />", "-", "[{tool} {id} {bytes}]"]))
            .now(crate::drivers::NOW);
        let name = format!("seed {seed}: {history}");
        let program = tamis::PruneProgram::compile(&prune).unwrap();
        let run = slice(&program, history.as_bytes());
        let output = String::from_utf8(run.output.unwrap()).unwrap();
        let valid = serde_json::from_str::<serde::de::IgnoredAny>(&output);
        assert!(valid.is_ok(), "{name}\n{output}");
        let saved = run.report.unwrap()["bytes_saved"].as_i64().unwrap();
        assert_eq!(saved, history.len() as i64 - output.len() as i64, "{name}");
        let again = slice(&program, output.as_bytes());
        assert_eq!(String::from_utf8(again.output.unwrap()).unwrap(), output, "{name}");
        assert_eq!(again.report.unwrap()["results_pruned"], 0, "{name}");
        if seed % 40 == 0 {
            check(&name, &prune, history.as_bytes());
        }
        pruned += usize::from(output != history);
    }
    assert!(pruned > 750, "{pruned} histories changed");
}
