//! The specs that the benches apply to the documents. Their names are constants, because the jobs of other parsers need them.
//!
//! The library's unit tests also use these specs. They convert them through JSON, because this kit depends on another build
//! of the library, whose `Spec` is another type.

use tamis::Spec;
use tamis::spec::Siblings;

use super::Shape;

/// The place of the items, and the selected members of each item.
#[derive(Clone, Copy, Debug)]
pub struct BenchSelection {
    /// The names of the members around the list of items.
    pub root: &'static [&'static str],
    pub fields: &'static [SelectedField],
}

/// A path in an item and the key of its value in the output, in document order.
#[derive(Clone, Copy, Debug)]
pub struct SelectedField {
    pub key: &'static str,
    pub path: &'static [&'static str],
}

impl BenchSelection {
    /// Returns a spec that drops all other members of the document.
    pub fn spec(&self) -> Spec {
        let spec = items(self.root).siblings(Siblings::Drop);
        self.fields.iter().fold(spec, |spec, field| spec.select_as(field.key, field.path.join(".")))
    }
}

macro_rules! fields {
    ($($key:literal: $($path:literal).+,)*) => {
        &[$(SelectedField { key: $key, path: &[$($path),+] },)*]
    };
}

/// Selects 11 of 80 members. `Pretty` has the same items.
pub const SELECT_REPOSITORIES: BenchSelection = BenchSelection {
    root: &[],
    fields: fields! {
        "name": "name",
        "full_name": "full_name",
        "private": "private",
        "owner_login": "owner"."login",
        "html_url": "html_url",
        "description": "description",
        "updated_at": "updated_at",
        "stargazers_count": "stargazers_count",
        "language": "language",
        "open_issues_count": "open_issues_count",
        "default_branch": "default_branch",
    },
};

pub const SELECT_ISSUES: BenchSelection = BenchSelection {
    root: &[],
    fields: fields! {
        "number": "number",
        "title": "title",
        "user": "user"."login",
        "state": "state",
        "updated_at": "updated_at",
    },
};

/// Selects the member with many escapes too.
pub const SELECT_ISSUES_WITH_BODY: BenchSelection = BenchSelection {
    root: &[],
    fields: fields! { "number": "number", "title": "title", "user": "user"."login", "body": "body", },
};

/// Selects members of the outermost nodes.
pub const SELECT_GRAPHQL: BenchSelection = BenchSelection {
    root: &["data", "organization", "repositories", "nodes"],
    fields: fields! {
        "name": "name",
        "owner": "owner"."login",
        "stargazerCount": "stargazerCount",
        "language": "primaryLanguage"."name",
        "updatedAt": "updatedAt",
    },
};

/// Selects only scalars, so that the arrays of numbers are skipped.
pub const SELECT_NUMBERS: BenchSelection = BenchSelection {
    root: &[],
    fields: fields! { "id": "id", "label": "label", "score": "score", "at": "at", },
};

/// Selects the array of integers.
pub const SELECT_NUMBERS_WITH_COUNTS: BenchSelection =
    BenchSelection { root: &[], fields: fields! { "id": "id", "counts": "counts", } };

/// Selects a member whose name is not ASCII, but not the long text.
pub const SELECT_UNICODE: BenchSelection = BenchSelection {
    root: &[],
    fields: fields! { "id": "id", "user": "user"."name", "題名": "題名", "tags": "tags", },
};

/// Pointers to three values of each repository.
pub const RETAIN_REPOSITORIES: &[&str] = &["/full_name", "/owner/login", "/topics"];

/// Pointers to values in pages of nodes. The deepest leads through three arrays.
pub const RETAIN_GRAPHQL: &[&str] = &[
    "/data/organization/repositories/nodes/name",
    "/data/organization/repositories/nodes/issues/nodes/number",
    "/data/organization/repositories/nodes/issues/nodes/title",
    "/data/organization/repositories/nodes/issues/nodes/comments/nodes/author/login",
    "/data/rateLimit/remaining",
];

/// The path to a number at the end of `Graphql`.
pub const EXTRACT_GRAPHQL: [&str; 3] = ["data", "rateLimit", "remaining"];

/// The limit of [`max_items`]. The small document of repositories has only 20 items.
pub const MAX_ITEMS: usize = 25;

impl Shape {
    /// Returns the fields that most benches select.
    pub fn selection(self) -> BenchSelection {
        match self {
            Self::Repositories | Self::Pretty => SELECT_REPOSITORIES,
            Self::Issues => SELECT_ISSUES,
            Self::Graphql => SELECT_GRAPHQL,
            Self::Numbers => SELECT_NUMBERS,
            Self::Unicode => SELECT_UNICODE,
        }
    }

    /// Returns the names of the members that [`exclude`] removes from each item.
    pub fn excluded(self) -> &'static [&'static str] {
        match self {
            // Long and short names, at the beginning and at the end.
            Self::Repositories | Self::Pretty => &[
                "node_id",
                "owner",
                "forks_url",
                "keys_url",
                "events_url",
                "git_url",
                "license",
                "topics",
                "permissions",
            ],
            Self::Issues => &["labels", "reactions", "url"],
            Self::Graphql => &["owner", "primaryLanguage", "updatedAt"],
            Self::Numbers => &["embedding"],
            Self::Unicode => &["user", "tags"],
        }
    }
}

/// Returns a spec that removes a few members from each item.
pub fn exclude(shape: Shape) -> Spec {
    shape.excluded().iter().fold(items(shape.selection().root), |spec, name| spec.exclude(*name))
}

/// Returns a spec that removes members with the value null at every depth.
pub fn drop_nulls() -> Spec {
    items(&[]).drop_nulls(true)
}

/// Returns a spec that keeps the first [`MAX_ITEMS`] items and reads the rest.
pub fn max_items() -> Spec {
    items(&[]).max_items(MAX_ITEMS as u64)
}

/// Returns a spec that keeps the values at JSON Pointers, with the containers around them.
pub fn retain(pointers: &[&str]) -> Spec {
    pointers.iter().fold(Spec::new(), |spec, pointer| spec.retain(*pointer))
}

/// Returns a spec that keeps the value at [`EXTRACT_GRAPHQL`].
pub fn extract() -> Spec {
    Spec::new().extract(EXTRACT_GRAPHQL.join("."))
}

/// Returns a spec that reads everything and keeps nothing: it retains a missing value, and the empty container that
/// remains is removed.
pub fn validate() -> Spec {
    retain(&["/none"])
}

/// Returns a spec whose items are at a path. Without names in the path, the items are at the root of the document.
fn items(root: &[&str]) -> Spec {
    let root = root.join(".");
    Spec::new().root(if root.is_empty() { "object" } else { &root })
}
