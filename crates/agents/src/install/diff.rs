//! The difference of two texts, as a unified diff.

use std::fmt::Write as _;

use similar::{Algorithm, ChangeTag, DiffOp, capture_diff_slices, group_diff_ops};

/// Lines before and after a change.
const CONTEXT: usize = 3;
/// Bytes of a line that are shown: a minified file is one line.
const WIDTH: usize = 400;

/// Returns the diff of a file. `None` stands for a file that does not exist.
pub(crate) fn unified(name: &str, old: Option<&str>, new: Option<&str>) -> String {
    let shown = |text: Option<&str>| if text.is_some() { name } else { "/dev/null" };
    let mut out = format!("--- {}\n+++ {}\n", shown(old), shown(new));
    let (old, new) = (lines(old), lines(new));
    for hunk in group_diff_ops(capture_diff_slices(Algorithm::Myers, &old, &new), CONTEXT) {
        write_hunk(&mut out, &hunk, &old, &new);
    }
    out
}

fn lines(text: Option<&str>) -> Vec<&str> {
    text.unwrap_or_default().split_inclusive('\n').collect()
}

fn write_hunk(out: &mut String, hunk: &[DiffOp], old: &[&str], new: &[&str]) {
    let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else { return };
    let place = |start: usize, end: usize| {
        let count = end - start;
        format!("{},{count}", if count == 0 { start } else { start + 1 })
    };
    let removed = place(first.old_range().start, last.old_range().end);
    let added = place(first.new_range().start, last.new_range().end);
    _ = writeln!(out, "@@ -{removed} +{added} @@");
    for change in hunk.iter().flat_map(|part| part.iter_changes(old, new)) {
        let mark = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let line = change.value();
        let text = line.strip_suffix('\n').unwrap_or(line);
        _ = writeln!(out, "{mark}{}", clip(text.strip_suffix('\r').unwrap_or(text)));
        if !line.ends_with('\n') {
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
    let begin: String = text.chars().take(WIDTH / 2).collect();
    let end = text.chars().rev().take(WIDTH / 2).collect::<Vec<_>>();
    let end: String = end.into_iter().rev().collect();
    format!("{}…{}", plain(&begin), plain(&end))
}

#[cfg(test)]
mod tests {
    use super::unified;

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

    /// Applies a diff to the old text, line by line, as `patch` does.
    fn patched(old: &str, diff: &str) -> String {
        let old: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut at, mut out) = (0, String::new());
        for line in diff.split_inclusive('\n').skip(2) {
            if let Some(place) = line.strip_prefix("@@ -") {
                let (start, rest) = place.split_once(',').unwrap();
                let is_empty = rest.starts_with("0 ");
                let start = start.parse::<usize>().unwrap() - usize::from(!is_empty);
                out.extend(old[at..start].iter().copied());
                at = start;
            } else if let Some(same) = line.strip_prefix(' ') {
                assert_eq!(old[at], same);
                (at, out) = (at + 1, out + same);
            } else if let Some(removed) = line.strip_prefix('-') {
                assert_eq!(old[at], removed);
                at += 1;
            } else {
                out += line.strip_prefix('+').unwrap();
            }
        }
        out.extend(old[at..].iter().copied());
        out
    }

    #[test]
    fn a_diff_leads_from_one_text_to_the_other() {
        let words = ["a\n", "b\n", "c\n"];
        let mut seed = 7u32;
        let mut next = || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize
        };
        for _ in 0..500 {
            let mut text = || (0..next() % 30).map(|_| words[next() % 3]).collect::<String>();
            let (old, new) = (text(), text());
            assert_eq!(patched(&old, &unified("f", Some(&old), Some(&new))), new);
        }
    }
}
