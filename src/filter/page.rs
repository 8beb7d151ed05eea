//! The reader of pages, which is another package: with the feature `content` that one, without it types that keep nothing. A
//! spec with `content` is refused then, so that they are never used.

#[cfg(not(feature = "content"))]
pub(super) use off::{
    Cut, Decoder, From, LeftOut, Page, PageText, SNIFFED, Sizes, TextLimit, binary_kind, is_html,
};
#[cfg(feature = "content")]
pub(super) use tamis_page::{
    Cut, Decoder, From, LeftOut, Page, PageText, SNIFFED, Sizes, TextLimit, binary_kind, is_html,
};

#[cfg(not(feature = "content"))]
mod off {
    use tamis_json::tokens::CountTokens;

    pub(in crate::filter) const SNIFFED: usize = 64 << 10;

    pub(in crate::filter) fn binary_kind(_: &[u8]) -> Option<&'static str> {
        None
    }

    pub(in crate::filter) fn is_html(_: &str) -> bool {
        false
    }

    #[derive(Debug)]
    pub(in crate::filter) struct Decoder;

    impl Decoder {
        pub(in crate::filter) fn new(_: &[u8]) -> Self {
            Self
        }

        pub(in crate::filter) fn again(&self) -> Self {
            Self
        }

        pub(in crate::filter) fn decode(&mut self, _: &[u8], _: bool) -> String {
            String::new()
        }
    }

    #[derive(Debug)]
    pub(in crate::filter) struct Page;

    impl Page {
        pub(in crate::filter) fn new(_: bool) -> Self {
            Self
        }

        pub(in crate::filter) fn again(_: bool) -> Self {
            Self
        }

        pub(in crate::filter) fn push(&mut self, _: &str) -> String {
            String::new()
        }

        pub(in crate::filter) fn has_text(&self) -> bool {
            false
        }

        pub(in crate::filter) fn finish(self) -> PageText {
            let (text, notices) = (String::new(), Vec::new());
            PageText {
                text,
                from: From::Page,
                hidden: false,
                left_out: LeftOut::default(),
                notices,
            }
        }
    }

    #[derive(Debug)]
    pub(in crate::filter) struct PageText {
        pub(in crate::filter) text: String,
        pub(in crate::filter) from: From,
        pub(in crate::filter) hidden: bool,
        pub(in crate::filter) left_out: LeftOut,
        pub(in crate::filter) notices: Vec<String>,
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(in crate::filter) struct LeftOut {
        pub(in crate::filter) blocks: u64,
        pub(in crate::filter) words: u64,
    }

    #[derive(Debug, PartialEq)]
    #[expect(dead_code, reason = "there are no pages")]
    pub(in crate::filter) enum From {
        Article,
        Body,
        Page,
    }

    #[derive(Debug)]
    pub(in crate::filter) struct Cut;

    impl Cut {
        pub(in crate::filter) fn new(_: Option<TextLimit>) -> Self {
            Self
        }

        pub(in crate::filter) fn push(&mut self, _: &str, _: &mut dyn FnMut(&str)) {}

        pub(in crate::filter) fn end(&mut self, _: &mut dyn FnMut(&str)) -> Sizes {
            Sizes::default()
        }
    }

    #[derive(Clone, Copy, Debug, Default)]
    pub(in crate::filter) struct Sizes {
        pub(in crate::filter) original: u64,
        pub(in crate::filter) result: u64,
        pub(in crate::filter) bytes: u64,
        pub(in crate::filter) cut: bool,
    }

    #[derive(Clone, Copy, Debug)]
    #[expect(dead_code, reason = "nothing is cut")]
    pub(in crate::filter) enum TextLimit {
        Bytes(u64),
        Tokens(u64, Option<&'static dyn CountTokens>),
    }
}
