//! Writes the article that dom_smoothie finds in each page without tamis, or the text of tamis with `--tamis` or
//! `--markdown`, for
//! crates/interop/page/evaluate.py.

use std::io::Write;

use dom_smoothie::Readability;
use tamis_page::{Decoder, Page, SNIFFED};

fn main() -> std::io::Result<()> {
    let (mut tamis, mut markdown) = (false, false);
    for page in std::env::args_os().skip(1) {
        if page == "--tamis" || page == "--markdown" {
            (tamis, markdown) = (true, page == "--markdown");
            continue;
        }
        let bytes = std::fs::read(page)?;
        let text = if tamis {
            let mut page = Page::new(markdown);
            let text = page
                .push(&Decoder::new(bytes.get(..SNIFFED).unwrap_or(&bytes)).decode(&bytes, true));
            let end = page.finish();
            let notices = end.notices.iter().map(|what| format!("\n[tamis content: {what}]"));
            text + &end.text + &notices.collect::<String>()
        } else {
            let html = String::from_utf8_lossy(&bytes).into_owned();
            let article =
                Readability::new(html, None, None).ok().and_then(|mut page| page.parse().ok());
            article.map(|article| article.content.to_string()).unwrap_or_default()
        };
        std::io::stdout().write_all(text.as_bytes())?;
        std::io::stdout().write_all(b"\0")?;
    }
    Ok(())
}
