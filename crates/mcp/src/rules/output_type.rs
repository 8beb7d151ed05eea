//! The type of a filter's results, for clients that read them with code: a JSON Schema (2020-12) for the list of tools.
//!
//! ```text
//! output_schema of the filter ─┐
//! keys of select ──────────────┴▶ an object, in which a list is `items` ─▶ outputSchema
//! ```
//!
//! A result that is not of the type must still fit the listed schema, because clients refuse it otherwise. So the schema also
//! accepts an object with a text.

use std::fmt;
use std::sync::OnceLock;

use serde_json::{Map, Value, json};
use tamis::Spec;
use tamis::spec::{Root, SelectPath};
use tamis_json::path::{Path, PathToken};

use crate::schema_check::{SchemaCheck, SchemaCompiler};

/// The name of a list that is not in an object. `structuredContent` has to be an object.
const LIST: &str = "items";
/// The dialect of the schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Keys of a filter that only remove members, elements and white space.
const REMOVING: [&str; 19] = [
    "root",
    "validation",
    "whitespace",
    "duplicate_keys",
    "allow_raw",
    "on_error",
    "requires",
    "where",
    "max_items",
    "exclude",
    "omit",
    "drop_nulls",
    "drop_empty",
    "budget",
    "min_items",
    "omitted",
    "on_over",
    "prefer",
    "factor",
];
/// Keywords under which an object or an array may be wrong because something is missing.
const DEPENDING: [&str; 17] = [
    "minItems",
    "minProperties",
    "minContains",
    "contains",
    "uniqueItems",
    "prefixItems",
    "unevaluatedItems",
    "unevaluatedProperties",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "oneOf",
    "not",
    "if",
    "$dynamicRef",
    "$recursiveRef",
    "additionalItems",
];

/// The type of a filter's results.
pub(crate) struct OutputType {
    schema: Value,
    /// The name of the text in a result that is not of the type.
    text: &'static str,
    /// Whether outputs are lists or scalars, which become a member of an object.
    wraps: bool,
    check: OnceLock<Option<OutputCheck>>,
}

/// The compiled schema of a type.
pub(crate) struct OutputCheck {
    check: Box<dyn SchemaCheck>,
    /// Whether an object may have our member.
    pub(crate) is_open: bool,
}

impl OutputType {
    /// Returns the type of a filter's results. `declared`: its `output_schema`. `None`: it is not known.
    pub(super) fn of(spec: &Spec, declared: Option<&str>) -> Option<Self> {
        match declared {
            Some(declared) => Some(Self::declared(serde_json::from_str(declared).ok()?)),
            None => selected(spec),
        }
    }

    /// Creates the type of outputs that fit a schema.
    fn declared(mut schema: Value) -> Self {
        let wraps = match schema.get("type") {
            Some(Value::String(kind)) => kind != "object",
            Some(Value::Array(kinds)) => !kinds.iter().any(|kind| kind == "object"),
            _ => false,
        };
        let take = |schema: &mut Value, name| schema.as_object_mut().and_then(|it| it.remove(name));
        let dialect = take(&mut schema, "$schema").unwrap_or_else(|| DIALECT.into());
        let definitions = take(&mut schema, "$defs");
        if wraps {
            schema = json!({"type": "object", "properties": {LIST: schema}, "required": [LIST]});
        }
        let properties = schema.get("properties");
        let names = ["text", "plain_text", "_text"].into_iter();
        let is_free = |name: &&str| properties.and_then(|all| all.get(name)).is_none();
        let text = names.clone().find(is_free).unwrap_or("_plain_text");
        let about = "The result, if it has another form";
        let member = json!({text: {"type": "string", "description": about}});
        let mut object = json!({"$schema": dialect, "type": "object", "anyOf": [schema,
            {"properties": member, "required": [text]}]});
        if let (Some(definitions), Some(object)) = (definitions, object.as_object_mut()) {
            object.insert("$defs".to_owned(), definitions);
        }
        Self { schema: object, text, wraps, check: OnceLock::new() }
    }

    /// Returns the schema.
    pub(crate) fn schema(&self) -> &Value {
        &self.schema
    }

    /// Returns the name of the text in a result that is not of the type.
    pub(crate) fn text_name(&self) -> &'static str {
        self.text
    }

    /// Returns the compiled schema. `None`: not all clients can use it, or no text fits it.
    pub(crate) fn check(&self, compiler: Option<SchemaCompiler>) -> Option<&OutputCheck> {
        let compile = || {
            let check = compiler?.compile(&self.schema).filter(|_| is_portable(&self.schema))?;
            let fits = |value: &Value| check.violations(value, 1).is_empty();
            if !fits(&json!({self.text: ""})) {
                return None;
            }
            let is_open = fits(&json!({self.text: "", "_tamis": {}}));
            Some(OutputCheck { check, is_open })
        };
        self.check.get_or_init(compile).as_ref()
    }

    /// Returns an output as an object. Any other value becomes its list.
    pub(crate) fn object(&self, mut output: Vec<u8>) -> Vec<u8> {
        // A line of the protocol ends at the first of these. Inside of strings they have escapes.
        for byte in &mut output {
            if matches!(byte, b'\n' | b'\r') {
                *byte = b' ';
            }
        }
        match output.trim_ascii_start().first() {
            Some(b'{') if !self.wraps => output,
            _ => [format!("{{\"{LIST}\":").as_bytes(), &output, b"}"].concat(),
        }
    }
}

impl OutputCheck {
    /// Returns whether a JSON text fits the schema.
    pub(crate) fn fits(&self, json: &[u8]) -> bool {
        let value = serde_json::from_slice(json);
        value.is_ok_and(|value| self.check.violations(&value, 1).is_empty())
    }
}

impl fmt::Debug for OutputType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputType").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// Returns whether ECMAScript can read all patterns of a schema: it has no flags inside of them, and names groups in another way.
fn is_portable(schema: &Value) -> bool {
    let is_foreign = |pattern: &str| {
        pattern.match_indices("(?").any(|(at, _)| {
            let next = pattern.as_bytes().get(at + 2);
            next.is_some_and(|next| next.is_ascii_alphabetic() || *next == b'-')
        })
    };
    let mut values = vec![schema];
    while let Some(value) = values.pop() {
        match value {
            Value::Object(object) => {
                let own = object.get("pattern").and_then(Value::as_str);
                let names = object.get("patternProperties").and_then(Value::as_object);
                let names = names.into_iter().flatten().map(|(name, _)| name.as_str());
                if own.into_iter().chain(names).any(is_foreign) {
                    return false;
                }
                values.extend(object.values());
            }
            Value::Array(array) => values.extend(array),
            _ => {}
        }
    }
    true
}

/// Returns the type of what a filter selects. The kinds of the values are not known.
fn selected(spec: &Spec) -> Option<OutputType> {
    let keys = spec.select.as_ref()?.0.iter().map(SelectPath::output_key);
    let members = keys.map(|key| Some((key?, json!({})))).collect::<Option<Map<_, _>>>()?;
    let item = json!({"type": "object", "properties": members});
    let list = json!({"type": "array", "items": item});
    let path = match &spec.root {
        Root::Object => return Some(OutputType::declared(item)),
        Root::At(path) => path,
        // The list may be in an object.
        _ => {
            let object = json!({"type": "object", "properties": {LIST: list}});
            return Some(OutputType::declared(object));
        }
    };
    // The root may be a list of items, or one of them.
    let root = json!({"items": item, "properties": members});
    let schema =
        Path::parse(path).ok()?.0.iter().rev().try_fold(root, |inner, token| match token {
            PathToken::Name(name) if token.index().is_none() => {
                Some(json!({"type": "object", "properties": {&**name: inner}}))
            }
            _ => None,
        });
    schema.map(OutputType::declared)
}

/// Returns whether every output of a filter fits a schema that the tool's own results fit.
///
/// Only rules that remove are understood. They must remove only optional members, and nothing may depend on the number of members
/// or elements.
pub(crate) fn keeps_schema(spec: &Spec, keys: &Map<String, Value>, schema: &Value) -> bool {
    if keys.keys().any(|key| !REMOVING.contains(&key.as_str())) {
        return false;
    }
    let paths = spec.exclude.iter().chain(&spec.omit).map(|path| Path::parse(path));
    let Ok(paths) = paths.collect::<Result<Vec<Path>, _>>() else { return false };
    let removes = |name: &str| {
        paths.iter().any(|path| match path.0.last() {
            Some(PathToken::Name(last)) => &**last == name,
            _ => true,
        })
    };
    let mut schemas = vec![schema];
    while let Some(value) = schemas.pop() {
        let object = match value {
            Value::Object(object) => object,
            Value::Array(values) => {
                schemas.extend(values);
                continue;
            }
            _ => continue,
        };
        let is_counting = object.keys().any(|key| DEPENDING.contains(&key.as_str()));
        let has_places = object.get("items").is_some_and(Value::is_array);
        if is_counting || has_places || lists_containers(object) {
            return false;
        }
        let properties = object.get("properties");
        let required = object.get("required").and_then(Value::as_array).into_iter().flatten();
        for name in required.filter_map(Value::as_str) {
            let property = properties.and_then(|properties| properties.get(name));
            if removes(name)
                || (spec.drop_nulls || spec.drop_empty) && !is_never_dropped(spec, property)
            {
                return false;
            }
        }
        schemas.extend(object.values());
    }
    true
}

/// Returns whether an object that fits a schema still fits it with a further member.
pub(crate) fn is_open(schema: &Value) -> bool {
    const KNOWN: [&str; 9] = [
        "$schema",
        "$id",
        "$defs",
        "title",
        "description",
        "type",
        "properties",
        "required",
        "examples",
    ];
    let object = schema.as_object();
    object.is_some_and(|object| object.keys().all(|key| KNOWN.contains(&key.as_str())))
}

/// Returns whether a schema lists whole objects or arrays.
fn lists_containers(schema: &Map<String, Value>) -> bool {
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    listed.chain(schema.get("const")).any(|value| value.is_object() || value.is_array())
}

/// Returns whether a required member is never null, and never empty if empty values are dropped.
fn is_never_dropped(spec: &Spec, property: Option<&Value>) -> bool {
    // OpenAPI writes so that a value may be null.
    if property.is_some_and(|property| property.get("nullable") == Some(&Value::Bool(true))) {
        return false;
    }
    let kind = property.and_then(|property| property.get("type"));
    let kinds: Vec<&str> = match kind {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => return false,
    };
    let may_go = |kind: &&str| match *kind {
        "null" => true,
        "integer" | "number" | "boolean" => false,
        _ => spec.drop_empty,
    };
    !kinds.iter().any(may_go)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tamis::Spec;

    use super::{OutputType, is_portable, keeps_schema, selected};

    fn spec(text: &str) -> Spec {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn selects_have_a_type() {
        let item = json!({"type": "object", "properties": {"id": {}, "login": {}}});
        let list = json!({"type": "array", "items": item});
        for (rules, expected) in [
            (
                r#"{"select":["id","owner.login"]}"#,
                json!({"type": "object", "properties": {"items": list}}),
            ),
            (r#"{"select":["id","owner.login"],"root":"object"}"#, item.clone()),
            (
                r#"{"select":{"id":"id","login":"a[].b"},"root":"data.rows"}"#,
                json!({"type": "object", "properties": {"data": {"type": "object", "properties":
                    {"rows": {"items": item, "properties": {"id": {}, "login": {}}}}}}}),
            ),
            (
                r#"{"select":["id","login"],"root":"rows","siblings":"drop"}"#,
                json!({"type": "object", "properties": {"rows": {"items": item, "properties": {"id": {}, "login": {}}}}}),
            ),
        ] {
            let found = selected(&spec(rules)).unwrap();
            assert_eq!(found.schema().pointer("/anyOf/0"), Some(&expected), "{rules}");
        }
        assert!(selected(&spec("{}")).is_none());
    }

    #[test]
    fn schemas_accept_a_text() {
        let of = OutputType::declared;
        let list = of(json!({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {}}}));
        assert_eq!(list.schema().pointer("/$defs/a"), Some(&json!({})));
        let items = list.schema().pointer("/anyOf/0/properties/items/items/$ref");
        assert_eq!(items, Some(&json!("#/$defs/a")));
        assert_eq!(list.schema().pointer("/anyOf/1/required/0"), Some(&json!("text")));
        assert_eq!(list.object(b"[\n1]".to_vec()), b"{\"items\":[ 1]}");
        let object = of(json!({"type": "object", "properties": {"text": {"type": "integer"}},
            "required": ["text"], "additionalProperties": false}));
        assert_eq!(object.text_name(), "plain_text");
        assert_eq!(object.object(b"{}".to_vec()), b"{}");
        // The kinds are in a definition.
        let page = of(json!({"$ref": "#/$defs/page", "$defs": {"page": {"type": "object"}}}));
        assert_eq!(page.object(b"{}".to_vec()), b"{}");
    }

    #[test]
    fn patterns_are_those_of_all_languages() {
        for (pattern, expected) in
            [("^a(?:b|c)(?=d)(?<name>e)$", true), ("(?i)^a", false), ("(?P<n>a)", false)]
        {
            assert_eq!(is_portable(&json!([{"pattern": pattern}])), expected, "{pattern}");
            assert_eq!(is_portable(&json!({"patternProperties": {pattern: {}}})), expected);
        }
    }

    #[test]
    fn schemas_stay_where_rules_only_remove_what_is_optional() {
        let schema = json!({"type": "object", "required": ["rows"], "properties": {"rows":
            {"type": "array", "items": {"type": "object", "required": ["id"], "properties":
                {"id": {"type": "integer"}, "mail": {"type": ["string", "null"]}}}}}});
        for (rules, expected) in [
            (r#"{"root":"rows","exclude":["mail"],"max_items":3}"#, true),
            (r#"{"root":"rows","drop_nulls":true}"#, true),
            (r#"{"root":"rows","drop_empty":true}"#, false),
            (r#"{"root":"rows","omit":["a.id"]}"#, false),
            (r#"{"root":"rows","omit":["mail.*"]}"#, false),
            (r#"{"root":"rows","select":["id"]}"#, false),
            (r#"{"root":"rows","compact":{"item":"x"}}"#, false),
            (r#"{"extract":"rows"}"#, false),
        ] {
            let spec = spec(rules);
            let keys = serde_json::to_value(&spec).unwrap();
            let found = keeps_schema(&spec, keys.as_object().unwrap(), &schema);
            assert_eq!(found, expected, "{rules}");
        }
        let spec = spec(r#"{"max_items":3}"#);
        let keys = serde_json::to_value(&spec).unwrap();
        for other in
            [json!({"minItems": 1}), json!({"$defs": {"a": {"oneOf": []}}}), json!({"enum": [[1]]})]
        {
            assert!(!keeps_schema(&spec, keys.as_object().unwrap(), &other), "{other}");
        }
    }
}
