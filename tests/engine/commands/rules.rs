//! Files that hold no rules, or too many.

use tamis_command::CommandRules;

#[test]
fn other_files_are_no_trouble() {
    for text in ["", "# nothing\n", "\u{feff}rules = []\n"] {
        assert_eq!(CommandRules::parse("x", text).unwrap().names().len(), 0, "{text:?}");
    }
    let error = CommandRules::parse_bytes("x.toml", b"a = 1\n\xff").unwrap_err();
    assert_eq!(
        error.to_string(),
        "x.toml: the file is not UTF-8: byte 6 in line 2; save it as UTF-8"
    );
    let deep = format!("rules = {}", "[".repeat(100_000));
    assert!(CommandRules::parse("x", &deep).is_err());
    let many = "[[rules]]\n".repeat(5000);
    let error = CommandRules::parse("x", &many).unwrap_err();
    assert!(error.problems().len() <= 20 && error.more() > 0);
}
