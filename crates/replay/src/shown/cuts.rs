//! Cuts of any text: that of tamis at a limit, and plain ones of the same size.

use tamis_agents::agent::Agent;
use tamis_command::{CommandLine, FullOutput, OutputCap, OutputFilterRegistry};

use super::agent::{prefix, suffix};
use super::{Rest, Variant, View, source, wrapping};
use crate::transcript::event::ToolResult;

/// The command in notices, as long as a real one.
pub(super) const RECALL: &str = "tamis recall tm_aaaaaaaaaaaaaaaaaaaaaaaaaa";

/// Between the parts of a plain cut.
const GAP: &str = "\n...\n";

/// Cuts a result at a number of tokens. `None`: it is short enough.
pub(super) fn limit(agent: Agent, result: &ToolResult, tokens: u64) -> Option<View> {
    let wrapped = wrapping::split(agent, result);
    let output = result.full.as_deref().unwrap_or(wrapped.output);
    if output.len() as u64 <= tokens {
        return None;
    }
    let cap = OutputCap::new().with_max_tokens(tokens);
    let line = CommandLine::parse(result.call.command.as_deref().unwrap_or_default());
    let mut filter = OutputFilterRegistry::new()
        .start(&line, &tamis::Limits::new(), Vec::new())
        .with_cap(cap)
        .with_query(&result.call.text);
    filter.write(output.as_bytes()).ok()?;
    filter.set_exit_code(result.exit_code);
    filter.set_full_output(FullOutput::command(RECALL));
    let report = filter.end().ok()?;
    if !report.cut && result.full.is_none() && report.lines_capped == 0 {
        return None;
    }
    let text = String::from_utf8_lossy(&filter.into_sink()).into_owned();
    let text = [wrapped.before, &text, wrapped.after].concat();
    let filter = Some(format!("limit-{tokens}"));
    Some(View { text: Some(text), rest: Rest::Kept, filter })
}

/// Cuts a result to a number of bytes.
pub(super) fn baseline(variant: Variant, result: &ToolResult, bytes: usize) -> String {
    let text = source(result);
    if text.len() <= bytes {
        return text.to_owned();
    }
    let room = bytes.saturating_sub(GAP.len());
    match variant {
        Variant::Head => format!("{}{GAP}", prefix(text, room)),
        Variant::Tail => format!("{GAP}{}", suffix(text, room)),
        _ => {
            let head = prefix(text, room / 2);
            format!("{head}{GAP}{}", suffix(text, room - head.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_cuts_have_the_size() {
        let received = "aé\n".repeat(100);
        let result = ToolResult { received, ..ToolResult::default() };
        for variant in [Variant::Head, Variant::Tail, Variant::HeadTail] {
            for bytes in [0, 1, 7, 50, 399, 400] {
                let length = baseline(variant, &result, bytes).len();
                assert!(length <= bytes.max(GAP.len()), "{variant:?} {bytes} {length}");
                assert!(bytes < 12 || length + 3 >= bytes, "{variant:?} {bytes} {length}");
            }
        }
    }

    #[test]
    fn a_limit_cuts_only_what_is_longer() {
        let text = |lines: usize| (0..lines).map(|n| format!("line {n}\n")).collect::<String>();
        let result = |lines| ToolResult {
            received: text(lines),
            is_complete: true,
            ..ToolResult::default()
        };
        assert_eq!(limit(Agent::ClaudeCode, &result(20), 1_000), None);
        let view = limit(Agent::ClaudeCode, &result(5_000), 1_000).unwrap();
        let shown = view.text.unwrap();
        assert!(shown.len() <= 4_000 && shown.contains(RECALL), "{shown}");
    }
}
