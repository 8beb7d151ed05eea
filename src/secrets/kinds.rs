//! The built-in kinds of secrets, as a table: the beginning of each, its shape, and which part of it is secret.
//!
//! The shapes follow the public documentation of the issuers. Kinds with a random identifier have a fixed prefix, so an
//! anchor of three or more characters begins each. A kind that only has a length, such as 40 hexadecimal digits, is not
//! here: it would match hashes.

/// A set of ASCII characters, one bit each.
pub(super) type Class = u128;

/// Returns the class of these characters.
pub(super) const fn class(chars: &[u8]) -> Class {
    let (mut set, mut rest) = (0, chars);
    while let [first, after @ ..] = rest {
        set |= 1 << *first;
        rest = after;
    }
    set
}

/// Returns the class of a range of characters.
const fn range(from: u8, to: u8) -> Class {
    let (mut set, mut at) = (0, from);
    while at <= to {
        set |= 1 << at;
        at += 1;
    }
    set
}

const DIGIT: Class = range(b'0', b'9');
const LOWER: Class = range(b'a', b'z');
const UPPER: Class = range(b'A', b'Z');
const HEX: Class = DIGIT | range(b'a', b'f') | range(b'A', b'F');
const ALNUM: Class = DIGIT | LOWER | UPPER;
pub(super) const WORD: Class = ALNUM | class(b"_");
/// The characters of runs in which the search looks for the beginnings of secrets.
pub(super) const RUN: Class = WORD | class(b"$%+,-./=~");
const TOKEN: Class = WORD | class(b"-");
const BASE64: Class = ALNUM | class(b"+/=");
/// The characters of `token68` (RFC 7235), which carries bearer tokens.
const TOKEN68: Class = ALNUM | class(b"-._~+/=");
/// The signs that names have between words.
pub(super) const SIGNS: Class = class(b"-_");
const BLANK: Class = class(b" \t");
/// The characters of user names in URLs, which may be addresses of mail.
const URL_USER: Class = ALNUM | class(b"-._~!'()*+,;=%&@");
/// The characters of passwords in URLs, and those that are not ASCII. The brackets of templates (`<password>`, `${PASS}`) are
/// not among them.
pub(super) const URL_PASSWORD: Class = URL_USER & !class(b"@") | class(b":#?^|`$");
/// The characters of a password after a sign `@` that does not end it.
pub(super) const AFTER_AT: Class = URL_PASSWORD & !class(b",;=&?#");
/// The characters after the port of a host, which shows that the digits are not a password.
pub(super) const AFTER_PORT: Class = class(b",;?#&");
/// The most characters of a password in a URL.
pub(super) const PASSWORD: usize = 4096;
/// The characters of a block of PEM, also with line ends that are escaped twice, and with something before each line: a
/// number, the sign of a quotation or a comment, the time of a log.
pub(super) const PEM: Class = BASE64 | class(b" \t\r\n\\-:,.()@_|>#*;[]$");

/// Returns whether a class has a byte.
pub(super) const fn has(class: Class, byte: u8) -> bool {
    byte < 128 && class >> byte & 1 != 0
}

/// The most characters that a part without a maximum may have before it is secret whatever follows.
pub(super) const CANDIDATE: usize = 4096;

/// A part of a shape. Each takes as many characters as it can.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// At least and at most as many characters of a class. More characters of the class are a mismatch, except for a sign
    /// after exactly as many.
    Run(Class, usize, usize),
    /// At least as many characters of a class.
    Open(Class, usize),
    /// These characters.
    Text(&'static str),
    /// The secret begins here.
    From,
    /// The password of a URL, which is the secret, and the sign `@` after it.
    Password,
}

/// A property of the secret part, in addition to its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A digit. Words have none.
    Digit,
    /// A digit, a capital and a small letter.
    Mixed,
    /// It does not read as a name.
    NoWords,
    /// A digit, and it does not read as a name.
    Token,
    /// It is the base64 of a name and a password.
    Credentials,
    /// The words of a private key in its first line. Everything up to its last line is secret.
    PrivateKey,
}

/// A kind of secret.
#[derive(Debug)]
pub(super) struct Kind {
    /// The name in `[redacted:NAME]` and in the report.
    pub(super) name: &'static str,
    /// The beginnings, one of which is followed by the parts.
    pub(super) anchors: &'static [&'static str],
    /// The characters that may not come directly before.
    pub(super) not_after: Class,
    /// The characters of which one must come directly before; empty for any.
    pub(super) only_after: Class,
    pub(super) parts: &'static [Part],
    pub(super) needs: Needs,
    /// The anchors are names, so the secret may also be the value of a member of that name.
    pub(super) by_name: bool,
}

use Part::{From, Open, Password, Run, Text};

/// A kind whose anchors begin a word.
const fn kind(
    name: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    Kind {
        name,
        anchors,
        not_after: WORD,
        only_after: 0,
        parts,
        needs: Needs::Nothing,
        by_name: false,
    }
}

/// A kind whose secrets have no sign in them, so that a name of the same length could be one.
const fn named(
    name: &'static str,
    anchors: &'static [&'static str],
    parts: &'static [Part],
) -> Kind {
    Kind { needs: Needs::NoWords, ..kind(name, anchors, parts) }
}

/// All kinds, in the order in which they are tried at one place.
pub(super) static KINDS: &[Kind] = &[
    kind("aws-access-key", &["AKIA", "ASIA", "ABIA", "ACCA"], &[Run(UPPER | DIGIT, 16, 16)]),
    Kind {
        needs: Needs::Mixed,
        by_name: true,
        ..kind(
            "aws-secret-key",
            &[
                "aws_secret_access_key",
                "AWS_SECRET_ACCESS_KEY",
                "aws_secret_key",
                "AWS_SECRET_KEY",
                "secret_access_key",
                "SECRET_ACCESS_KEY",
                "SecretAccessKey",
                "secretAccessKey",
            ],
            // Tables and aligned lists have many blanks.
            &[Run(class(b" \t\"'=:\\>|"), 1, 64), From, Open(ALNUM | class(b"+/"), 40)],
        )
    },
    kind(
        "aws-session-token",
        &["IQoJb3JpZ2lu", "FwoGZXIvYXdz", "FQoGZXIvYXdz"],
        &[Open(BASE64 | class(b"%"), 100)],
    ),
    kind("aws-bedrock-key", &["ABSK", "bedrock-api-key-YmVk"], &[Open(BASE64, 100)]),
    kind("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], &[Open(ALNUM, 36)]),
    kind("github-fine-grained-token", &["github_pat_"], &[Open(WORD, 60)]),
    kind(
        "gitlab-token",
        &[
            "glpat-",
            "gldt-",
            "glrt-",
            "glptt-",
            "glsoat-",
            "glcbt-",
            "glffct-",
            "glft-",
            "glimt-",
            "glagent-",
            "gloas-",
            "GR1348941",
        ],
        &[Open(TOKEN, 20)],
    ),
    kind(
        "slack-token",
        &[
            "xoxb-",
            "xoxp-",
            "xoxa-",
            "xoxr-",
            "xoxs-",
            "xoxc-",
            "xoxo-",
            "xoxe-",
            "xoxe.xoxp-",
            "xoxe.xoxb-",
            "xapp-",
        ],
        &[Open(ALNUM | class(b"-"), 20)],
    ),
    // The cookie of a session is in base64 and often percent-encoded.
    kind("slack-token", &["xoxd-"], &[Open(BASE64 | class(b"%-_"), 20)]),
    kind(
        "slack-webhook",
        &["hooks.slack.com"],
        &[Text("/services/"), From, Open(ALNUM | class(b"/"), 30)],
    ),
    kind(
        "slack-webhook",
        &["hooks.slack.com"],
        &[Text("/workflows/"), From, Open(ALNUM | class(b"/"), 30)],
    ),
    kind(
        "slack-webhook",
        &["hooks.slack.com"],
        &[Text("/triggers/"), From, Open(ALNUM | class(b"/"), 30)],
    ),
    kind(
        "discord-webhook",
        &["discord.com", "discordapp.com"],
        &[Text("/api/webhooks/"), From, Run(DIGIT, 17, 20), Text("/"), Open(TOKEN, 60)],
    ),
    kind(
        "stripe-key",
        &["sk_live_", "sk_test_", "sk_prod_", "rk_live_", "rk_test_", "rk_prod_"],
        &[Open(ALNUM, 16)],
    ),
    kind("stripe-webhook-secret", &["whsec_"], &[Open(BASE64, 32)]),
    kind("square-token", &["sq0atp-", "sq0csp-"], &[Open(TOKEN, 22)]),
    Kind { needs: Needs::Mixed, ..kind("square-token", &["EAAA"], &[Run(TOKEN, 60, 60)]) },
    kind(
        "braintree-token",
        &["access_token$production$", "access_token$sandbox$"],
        &[Run(ALNUM, 16, 16), Text("$"), Run(HEX, 32, 32)],
    ),
    kind("anthropic-key", &["sk-ant-"], &[Open(TOKEN, 32)]),
    kind("openrouter-key", &["sk-or-v1-"], &[Run(HEX, 64, 64)]),
    kind("openai-key", &["sk-proj-", "sk-svcacct-", "sk-admin-"], &[Open(TOKEN, 40)]),
    Kind { needs: Needs::Token, ..kind("openai-key", &["sk-"], &[Open(ALNUM, 32)]) },
    kind("google-api-key", &["AIza"], &[Run(TOKEN, 35, 35)]),
    kind("google-oauth-token", &["ya29."], &[Open(TOKEN, 20)]),
    kind("google-oauth-secret", &["GOCSPX-"], &[Run(TOKEN, 28, 28)]),
    named("npm-token", &["npm_"], &[Run(ALNUM, 36, 36)]),
    kind("pypi-token", &["pypi-AgE"], &[Open(TOKEN, 50)]),
    kind("rubygems-key", &["rubygems_"], &[Run(HEX, 48, 48)]),
    kind("docker-token", &["dckr_pat_", "dckr_oat_"], &[Open(TOKEN, 27)]),
    named("hugging-face-token", &["hf_", "api_org_"], &[Run(ALNUM, 34, 40)]),
    kind("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], &[Run(HEX, 64, 64)]),
    kind("sendgrid-key", &["SG."], &[Run(TOKEN, 20, 24), Text("."), Run(TOKEN, 39, 50)]),
    // Names of caches end with a hash: `Linux-npm-key-…`.
    Kind { not_after: TOKEN, ..kind("mailgun-key", &["key-"], &[Run(HEX, 32, 32)]) },
    kind("brevo-key", &["xkeysib-"], &[Run(HEX, 64, 64), Text("-"), Run(ALNUM, 16, 16)]),
    kind("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], &[Run(HEX, 32, 32)]),
    kind("atlassian-token", &["ATATT3", "ATCTT3"], &[Open(TOKEN | class(b"="), 60)]),
    named("bitbucket-token", &["ATBB"], &[Run(ALNUM, 32, 32)]),
    named("linear-key", &["lin_api_", "lin_oauth_"], &[Open(ALNUM, 40)]),
    named("notion-token", &["ntn_"], &[Open(ALNUM, 40)]),
    kind("figma-token", &["figd_"], &[Open(TOKEN, 40)]),
    kind("databricks-token", &["dapi"], &[Run(HEX, 32, 32)]),
    kind("vault-token", &["hvs.", "hvb.", "hvr."], &[Open(TOKEN, 24)]),
    Kind {
        not_after: 0,
        only_after: ALNUM,
        ..kind("terraform-token", &[".atlasv1."], &[Open(TOKEN | class(b"="), 60)])
    },
    kind(
        "planetscale-token",
        &["pscale_tkn_", "pscale_pw_", "pscale_oauth_"],
        &[Open(TOKEN | class(b"."), 32)],
    ),
    kind("supabase-key", &["sbp_"], &[Run(HEX, 40, 40)]),
    kind("supabase-key", &["sb_secret_"], &[Open(TOKEN, 30)]),
    kind(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        &[Open(TOKEN | class(b"."), 40)],
    ),
    kind("grafana-token", &["glsa_"], &[Run(ALNUM, 32, 32), Text("_"), Run(HEX, 8, 8)]),
    kind("grafana-token", &["eyJrIjoi"], &[Open(BASE64, 70)]),
    kind("grafana-cloud-token", &["glc_"], &[Open(BASE64, 32)]),
    kind("new-relic-key", &["NRAK-"], &[Run(UPPER | DIGIT, 27, 27)]),
    kind("sentry-token", &["sntryu_"], &[Run(HEX, 64, 64)]),
    kind("sentry-token", &["sntrys_"], &[Open(BASE64 | class(b"_-"), 60)]),
    kind("postman-key", &["PMAK-"], &[Run(HEX, 24, 24), Text("-"), Run(HEX, 34, 34)]),
    kind("pulumi-token", &["pul-"], &[Run(HEX, 40, 40)]),
    kind("age-key", &["AGE-SECRET-KEY-1"], &[Run(UPPER | DIGIT, 58, 58)]),
    named("replicate-token", &["r8_"], &[Run(ALNUM, 37, 37)]),
    named("groq-key", &["gsk_"], &[Run(ALNUM, 52, 52)]),
    kind("xai-key", &["xai-"], &[Run(ALNUM, 80, 80)]),
    named("perplexity-key", &["pplx-"], &[Run(ALNUM, 48, 48)]),
    kind(
        "langsmith-key",
        &["lsv2_pt_", "lsv2_sk_"],
        &[Run(HEX, 32, 32), Text("_"), Run(HEX, 10, 10)],
    ),
    kind("tailscale-key", &["tskey-"], &[Open(ALNUM | class(b"-"), 20)]),
    kind("fly-token", &["fm1_", "fm2_", "fo1_"], &[Open(BASE64 | class(b",_-"), 80)]),
    kind("heroku-key", &["HRKU-"], &[Open(TOKEN, 36)]),
    kind("circleci-token", &["CCIPAT_"], &[Run(ALNUM, 22, 22), Text("_"), Run(HEX, 40, 40)]),
    kind("artifactory-key", &["AKCp"], &[Run(ALNUM, 69, 69)]),
    kind("clojars-token", &["CLOJARS_"], &[Run(ALNUM, 60, 60)]),
    kind(
        "dynatrace-token",
        &["dt0c01."],
        &[Run(UPPER | DIGIT, 24, 24), Text("."), Run(UPPER | DIGIT, 64, 64)],
    ),
    kind("alibaba-access-key", &["LTAI"], &[Run(ALNUM, 17, 20)]),
    kind("tencent-secret-id", &["AKID"], &[Run(ALNUM, 32, 32)]),
    kind("contentful-token", &["CFPAT-"], &[Run(TOKEN, 43, 43)]),
    named("prefect-key", &["pnu_"], &[Run(ALNUM, 36, 36)]),
    kind("sourcegraph-token", &["sgp_"], &[Open(HEX | class(b"_local"), 40)]),
    kind("typeform-token", &["tfp_"], &[Open(TOKEN | class(b".="), 40)]),
    kind("onepassword-token", &["ops_eyJ"], &[Open(BASE64 | class(b"_-"), 200)]),
    named("vercel-token", &["vcp_", "vci_", "vca_", "vcr_"], &[Open(ALNUM, 24)]),
    kind("nvidia-key", &["nvapi-"], &[Open(TOKEN, 60)]),
    kind("pinecone-key", &["pcsk_"], &[Open(WORD, 60)]),
    named("netlify-token", &["nfp_"], &[Open(ALNUM, 36)]),
    named("render-key", &["rnd_"], &[Run(ALNUM, 28, 40)]),
    named("posthog-key", &["phx_"], &[Open(ALNUM, 40)]),
    named("neon-key", &["napi_"], &[Open(ALNUM, 60)]),
    kind("cloudflare-origin-key", &["v1.0-"], &[Run(HEX, 24, 24), Text("-"), Run(HEX, 146, 146)]),
    kind("openshift-token", &["sha256~"], &[Run(TOKEN, 43, 43)]),
    named("easypost-key", &["EZAK", "EZTK"], &[Run(ALNUM, 54, 54)]),
    kind("duffel-token", &["duffel_live_", "duffel_test_"], &[Run(TOKEN, 43, 43)]),
    kind("flutterwave-key", &["FLWSECK-", "FLWSECK_TEST-"], &[Run(ALNUM, 12, 40)]),
    kind("frame-io-token", &["fio-u-"], &[Run(TOKEN, 64, 64)]),
    named("readme-key", &["rdme_"], &[Run(ALNUM, 70, 70)]),
    kind("shippo-token", &["shippo_live_", "shippo_test_"], &[Run(HEX, 40, 40)]),
    kind("scalingo-token", &["tk-us-"], &[Run(TOKEN, 48, 48)]),
    kind("airtable-token", &["pat"], &[Run(ALNUM, 14, 14), Text("."), Run(HEX, 64, 64)]),
    kind("facebook-token", &["EAACEdEose0cBA"], &[Open(ALNUM, 20)]),
    Kind {
        not_after: 0,
        only_after: DIGIT,
        ..kind("telegram-bot-token", &[":AA"], &[Run(TOKEN, 33, 33)])
    },
    kind(
        "jwt",
        &["eyJ"],
        &[Open(TOKEN, 8), Text(".eyJ"), Open(TOKEN, 8), Text("."), Open(TOKEN | class(b"."), 0)],
    ),
    Kind {
        needs: Needs::Token,
        ..kind(
            "bearer-token",
            &["Bearer", "bearer", "BEARER"],
            &[Run(BLANK, 1, 8), From, Open(TOKEN68, 20)],
        )
    },
    Kind {
        needs: Needs::Credentials,
        ..kind(
            "basic-credentials",
            &["Basic", "basic", "BASIC"],
            &[Run(BLANK, 1, 8), From, Open(BASE64, 12)],
        )
    },
    kind("azure-storage-key", &["AccountKey="], &[From, Open(BASE64, 86)]),
    kind("azure-shared-access-key", &["SharedAccessKey="], &[From, Open(BASE64, 43)]),
    Kind {
        needs: Needs::Digit,
        ..kind("azure-sas-signature", &["sig="], &[From, Open(ALNUM | class(b"%+/="), 43)])
    },
    Kind {
        not_after: 0,
        ..kind("url-password", &["://"], &[Run(URL_USER, 0, 256), Text(":"), Password])
    },
    Kind {
        not_after: 0,
        needs: Needs::PrivateKey,
        ..kind(
            "private-key",
            &["-----BEGIN"],
            &[Run(UPPER | DIGIT | class(b" "), 1, 64), Text("-----")],
        )
    },
    // Such a block in base64, as in configurations of Kubernetes: `-----BEGIN RSA PRI`, and so on.
    kind(
        "private-key",
        &[
            "LS0tLS1CRUdJTiBQUklW",
            "LS0tLS1CRUdJTiBSU0EgUFJJ",
            "LS0tLS1CRUdJTiBFQyBQUklW",
            "LS0tLS1CRUdJTiBPUEVOU1NI",
            "LS0tLS1CRUdJTiBFTkNSWVBU",
            "LS0tLS1CRUdJTiBEU0EgUFJJ",
            "LS0tLS1CRUdJTiBQR1AgUFJJ",
        ],
        &[Open(BASE64, 40)],
    ),
];
