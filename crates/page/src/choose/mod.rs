//! Decides which blocks of a page are its main part.
//!
//! ```text
//! blocks of the page ──┐                 ┌▶ in the one main part: everything that belongs to it
//!                      ├▶ found blocks ──┼▶ siblings of one kind: all of them
//! article that was found                 └▶ headings: with their section, never alone
//! ```
//!
//! The search for an article finds where the main part is, but is made for articles: of a conversation it keeps the longest
//! posts. So the blocks that it found are a beginning, and their siblings of the same kind are kept as well. The work is
//! linear in the number of blocks, except that siblings of one kind are compared with the first ones of them.

mod opening;
mod teasers;

use std::collections::{HashMap, HashSet};

use super::outline::{Block, Outline, Role};

/// The minimum share of the page's letters outside links that an element `main` or `article` must have, in percent, to be
/// the main part.
const MAIN_SHARE: u64 = 40;
/// A part with a form that has fewer words is for its users: a subscription, a vote, a search.
const FORM: u64 = 80;
/// The maximum number of words of a line of links that belongs to the text around it, such as the name of an author.
const BYLINE: u64 = 6;
/// The minimum number of words of a button that shows another element, to be the heading of that element.
const SENTENCE: u64 = 3;
/// How similar the contents of two siblings must be, in percent of what either contains.
const ALIKE: u32 = 50;
/// How many times shorter a sibling without a name may be than the kept ones are on average.
const SHORTER: u64 = 6;
/// How many found siblings a sibling is compared with.
const COMPARED: usize = 8;

/// The part of a page that was left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of blocks of text: paragraphs, headings, items, cells.
    pub blocks: u64,
    /// The number of their words. In scripts without spaces, every character counts.
    pub words: u64,
}

/// The part of a block that is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Keeps {
    #[default]
    Nothing,
    /// Only the blocks in it that are kept: its own text is not part of the article.
    Blocks,
    All,
}

/// The blocks that were chosen.
#[derive(Debug)]
pub(super) struct Choice {
    /// For each block, whether it is kept.
    pub(super) keep: Vec<Keeps>,
    pub(super) left_out: LeftOut,
    /// The part of it that is inside the main part.
    pub(super) inside: LeftOut,
    /// The number of words that were kept.
    pub(super) words: u64,
    /// The share of the letters outside links that were kept, in percent.
    pub(super) share: u64,
}

/// Figures of a block and the blocks in it.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    words: u64,
    letters: u64,
    linked: u64,
    /// The kinds of the blocks in it, as a set of bits.
    kinds: u64,
    found: bool,
    /// It is or has a title, a heading, or a heading that is a link.
    has_title: bool,
    has_heading: bool,
    has_linked_heading: bool,
    /// The words of the teasers of other articles in it.
    teasers: u64,
    /// It has a field for text or a choice, and is not around the part that has the form.
    field: Field,
}

/// Where a field is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    #[default]
    None,
    /// In a form in this block.
    InForm,
    /// In the block, which is in a form or is one.
    Inside,
}

impl Sum {
    fn prose(&self) -> u64 {
        self.letters.saturating_sub(self.linked)
    }

    fn is_links(&self) -> bool {
        self.linked * 2 > self.letters
    }
}

/// A choice that is being made.
struct Choosing<'o> {
    blocks: &'o [Block],
    /// For each block, whether its own text was found.
    found: &'o [bool],
    /// The page says that it is an article.
    is_article: bool,
    sums: Vec<Sum>,
    keep: Vec<bool>,
    /// The children of block `n` are `order[first[n]..first[n + 1]]`.
    first: Vec<usize>,
    order: Vec<usize>,
}

/// Chooses blocks. `found` says for each block whether an article has it.
pub(super) fn choose(outline: &Outline, found: &[bool]) -> Choice {
    let blocks = outline.blocks.as_slice();
    let mut choosing = Choosing::new(blocks, found);
    choosing.is_article = outline.is_article;
    choosing.count_teasers();
    let main = choosing.main();
    match main {
        Some(main) => choosing.keep_main(main),
        None => {
            choosing.keep_siblings();
            choosing.keep_question();
            if !choosing.is_article {
                choosing.keep_opening();
            }
        }
    }
    choosing.keep_headings();
    choosing.drop_actions();
    choosing.end(main)
}

impl<'o> Choosing<'o> {
    fn new(blocks: &'o [Block], found: &'o [bool]) -> Self {
        let mut sums: Vec<Sum> = blocks
            .iter()
            .enumerate()
            .map(|(number, block)| Sum {
                words: block.words,
                letters: block.letters,
                linked: block.linked,
                has_title: block.is_title,
                has_heading: matches!(block.role, Role::Heading(_)),
                field: if block.has_field { Field::Inside } else { Field::None },
                found: found.get(number).copied().unwrap_or(false),
                ..Sum::default()
            })
            .collect();
        let mut first = vec![0_usize; blocks.len() + 1];
        for (number, block) in blocks.iter().enumerate().skip(1).rev() {
            let Some(own) = sums.get(number).copied() else { continue };
            if let Some(parent) = sums.get_mut(block.parent) {
                parent.words += own.words;
                parent.letters += own.letters;
                parent.linked += own.linked;
                parent.found |= own.found;
                parent.has_title |= own.has_title;
                parent.has_heading |= own.has_heading;
                parent.has_linked_heading |= own.has_linked_heading
                    || (own.is_links() && matches!(block.role, Role::Heading(_)));
                let field = match own.field {
                    Field::Inside if block.is_form => Field::InForm,
                    Field::Inside => Field::Inside,
                    // The comments of an article are not a part of the form below them.
                    Field::InForm | Field::None => Field::None,
                };
                parent.field = parent.field.max(field);
                parent.kinds |= own.kinds | (1 << (block.kind % 64));
            }
            if let Some(count) = first.get_mut(block.parent + 1) {
                *count += 1;
            }
        }
        let mut total = 0;
        for count in &mut first {
            total += *count;
            *count = total;
        }
        let mut next = first.clone();
        let mut order = vec![0; blocks.len()];
        for (number, block) in blocks.iter().enumerate().skip(1) {
            if let Some(at) = next.get_mut(block.parent) {
                if let Some(place) = order.get_mut(*at) {
                    *place = number;
                }
                *at += 1;
            }
        }
        let keep = sums.iter().map(|sum| sum.found).collect();
        Self { blocks, found, is_article: false, sums, keep, first, order }
    }

    fn sum(&self, number: usize) -> Sum {
        self.sums.get(number).copied().unwrap_or_default()
    }

    fn keeps(&self, number: usize) -> bool {
        self.keep.get(number).copied().unwrap_or(false)
    }

    fn set(&mut self, number: usize, kept: bool) {
        if let Some(keep) = self.keep.get_mut(number) {
            *keep = kept;
        }
    }

    fn children(&self, number: usize) -> &[usize] {
        let from = self.first.get(number).copied().unwrap_or(0);
        let to = self.first.get(number + 1).copied().unwrap_or(0);
        self.order.get(from..to).unwrap_or_default()
    }

    /// Returns the element that is the main part according to the page, if it is the only one and has most of the text.
    fn main(&self) -> Option<usize> {
        [Role::Main, Role::Article].into_iter().find_map(|role| {
            let mut inside = vec![false; self.blocks.len()];
            let mut outermost = Vec::new();
            for (number, block) in self.blocks.iter().enumerate() {
                let is_in = number > 0 && inside.get(block.parent).copied().unwrap_or(false);
                if block.role == role && !is_in && self.sum(number).words > 0 {
                    outermost.push(number);
                }
                if let Some(inside) = inside.get_mut(number) {
                    *inside = is_in || block.role == role;
                }
            }
            let [main] = *outermost.as_slice() else { return None };
            let (own, page) = (self.sum(main), self.sum(0));
            let has_most = own.prose() * 100 >= page.prose() * MAIN_SHARE;
            (has_most && own.prose() > 0).then_some(main)
        })
    }

    /// Keeps everything in the main part that belongs to it.
    fn keep_main(&mut self, main: usize) {
        let mut around = main;
        while around > 0 {
            self.set(around, true);
            around = self.blocks.get(around).map_or(0, |block| block.parent);
        }
        self.set(0, true);
        let mut inside = vec![false; self.blocks.len()];
        for (number, block) in self.blocks.iter().enumerate().skip(main) {
            let is_in =
                number == main || (block.parent >= main && inside.get(block.parent) == Some(&true));
            if let Some(inside) = inside.get_mut(number) {
                *inside = is_in;
            }
            if is_in && !self.keeps(number) && self.keeps(block.parent) {
                let keep = !self.is_outside(number);
                self.set(number, keep);
            }
        }
        self.keep_siblings();
    }

    /// Whether a block without found text is not part of the main part: by its name, or because it is a list of links.
    fn is_outside(&self, number: usize) -> bool {
        let Some(block) = self.blocks.get(number) else { return true };
        let sum = self.sum(number);
        block.is_outside
            || (sum.field != Field::None && sum.words < FORM)
            || (self.is_article && block.is_comments)
            || Self::has_teasers(&sum)
            || (sum.is_links()
                && !block.is_title
                && (sum.words > BYLINE || block.role == Role::List || block.is_action)
                && !matches!(block.role, Role::Heading(_)))
    }

    /// Keeps the siblings of kept blocks that are of the same kind.
    fn keep_siblings(&mut self) {
        for parent in 0..self.blocks.len() {
            if !self.keeps(parent) {
                continue;
            }
            let children = self.children(parent).to_vec();
            let mut kinds: HashMap<u64, (Vec<usize>, Vec<usize>)> = HashMap::new();
            for child in children {
                let Some(block) = self.blocks.get(child) else { continue };
                if self.sum(child).words == 0 {
                    continue;
                }
                let (kept, dropped) = kinds.entry(block.kind).or_default();
                if self.keeps(child) { kept.push(child) } else { dropped.push(child) }
            }
            for (kept, dropped) in kinds.into_values() {
                if kept.is_empty() {
                    continue;
                }
                let few = kept.len() + dropped.len() < 3;
                let group = Group::new(self, parent, &kept, &dropped);
                let again: Vec<usize> =
                    dropped.into_iter().filter(|one| self.is_of(*one, &group)).collect();
                again.into_iter().for_each(|one| self.restore(one));
                // Posts: what the search for an article dropped of them, such as their authors.
                let is_item = kept.first().and_then(|one| self.blocks.get(*one));
                if !few && is_item.is_some_and(|block| block.has_class && block.role != Role::List)
                {
                    kept.into_iter().for_each(|one| self.complete(one));
                }
            }
        }
    }

    /// Whether a dropped block is one of a group.
    fn is_of(&self, one: usize, group: &Group) -> bool {
        let Some(block) = self.blocks.get(one) else { return false };
        let own = self.sum(one);
        let links = own.is_links();
        let may_be = match block.role {
            Role::List => !links && !block.is_outside,
            _ if block.has_class => !links || (!group.few && group.names.contains(&block.names)),
            // Without a name, only inside of what was found, and if it is not much shorter.
            _ => {
                let is_long = own.words.saturating_mul(SHORTER * group.kept) >= group.words
                    || (block.is_item && !group.few);
                group.is_found && group.is_most && is_long && (!links || !group.few)
            }
        };
        may_be && group.shapes.iter().any(|shape| is_alike(own.kinds, *shape))
    }

    /// Keeps a block with all blocks in it.
    fn restore(&mut self, number: usize) {
        let mut next = vec![number];
        while let Some(number) = next.pop() {
            self.set(number, true);
            next.extend_from_slice(self.children(number));
        }
    }

    /// Keeps the blocks in one of several items that belong to its text.
    fn complete(&mut self, number: usize) {
        let mut next = vec![number];
        while let Some(number) = next.pop() {
            for child in self.children(number).to_vec() {
                let keep = self.keeps(child) || !self.is_outside(child);
                self.set(child, keep);
                if keep {
                    next.push(child);
                }
            }
        }
    }

    /// Keeps the part with the page's heading if it has text of its own, such as a question before its replies.
    fn keep_question(&mut self) {
        let is_first = |block: &Block| block.role == Role::Heading(1) && !block.is_outside;
        let Some(heading) = self.blocks.iter().position(is_first) else { return };
        let mut part = heading;
        while !self.keeps(part) {
            let parent = self.blocks.get(part).map_or(0, |block| block.parent);
            if self.keeps(parent) || part == 0 {
                break;
            }
            part = parent;
        }
        let has_text = self.sum(part).words > self.sum(heading).words;
        if !self.keeps(part) && has_text && !self.is_outside(part) {
            self.set(part, true);
            self.complete(part);
        }
    }

    /// Keeps a heading whose section is kept, and drops one whose section was dropped.
    fn keep_headings(&mut self) {
        for parent in 0..self.blocks.len() {
            if !self.keeps(parent) {
                continue;
            }
            // From the last child on: what follows the heading, up to the next one of its level.
            let mut section: Option<bool> = None;
            let children = self.children(parent).to_vec();
            for child in children.into_iter().rev() {
                let Some(block) = self.blocks.get(child) else { continue };
                if self.sum(child).words == 0 {
                    continue;
                }
                match block.role {
                    Role::Heading(level) => {
                        match section {
                            Some(true) if !block.is_outside => self.set(child, true),
                            Some(false) if level > 1 => self.set(child, false),
                            _ => {}
                        }
                        section = None;
                    }
                    _ => section = Some(section == Some(true) || self.keeps(child)),
                }
            }
        }
    }

    /// Drops the lists of what a reader can do with a post, which the search for an article keeps below long ones, and
    /// controls without a sentence, such as `Show more`, unless they are the headings of kept panels.
    fn drop_actions(&mut self) {
        let shown = |number: &usize| self.keeps(*number) && self.sum(*number).words > 0;
        let panels =
            (0..self.blocks.len()).filter(shown).filter_map(|panel| self.blocks.get(panel));
        let names: HashSet<(bool, u64)> = panels
            .flat_map(|panel| {
                [panel.id.map(|id| (false, id)), panel.labelled_by.map(|id| (true, id))]
            })
            .flatten()
            .collect();
        for (number, block) in self.blocks.iter().enumerate() {
            let sum = self.sum(number);
            let is_few = sum.words > 0 && sum.words <= 2 * BYLINE;
            let is_control = block.is_control && sum.words < SENTENCE;
            let is_list = block.is_action && block.role == Role::List && sum.is_links() && is_few;
            if !is_list && !is_control {
                continue;
            }
            let has_panel = block.controls.is_some_and(|id| names.contains(&(false, id)))
                || block.id.is_some_and(|id| names.contains(&(true, id)))
                || self.is_before_panel(number, block.parent);
            self.set(number, is_control && has_panel);
        }
    }

    /// Whether a control and one other element, which follows it and is kept, are all that is in an element.
    fn is_before_panel(&self, control: usize, parent: usize) -> bool {
        let mut children = self.children(parent).iter().filter(|child| self.sum(**child).words > 0);
        let own = self.blocks.get(parent).map_or(0, |block| block.words);
        children.next() == Some(&control)
            && children.next().is_some_and(|panel| self.keeps(*panel))
            && children.next().is_none()
            && own == 0
    }

    fn end(mut self, main: Option<usize>) -> Choice {
        let mut left_out = LeftOut::default();
        let mut inside = LeftOut::default();
        let (mut words, mut prose) = (0, 0);
        let mut is_inside = vec![false; self.blocks.len()];
        let mut keeps = vec![Keeps::Nothing; self.blocks.len()];
        for (number, block) in self.blocks.iter().enumerate() {
            let in_main =
                Some(number) == main || (number > 0 && is_inside.get(block.parent) == Some(&true));
            if let Some(is_inside) = is_inside.get_mut(number) {
                *is_inside = in_main;
            }
            let kept = self.keeps(number) && (number == 0 || self.keeps(block.parent));
            self.set(number, kept);
            // A block around found ones, such as the body: its own text was not found.
            let is_bare = kept
                && !in_main
                && self.sum(number).found
                && self.found.get(number) == Some(&false)
                && !matches!(block.role, Role::Heading(_) | Role::Text);
            if is_bare && let Some(keeps) = keeps.get_mut(number) {
                *keeps = Keeps::Blocks;
            } else if kept && let Some(keeps) = keeps.get_mut(number) {
                *keeps = Keeps::All;
            }
            if kept && !is_bare {
                words += block.words;
                prose += block.letters.saturating_sub(block.linked);
            } else if block.words > 0 {
                for left_out in
                    [Some(&mut left_out), in_main.then_some(&mut inside)].into_iter().flatten()
                {
                    left_out.blocks += 1;
                    left_out.words += block.words;
                }
            }
        }
        let share = prose.saturating_mul(100) / self.sum(0).prose().max(1);
        Choice { keep: keeps, left_out, inside, words, share }
    }
}

/// The kept ones of siblings of one kind.
struct Group {
    /// The number of kept ones, and their words.
    kept: u64,
    words: u64,
    /// There are fewer than three siblings of the kind.
    few: bool,
    /// The kept ones have most of the words.
    is_most: bool,
    /// The article has something of the block around them.
    is_found: bool,
    names: HashSet<u64>,
    /// The kinds of blocks in the first ones.
    shapes: Vec<u64>,
}

impl Group {
    fn new(choosing: &Choosing<'_>, parent: usize, kept: &[usize], dropped: &[usize]) -> Self {
        let words = |all: &[usize]| all.iter().map(|one| choosing.sum(*one).words).sum::<u64>();
        let names = kept.iter().filter_map(|one| choosing.blocks.get(*one));
        Self {
            kept: kept.len() as u64,
            words: words(kept),
            few: kept.len() + dropped.len() < 3,
            is_most: words(kept) >= words(dropped),
            is_found: choosing.sum(parent).found && parent > 0,
            names: names.map(|block| block.names).collect(),
            shapes: kept.iter().take(COMPARED).map(|one| choosing.sum(*one).kinds).collect(),
        }
    }
}

/// Whether two blocks contain blocks of the same kinds.
fn is_alike(one: u64, other: u64) -> bool {
    let (both, either) = ((one & other).count_ones(), (one | other).count_ones());
    either == 0 || both * 100 >= either * ALIKE
}

#[cfg(test)]
mod tests {
    use crate::page::Page;

    fn text(html: &str) -> (String, u64) {
        let mut page = Page::new(false);
        let begun = page.push(html);
        let end = page.finish();
        (begun + &end.text, end.left_out.words)
    }

    /// With many siblings and many levels, the choice takes about as long as the rest.
    #[test]
    fn many_siblings_and_levels_are_chosen_from() {
        let prose = "Tides rise and fall, and the almanac says when, in a table for each harbour. ";
        let posts = format!("<div class=post><a href=x>ann</a><p>{prose}</p></div>").repeat(4_000);
        let mixed = "<div class=a><p>short</p></div><p><a href=x>link</a></p>".repeat(4_000);
        let deep = "<div class=a><div class=b><div class=b>x</div>".repeat(2_000);
        for html in [posts, mixed, deep] {
            let (text, _) = text(&format!("<body><p>{}</p>{html}", prose.repeat(20)));
            assert!(text.contains("almanac"));
        }
    }

    /// Siblings without a class, one of them long, and the question before replies.
    #[test]
    fn short_posts_are_kept_with_long_ones() {
        let long = "Tides rise and fall, and the almanac says when, in a table for each harbour. "
            .repeat(8);
        let posts = ["first", &long, "me too", "fixed"];
        let each =
            |begin: &str, end: &str| posts.map(|post| format!("{begin}{post}{end}")).concat();
        for html in [
            format!("<ul class=replies>{}</ul>", each("<li><b>by ann</b><p>", "</p></li>")),
            format!("<div>{}</div>", each("<article><h4>by ann</h4><p>", "</p></article>")),
            format!(
                "<div id=question><h1>How?</h1><div class=text><p>By ann</p></div></div><div id=all>{}</div>",
                each("<div class=reply><p>", "</p></div>")
            ),
            format!(
                "<main><h1>How?</h1><p>By ann</p><div id=all>{}</div></main>",
                each("<div class=reply><form><input type=hidden><p>", "</p></form></div>")
            ),
        ] {
            let (text, _) = text(&format!("<body><nav><a href=x>Home</a></nav>{html}"));
            for kept in ["first", "almanac", "me too", "fixed"] {
                assert!(text.contains(kept), "{kept}: {text}");
            }
            assert!(text.to_lowercase().contains("by ann"), "{text}");
        }
    }

    #[test]
    fn what_is_outside_the_main_part_is_counted() {
        let prose = "Tides rise and fall, and the almanac says when, in a table for each harbour. ";
        let html = format!(
            "<main><h1>Tides</h1><p>{}</p><div class=related><h3>More</h3><p>Two words</p></div></main>",
            prose.repeat(20)
        );
        let (text, words) = text(&html);
        assert!(!text.contains("Two words"), "{text}");
        assert_eq!(words, 3);
    }
}
