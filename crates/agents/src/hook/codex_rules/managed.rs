//! Whether an administrator manages the rules: in files of the system, or for an account, in a file in which Codex keeps
//! the server's response.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

use super::places::RulePlaces;

/// Files whose existence says that requirements are managed.
const FILES: [&str; 2] = ["requirements.toml", "managed_config.toml"];

/// Files in which Codex keeps the account's requirements, and the member with them. It exists for accounts without
/// any, too.
const CACHES: [(&str, &str); 2] = [
    ("cloud-config-bundle-cache.json", "/signed_payload/bundle"),
    ("cloud-requirements-cache.json", "/signed_payload/contents"),
];

/// The managed preferences of macOS.
const PREFERENCES: &str = "/Library/Managed Preferences";
const PREFERENCES_FILE: &str = "com.openai.codex.plist";

/// Returns whether requirements are managed, or may be.
pub(super) fn is_managed(places: &RulePlaces) -> bool {
    let folders = [&places.system, &places.home];
    let has_files =
        folders.iter().any(|folder| FILES.iter().any(|name| exists(&folder.join(name))));
    has_files
        || CACHES.iter().any(|(name, member)| !is_empty_cache(&places.home.join(name), member))
        || has_preferences(Path::new(PREFERENCES))
}

/// Returns whether there is a file, or whether that is not known.
fn exists(path: &Path) -> bool {
    match path.symlink_metadata() {
        Ok(_) => true,
        Err(error) => !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory),
    }
}

/// Returns whether a cache is missing, or says that there are no requirements.
fn is_empty_cache(path: &Path, member: &str) -> bool {
    if !exists(path) {
        return true;
    }
    let Ok(text) = fs::read(path) else { return false };
    let Ok(cache) = serde_json::from_slice::<Value>(&text) else { return false };
    cache.pointer(member).is_some_and(is_empty)
}

/// Whether a value says nothing, at any depth.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => text.trim().is_empty(),
        Value::Array(values) => values.iter().all(is_empty),
        Value::Object(members) => members.values().all(is_empty),
    }
}

fn has_preferences(folder: &Path) -> bool {
    if !exists(folder) {
        return false;
    }
    let Ok(entries) = fs::read_dir(folder) else { return true };
    let users = entries.filter_map(Result::ok).map(|entry| entry.path());
    exists(&folder.join(PREFERENCES_FILE))
        || users.into_iter().any(|user| exists(&user.join(PREFERENCES_FILE)))
}
