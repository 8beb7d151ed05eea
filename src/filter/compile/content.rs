//! Compiles specs that take a document as a whole: `content`, and the program that lets every document pass.

use super::nested::ContentRules;
use tamis_json::error::{Error, ErrorKind};

use super::nested::WholeRules;

use super::program::CompiledProgram;
use super::program::Program;
use crate::spec::{Budget, ContentFormat, OnError, Root};
use crate::spec::{Content, Spec};

/// Members that contain the text of a JSON response, if the spec does not name any.
pub(in crate::filter) const USUAL: [&str; 3] = ["content", "text", "body"];

impl WholeRules {
    /// Returns `None` for a spec that filters JSON.
    pub(in crate::filter) fn compile(spec: &Spec) -> Result<Option<Self>, Error> {
        if spec.pass {
            return Ok(Some(Self::Pass { warns: true }));
        }
        let Some(content) = &spec.content else { return Ok(None) };
        let alone = Spec::new().content(content.clone());
        let alone = Spec {
            allow_raw: spec.allow_raw,
            redact: spec.redact.clone().filter(|redact| redact.paths.is_empty()),
            on_error: spec.on_error,
            validation: spec.validation,
            whitespace: spec.whitespace,
            foreign: spec.foreign,
            ..alone
        };
        if *spec != alone {
            let message =
                "`content` cannot be combined with other rules, because its output is text";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        Self::content(content).map(Some)
    }

    fn content(content: &Content) -> Result<Self, Error> {
        if !cfg!(feature = "content") {
            let message = "`content` needs tamis built with the feature `content`";
            return Err(Error::new(ErrorKind::Spec, message));
        }
        Ok(Self::Content(Box::new(ContentRules::compile(content)?)))
    }
}

impl CompiledProgram {
    pub(in crate::filter) fn content_rules(&self) -> Option<&ContentRules> {
        match &self.whole {
            Some(WholeRules::Content(rules)) => Some(rules),
            _ => None,
        }
    }
}

impl Program {
    /// Returns whether documents and output may be any text. This is so if the program extracts a document's
    /// [`Content`](crate::content::Content), or forwards it unchanged. All other programs read and write JSON.
    #[must_use]
    pub fn is_text(&self) -> bool {
        self.compiled().whole.is_some()
    }
}

impl ContentRules {
    /// Compiles the `content` of a spec.
    pub(in crate::filter) fn compile(content: &Content) -> Result<Self, Error> {
        let select = |paths: &mut dyn Iterator<Item = &str>| {
            // Elements that are not objects have no fields. That is not an error.
            let spec = Spec::new().root(Root::Object).on_error(OnError::Raw);
            let spec = paths
                .enumerate()
                .fold(spec, |spec, (number, path)| spec.select_as(number.to_string(), path));
            Program::compile(&spec)
        };
        let extract = match content.extract.as_slice() {
            [] => None,
            paths => {
                let mut paths = paths.iter().map(String::as_str);
                Some(select(&mut paths).map_err(|error| error.renamed("select", "extract"))?)
            }
        };
        Ok(Self {
            markdown: content.format == ContentFormat::Markdown,
            budget: Budget::Tokens(content.max_tokens).unless_zero(),
            extract,
            usual: select(&mut USUAL.into_iter())?,
        })
    }
}
