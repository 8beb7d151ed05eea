//! The fields of a projection, and their paths.

use super::paths::Token;

/// A field of a projection. Without fields of its own it is a leaf.
#[derive(Clone, Debug)]
pub struct Field {
    pub name: String,
    pub key: Option<String>,
    /// How many times `[]` follows the name.
    pub levels: usize,
    pub fields: Vec<Self>,
}

impl Field {
    pub fn output_key(&self) -> &str {
        self.key.as_deref().unwrap_or(&self.name)
    }

    /// The field as it is written in braces.
    pub fn text(&self) -> String {
        let written = |name: &str| match name.contains(['.', '/', '~', '"']) {
            true => format!("[\"{}\"]", name.replace('"', "\\\"")),
            false => name.to_owned(),
        };
        let key = self.key.as_ref().map_or(String::new(), |key| format!("{}=", written(key)));
        format!("{key}{}{}{}", written(&self.name), "[]".repeat(self.levels), braces(&self.fields))
    }

    /// Adds the path of each leaf.
    pub(crate) fn leaves(&self, path: &[Token], leaves: &mut Vec<Vec<Token>>) {
        let path = self.below(path);
        if self.fields.is_empty() {
            leaves.push(path);
        } else {
            self.fields.iter().for_each(|field| field.leaves(&path, leaves));
        }
    }

    pub(crate) fn below(&self, path: &[Token]) -> Vec<Token> {
        let name = std::iter::once(Token::Name(self.name.clone()));
        let levels = std::iter::repeat_n(Token::Any, self.levels);
        path.iter().cloned().chain(name).chain(levels).collect()
    }
}

/// The braces of fields; nothing without fields.
pub fn braces(fields: &[Field]) -> String {
    if fields.is_empty() {
        return String::new();
    }
    let fields: Vec<_> = fields.iter().map(Field::text).collect();
    format!("{{{}}}", fields.join(","))
}

/// A path as reports spell it.
pub(crate) fn reported(tokens: &[Token]) -> String {
    let mut text = String::new();
    for token in tokens {
        match token {
            Token::Any if text.is_empty() => text.push('*'),
            Token::Any => text.push_str("[]"),
            Token::Name(name) if token.index().is_some() => text.push_str(&format!("[{name}]")),
            Token::Name(name)
                if name.is_empty() || name.contains(['/', '*', '{', '}', '|', ',', '=']) =>
            {
                text.push_str(&format!("[\"{name}\"]"));
            }
            Token::Name(name) => {
                let dot = if text.is_empty() { "" } else { "." };
                text.push_str(&format!("{dot}{}", name.replace('.', "\\.").replace('"', "\\\"")));
            }
        }
    }
    text
}
