//! The kinds of the open containers, one bit per level.

use smallvec::SmallVec;

use crate::scan::UnpairedBrackets;

/// A stack of bits: 1 is an object, 0 an array.
#[derive(Clone, Debug)]
pub struct Levels {
    /// The innermost levels, up to 64; the last one is bit 0.
    inner: u64,
    /// All outer levels, 64 per word.
    outer: SmallVec<[u64; 15]>,
    depth: usize,
}

/// See [`Levels::innermost`].
#[derive(Clone, Copy, Debug)]
pub struct InnermostLevels {
    inner: u64,
    depth: usize,
}

/// Levels per word.
const WORD: usize = u64::BITS as usize;

impl Levels {
    /// Creates the levels of a document that has not begun.
    pub fn new() -> Self {
        Self { inner: 0, outer: SmallVec::new(), depth: 0 }
    }

    /// Returns the number of open containers.
    #[inline]
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// Opens a container.
    #[inline(always)]
    pub fn push(&mut self, object: bool) {
        if self.depth.is_multiple_of(WORD) && self.depth > 0 {
            self.outer.push(self.inner);
        }
        self.inner = self.inner << 1 | u64::from(object);
        self.depth += 1;
    }

    /// Closes the innermost container.
    #[inline(always)]
    pub fn pop(&mut self) {
        self.inner >>= 1;
        self.depth = self.depth.saturating_sub(1);
        if self.depth.is_multiple_of(WORD) {
            self.inner = self.outer.pop().unwrap_or(0);
        }
    }

    /// Applies brackets without pairs: closes containers, then opens others. Returns `false` and changes nothing if a closing
    /// bracket has the wrong kind, or if the innermost word of levels cannot hold the result.
    #[inline]
    pub fn apply(&mut self, brackets: &UnpairedBrackets) -> bool {
        let UnpairedBrackets { closing, closing_objects, opening, opening_objects } = *brackets;
        let (closing, opening) = (closing as usize, opening as usize);
        let here = if self.depth == 0 { 0 } else { (self.depth - 1) % WORD + 1 };
        // At least one level remains in this word, so no shift is by a whole word.
        if closing >= here || here - closing + opening > WORD {
            return false;
        }
        if (self.inner ^ closing_objects) & !(u64::MAX << closing) != 0 {
            return false;
        }
        self.inner = self.inner >> closing << opening | opening_objects;
        self.depth = self.depth - closing + opening;
        true
    }

    /// Returns the part of the levels that [`apply`](Self::apply) changes.
    #[inline]
    pub fn innermost(&self) -> InnermostLevels {
        InnermostLevels { inner: self.inner, depth: self.depth }
    }

    /// Undoes all calls of [`apply`](Self::apply) since `innermost` was returned. There must have been no other change.
    #[inline]
    pub fn restore(&mut self, innermost: InnermostLevels) {
        (self.inner, self.depth) = (innermost.inner, innermost.depth);
    }

    /// Whether the innermost open container is an object.
    #[inline(always)]
    pub fn in_object(&self) -> bool {
        self.inner & 1 != 0
    }

    /// Whether the container at `depth`, counted from 1, is an object.
    #[inline]
    pub fn is_object_at(&self, depth: usize) -> bool {
        let Some(level) = depth.checked_sub(1).filter(|_| depth <= self.depth) else {
            return false;
        };
        match self.outer.get(level / WORD) {
            Some(word) => word >> (WORD - 1 - level % WORD) & 1 != 0,
            None => self.inner >> (self.depth - depth) & 1 != 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Levels, UnpairedBrackets};

    #[test]
    fn is_a_stack_at_any_depth() {
        let kind = |n: usize| n.is_multiple_of(3) || n % 7 == 1;
        let mut levels = Levels::new();
        for n in 0..3000 {
            levels.push(kind(n));
            assert_eq!((levels.depth(), levels.in_object()), (n + 1, kind(n)));
            for depth in [1, n / 2 + 1, n + 1] {
                assert_eq!(levels.is_object_at(depth), kind(depth - 1), "{depth} of {n}");
            }
            assert!(!levels.is_object_at(0) && !levels.is_object_at(n + 2));
        }
        for n in (0..3000).rev() {
            assert_eq!((levels.depth(), levels.in_object()), (n + 1, kind(n)));
            levels.pop();
        }
        assert!(!levels.in_object());
    }

    /// Brackets applied together against the same brackets one by one, at every depth around the ends of words.
    #[test]
    fn applies_brackets_as_one_by_one() {
        let kind = |n: usize| n.is_multiple_of(3) || n % 7 == 1;
        let (mut applied, mut refused) = (0, 0);
        for depth in 0..200 {
            for closing in 0..70 {
                for opening in [0, 1, 2, 30, 62, 63, 64] {
                    let mut levels = Levels::new();
                    (0..depth).for_each(|n| levels.push(kind(n)));
                    let mut expected = levels.clone();
                    let mut closing_objects = u64::MAX << (closing % 64);
                    for n in 0..closing.min(64) {
                        let object = expected.in_object();
                        closing_objects &= !(u64::from(!object) << n);
                        closing_objects |= u64::from(object) << n;
                        expected.pop();
                    }
                    let mut opening_objects = 0;
                    for n in 0..opening {
                        expected.push(kind(n + 1));
                        opening_objects = opening_objects << 1 | u64::from(kind(n + 1));
                    }
                    let brackets = UnpairedBrackets {
                        closing: closing as u32,
                        closing_objects,
                        opening: opening as u32,
                        opening_objects,
                    };
                    let here = if depth == 0 { 0 } else { (depth - 1) % 64 + 1 };
                    let fits = closing < here && here - closing + opening <= 64;
                    let before = levels.clone();
                    assert_eq!(levels.apply(&brackets), fits, "{depth} - {closing} + {opening}");
                    let expected = if fits { &expected } else { &before };
                    assert_eq!(levels.depth(), expected.depth());
                    for at in 1..=levels.depth() {
                        assert_eq!(levels.is_object_at(at), expected.is_object_at(at));
                    }
                    applied += usize::from(fits);
                    refused += usize::from(!fits);
                    for wrong in 0..closing.min(64) {
                        let closing_objects = closing_objects ^ 1 << wrong;
                        let wrong = UnpairedBrackets { closing_objects, ..brackets };
                        assert!(!before.clone().apply(&wrong), "{depth} - {closing}");
                    }
                }
            }
        }
        assert!(applied > 1000 && refused > 1000, "{applied} {refused}");
    }
}
