//! The name of the tool that reads from the store, where the server is a proxy that has such a tool, too.

use std::sync::atomic::{AtomicUsize, Ordering};

use tamis_store::OmissionNotice;

/// The names of this tool in a chain of proxies, the one next to the server first.
const NAMES: [&str; 4] =
    [OmissionNotice::TOOL, "tamis_retrieve_2", "tamis_retrieve_3", "tamis_retrieve_4"];

/// The longest block that may be a notice.
const LONGEST_NOTICE: usize = 1_000;

/// The tools of the proxies between this one and the server.
#[derive(Debug, Default)]
pub(crate) struct InnerTools(AtomicUsize);

impl InnerTools {
    /// Notes the names of the first page of the list of tools.
    pub(crate) fn learn<'n>(&self, names: impl Iterator<Item = &'n str>) {
        let number = |name: &str| NAMES.iter().position(|known| *known == name);
        if let Some(last) = names.filter_map(number).max() {
            self.0.store(last + 1, Ordering::Relaxed);
        }
    }

    /// Returns the name of the tool of this proxy. `None`: the chain is too long.
    pub(crate) fn own_name(&self) -> Option<&'static str> {
        NAMES.get(self.0.load(Ordering::Relaxed)).copied()
    }

    fn names(&self) -> &'static [&'static str] {
        NAMES.get(..self.0.load(Ordering::Relaxed)).unwrap_or_default()
    }

    /// Returns whether a tool is that of a proxy between this one and the server.
    pub(crate) fn has(&self, tool: &str) -> bool {
        self.names().contains(&tool)
    }

    /// Returns whether a text is as a whole a notice of such a proxy.
    pub(crate) fn has_written(&self, text: &[u8]) -> bool {
        let Ok(text) = std::str::from_utf8(text) else { return false };
        let is_line =
            text.starts_with("[tamis: ") && text.ends_with(']') && !text.contains(['\n', '\r']);
        let names_call = |name: &&str| text.contains(&format!("; {name}(handle=\"tm_"));
        is_line && text.len() <= LONGEST_NOTICE && self.names().iter().any(names_call)
    }

    /// Returns whether a text of this many bytes may be such a notice.
    pub(crate) fn may_have_written(&self, length: u64) -> bool {
        !self.names().is_empty() && length <= LONGEST_NOTICE as u64 * 2
    }
}

#[cfg(test)]
mod tests {
    use super::InnerTools;

    #[test]
    fn each_proxy_of_a_chain_has_a_name_of_its_own() {
        let tools = InnerTools::default();
        let notice = "[tamis: 3 of 5 items left out; tamis_retrieve(handle=\"tm_a\")]";
        assert_eq!(tools.own_name(), Some("tamis_retrieve"));
        assert!(!tools.has("tamis_retrieve") && !tools.has_written(notice.as_bytes()));
        tools.learn(["read", "tamis_retrieve", "tamis_retrieve_2"].into_iter());
        assert_eq!(tools.own_name(), Some("tamis_retrieve_3"));
        assert!(tools.has("tamis_retrieve_2") && !tools.has("tamis_retrieve_3"));
        assert!(tools.has_written(notice.as_bytes()));
        for text in [
            "[tamis: 3 of 5 items left out]",
            "[tamis: 3 of 5 items left out; tamis_retrieve_3(handle=\"tm_a\")]",
            "[tamis: 3 of 5 items left out; tamis_retrieve(handle=\"tm_a\")]\nmore",
        ] {
            assert!(!tools.has_written(text.as_bytes()), "{text}");
        }
        tools.learn(["tamis_retrieve_4"].into_iter());
        assert_eq!(tools.own_name(), None);
    }
}
