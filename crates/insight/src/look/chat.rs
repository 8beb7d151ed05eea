//! The sizes of a chat as trees: per tool and per role, before and after pruning.

use super::tree::{LookKind, LookTree, Part, TokenFigures};
use tamis_chat::{ChatSize, ChatSizes};

/// Returns the tree of a chat as it is, and as pruning would leave it. Both have the same nodes: tool results by tool, and
/// messages by role.
///
/// ```
/// use tamis_chat::{ChatScan, PruneProgram, PruneSpec};
/// use tamis_insight::look::look_chat;
///
/// let mut scan = ChatScan::new(&PruneProgram::compile(&PruneSpec::new().keep_turns(1))?);
/// scan.write(br#"[{"role":"tool","name":"read","content":"a text of some length, which is pruned"},"#)?;
/// scan.write(br#"{"role":"user","content":"go on"}]"#)?;
/// let [before, after] = look_chat(&scan.end()?);
/// let paths: Vec<_> = before.nodes().map(|node| node.path()).collect();
/// assert_eq!(paths, ["", "tool results", "tool results / read", "tool messages", "user messages"]);
/// assert_eq!((before.bytes(), after.bytes()), (116, 103));
/// # Ok::<(), tamis::Error>(())
/// ```
#[must_use]
pub fn look_chat(sizes: &ChatSizes) -> [LookTree; 2] {
    [false, true].map(|pruned| tree(sizes, pruned))
}

fn tree(sizes: &ChatSizes, pruned: bool) -> LookTree {
    let bytes = |size: &ChatSize| match pruned {
        true => size.bytes.saturating_sub(size.removed),
        false => size.bytes,
    };
    let roles = sizes.roles.values().map(|size| size.bytes);
    let results = sizes.tools.values().map(|size| size.bytes);
    let named: u64 = roles.chain(results).sum();
    // Everything outside messages.
    let own = sizes.report.bytes.saturating_sub(named);
    let mut parts = vec![Part { count: 1, bytes: own, ..Part::default() }];
    if !sizes.tools.is_empty() {
        let count = sizes.tools.values().map(|size| size.count).sum();
        parts.push(Part { step: "tool results".to_owned(), count, ..Part::default() });
    }
    for (name, size) in &sizes.tools {
        let step = if name.is_empty() { "(unknown)" } else { name };
        let (step, count) = (step.to_owned(), size.count);
        parts.push(Part { parent: 1, step, count, bytes: bytes(size), ..Part::default() });
    }
    for (role, size) in &sizes.roles {
        let (step, count) = (format!("{role} messages"), size.count);
        parts.push(Part { step, count, bytes: bytes(size), ..Part::default() });
    }
    LookTree::new(LookKind::Chat, TokenFigures::Estimated, parts)
}
