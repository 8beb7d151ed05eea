//! The built-in rules: TOML files in `builtin/`, one for each family of tools.

use super::rules::load::read_builtin;
use super::rules::rule::RuleFile;

/// Name and text of each file.
const FILES: &[(&str, &str)] = &[
    ("build", include_str!("builtin/build.toml")),
    ("c", include_str!("builtin/c.toml")),
    ("cargo", include_str!("builtin/cargo.toml")),
    ("cloud", include_str!("builtin/cloud.toml")),
    ("files", include_str!("builtin/files.toml")),
    ("git", include_str!("builtin/git.toml")),
    ("js-tools", include_str!("builtin/js-tools.toml")),
    ("jvm", include_str!("builtin/jvm.toml")),
    ("node", include_str!("builtin/node.toml")),
    ("ops", include_str!("builtin/ops.toml")),
    ("python", include_str!("builtin/python.toml")),
    ("python-tools", include_str!("builtin/python-tools.toml")),
    ("ruby-php", include_str!("builtin/ruby-php.toml")),
    ("runners", include_str!("builtin/runners.toml")),
    ("system", include_str!("builtin/system.toml")),
];

/// Reads the rules. Rules of an invalid file would be missing; the tests report such a file.
pub(super) fn read() -> RuleFile {
    let files = FILES.iter().map(|(name, text)| (*name, *text));
    read_builtin("the built-in rules", files)
}

#[cfg(test)]
mod tests {
    use tamis_json::regex_budget::RegexBudget;

    use super::FILES;
    use crate::rules::{CommandRules, read_alone};

    #[test]
    fn every_file_is_right_and_does_what_its_examples_say() {
        for (name, text) in FILES {
            let rules = read_alone(&format!("{name}.toml"), text, &mut RegexBudget::new())
                .unwrap_or_else(|error| panic!("{error}"));
            let problems: Vec<String> =
                rules.run_examples().iter().map(ToString::to_string).collect();
            assert!(problems.is_empty(), "{}", problems.join("\n"));
            for rule in rules.names() {
                assert!(rules.examples() > 0, "{name}: {rule} has examples");
            }
        }
    }

    #[test]
    fn no_two_rules_are_for_one_command() {
        let all: Vec<&str> = FILES.iter().map(|(_, text)| *text).collect();
        let mut allowance = RegexBudget::new();
        let rules = read_alone("all", &all.concat(), &mut allowance)
            .unwrap_or_else(|error| panic!("{error}"));
        // All patterns together use less than three quarters of the allowance for one file.
        let used = RegexBudget::BYTES - allowance.left();
        assert!((1..RegexBudget::BYTES / 4 * 3).contains(&used), "{used}");
        assert!(rules.names().eq(CommandRules::builtin().names()));
    }

    #[test]
    fn no_file_is_forgotten() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/builtin");
        let files = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<String> = files
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .map(|name| name.trim_end_matches(".toml").to_owned())
            .collect();
        names.sort();
        let mut known: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        known.sort_unstable();
        assert_eq!(names, known);
    }
}
