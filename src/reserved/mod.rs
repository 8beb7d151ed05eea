//! The parameters that a filtered tool accepts in addition to its own (seed 000): their names, their descriptions for a
//! gateway, and how they are read from a call's input.
//!
//! This module handles JSON, but no rules: the spec decides which parameters are available, and the filter implements
//! them.

mod input;

use std::fmt::Write as _;

pub(crate) use input::read;

const OUTPUT_MODE: &str = "_output_mode";
const BUDGET: &str = "_budget";
/// The value of `_output_mode` that skips the filter.
const RAW: &str = "raw";

/// A parameter that a filtered tool accepts in addition to its own.
///
/// A gateway adds it to the tool's input schema, and passes the input of a call to
/// [`CallOptions::from_json`](crate::CallOptions::from_json).
///
/// ```
/// use tamis::{ParameterType, Spec};
///
/// let parameters = Spec::new().select("id").reserved_parameters().unwrap();
/// let budget = parameters.iter().find(|parameter| parameter.name() == "_budget").unwrap();
/// assert_eq!(budget.value(), ParameterType::Integer { minimum: 1 });
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedParameter {
    name: &'static str,
    value: ParameterType,
    description: &'static str,
}

/// The type of a [`ReservedParameter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterType {
    /// One of these words; the first is the default.
    Word(&'static [&'static str]),
    /// A whole number.
    Integer {
        /// The smallest value that has an effect.
        minimum: u64,
    },
}

const ALL: [ReservedParameter; 2] = [
    ReservedParameter {
        name: OUTPUT_MODE,
        value: ParameterType::Word(&["default", RAW]),
        description: "raw: the whole output, unfiltered. default: what the filter of this tool keeps of it.",
    },
    ReservedParameter {
        name: BUDGET,
        value: ParameterType::Integer { minimum: 1 },
        description: "The most bytes that the output may have: items are left out from its end, then long strings are cut.",
    },
];

impl ReservedParameter {
    /// Returns the name: `_output_mode` or `_budget`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Returns the type of the value. The parameter is never required.
    #[must_use]
    pub fn value(&self) -> ParameterType {
        self.value
    }

    /// Returns a description for the caller of the tool: English, one line, without quotes.
    #[must_use]
    pub fn description(&self) -> &'static str {
        self.description
    }
}

/// The reserved parameters of one tool, from [`Spec::reserved_parameters`](crate::Spec::reserved_parameters).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReservedParameters {
    raw: bool,
}

impl ReservedParameters {
    /// Whether a call may request the raw output.
    pub(crate) fn new(raw: bool) -> Self {
        Self { raw }
    }

    /// Iterates over the parameters; there is at least one.
    pub fn iter(&self) -> impl Iterator<Item = &'static ReservedParameter> + use<> {
        let raw = self.raw;
        ALL.iter().filter(move |parameter| raw || parameter.name != OUTPUT_MODE)
    }

    /// Returns the JSON Schema of an object with these parameters, `{"properties": {…}}`, on one line. Add the entries
    /// of `properties` to those of the tool's input schema. Nothing else needs to change, since none of them is
    /// required.
    ///
    /// ```
    /// use tamis::Spec;
    ///
    /// let parameters = Spec::new().select("id").reserved_parameters().unwrap();
    /// let ours: serde_json::Value = serde_json::from_str(&parameters.json_schema()).unwrap();
    /// let mut tool = serde_json::json!({"type": "object", "properties": {"owner": {"type": "string"}}});
    /// for (name, schema) in ours["properties"].as_object().unwrap() {
    ///     tool["properties"][name] = schema.clone();
    /// }
    /// assert_eq!(tool["properties"]["_output_mode"]["enum"], serde_json::json!(["default", "raw"]));
    /// assert_eq!(tool["properties"]["_budget"]["type"], "integer");
    /// ```
    #[must_use]
    pub fn json_schema(&self) -> String {
        let mut schema = String::from("{\"properties\":{");
        for (number, parameter) in self.iter().enumerate() {
            let ReservedParameter { name, value, description } = parameter;
            let comma = if number > 0 { "," } else { "" };
            let of_value = match value {
                ParameterType::Word(words) => {
                    let default = words.first().copied().unwrap_or_default();
                    format!("\"type\":\"string\",\"enum\":{words:?},\"default\":\"{default}\"")
                }
                ParameterType::Integer { minimum } => {
                    format!("\"type\":\"integer\",\"minimum\":{minimum}")
                }
            };
            _ = write!(
                schema,
                "{comma}\"{name}\":{{{of_value},\"description\":\"{description}\"}}"
            );
        }
        schema.push_str("}}");
        schema
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ALL, ReservedParameters};

    #[test]
    fn the_schema_is_json() {
        let schema = |raw| -> serde_json::Value {
            serde_json::from_str(&ReservedParameters::new(raw).json_schema()).unwrap()
        };
        let [mode, budget] = ALL.map(|parameter| parameter.description);
        let mode = json!({"type": "string", "enum": ["default", "raw"], "default": "default", "description": mode});
        let budget = json!({"type": "integer", "minimum": 1, "description": budget});
        assert_eq!(schema(true), json!({"properties": {"_output_mode": mode, "_budget": budget}}));
        assert_eq!(schema(false), json!({"properties": {"_budget": budget}}));
    }
}
