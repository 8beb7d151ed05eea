//! Replaces long `data:` URLs in a text by a mark, while it arrives.

use tamis::Sink;
use tamis_text::data_urls;

/// A longer one is replaced.
const LONGEST: u64 = 256;

/// Passes a text on, without long `data:` URLs.
pub(super) struct DataUrls<'a, S> {
    out: &'a mut S,
    /// `None`: nothing is replaced.
    urls: Option<data_urls::DataUrls>,
}

impl<'a, S: Sink> DataUrls<'a, S> {
    pub(super) fn new(out: &'a mut S, is_on: bool) -> Self {
        Self { out, urls: is_on.then(|| data_urls::DataUrls::new(LONGEST)) }
    }

    /// Ends the text. Returns whether a URL was replaced.
    pub(super) fn end(self) -> bool {
        let Some(mut urls) = self.urls else { return false };
        urls.end(&[], self.out);
        urls.replaced() > 0
    }
}

impl<S: Sink> Sink for DataUrls<'_, S> {
    fn write(&mut self, bytes: &[u8]) {
        match &mut self.urls {
            Some(urls) => urls.write(bytes, &[], self.out),
            None => self.out.write(bytes),
        }
    }
}
