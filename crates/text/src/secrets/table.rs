//! The built-in kinds of secrets, as a table: the beginning of each, its shape, and which part of it is secret.
//!
//! The shapes follow the public documentation of the issuers. Kinds with a random identifier have a fixed prefix, so an
//! anchor of three or more characters begins each. A kind that only has a length, such as 40 hexadecimal digits, is not
//! here: it would match hashes. Nor is one that is a hash or a UUID after a short word (`web_…`, `v1.…`, `api-…`), or that only says
//! who someone is, such as the `SK…` and `AC…` of Twilio: their names announce them. Nor is one whose shape is that of code,
//! such as the old `s.…` of Vault.

use super::kinds::Part::{From, Not, Open, Password, Run, Scheme, Text};
use super::kinds::{
    ALNUM, BASE64, BLANK, CANDIDATE, Checksum, DIGIT, HEX, Kind, LOWER, Needs, TOKEN, TOKEN68,
    UPPER, URL_USER, WORD, class,
};

use super::makers::{
    BETWEEN, EXPRESSION, NO_VALUE, PADDING, PASSWORD_SIGNS, TOKEN_SIGNS, announced, kind, marked,
    named, short, short_named,
};
use super::table_clouds::CLOUDS;
use super::table_files::FILES;
use super::table_models::MODELS;
use super::table_services::SERVICES;

/// The tables of kinds, in the order in which they are tried at one place.
const TABLES: [&[Kind]; 5] = [BASE, CLOUDS, SERVICES, MODELS, FILES];

/// The number of all kinds.
const COUNT: usize = BASE.len() + CLOUDS.len() + SERVICES.len() + MODELS.len() + FILES.len();

/// All kinds, in the order in which they are tried at one place.
pub(super) static KINDS: &[Kind] = &joined();

/// Puts the tables into one.
#[allow(
    clippy::indexing_slicing,
    reason = "evaluated by the compiler, which reports an index that is too large"
)]
const fn joined() -> [Kind; COUNT] {
    let mut all = [BASE[0]; COUNT];
    let (mut table, mut next) = (0, 0);
    while table < TABLES.len() {
        let mut at = 0;
        while at < TABLES[table].len() {
            all[next] = TABLES[table][at];
            next += 1;
            at += 1;
        }
        table += 1;
    }
    all
}

/// The kinds that most people have, and those that have no issuer.
const BASE: &[Kind] = &[
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
    Kind {
        needs: Needs::Checksum(Checksum::Crc32),
        ..kind("github-token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], &[Open(ALNUM, 36)])
    },
    // https://github.blog/changelog/2026-04-24-notice-about-upcoming-new-format-for-github-app-installation-tokens: the number
    // of the application and a JSON Web Token.
    kind(
        "github-token",
        &["ghs_"],
        &[
            Run(DIGIT, 1, 20),
            Text("_eyJ"),
            Open(TOKEN, 8),
            Text(".eyJ"),
            Open(TOKEN, 8),
            Text("."),
            Open(TOKEN, 20),
        ],
    ),
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
    // The cookie of a session, seen in the rules of gitleaks.
    kind("gitlab-token", &["gitlab_session="], &[From, Run(LOWER | DIGIT, 32, 32)]),
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
            // Tokens of workflows.
            "xwfp-",
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
    Kind {
        needs: Needs::Mixed,
        in_base64: true,
        ..kind("square-token", &["EAAA"], &[Run(TOKEN, 60, 60), Not(class(b"+/="))])
    },
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
    Kind {
        needs: Needs::Checksum(Checksum::Crc32),
        ..kind("npm-token", &["npm_"], &[Run(ALNUM, 36, 36)])
    },
    kind("pypi-token", &["pypi-AgE"], &[Open(TOKEN, 50)]),
    kind("rubygems-key", &["rubygems_"], &[Run(HEX, 48, 48)]),
    kind("docker-token", &["dckr_pat_", "dckr_oat_"], &[Open(TOKEN, 27)]),
    named("hugging-face-token", &["hf_", "api_org_"], &[Run(ALNUM, 34, 40)]),
    kind("digitalocean-token", &["dop_v1_", "doo_v1_", "dor_v1_"], &[Run(HEX, 64, 64)]),
    kind("sendgrid-key", &["SG."], &[Run(TOKEN, 20, 24), Text("."), Run(TOKEN, 39, 50)]),
    // Names of caches end with a hash: `Linux-npm-key-…`.
    short("mailgun-key", &["key-"], &[Run(HEX, 32, 32)]),
    kind("brevo-key", &["xkeysib-"], &[Run(HEX, 64, 64), Text("-"), Run(ALNUM, 16, 16)]),
    kind("shopify-token", &["shpat_", "shpca_", "shppa_", "shpss_"], &[Run(HEX, 32, 32)]),
    kind("atlassian-token", &["ATATT3", "ATCTT3"], &[Open(TOKEN | class(b"="), 60)]),
    named("bitbucket-token", &["ATBB"], &[Run(ALNUM, 32, 32)]),
    named("linear-key", &["lin_api_", "lin_oauth_"], &[Open(ALNUM, 40)]),
    named("notion-token", &["ntn_"], &[Open(ALNUM, 40)]),
    Kind { needs: Needs::Token, ..kind("notion-token", &["secret_"], &[Run(ALNUM, 43, 43)]) },
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
    short("supabase-key", &["sbp_"], &[Run(HEX, 40, 40)]),
    kind("supabase-key", &["sb_secret_"], &[Open(TOKEN, 30)]),
    kind(
        "doppler-token",
        &["dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."],
        &[Open(TOKEN | class(b"."), 40)],
    ),
    kind("grafana-token", &["glsa_"], &[Run(ALNUM, 32, 32), Text("_"), Run(HEX, 8, 8)]),
    kind("grafana-token", &["eyJrIjoi"], &[Open(BASE64, 70)]),
    kind("grafana-cloud-token", &["glc_"], &[Open(BASE64, 32)]),
    kind("new-relic-key", &["NRAK-"], &[Run(ALNUM, 27, 27)]),
    kind("sentry-token", &["sntryu_"], &[Run(HEX, 64, 64)]),
    kind("sentry-token", &["sntrys_"], &[Open(BASE64 | class(b"_-"), 60)]),
    kind("postman-key", &["PMAK-"], &[Run(HEX, 24, 24), Text("-"), Run(HEX, 34, 34)]),
    short("pulumi-token", &["pul-"], &[Run(HEX, 40, 40)]),
    kind("age-key", &["AGE-SECRET-KEY-1"], &[Run(UPPER | DIGIT, 58, 58)]),
    short_named("replicate-token", &["r8_"], &[Run(ALNUM, 37, 37)]),
    named("groq-key", &["gsk_"], &[Run(ALNUM, 52, 52)]),
    kind("xai-key", &["xai-"], &[Run(ALNUM, 80, 80)]),
    named("perplexity-key", &["pplx-"], &[Run(ALNUM, 48, 48)]),
    kind(
        "langsmith-key",
        &["lsv2_pt_", "lsv2_sk_"],
        &[Run(HEX, 32, 32), Text("_"), Run(HEX, 10, 10)],
    ),
    kind("tailscale-key", &["tskey-"], &[Open(ALNUM | class(b"-"), 20)]),
    kind("fly-token", &["fo1_"], &[Run(TOKEN, 43, 43)]),
    kind("fly-token", &["fm1_", "fm2_", "fo1_"], &[Open(BASE64 | class(b",_-"), 80)]),
    kind("heroku-key", &["HRKU-"], &[Open(TOKEN, 36)]),
    kind("circleci-token", &["CCIPAT_"], &[Run(ALNUM, 22, 22), Text("_"), Run(HEX, 40, 40)]),
    kind("artifactory-key", &["AKCp"], &[Run(ALNUM, 69, 69)]),
    // A reference token: the base64 of `reftkn:`, of 64 characters.
    kind("artifactory-key", &["cmVmdGtu"], &[Run(ALNUM, 56, 56)]),
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
    // The form of account keys is in the white paper on the security of 1Password.
    kind(
        "onepassword-secret-key",
        &["A3-"],
        &[
            Run(UPPER | DIGIT, 6, 6),
            Text("-"),
            Run(UPPER | DIGIT, 11, 11),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
        ],
    ),
    kind(
        "onepassword-secret-key",
        &["A3-"],
        &[
            Run(UPPER | DIGIT, 6, 6),
            Text("-"),
            Run(UPPER | DIGIT, 6, 6),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
            Text("-"),
            Run(UPPER | DIGIT, 5, 5),
        ],
    ),
    kind("onepassword-token", &["ops_eyJ"], &[Open(BASE64 | class(b"_-"), 200)]),
    named("vercel-token", &["vcp_", "vci_", "vca_", "vcr_"], &[Open(ALNUM, 24)]),
    kind("nvidia-key", &["nvapi-"], &[Open(TOKEN, 60)]),
    kind("pinecone-key", &["pcsk_"], &[Open(WORD, 60)]),
    named("netlify-token", &["nfp_"], &[Open(ALNUM, 36)]),
    short_named("render-key", &["rnd_"], &[Run(ALNUM, 28, 40)]),
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
    // Prefixes and lengths of these are in the rules of gitleaks.
    Kind { needs: Needs::Token, ..short("octopus-key", &["API-"], &[Run(UPPER | DIGIT, 26, 26)]) },
    short_named("infracost-key", &["ico-"], &[Run(ALNUM, 32, 32)]),
    Kind {
        needs: Needs::Token,
        ..kind("settlemint-token", &["sm_pat_", "sm_aat_", "sm_sat_"], &[Run(ALNUM, 16, 16)])
    },
    // Both are in the documentation of Dropbox: short-lived tokens, with or without `u.`.
    Kind {
        needs: Needs::Mixed,
        ..kind("dropbox-token", &["sl."], &[Open(TOKEN | class(b"=."), 120)])
    },
    // Keys of the Gemini API in their second form.
    kind("google-api-key", &["AQ.Ab"], &[Open(TOKEN, 40)]),
    // https://developers.google.com/identity/protocols/oauth2: tokens that refresh others have 100 characters and more.
    Kind { needs: Needs::Mixed, ..kind("google-refresh-token", &["1//0"], &[Open(TOKEN, 60)]) },
    Kind {
        needs: Needs::Mixed,
        ..kind("resend-key", &["re_"], &[Run(ALNUM, 8, 8), Text("_"), Run(ALNUM, 24, 24)])
    },
    Kind {
        needs: Needs::Token,
        ..kind("nuget-key", &["oy2"], &[From, Run(LOWER | DIGIT, 43, 43)])
    },
    // Secrets of applications in Entra: three characters, a digit, `Q~`, and up to 34 others.
    Kind {
        not_after: 0,
        only_after: DIGIT,
        needs: Needs::Mixed,
        ..kind("azure-client-secret", &["Q~"], &[Open(TOKEN | class(b".~"), 31)])
    },
    // Tokens of Azure DevOps, and keys of Azure OpenAI.
    marked("azure-devops-token", 76, b"AZDO", &[Run(ALNUM, 84, 84)]),
    marked("azure-openai-key", 52, b"JQQJ99", &[Run(ALNUM, 84, 84)]),
    // https://discord.com/developers/docs/reference: the number of the bot in base64, a time, a hash.
    Kind {
        needs: Needs::Snowflake,
        ..kind(
            "discord-bot-token",
            &["M", "N", "O"],
            &[Run(TOKEN, 22, 27), Text("."), Run(TOKEN, 6, 6), Text("."), Open(TOKEN, 27)],
        )
    },
    kind(
        "teams-webhook",
        &["webhook.office.com", "outlook.office.com"],
        &[
            Text("/webhook"),
            Run(class(b"b2"), 0, 2),
            Text("/"),
            From,
            Run(HEX | class(b"-"), 36, 36),
            Text("@"),
            Run(HEX | class(b"-"), 36, 36),
            Text("/IncomingWebhook/"),
            Open(TOKEN | class(b"/"), 60),
        ],
    ),
    short("scalingo-token", &["tk-us-"], &[Run(TOKEN, 48, 48)]),
    // https://developer.harness.io/docs/platform/automation/api/add-and-manage-api-keys
    kind(
        "harness-token",
        &["pat.", "sat."],
        &[Run(TOKEN, 22, 22), Text("."), Run(ALNUM, 24, 24), Text("."), Run(ALNUM, 20, 20)],
    ),
    kind("airtable-token", &["pat"], &[Run(ALNUM, 14, 14), Text("."), Run(HEX, 64, 64)]),
    kind("facebook-token", &["EAACEdEose0cBA"], &[Open(ALNUM, 20)]),
    // Tokens of pages and users, seen in the rules of gitleaks and in the documentation of the Graph API. `EAA` is also
    // common in base64, where a sign of base64 follows a long run of letters and digits.
    Kind {
        needs: Needs::Mixed,
        in_base64: true,
        ..kind("facebook-token", &["EAA"], &[Open(ALNUM, 100), Not(class(b"+/="))])
    },
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
    // Encrypted tokens (RFC 7516): a header, a key that may be empty, a nonce, the text and its tag.
    kind(
        "jwe",
        &["eyJ"],
        &[
            Open(TOKEN, 16),
            Text("."),
            Run(TOKEN, 0, CANDIDATE),
            Text("."),
            Run(TOKEN, 16, 22),
            Text("."),
            Open(TOKEN, 2),
            Text("."),
            Open(TOKEN, 21),
        ],
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
            // A form of a web page writes blanks as `+`.
            &[Run(UPPER | DIGIT | class(b" +"), 1, 64), Text("-----")],
        )
    },
    // Such a block in base64, as in configurations of Kubernetes, with up to two line ends before it.
    Kind {
        needs: Needs::EncodedKey,
        ..kind(
            "private-key",
            &[
                "LS0tLS1CRUdJTi",
                "LS0tLSBCRUdJTi",
                "Ci0tLS0tQkVHSU4",
                "CgotLS0tLUJFR0lO",
                "DQotLS0tLUJFR0lO",
            ],
            &[Open(BASE64, 40)],
        )
    },
    Kind {
        needs: Needs::PuttyKey,
        ..kind("private-key", &["PuTTY-User-Key-File-"], &[Run(DIGIT, 1, 1), Text(":")])
    },
    announced(
        "password",
        &["password", "passwd", "passphrase", "pwd"],
        &[Run(BETWEEN, 1, 64), From, Not(NO_VALUE), Run(PASSWORD_SIGNS, 8, 256), Not(EXPRESSION)],
        Needs::Password,
    ),
    announced(
        "authorization",
        // `authorization`, as much of it as is always in reach.
        &["thorization"],
        &[
            Run(BETWEEN, 1, 64),
            From,
            Scheme,
            Open(TOKEN_SIGNS, 16),
            Run(PADDING, 0, 2),
            Not(EXPRESSION),
        ],
        Needs::Random,
    ),
    announced(
        "client-secret",
        &["secret", "secretkey"],
        &[Run(BETWEEN, 1, 64), From, Open(TOKEN_SIGNS, 16), Run(PADDING, 0, 2), Not(EXPRESSION)],
        Needs::Random,
    ),
    announced(
        "api-key",
        &["apikey"],
        &[Run(BETWEEN, 1, 64), From, Open(TOKEN_SIGNS, 16), Run(PADDING, 0, 2), Not(EXPRESSION)],
        Needs::Random,
    ),
    announced(
        "access-token",
        &["accesstoken", "authtoken", "freshtoken", "privatetoken", "bearertoken"],
        &[Run(BETWEEN, 1, 64), From, Open(TOKEN_SIGNS, 16), Run(PADDING, 0, 2), Not(EXPRESSION)],
        Needs::Random,
    ),
];
