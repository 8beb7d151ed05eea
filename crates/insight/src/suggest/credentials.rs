//! Names of members that hold credentials or the numbers of persons: no filter should show them to a model.

use super::names::Words;

/// Words that name a credential or a personal number, anywhere in a name.
const WORDS: &[&str] = &[
    "password",
    "passwords",
    "passwd",
    "pwd",
    "passphrase",
    "passcode",
    "secret",
    "secrets",
    "credential",
    "credentials",
    "apikey",
    "apikeys",
    "ssn",
    "iban",
    "cvv",
    "cvc",
    "cvv2",
    "otp",
    "totp",
    "jwt",
    "bearer",
    "authorization",
    "cookie",
    "cookies",
    "privatekey",
    "token",
    "tokens",
    "passport",
    "creditcard",
    "cardnumber",
];

/// Two words that do so together.
const PAIRS: &[(&str, &str)] = &[
    ("api", "key"),
    ("api", "keys"),
    ("access", "key"),
    ("private", "key"),
    ("signing", "key"),
    ("encryption", "key"),
    ("auth", "key"),
    ("shared", "key"),
    ("master", "key"),
    ("account", "key"),
    ("storage", "key"),
    ("license", "key"),
    ("ssh", "key"),
    ("pass", "word"),
    ("pass", "phrase"),
    ("client", "key"),
    ("social", "security"),
    ("tax", "number"),
    ("credit", "card"),
    ("debit", "card"),
    ("card", "number"),
    ("card", "pan"),
    ("bank", "account"),
    ("account", "number"),
    ("routing", "number"),
    ("sort", "code"),
    ("insurance", "number"),
    ("medicare", "number"),
    ("driver", "license"),
    ("drivers", "license"),
    ("license", "number"),
    ("account", "iban"),
    ("recovery", "code"),
    ("recovery", "codes"),
    ("backup", "codes"),
    ("connection", "string"),
];

/// Ends of names that are written as one word: `accesstoken`, `clientsecret`.
const ENDS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "apikey",
    "accesskey",
    "privatekey",
    "secretkey",
    "signingkey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "sessiontoken",
    "bearertoken",
    "idtoken",
    "apitoken",
    "creditcard",
    "creditcardnumber",
    "cardnumber",
];

/// Names that mean it only if they are the whole name.
const WHOLE: &[&str] =
    &["pin", "pan", "card", "auth", "sessionid", "taxid", "nationalid", "accountno", "bankaccount"];

/// Last words of members that only describe a credential.
const ABOUT: &[&str] = &[
    "at",
    "by",
    "count",
    "date",
    "description",
    "enabled",
    "expiry",
    "expires",
    "expiration",
    "expired",
    "hint",
    "id",
    "ids",
    "label",
    "length",
    "limit",
    "limits",
    "name",
    "names",
    "policy",
    "required",
    "status",
    "state",
    "time",
    "title",
    "type",
    "ttl",
    "updated",
    "created",
    "url",
    "usage",
    "used",
    "version",
    "brand",
    "last4",
    "arn",
    "in",
    "verified",
    "scopes",
    "audience",
    "check",
    "checks",
    "file",
    "files",
    "path",
    "paths",
    "ref",
    "refs",
    "reset",
];

/// Words before `token` that make it a place in a list.
const PLACES: &[&str] = &[
    "page",
    "next",
    "prev",
    "previous",
    "continuation",
    "continue",
    "sync",
    "cursor",
    "start",
    "skip",
];

/// Returns whether a member of this name holds a credential or a personal number.
pub(crate) fn is_credential(name: &str) -> bool {
    let words: Vec<String> = Words::new(name).iter().map(str::to_owned).collect();
    WHOLE.contains(&words.concat().as_str()) || holds_credentials(name)
}

/// Returns whether numbers of this name are amounts, such as `max_tokens` and `usage.prompt_tokens`.
pub(crate) fn counts_tokens(name: &str) -> bool {
    Words::new(name).iter().any(|word| word == "tokens")
}

/// Returns whether the members of a container of this name hold credentials or personal numbers.
pub(super) fn holds_credentials(name: &str) -> bool {
    let words = Words::new(name);
    let all: Vec<&str> = words.iter().collect();
    let Some(last) = all.last() else { return false };
    let joined = all.concat();
    let is_about = all.len() > 1 && ABOUT.contains(last);
    let is_place =
        matches!(*last, "token" | "tokens") && all.iter().any(|word| PLACES.contains(word));
    if is_about || is_place {
        return false;
    }
    let is_pair = |pair: &[&str]| matches!(pair, [one, two] if PAIRS.contains(&(*one, *two)));
    all.iter().any(|word| WORDS.contains(word))
        || all.windows(2).any(is_pair)
        || ENDS.iter().any(|end| joined.ends_with(end))
}

/// Returns whether a member only describes what is around it, by the last word of its name.
pub(super) fn is_description(name: &str) -> bool {
    let words = Words::new(name);
    ABOUT.contains(&words.last()) || words.is("user") || words.is("username") || words.is("email")
}

#[cfg(test)]
mod tests {
    use super::is_credential;

    #[test]
    fn names_of_credentials() {
        for name in [
            "password",
            "userPassword",
            "password_hash",
            "secret",
            "client_secret",
            "clientSecret",
            "CLIENTSECRET",
            "apiKey",
            "api_key",
            "apikey",
            "x-api-key",
            "accessToken",
            "token",
            "refresh_token",
            "id_token",
            "sessionToken",
            "Authorization",
            "cookie",
            "ssn",
            "iban",
            "credit_card",
            "creditCard",
            "cardNumber",
            "card",
            "cvv",
            "pin",
            "private_key",
            "SecretAccessKey",
            "aws_secret_access_key",
            "social_security_number",
            "passphrase",
            "connectionString",
            "otp_secret",
            "db.password",
            "taxId",
            "tax_id",
            "nationalId",
            "accountNumber",
            "bank_account_number",
            "routing_number",
            "driversLicense",
        ] {
            assert!(is_credential(name), "{name}");
        }
        for name in [
            "id",
            "name",
            "key",
            "title",
            "keyboard",
            "next_page_token",
            "nextPageToken",
            "continuationToken",
            "token_type",
            "tokenCount",
            "password_updated_at",
            "secretName",
            "secretKeyRef",
            "token_file",
            "passport_required",
            "card_brand",
            "discard",
            "pinned",
            "primary_key",
            "compass",
            "author",
            "email",
            "",
            "shipping",
            "syncToken",
            "expires_in",
            "passed",
            "accountId",
            "account",
            "orderNumber",
            "license",
            "tax",
        ] {
            assert!(!is_credential(name), "{name}");
        }
    }
}
