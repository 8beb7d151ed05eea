//! Matches names of tools against patterns with `*` (any text) and `?` (any character).
//!
//! This module uses no other module. Matching is linear in practice and at most quadratic in the lengths; names are
//! short.

/// Maximum length of a name in bytes.
pub const LONGEST: usize = 512;

/// Returns whether a pattern matches a name.
pub fn fits(pattern: &str, name: &str) -> bool {
    if name.len() > LONGEST {
        return false;
    }
    let mut pattern_left = pattern.chars();
    let mut name_left = name.chars();
    // The pattern after the last star, and the name after the text that the star matches so far.
    let mut retry: Option<(std::str::Chars<'_>, std::str::Chars<'_>)> = None;
    loop {
        match (pattern_left.next(), name_left.clone().next()) {
            (Some('*'), _) => {
                retry = Some((pattern_left.clone(), name_left.clone()));
                continue;
            }
            (None, None) => return true,
            (Some(wanted), Some(char)) if wanted == '?' || wanted == char => {
                name_left.next();
                continue;
            }
            _ => {}
        }
        let Some((after, from)) = &mut retry else { return false };
        if from.next().is_none() {
            return false;
        }
        pattern_left = after.clone();
        name_left = from.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::fits;

    #[test]
    fn patterns() {
        for (pattern, name, fit) in [
            ("a", "a", true),
            ("a", "b", false),
            ("a", "ab", false),
            ("*", "", true),
            ("*", "anything.at-all/é", true),
            ("github.*", "github.list-repos", true),
            ("github.*", "github.", true),
            ("github.*", "github", false),
            ("*.list-*", "github.list-repos", true),
            ("*.list-*", "github.get-repo", false),
            ("*list", "list-list", true),
            ("*ab*ab", "abab", true),
            ("*ab*ab", "abba", false),
            ("a?c", "abc", true),
            ("a?c", "aéc", true),
            ("a?c", "ac", false),
            ("?", "", false),
            ("**a**", "xax", true),
        ] {
            assert_eq!(fits(pattern, name), fit, "{pattern} {name}");
        }
    }

    #[test]
    fn a_hostile_pattern_takes_no_time() {
        let begin = tamis_testkit::clock::cpu_time();
        assert!(!fits(&"*a".repeat(256), &"a".repeat(255)));
        assert!(!fits(&"a*".repeat(256), &"ab".repeat(200)));
        assert!(!fits("*", &"a".repeat(1_000_000)));
        assert!((tamis_testkit::clock::cpu_time() - begin).as_secs() < 5);
    }
}
