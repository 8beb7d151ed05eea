//! Kinds of clouds, of forges and registries, and of what builds, runs and watches software there.
//!
//! The comment above a kind says where its shape was seen: in the documentation of the issuer, or in a rule of gitleaks or
//! trufflehog, which are public lists of such shapes.

use super::kinds::Part::{From, Not, Open, Run, Text};
use super::kinds::{ALNUM, BASE64, Checksum, DIGIT, HEX, Kind, LOWER, Needs, TOKEN, WORD, class};
use super::makers::{BETWEEN, EXPRESSION, announced, kind, marked, named, short};

pub(super) const CLOUDS: &[Kind] = &[
    // https://developers.cloudflare.com/fundamentals/api/get-started/token-formats: 40 characters and a checksum.
    kind("cloudflare-token", &["cfk_", "cfut_", "cfat_"], &[Run(ALNUM, 44, 52)]),
    // https://docs.gitlab.com/security/tokens: workspaces, and runners that are registered.
    kind("gitlab-token", &["glrtr-", "glwt-"], &[Open(TOKEN, 20)]),
    // `crates_io_database` and `crates_io_trustpub` in the sources of crates.io.
    Kind { needs: Needs::Varied, ..kind("crates-io-token", &["cio"], &[Run(ALNUM, 32, 32)]) },
    Kind {
        needs: Needs::Checksum(Checksum::Xor),
        ..kind("crates-io-token", &["cio_tp_"], &[Run(ALNUM, 32, 32)])
    },
    // https://packagist.com/docs/composer-authentication: 60 digits and a checksum of eight.
    kind(
        "packagist-token",
        &["packagist_ort_", "packagist_out_", "packagist_uut_"],
        &[Run(HEX, 68, 68)],
    ),
    // https://github.com/microsoft/security-utilities: keys of Azure have a signature at a fixed position.
    // The shorter ones are found by the names in connection strings.
    marked("azure-search-key", 42, b"AzSe", &[Run(ALNUM, 52, 52)]),
    marked("azure-function-key", 44, b"AzFu", &[Run(TOKEN, 54, 54), Text("==")]),
    marked("azure-storage-key", 76, b"+ASt", &[Run(BASE64, 86, 88)]),
    marked("azure-batch-key", 76, b"+ABa", &[Run(BASE64, 86, 88)]),
    marked("azure-cosmos-key", 76, b"ACDb", &[Run(BASE64, 86, 88)]),
    marked("azure-api-management-key", 76, b"APIM", &[Run(BASE64, 86, 88)]),
    // trufflehog `azure_entra/refreshtoken`.
    kind("azure-refresh-token", &["0.A", "1.A"], &[Open(TOKEN, 50), Text(".Ag"), Open(TOKEN, 200)]),
    // https://yandex.cloud/en/docs/iam/concepts/authorization, gitleaks `yandex-…`.
    kind(
        "yandex-token",
        &["t1."],
        &[Open(TOKEN | class(b"="), 8), Text("."), Run(TOKEN, 86, 86), Run(class(b"="), 0, 2)],
    ),
    Kind { needs: Needs::Varied, ..kind("yandex-token", &["AQVN"], &[Run(TOKEN, 35, 38)]) },
    Kind {
        needs: Needs::Varied,
        ..kind("yandex-token", &["YCA", "YCM", "YCN", "YCO", "YCP"], &[Run(TOKEN, 37, 37)])
    },
    Kind { needs: Needs::Varied, ..kind("yandex-token", &["y0_"], &[Open(TOKEN, 50)]) },
    // https://docs.aws.amazon.com/login-with-amazon: secrets of clients, and tokens of the Marketplace Web Service.
    kind("amazon-token", &["amzn1.oa2-cs.v1."], &[Run(HEX, 64, 64)]),
    kind("amazon-token", &["amzn.mws."], &[Run(HEX | class(b"-"), 36, 36)]),
    // https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html: who has such a URL may do what it signs. The
    // services of others that know this form use the same name.
    kind("aws-url-signature", &["X-Amz-Signature="], &[From, Run(HEX, 64, 64)]),
    // https://cloud.google.com/storage/docs/authentication/signatures: 512 digits with a key of 2048 bits, 64 with HMAC.
    kind("google-url-signature", &["X-Goog-Signature="], &[From, Open(HEX, 64)]),
    // https://www.alibabacloud.com/help/en/oss/developer-reference/add-signatures-to-urls.
    kind("alibaba-url-signature", &["x-oss-signature="], &[From, Run(HEX, 64, 64)]),
    // gitleaks `clickhouse-cloud-api-secret-key`.
    Kind { needs: Needs::Varied, ..kind("clickhouse-key", &["4b1d"], &[Run(ALNUM, 38, 38)]) },
    // https://docs.databricks.com/dev-tools/auth: secrets of service principals.
    kind("databricks-token", &["dose"], &[Run(HEX, 32, 32)]),
    // https://docs.getdbt.com/docs/dbt-cloud-apis/authentication.
    kind("dbt-token", &["dbtc_", "dbtu_"], &[Open(TOKEN, 30)]),
    // https://www.mongodb.com/docs/atlas/api/service-accounts-overview.
    kind("mongodb-atlas-secret", &["mdb_sa_sk_"], &[Open(TOKEN, 36)]),
    // https://www.cockroachlabs.com/docs/cockroachcloud/managing-access: a number and a secret.
    kind("cockroachdb-key", &["CCDB1_"], &[Run(ALNUM, 22, 22), Text("_"), Run(ALNUM, 40, 40)]),
    // https://aiven.io/docs/platform/concepts: generated passwords of services.
    kind("aiven-password", &["AVNS_"], &[Run(TOKEN, 15, 24)]),
    // https://xata.io/docs/concepts/api-keys.
    kind("xata-key", &["xau_"], &[Open(ALNUM, 36)]),
    // trufflehog `prefect`: keys of accounts that are not of people.
    named("prefect-key", &["pnb_"], &[Run(ALNUM, 36, 36)]),
    // trufflehog `deno`.
    named("deno-deploy-token", &["ddp_", "ddw_"], &[Run(ALNUM, 36, 36)]),
    // trufflehog `buildkite/v2`.
    named("buildkite-token", &["bkua_"], &[Run(ALNUM, 40, 40)]),
    // https://docs.sonarsource.com/sonarqube-server/user-guide/managing-tokens.
    short("sonarqube-token", &["sqp_", "sqa_", "squ_"], &[Run(HEX, 40, 40)]),
    // trufflehog `sourcegraphcody`.
    short("sourcegraph-token", &["slk_"], &[Run(HEX, 64, 64)]),
    // https://docs.snyk.io/snyk-api/authentication-for-api: tokens of users and of service accounts.
    kind("snyk-token", &["snyk_uat.", "snyk_sat."], &[Open(TOKEN | class(b"."), 30)]),
    // trufflehog `endorlabs`.
    Kind { needs: Needs::Token, ..kind("endor-labs-key", &["endr+"], &[Run(ALNUM, 16, 64)]) },
    // trufflehog `portainertoken`: the base64 of 32 bytes.
    Kind { needs: Needs::Varied, ..kind("portainer-token", &["ptr_"], &[Run(BASE64, 40, 60)]) },
    // trufflehog `ngrok`.
    Kind {
        needs: Needs::Varied,
        ..kind("ngrok-token", &["2"], &[Run(ALNUM, 26, 26), Text("_"), Run(ALNUM, 21, 21)])
    },
    // gitleaks `castai-api-key`.
    kind("cast-ai-key", &["castai_v1_"], &[Run(ALNUM, 64, 64), Text("_"), Run(ALNUM, 8, 8)]),
    // https://docs.chief.tools/accountchief/tokens.
    named("chief-tools-token", &["ctp_", "cto_", "ctr_"], &[Open(ALNUM, 30)]),
    // gitleaks `defined-networking-api-token`: two parts of 26 and 52 characters.
    kind("defined-networking-token", &["dnkey-"], &[Run(TOKEN | class(b"="), 79, 79)]),
    // https://docs.netbird.io/how-to/access-netbird-public-api.
    named("netbird-token", &["nbp_"], &[Run(ALNUM, 36, 36)]),
    // trufflehog `saladcloudapikey`.
    kind("salad-cloud-key", &["salad_cloud_"], &[Run(ALNUM, 1, 7), Text("_"), Run(ALNUM, 7, 235)]),
    // https://axiom.co/docs/reference/tokens.
    kind("axiom-token", &["xaat-", "xapt-"], &[Run(HEX | class(b"-"), 36, 36)]),
    // https://docs.honeycomb.io/configure/environments/manage-api-keys: keys that send and keys that manage.
    kind(
        "honeycomb-key",
        &["hcaik_", "hcbik_", "hcxik_", "hcalk_", "hcblk_", "hcamk_", "hcbmk_"],
        &[Open(ALNUM, 32)],
    ),
    // https://docs.rootly.com/api-reference.
    kind("rootly-token", &["rootly_"], &[Run(HEX, 64, 64)]),
    // gitleaks `new-relic-…`; license keys end with their mark.
    kind("new-relic-key", &["NRII-", "NRIQ-"], &[Run(TOKEN, 32, 32)]),
    kind("new-relic-key", &["NRJS-"], &[Run(HEX, 19, 19)]),
    marked("new-relic-key", 36, b"NRAL", &[Run(ALNUM, 40, 40)]),
    // trufflehog `launchdarkly`: the key of a server is a UUID after `sdk-`, which is also that of any identifier. Keys of the
    // API are announced by names that others have, too.
    announced(
        "launchdarkly-key",
        &["sdkkey"],
        &[Run(BETWEEN, 1, 64), From, Text("sdk-"), Run(HEX | class(b"-"), 36, 36), Not(EXPRESSION)],
        Needs::Digit,
    ),
    // trufflehog `nightfall`, `nylas`, `trufflehogenterprise`.
    Kind { needs: Needs::Varied, ..kind("nightfall-key", &["NF-"], &[Run(ALNUM, 32, 32)]) },
    kind("nylas-key", &["nyk_v0_"], &[Run(ALNUM, 64, 64)]),
    kind("trufflehog-key", &["thog-secret-"], &[Run(HEX, 32, 32)]),
    kind("trufflehog-key", &["thog-key-"], &[Run(HEX, 16, 16)]),
    // gitleaks `authress-service-client-access-key`.
    kind(
        "authress-key",
        &["sc_", "ext_", "scauth_", "authress_"],
        &[
            Run(LOWER | DIGIT, 5, 30),
            Text("."),
            Run(LOWER | DIGIT, 4, 6),
            Text(".acc"),
            Run(class(b"_-"), 1, 1),
            Run(LOWER | DIGIT | class(b"-"), 10, 32),
            Text("."),
            Open(TOKEN | class(b"+/="), 30),
        ],
    ),
    // trufflehog `tineswebhook`, `zapierwebhook`.
    kind(
        "tines-webhook",
        &["tines.com"],
        &[
            Text("/webhook/"),
            From,
            Run(LOWER | DIGIT, 32, 32),
            Text("/"),
            Run(LOWER | DIGIT, 32, 32),
        ],
    ),
    kind(
        "zapier-webhook",
        &["hooks.zapier.com"],
        &[Text("/hooks/catch/"), From, Run(DIGIT, 5, 12), Text("/"), Run(ALNUM, 5, 12)],
    ),
    // https://docs.n8n.io/api/authentication.
    kind("n8n-key", &["n8n_api_"], &[Open(TOKEN | class(b"."), 40)]),
    // https://docs.logfire.dev: the region is a part of the prefix.
    kind("logfire-token", &["pylf_v1_us_", "pylf_v1_eu_"], &[Open(ALNUM, 40)]),
    // gitleaks `maxmind-license-key`.
    marked("maxmind-key", 36, b"_mmk", &[Run(WORD, 40, 40)]),
    // https://docs.discord.com: tokens of accounts with a second factor.
    kind("discord-token", &["mfa."], &[Run(TOKEN, 84, 84), Not(class(b"."))]),
];
