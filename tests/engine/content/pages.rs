//! Pages of the corpus, cut to a number of tokens.

use tamis::content::{Content, ContentFormat};
use tamis_testkit::content::{program, within};
use tamis_testkit::paths;

#[test]
fn pages_are_cut_within_their_tokens() {
    for name in paths::names("corpus/pages", "html") {
        let document = paths::read(&format!("corpus/pages/{name}"));
        for max in [1, 5, 20, 60, 150, 400] {
            for format in [ContentFormat::Text, ContentFormat::Markdown] {
                let program = program(Content::new().max_tokens(max).format(format));
                let (output, report) = tamis::filter_slice(&program, &document).unwrap();
                within(std::str::from_utf8(&output).unwrap(), &report, max);
            }
        }
    }
}
