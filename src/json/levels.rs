//! The kinds of the open containers: one bit a level.

use smallvec::{SmallVec, smallvec};

/// A stack of bits: 1 is an object, 0 an array.
#[derive(Clone, Debug)]
pub(super) struct Levels {
    bits: SmallVec<[u64; 16]>,
    depth: usize,
}

impl Levels {
    pub(super) fn new() -> Self {
        Self { bits: smallvec![0; 16], depth: 0 }
    }

    #[inline]
    pub(super) fn depth(&self) -> usize {
        self.depth
    }

    #[inline]
    pub(super) fn push(&mut self, object: bool) {
        let (word, bit) = (self.depth / 64, self.depth % 64);
        if word == self.bits.len() {
            self.bits.push(0);
        }
        if let Some(word) = self.bits.get_mut(word) {
            *word = *word & !(1 << bit) | u64::from(object) << bit;
        }
        self.depth += 1;
    }

    #[inline]
    pub(super) fn pop(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Whether the innermost open container is an object.
    #[inline]
    pub(super) fn in_object(&self) -> bool {
        self.is_object_at(self.depth)
    }

    /// Whether the container at `depth`, counted from 1, is an object.
    #[inline]
    pub(super) fn is_object_at(&self, depth: usize) -> bool {
        let Some(level) = depth.checked_sub(1) else { return false };
        self.bits.get(level / 64).is_some_and(|word| word >> (level % 64) & 1 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::Levels;

    #[test]
    fn is_a_stack_at_any_depth() {
        let kind = |n: usize| n.is_multiple_of(3) || n % 7 == 1;
        let mut levels = Levels::new();
        for n in 0..3000 {
            levels.push(kind(n));
            assert_eq!((levels.depth(), levels.in_object()), (n + 1, kind(n)));
        }
        for n in (0..3000).rev() {
            assert_eq!((levels.depth(), levels.in_object()), (n + 1, kind(n)));
            levels.pop();
        }
        assert!(!levels.in_object());
    }
}
