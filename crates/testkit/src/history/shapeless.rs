//! Histories of mixed shapes: messages with the members of several shapes, in any order and number, and rules for them.

use tamis_chat::PruneSpec;

use super::drivers::NOW;
use crate::prng::Choices;

/// The expansions of a letter: members of an object (`{$M}`), elements of a list (`[$B]`), or a value.
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
            r#""type":"mcp_call""#,
            r#""type":"tool""#,
            r#""type":"human""#,
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
            r#""type":"tool-result""#,
            r#""type":"tool-result""#,
            r#""type":"text""#,
            r#""output":$V"#,
            r#""output":{"type":"text","value":$V}"#,
            r#""output":{"value":$V,"type":"json"}"#,
            r#""result":$V"#,
            r#""toolName":"read""#,
            r#""tool_use_id":"c""#,
            r#""content":$V"#,
            r#""text":$V"#,
            r#""name":"skill""#,
            r#""toolUse":{"toolUseId":"c","name":"read"}"#,
            r#""toolResult":{"toolUseId":"c","content":[{"text":$V}]}"#,
        ],
    ),
    ('P', &["{$Q}", "{$Q}", "$V"]),
    (
        'Q',
        &[
            r#""type":"tool""#,
            r#""type":"tool""#,
            r#""type":"tool-read""#,
            r#""type":"dynamic-tool""#,
            r#""toolCallId":"c""#,
            r#""toolName":"read""#,
            r#""output":$V"#,
            r#""codeExecutionResult":{"output":$V}"#,
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
            r#"{"attachments":[$V],"output":$V,$T}"#,
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

/// Writes a text and expands its letters. Members are written often, elements less often, a value once.
fn expand(text: &str, prng: &mut impl Choices, into: &mut String) {
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

/// A history.
pub fn history(prng: &mut impl Choices) -> String {
    let mut history = String::from("[");
    for _ in 0..1 + prng.below(3) {
        expand("{$M},", prng, &mut history);
    }
    history + r#"{"role":"user"}]"#
}

/// Rules for it.
pub fn prune(prng: &mut impl Choices) -> PruneSpec {
    PruneSpec::new()
        .keep_turns(prng.below(2) as u64)
        .keep_head(if prng.one_in(3) { prng.below(4) as u64 } else { 0 })
        .keep_tail(if prng.one_in(3) { prng.below(4) as u64 } else { 0 })
        .placeholder(prng.pick(&["<tool-output-compacted />", "-", "[{tool} {id} {bytes}]"]))
        .now(NOW)
}
