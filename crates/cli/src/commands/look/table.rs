//! Prints trees as tables: tokens, share, bytes, count and path, the heaviest first.
//!
//! This module must not depend on where a tree is from.

use std::collections::{BTreeSet, HashMap};
use std::fmt;

use indicatif::HumanCount;
use tamis_insight::look::{LookKind, LookNode, LookTree};

use super::measure::{Measured, Message};
use crate::console::print::one_line;
use crate::figures::stats::saved;

/// Number of cells of a full bar.
const BAR: u64 = 10;
/// Longest path that is shown, in characters.
const PATH: usize = 120;

/// Displays the figures of a run.
pub(super) struct Shown<'a> {
    pub(super) title: &'a str,
    pub(super) measured: &'a Measured,
    /// Maximum number of steps of a path.
    pub(super) depth: usize,
    /// Maximum number of paths.
    pub(super) top: usize,
}

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Measured { before, after, documents, read, messages, filter, kept, .. } = self.measured;
        let noun = match before.kind() {
            LookKind::Chat => "message",
            LookKind::Lines => "line",
            _ => "document",
        };
        let plural = if *documents == 1 { "" } else { "s" };
        write!(
            f,
            "{}: {} bytes, {} tokens, {} {noun}{plural}",
            one_line(self.title),
            HumanCount(*read),
            tokens(before, before.tokens()),
            HumanCount(*documents)
        )?;
        let white = read.saturating_sub(before.bytes());
        // A final newline is not worth a word.
        if white * 100 > *read && before.kind() == LookKind::Json {
            write!(f, "; {} bytes of white space are not counted", HumanCount(white))?;
        }
        writeln!(f)?;
        match after {
            None => self.tree(f, before, None),
            Some(after) if before.kind() == LookKind::Chat => {
                self.tree(f, before, Some(after))?;
                self.messages(f, messages)?;
                writeln!(
                    f,
                    "\nafter tamis prune: {}",
                    saved([before.bytes(), after.bytes()], [None; 2])
                )
            }
            Some(after) if before.kind() == LookKind::Lines => {
                self.tree(f, before, Some(after))?;
                let name = filter.as_deref().unwrap_or("no filter");
                writeln!(f, "\nafter {name}: {}", saved([before.bytes(), after.bytes()], [None; 2]))
            }
            Some(after) => {
                self.tree(f, before, None)?;
                writeln!(f, "\nafter the filter: {}", saved([*read, after.bytes()], [None; 2]))?;
                for kept in kept {
                    writeln!(f, "{}", one_line(&kept.to_string()))?;
                }
                self.tree(f, after, None)
            }
        }
    }
}

impl Shown<'_> {
    /// Prints a tree. With `after`, a tree with the same paths, also what remains of each.
    fn tree(
        &self,
        f: &mut fmt::Formatter<'_>,
        tree: &LookTree,
        after: Option<&LookTree>,
    ) -> fmt::Result {
        let left: Option<HashMap<String, u64>> =
            after.map(|after| after.nodes().map(|node| (node.path(), node.tokens())).collect());
        let remains = |node: LookNode<'_>| {
            let count = left.as_ref()?.get(&node.path()).copied().unwrap_or(0);
            Some(tokens(after?, count))
        };
        let shown = self.heaviest(tree);
        let rows: Vec<[String; 6]> = shown
            .iter()
            .filter_map(|at| tree.node(*at))
            .map(|node| {
                [
                    tokens(tree, node.tokens()),
                    remains(node).unwrap_or_default(),
                    HumanCount(node.bytes()).to_string(),
                    HumanCount(node.count()).to_string(),
                    format!("{}.{} %", node.share() / 10, node.share() % 10),
                    bar(node.share()),
                ]
            })
            .collect();
        let titles =
            ["tokens", if after.is_some() { "after" } else { "" }, "bytes", "count", "share", ""];
        let mut widths = titles.map(str::len);
        for row in &rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(cell.chars().count());
            }
        }
        let line = |f: &mut fmt::Formatter<'_>, cells: [&str; 6], path: &str| {
            let mut text = String::new();
            for (number, (cell, width)) in cells.iter().zip(widths).enumerate() {
                if width == 0 {
                    continue;
                }
                // The bar begins at its share.
                let pad = " ".repeat(width.saturating_sub(cell.chars().count()));
                match number {
                    5 => text.push_str(&format!("{cell}{pad}  ")),
                    _ => text.push_str(&format!("{pad}{cell}  ")),
                }
            }
            writeln!(f, "  {text}{path}")
        };
        line(f, titles, "path")?;
        for (row, node) in rows.iter().zip(shown.iter().filter_map(|at| tree.node(*at))) {
            let path = if node.position() == 0 { "(document)".to_owned() } else { node.path() };
            line(f, row.each_ref().map(String::as_str), &shortened(&one_line(&path)))?;
        }
        let hidden = tree.nodes().len() - shown.len();
        if hidden > 0 {
            let paths = if hidden == 1 { "path" } else { "paths" };
            writeln!(f, "  … {} more {paths}: --top 0 shows all", HumanCount(hidden as u64))?;
        }
        Ok(())
    }

    /// Returns the positions of the heaviest nodes, in the order of the tree. A node is not lighter than those below it,
    /// so the parents of all of them are among them.
    fn heaviest(&self, tree: &LookTree) -> Vec<usize> {
        let mut order: Vec<(u64, usize)> = tree
            .nodes()
            .filter(|node| node.level() <= self.depth)
            .map(|node| (node.bytes(), node.position()))
            .collect();
        order.sort_by_key(|(bytes, at)| (std::cmp::Reverse(*bytes), *at));
        // The document itself is shown in addition.
        let shown = order.into_iter().take(self.top.saturating_add(1)).map(|(_, at)| at);
        shown.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Prints the heaviest messages of a chat.
    fn messages(&self, f: &mut fmt::Formatter<'_>, messages: &[Message]) -> fmt::Result {
        let mut order: Vec<&Message> = messages.iter().collect();
        order.sort_by_key(|message| (std::cmp::Reverse(message.bytes), message.number));
        if order.is_empty() {
            return Ok(());
        }
        let hidden = order.len().saturating_sub(self.top);
        order.truncate(self.top);
        writeln!(f, "\nheaviest messages:")?;
        for message in order {
            let after = message.bytes.saturating_sub(message.removed);
            writeln!(
                f,
                "  {:>10}  → {:>10}  message {} ({})",
                format!("~{}", HumanCount(message.bytes.div_ceil(4))),
                format!("~{}", HumanCount(after.div_ceil(4))),
                message.number,
                message.role
            )?;
        }
        if hidden > 0 {
            let messages = if hidden == 1 { "message" } else { "messages" };
            writeln!(f, "  … {} more {messages}: --top 0 shows all", HumanCount(hidden as u64))?;
        }
        Ok(())
    }
}

/// Returns a number of tokens, with a leading `~` if it is estimated.
fn tokens(tree: &LookTree, count: u64) -> String {
    format!("{}{}", if tree.is_exact() { "" } else { "~" }, HumanCount(count))
}

/// Returns the bar for a share in tenths of a percent.
fn bar(share: u64) -> String {
    let eighths = (share * BAR * 8).div_ceil(1000);
    let full = usize::try_from(eighths / 8).unwrap_or(0);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let rest = usize::try_from(eighths % 8).ok().and_then(|at| rest.get(at)).unwrap_or(&"");
    format!("{}{rest}", "█".repeat(full))
}

/// Returns the first characters of a path, with an ellipsis if it is longer.
fn shortened(path: &str) -> String {
    if path.chars().count() <= PATH {
        return path.to_owned();
    }
    let short: String = path.chars().take(PATH - 1).collect();
    format!("{short}…")
}
