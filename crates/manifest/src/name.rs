//! Names of tools in a manifest: exact names, or patterns, of which the most specific wins.

pub(crate) use tamis_json::glob::{LONGEST, fits};

/// Whether a name is a pattern.
pub(crate) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?'])
}

/// Counts the literal characters of a pattern.
pub(crate) fn literals(pattern: &str) -> usize {
    pattern.chars().filter(|char| !matches!(char, '*' | '?')).count()
}

#[cfg(test)]
mod tests {
    use super::{is_pattern, literals};

    #[test]
    fn patterns_and_their_literals() {
        assert_eq!((literals("*.list-?"), literals("é*")), (6, 1));
        assert!(is_pattern("a*") && is_pattern("?") && !is_pattern("a.b"));
    }
}
