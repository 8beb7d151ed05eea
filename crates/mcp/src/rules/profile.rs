//! The filters of tools that no manifest and no catalog names.

use tamis::Spec;
use tamis::spec::{Budget, Omitted};
use tamis_manifest::Profile;

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
                .omitted(Omitted::Silent),
        ),
    }
}
