//! The difference of two texts, as a unified diff.

use std::fmt::Write as _;

/// Lines before and after a change.
const CONTEXT: usize = 3;
/// Bytes of a line that are shown: a minified file is one line.
const WIDTH: usize = 400;
/// Differences up to which the shortest diff is searched for.
const EFFORT: usize = 2_000;

/// One line of a diff.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Line<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// Returns the diff of a file. `None` stands for a file that does not exist.
pub(crate) fn unified(name: &str, old: Option<&str>, new: Option<&str>) -> String {
    let lines = compare(old.unwrap_or_default(), new.unwrap_or_default());
    let mut out = String::new();
    let shown = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" };
    _ = writeln!(out, "--- {}", shown(old));
    _ = writeln!(out, "+++ {}", shown(new));
    let changed: Vec<usize> = (0..lines.len()).filter(|at| !is_same(lines.get(*at))).collect();
    let mut rest = changed.as_slice();
    while let Some(first) = rest.first() {
        let mut last = *first;
        let near = rest.iter().take_while(|at| {
            let joins = **at <= last + 2 * CONTEXT + 1;
            last = if joins { **at } else { last };
            joins
        });
        let count = near.count();
        let begin = first.saturating_sub(CONTEXT);
        let end = (last + CONTEXT + 1).min(lines.len());
        let before = lines.get(..begin).unwrap_or_default();
        let hunk = lines.get(begin..end).unwrap_or_default();
        write_hunk(&mut out, before, hunk);
        rest = rest.get(count..).unwrap_or_default();
    }
    out
}

fn is_same(line: Option<&Line<'_>>) -> bool {
    matches!(line, Some(Line::Same(_)))
}

fn write_hunk(out: &mut String, before: &[Line<'_>], hunk: &[Line<'_>]) {
    let old =
        |lines: &[Line<'_>]| lines.iter().filter(|line| !matches!(line, Line::New(_))).count();
    let new =
        |lines: &[Line<'_>]| lines.iter().filter(|line| !matches!(line, Line::Old(_))).count();
    let start = |before: usize, count: usize| if count == 0 { before } else { before + 1 };
    let (old_count, new_count) = (old(hunk), new(hunk));
    _ = writeln!(
        out,
        "@@ -{},{old_count} +{},{new_count} @@",
        start(old(before), old_count),
        start(new(before), new_count)
    );
    for line in hunk {
        let (mark, text) = match line {
            Line::Same(text) => (' ', text),
            Line::Old(text) => ('-', text),
            Line::New(text) => ('+', text),
        };
        let (text, has_end) = text.strip_suffix('\n').map_or((*text, false), |text| (text, true));
        let text = text.strip_suffix('\r').unwrap_or(text);
        _ = writeln!(out, "{mark}{}", clip(text));
        if !has_end {
            out.push_str("\\ No newline at end of file\n");
        }
    }
}

/// Shortens a long line, and escapes control characters: the files belong to others.
fn clip(text: &str) -> String {
    let plain = |text: &str| -> String {
        let escape = |char: char| if char.is_control() && char != '\t' { '\u{fffd}' } else { char };
        text.chars().map(escape).collect()
    };
    if text.len() <= WIDTH {
        return plain(text);
    }
    let head: String = text.chars().take(WIDTH / 2).collect();
    let tail = text.chars().rev().take(WIDTH / 2).collect::<Vec<_>>();
    let tail: String = tail.into_iter().rev().collect();
    format!("{}…{}", plain(&head), plain(&tail))
}

fn compare<'a>(old: &'a str, new: &'a str) -> Vec<Line<'a>> {
    let old: Vec<&str> = old.split_inclusive('\n').collect();
    let new: Vec<&str> = new.split_inclusive('\n').collect();
    let head = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) =
        (old.get(head..).unwrap_or_default(), new.get(head..).unwrap_or_default());
    let tail = old_rest
        .iter()
        .rev()
        .zip(new_rest.iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let old_middle = old_rest.get(..old_rest.len() - tail).unwrap_or_default();
    let new_middle = new_rest.get(..new_rest.len() - tail).unwrap_or_default();
    let mut lines: Vec<Line<'a>> = old.iter().take(head).map(|line| Line::Same(line)).collect();
    lines.extend(shortest(old_middle, new_middle).unwrap_or_else(|| {
        let gone = old_middle.iter().map(|line| Line::Old(line));
        gone.chain(new_middle.iter().map(|line| Line::New(line))).collect()
    }));
    lines.extend(old.iter().skip(old.len() - tail).map(|line| Line::Same(line)));
    lines
}

/// The algorithm of Myers: the shortest list of removed and added lines. `None` if it is longer than the effort.
fn shortest<'a>(old: &[&'a str], new: &[&'a str]) -> Option<Vec<Line<'a>>> {
    let most = (old.len() + new.len()).min(EFFORT);
    // `ends[k + middle]`: how far in `old` the path on diagonal `k` leads.
    let middle = most + 1;
    let mut ends = vec![0usize; 2 * middle + 1];
    let mut steps = Vec::new();
    for distance in 0..=most {
        steps.push(ends.clone());
        for diagonal in (middle - distance..=middle + distance).step_by(2) {
            let (below, above) = (*ends.get(diagonal - 1)?, *ends.get(diagonal + 1)?);
            let goes_down =
                diagonal == middle - distance || (diagonal != middle + distance && below < above);
            let mut x = if goes_down { above } else { below + 1 };
            let mut y = (x + middle).checked_sub(diagonal)?;
            while x < old.len() && y < new.len() && old.get(x) == new.get(y) {
                (x, y) = (x + 1, y + 1);
            }
            *ends.get_mut(diagonal)? = x;
            if x >= old.len() && y >= new.len() {
                return trace(old, new, &steps, middle);
            }
        }
        if steps.len() * ends.len() > 20_000_000 {
            return None;
        }
    }
    None
}

fn trace<'a>(
    old: &[&'a str],
    new: &[&'a str],
    steps: &[Vec<usize>],
    middle: usize,
) -> Option<Vec<Line<'a>>> {
    let (mut x, mut y) = (old.len(), new.len());
    let mut lines = Vec::new();
    for (distance, ends) in steps.iter().enumerate().rev() {
        let diagonal = x + middle - y;
        let (below, above) = (*ends.get(diagonal - 1)?, *ends.get(diagonal + 1)?);
        let goes_down =
            diagonal == middle - distance || (diagonal != middle + distance && below < above);
        let (from_x, from_y) = if distance == 0 {
            (0, 0)
        } else if goes_down {
            (above, above + middle - (diagonal + 1))
        } else {
            (below, below + middle - (diagonal - 1))
        };
        let (step_x, step_y) = match (distance, goes_down) {
            (0, _) => (0, 0),
            (_, true) => (from_x, from_y + 1),
            (_, false) => (from_x + 1, from_y),
        };
        while x > step_x && y > step_y {
            (x, y) = (x - 1, y - 1);
            lines.push(Line::Same(old.get(x)?));
        }
        if distance > 0 {
            lines.push(if goes_down {
                Line::New(new.get(from_y)?)
            } else {
                Line::Old(old.get(from_x)?)
            });
        }
        (x, y) = (from_x, from_y);
    }
    lines.reverse();
    Some(lines)
}

#[cfg(test)]
mod tests {
    use super::{Line, compare, unified};

    #[test]
    fn hunks_are_those_of_diff() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let new = "a\nX\nb\nc\nd\ne\nf\ng\nh\ni\nj\nl";
        let expected = "--- f\n+++ f\n@@ -1,4 +1,5 @@\n a\n+X\n b\n c\n d\n@@ -8,5 +9,4 @@\n h\n i\n j\n-k\n-l\n+l\n\\ No newline at end of file\n";
        assert_eq!(unified("f", Some(old), Some(new)), expected);
        let made = unified("f", None, Some("x\n"));
        assert_eq!(made, "--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+x\n");
        assert_eq!(unified("f", Some("x\n"), None), "--- f\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n");
    }

    #[test]
    fn a_diff_has_both_texts() {
        let words = ["a\n", "b\n", "c\n"];
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize
        };
        for _ in 0..500 {
            let mut text = || (0..next() % 12).map(|_| words[next() % 3]).collect::<String>();
            let (old, new) = (text(), text());
            let lines = compare(&old, &new);
            let side = |with_old: bool| -> String {
                let keep = |line: &Line<'_>| match *line {
                    Line::Same(text) => Some(text.to_owned()),
                    Line::Old(text) => with_old.then(|| text.to_owned()),
                    Line::New(text) => (!with_old).then(|| text.to_owned()),
                };
                lines.iter().filter_map(keep).collect()
            };
            assert_eq!((side(true), side(false)), (old, new));
        }
    }
}
