//! The filters of tools that no manifest and no catalog names.

use tamis::Spec;
use tamis::spec::{Budget, Encode, Omitted, Prefer, Root};
use tamis_manifest::{Level, Profile};

/// Base64 and data URLs that are longer are left out by `standard` and `tight`.
const LONGEST_BASE64: u64 = 256;

/// Returns the most tokens of a result.
pub(super) fn max_tokens(profile: Profile) -> Option<u64> {
    match profile {
        Profile::Standard => Some(8_000),
        Profile::Tight => Some(2_000),
        _ => None,
    }
}

/// Returns the rules of a filter with a limit, where they have none. Branches have it instead of the rules that choose them.
pub(super) fn limited(spec: &Spec, tokens: u64) -> Spec {
    let with_limit = |spec: Spec| match spec.budget.is_some() || spec.content.is_some() {
        true => spec,
        // A budget of the user in tokens would count them, and texts are estimated.
        false => preferring(spec).budget(Budget::Bytes(tokens.saturating_mul(4))),
    };
    let mut spec = spec.clone();
    match spec.when.take() {
        Some(branches) => {
            spec.when = Some(branches.into_iter().map(with_limit).collect());
            spec
        }
        None => with_limit(spec),
    }
}

/// Returns the rules of a filter of the catalog with those of a profile, as far as the filter has none of its own.
pub(super) fn with_catalog(spec: &Spec, profile: Profile) -> Spec {
    let spec = spec.clone();
    let Some(tokens) = max_tokens(profile) else { return spec };
    // A page or a text has its own limit, that of the whole result.
    if spec.content.is_some() || spec.when.is_some() {
        return spec;
    }
    let base64 = if spec.omit_base64_over == 0 { LONGEST_BASE64 } else { spec.omit_base64_over };
    let budget = spec.budget.unwrap_or(Budget::Tokens(tokens));
    preferring(spec)
        .drop_nulls(true)
        .drop_empty(true)
        .omit_base64_over(base64)
        .budget(budget)
        .omitted(Omitted::Silent)
}

/// Lets a limit choose parts by their information, unless the rules say which come first.
fn preferring(spec: Spec) -> Spec {
    if declares_items(&spec) { spec } else { spec.prefer(Prefer::Information) }
}

/// Whether a filter says what the items are, or has a form of its own: then the first ones are kept.
fn declares_items(spec: &Spec) -> bool {
    spec.root != Root::Auto
        || spec.select.is_some()
        || !spec.conditions.is_empty()
        || spec.max_items > 0
        || spec.min_items.is_some()
        || spec.prefer.is_some()
        || spec.compact.is_some()
        || spec.encode != Encode::Json
}

/// Returns the level of the catalog that a profile uses.
pub(super) fn level(profile: Profile) -> Level {
    if profile == Profile::Tight { Level::Tight } else { Level::Careful }
}

/// Returns the rules of a profile. `None`: results are not changed.
pub(super) fn spec(profile: Profile) -> Option<Spec> {
    let spec = Spec::new();
    match (profile, max_tokens(profile)) {
        (Profile::Off, _) => None,
        (_, None) => Some(spec),
        (_, Some(tokens)) => Some(
            spec.drop_nulls(true)
                .drop_empty(true)
                .omit_base64_over(LONGEST_BASE64)
                .budget(Budget::Tokens(tokens))
                .prefer(Prefer::Information)
                .omitted(Omitted::Silent),
        ),
    }
}
