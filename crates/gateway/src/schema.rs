//! Checks arguments of calls against the input schemas of tools.

use serde_json::Value;
use tamis_mcp::{SchemaCheck, SchemaCompiler, SchemaViolation};

struct Validator(jsonschema::Validator);

impl SchemaCheck for Validator {
    fn violations(&self, arguments: &Value, most: usize) -> Vec<SchemaViolation> {
        let violation = |error: jsonschema::ValidationError<'_>| SchemaViolation {
            place: error.instance_path().to_string(),
            keyword: error.kind().keyword().to_owned(),
        };
        self.0.iter_errors(arguments).take(most).map(violation).collect()
    }
}

/// Returns a compiler of JSON Schema. Without the features of the crate, it loads no other documents; its patterns have no
/// backtracking. Formats are checked, as clients and servers with Ajv do.
pub(crate) fn compiler() -> SchemaCompiler {
    SchemaCompiler::new(|schema| {
        let patterns = jsonschema::PatternOptions::regex();
        let options = jsonschema::options().with_pattern_options(patterns);
        let validator = options.should_validate_formats(true).build(schema).ok()?;
        Some(Box::new(Validator(validator)))
    })
}
