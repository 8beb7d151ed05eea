//! The model of the operations of rules: sections, patterns, replacements, head and tail. It reads the whole text.
//!
//! It is slow and plain: each operation is a function over all lines, without chunks and without limits on held bytes.

use regex::Regex;

use crate::prng::Choices;

/// A section: its start, its end, whether the end belongs to it, and whether it is kept.
type Section = (&'static str, Option<(&'static str, bool)>, bool);

#[derive(Debug, Default)]
pub struct Declared {
    sections: Vec<Section>,
    strip: Vec<&'static str>,
    replace: Vec<(&'static str, &'static str)>,
    head: usize,
    tail: usize,
    max_lines: usize,
}

impl Declared {
    pub fn random(prng: &mut impl Choices) -> Self {
        let words = ["^a", "^b", "b$", "c", "^$", "^ab?$"];
        let mut declared = Self::default();
        for _ in 0..prng.below(3) {
            let end = match prng.below(3) {
                0 => None,
                _ => Some((prng.pick(&words), prng.one_in(2))),
            };
            declared.sections.push((prng.pick(&words), end, prng.one_in(2)));
        }
        // Sections that are kept come first, in the order of the file.
        declared.sections.sort_by_key(|section| !section.2);
        if prng.one_in(2) {
            declared.strip.push(prng.pick(&words));
        }
        for _ in 0..prng.below(3) {
            let swaps = [("a+", "a"), ("(b)c", "$1"), ("c", "cc"), ("^(.)(.)(.)", "$3$1")];
            declared.replace.push(prng.pick(&swaps));
        }
        if prng.one_in(2) {
            declared.head = prng.below(4);
            declared.tail = prng.below(4);
            declared.max_lines = prng.below(8);
        }
        declared
    }

    pub fn toml(&self) -> String {
        let mut text =
            "[[rules]]\nname = \"x\"\nmatch = { exact = \"x\" }\nstrip_ansi = false\n".to_owned();
        for (key, keeps) in [("sections", true), ("strip_sections", false)] {
            let list: Vec<String> = self
                .sections
                .iter()
                .filter(|section| section.2 == keeps)
                .map(|(from, end, _)| match end {
                    None => format!("{{ from = '{from}' }}"),
                    Some((end, true)) => format!("{{ from = '{from}', to = '{end}' }}"),
                    Some((end, false)) => format!("{{ from = '{from}', before = '{end}' }}"),
                })
                .collect();
            text += &format!("{key} = [{}]\n", list.join(", "));
        }
        text += &format!("strip = {:?}\n", self.strip);
        let swaps =
            self.replace.iter().map(|(a, b)| format!("{{ pattern = '{a}', with = '{b}' }}"));
        text += &format!("replace = [{}]\n", swaps.collect::<Vec<_>>().join(", "));
        for (key, count) in
            [("head", self.head), ("tail", self.tail), ("max_lines", self.max_lines)]
        {
            if count > 0 {
                text += &format!("{key} = {count}\n");
            }
        }
        text
    }

    pub fn run(&self, raw: &str) -> String {
        let lines: Vec<&str> = raw.split_inclusive('\n').collect();
        let lines: Vec<&str> = self.in_sections(&lines);
        let is = |pattern: &str, line: &str| {
            Regex::new(pattern).unwrap().is_match(line.trim_end_matches('\n'))
        };
        let kept = lines.into_iter().filter(|line| !self.strip.iter().any(|strip| is(strip, line)));
        let lines: Vec<String> = kept.map(|line| self.replaced(line)).collect();
        let (out, cut) = self.cut(&lines);
        // A short text is kept if the result is not shorter, unless the result has a notice.
        if !cut && raw.len() <= 64 << 10 && out.len() >= raw.len() { raw.to_owned() } else { out }
    }

    fn in_sections<'a>(&self, lines: &[&'a str]) -> Vec<&'a str> {
        let is = |pattern: &str, line: &str| {
            Regex::new(pattern).unwrap().is_match(line.trim_end_matches('\n'))
        };
        let mut verdicts = Vec::new();
        let mut open: Option<usize> = None;
        for line in lines {
            if let Some(section) = open {
                let (_, end, keeps) = self.sections[section];
                let ends = end.filter(|(end, _)| is(end, line));
                if ends.is_none_or(|(_, inside)| inside) {
                    verdicts.push(Some(keeps));
                    open = open.filter(|_| ends.is_none());
                    continue;
                }
            }
            let begins = self.sections.iter().position(|section| is(section.0, line));
            verdicts.push(begins.map(|section| self.sections[section].2));
            open = begins.filter(
                |section| !matches!(self.sections[*section].1, Some((end, true)) if is(end, line)),
            );
        }
        let shaped = verdicts.contains(&Some(true));
        let stays = |verdict: Option<bool>| verdict.unwrap_or(!shaped);
        lines
            .iter()
            .zip(verdicts)
            .filter(|(_, verdict)| stays(*verdict))
            .map(|(line, _)| *line)
            .collect()
    }

    fn replaced(&self, line: &str) -> String {
        let (text, end) = line.strip_suffix('\n').map_or((line, ""), |text| (text, "\n"));
        let mut text = text.to_owned();
        for (pattern, with) in &self.replace {
            let other = Regex::new(pattern).unwrap().replace(&text, *with).into_owned();
            if other.len() < text.len() {
                text = other;
            }
        }
        text + end
    }

    /// The remaining lines, and whether lines were removed.
    fn cut(&self, lines: &[String]) -> (String, bool) {
        let (head, tail, whole) = match (self.head, self.tail, self.max_lines) {
            (0, 0, 0) => return (lines.concat(), false),
            (0, 0, most) => (most, 0, 0),
            some => some,
        };
        if lines.len() <= whole.max(head + tail) {
            return (lines.concat(), false);
        }
        let (first, rest) = lines.split_at(head);
        let (out, last) = rest.split_at(rest.len() - tail);
        let noun = if out.len() == 1 { "line" } else { "lines" };
        let end = if tail > 0 || out.last().unwrap().ends_with('\n') { "\n" } else { "" };
        let note = format!("... {} {noun} left out{end}", out.len());
        if out.concat().len() <= note.len() {
            return (lines.concat(), false);
        }
        (first.concat() + &note + &last.concat(), true)
    }
}

/// Lines that the patterns match.
pub fn output(prng: &mut impl Choices, lines: usize) -> String {
    let mut raw = String::new();
    for _ in 0..prng.below(lines) {
        raw += prng.pick(&["a", "b", "ab", "abc", "aaac", "c b", "", "cab", "bcbc"]);
        raw.push('\n');
    }
    if prng.one_in(3) {
        raw += prng.pick(&["a", "bc", "cab"]);
    }
    raw
}
