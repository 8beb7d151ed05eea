//! Names of tools in a manifest: exact, or patterns, of which the one that says most wins.

pub(crate) use crate::glob::{LONGEST, fits};

/// Whether a name is a pattern.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Characters of a pattern that stand for themselves.
pub(crate) fn literals(pattern: &str) -> usize {
    pattern.chars().filter(|char| !matches!(char, '*' | '?')).count()
}

#[cfg(test)]
mod tests {
    use super::{is_pattern, literals};

    #[test]
    fn what_a_pattern_says() {
        assert_eq!((literals("*.list-?"), literals("é*")), (6, 1));
        assert!(is_pattern("a*") && is_pattern("?") && !is_pattern("a.b"));
    }
}
