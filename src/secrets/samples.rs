//! Samples of each kind: secrets, and texts that almost have their shape.
//!
//! They are made when the tests run: `{A36}` stands for 36 letters and digits. So no file contains a text that looks like a
//! credential.

/// For each kind: secrets, then texts that are not.
pub(super) const SAMPLES: &[(&str, &[&str], &[&str])] = &[
    (
        "aws-access-key",
        &["AKIA{U16}", "key [ASIA{U16}], next"],
        &["AKIA{U15}", "AKIA{U17}", "xAKIA{U16}"],
    ),
    (
        "aws-secret-key",
        &[
            "aws_secret_access_key = [aB1{A37}]",
            "AWS_SECRET_ACCESS_KEY=[aB1{A37}]; x",
            "<SecretAccessKey>[aB1{A37}]</SecretAccessKey>",
            "secretAccessKey: '[aB1{A37}]',",
            "AWS_SECRET_KEY=[aB1{A20}/{A16}]=",
            "|  SecretAccessKey  |              [aB1{A37}]  |",
            "SecretAccessKey                    = [aB1{A37}]; x",
            r#"SecretAccessKey":"[aB1{A17}\u002B{A19}]""#,
        ],
        &["aws_secret_access_key = {A39}", "aws_secret_access_key", "aws_secret_access_key={H40}"],
    ),
    (
        "aws-session-token",
        &["IQoJb3JpZ2luX2Vj{A200}==", "FwoGZXIvYXdz{A200}"],
        &["IQoJb3JpZ2luX2Vj{A60}", "FwoGZXIvYXd{A200}", "xIQoJb3JpZ2luX2Vj{A200}"],
    ),
    (
        "aws-bedrock-key",
        &[
            "ABSK{A120}",
            "AWS_BEARER_TOKEN_BEDROCK=[ABSK{A120}]",
            "a/[ABSK{A120}]",
            "+[bedrock-api-key-YmVk{A120}]",
        ],
        &["ABSK{A60}", "_xABSK{A120}", "xABSK{A120}"],
    ),
    (
        "github-token",
        &[
            "ghp_{A36}",
            "gho_{A36}",
            "ghs_{A40}",
            "([ghu_{A36}])",
            r"a\n[ghp_{A36}]\n",
            r"a\x1b[ghp_{A36}]",
            r"a\u003d[ghp_{A36}]",
        ],
        &["ghp_{A35}", "aghp_{A36}", "ghp-{A36}"],
    ),
    (
        "github-fine-grained-token",
        &["github_pat_{A22}_{A59}"],
        &["github_pat_{A22}", "github-pat-{A80}", "github_path_{A80}"],
    ),
    (
        "gitlab-token",
        &[
            "gloas-{A64}",
            "GR1348941{A20}",
            "glpat-{A20}",
            "glrt-{A20}",
            "gldt-{A24}",
            "%3D[glpat-{A20}]%0A",
        ],
        &["glpat-{A19}", "glpat_{A20}", "xglpat-{A20}"],
    ),
    (
        "slack-token",
        &[
            "xoxb-{D12}-{D12}-{A24}",
            "xapp-1-{A30}",
            "xoxc-{D12}-{A30}",
            "d=[xoxd-{A30}%2F{A20}%3D]",
        ],
        &["xoxb-{D12}", "xoxz-{D12}-{A24}", "foxoxb-{A30}"],
    ),
    (
        "slack-webhook",
        &[
            "https://hooks.slack.com/services/[T{U10}/B{U10}/{A24}]",
            r"https:\/\/hooks.slack.com\/services\/[T{U10}\/B{U10}\/{A24}]",
            "https://hooks.slack.com/workflows/[T{U10}/A{U10}/{D18}/{A24}]",
            "https://hooks.slack.com/triggers/[T{U10}/{D18}/{A24}]",
        ],
        &[
            "https://hooks.slack.com/services/T1",
            "https://hooks.slack.com/docs/{A40}",
            "hooks.slack.org/services/{A40}",
        ],
    ),
    (
        "discord-webhook",
        &["https://discord.com/api/webhooks/[{D18}/{A68}]"],
        &[
            "https://discord.com/api/webhooks/{D18}",
            "https://discord.com/channels/{D18}/{A68}",
            "https://discord.com/api/webhooks/{D9}/{A68}",
        ],
    ),
    (
        "stripe-key",
        &["sk_live_{A24}", "rk_test_{A24}"],
        &["sk_live_{A15}", "pk_live_{A24}", "sk_beta_{A24}"],
    ),
    ("stripe-webhook-secret", &["whsec_{A32}"], &["whsec_{A31}", "whsec-{A32}", "awhsec_{A32}"]),
    (
        "square-token",
        &["sq0atp-{A22}", "EAAA{A58}-1"],
        &["sq0atp-{A21}", "sq0idp-{A22}", "sq0atp_{A22}"],
    ),
    (
        "braintree-token",
        &["access_token$production${L16}${h32}"],
        &[
            "access_token$production${L15}",
            "access_token$beta${L16}${h32}",
            "access_token=production",
        ],
    ),
    (
        "anthropic-key",
        &["sk-ant-api03-{T90}AA"],
        &["sk-ant-{A31}", "sk_ant_{A90}", "desk-ant-{A90}"],
    ),
    (
        "openrouter-key",
        &["sk-or-v1-{h64}"],
        &["sk-or-v1-{h63}", "sk-or-v1-{h65}", "risk-or-v1-{h64}"],
    ),
    (
        "openai-key",
        &["sk-proj-{T60}x", "sk-{A48}"],
        &["sk-proj-{A39}", "sk-{A31}", "task-{A48}", "sk-{L32}"],
    ),
    ("google-api-key", &["AIza{A35}", "_[AIza{T34}x]_"], &["AIza{A34}", "AIza{A36}", "xAIza{A35}"]),
    ("google-oauth-token", &["ya29.{A60}"], &["ya29.{A19}", "ya29{A60}", "rya29.{A60}"]),
    ("google-oauth-secret", &["GOCSPX-{A28}"], &["GOCSPX-{A27}", "GOCSPX-{A29}", "GOCSPX{A28}"]),
    ("npm-token", &["npm_{A36}"], &["npm_{A35}", "npm_{A37}", "npm_config_registry"]),
    ("pypi-token", &["pypi-AgE{A80}"], &["pypi-AgE{A40}", "pypi-{A80}", "pypi_AgE{A80}"]),
    ("rubygems-key", &["rubygems_{h48}"], &["rubygems_{h47}", "rubygems_{h49}", "rubygems-{h48}"]),
    (
        "docker-token",
        &["dckr_pat_{A27}"],
        &["dckr_pat_{A26}", "docker_pat_{A27}", "dckr-pat-{A27}"],
    ),
    (
        "hugging-face-token",
        &["hf_{A34}", "_[hf_{A34}]_", "api_org_{A34}"],
        &[
            "hf_{A33}",
            "hf_{A41}",
            "half_{A34}",
            "hf_servingcellpriorityparametersdescription_h_prio",
        ],
    ),
    ("digitalocean-token", &["dop_v1_{h64}"], &["dop_v1_{h63}", "dop_v2_{h64}", "drop_v1_{h64}"]),
    ("sendgrid-key", &["SG.{A22}.{A43}"], &["SG.{A22}", "SG.{A22}.{A30}", "MSG.{A22}.{A43}"]),
    (
        "mailgun-key",
        &["key-{h32}", "-[key-{h32}]"],
        &["key-{h31}", "key-{h33}", "turkey-{h32}", "Linux-npm-key-{h32}"],
    ),
    (
        "brevo-key",
        &["xkeysib-{h64}-{A16}"],
        &["xkeysib-{h64}", "xkeysib-{h63}-{A16}", "xkeysib-{h64}-{A15}"],
    ),
    (
        "shopify-token",
        &["shpat_{h32}", "shpss_{h32}"],
        &["shpat_{h31}", "shpat_{h33}", "shpxt_{h32}"],
    ),
    ("atlassian-token", &["ATATT3{T100}="], &["ATATT3{A59}", "ATATT4{A100}", "XATATT3{A100}"]),
    ("bitbucket-token", &["ATBB{A32}"], &["ATBB{A31}", "ATBB{A33}", "FATBB{A32}"]),
    ("linear-key", &["lin_api_{A40}"], &["lin_api_{A39}", "lin_app_{A40}", "violin_api_{A40}"]),
    ("notion-token", &["ntn_{A46}"], &["ntn_{A39}", "ntn-{A46}", "antn_{A46}"]),
    ("figma-token", &["figd_{A40}"], &["figd_{A39}", "figs_{A40}", "configd_{A40}"]),
    ("databricks-token", &["dapi{h32}"], &["dapi{h31}", "dapi{h33}", "adapi{h32}"]),
    ("vault-token", &["hvs.{A24}", "hvb.{A100}"], &["hvs.{A23}", "hvs_{A24}", "xhvs.{A24}"]),
    (
        "terraform-token",
        &["{A14}[.atlasv1.{A60}]"],
        &["{A14}.atlasv1.{A59}", " .atlasv1.{A60}", "{A14}.atlasv2.{A60}"],
    ),
    (
        "planetscale-token",
        &["pscale_tkn_{A43}"],
        &["pscale_tkn_{A31}", "pscale_{A43}", "upscale_tkn_{A43}"],
    ),
    ("supabase-key", &["sbp_{h40}", "sb_secret_{A31}"], &["sbp_{h39}", "sbp_{h41}", "usbp_{h40}"]),
    (
        "doppler-token",
        &["dp.pt.{A43}", "dp.st.dev.{A43}"],
        &["dp.pt.{A39}", "dp.xx.{A43}", "udp.pt.{A43}"],
    ),
    (
        "grafana-token",
        &["glsa_{A32}_{h8}", "eyJrIjoi{A80}"],
        &["glsa_{A32}", "glsa_{A31}_{h8}", "glsa_{A32}_{h9}"],
    ),
    ("grafana-cloud-token", &["glc_{A40}="], &["glc_{A31}", "glc-{A40}", "xglc_{A40}"]),
    ("new-relic-key", &["NRAK-{U27}"], &["NRAK-{U26}", "NRAK-{U28}", "NRAX-{U27}"]),
    (
        "sentry-token",
        &["sntryu_{h64}", "sntrys_{A80}"],
        &["sntryu_{h63}", "sntrys_{A59}", "sentryu_{h64}"],
    ),
    ("postman-key", &["PMAK-{h24}-{h34}"], &["PMAK-{h24}", "PMAK-{h23}-{h34}", "PMAK-{h24}-{h35}"]),
    ("pulumi-token", &["pul-{h40}"], &["pul-{h39}", "pul-{h41}", "repul-{h40}"]),
    (
        "age-key",
        &["AGE-SECRET-KEY-1{U58}"],
        &["AGE-SECRET-KEY-1{U57}", "AGE-SECRET-KEY-2{U58}", "PAGE-SECRET-KEY-1{U58}"],
    ),
    ("replicate-token", &["r8_{A37}"], &["r8_{A36}", "r8_{A38}", "br8_{A37}"]),
    ("groq-key", &["gsk_{A52}"], &["gsk_{A51}", "gsk_{A53}", "gsk-{A52}"]),
    ("xai-key", &["xai-{A80}"], &["xai-{A79}", "xai-{A81}", "exai-{A80}"]),
    ("perplexity-key", &["pplx-{A48}"], &["pplx-{A47}", "pplx-{A49}", "pplx_{A48}"]),
    (
        "langsmith-key",
        &["lsv2_pt_{h32}_{h10}"],
        &["lsv2_pt_{h32}", "lsv2_xx_{h32}_{h10}", "lsv2_pt_{h31}_{h10}"],
    ),
    (
        "tailscale-key",
        &["tskey-auth-{A16}-{A32}"],
        &["tskey-auth-{A10}", "tskey_{A40}", "rtskey-auth-{A40}"],
    ),
    ("fly-token", &["fm2_{A100}"], &["fm2_{A70}", "fm3_{A100}", "xfm2_{A100}"]),
    (
        "heroku-key",
        &["HRKU-{h8}-{h4}-{h4}-{h4}-{h12}"],
        &["HRKU-{h8}", "HRKX-{A36}", "xHRKU-{A36}"],
    ),
    (
        "circleci-token",
        &["CCIPAT_{A22}_{h40}"],
        &["CCIPAT_{A22}", "CCIPAT_{A21}_{h40}", "CCIPAT_{A22}_{h41}"],
    ),
    ("artifactory-key", &["AKCp{A69}"], &["AKCp{A68}", "AKCp{A70}", "xAKCp{A69}"]),
    ("clojars-token", &["CLOJARS_{A60}"], &["CLOJARS_{A59}", "CLOJARS_{A61}", "clojars_{A60}"]),
    (
        "dynatrace-token",
        &["dt0c01.{U24}.{U64}"],
        &["dt0c01.{U24}", "dt0c01.{U24}.{U63}", "dt0c02.{U24}.{U64}"],
    ),
    ("alibaba-access-key", &["LTAI{A20}"], &["LTAI{A16}", "LTAI{A21}", "xLTAI{A20}"]),
    ("tencent-secret-id", &["AKID{A32}"], &["AKID{A31}", "AKID{A33}", "xAKID{A32}"]),
    ("contentful-token", &["CFPAT-{A43}"], &["CFPAT-{A42}", "CFPAT-{A44}", "CFPAT_{A43}"]),
    ("prefect-key", &["pnu_{A36}"], &["pnu_{A35}", "pnu_{A37}", "xpnu_{A36}"]),
    (
        "sourcegraph-token",
        &["sgp_{h40}", "sgp_local_{h40}"],
        &["sgp_{h39}", "sgp-{h40}", "xsgp_{h40}"],
    ),
    ("typeform-token", &["tfp_{A44}"], &["tfp_{A39}", "tfp-{A44}", "xtfp_{A44}"]),
    ("onepassword-token", &["ops_eyJ{A220}"], &["ops_eyJ{A199}", "ops_{A220}", "drops_eyJ{A220}"]),
    (
        "facebook-token",
        &["EAACEdEose0cBA{A40}"],
        &["EAACEdEose0cBA{A19}", "EAACEdEose0cBB{A40}", "xEAACEdEose0cBA{A40}"],
    ),
    ("vercel-token", &["vcp_{A56}"], &["vcp_{A23}", "vcp-{A56}", "avcp_{A56}"]),
    ("nvidia-key", &["nvapi-{A64}"], &["nvapi-{A59}", "nvapi_{A64}", "xnvapi-{A64}"]),
    ("pinecone-key", &["pcsk_{A5}_{A63}"], &["pcsk_{A59}", "pcsk-{A70}", "xpcsk_{A70}"]),
    ("netlify-token", &["nfp_{A36}"], &["nfp_{A35}", "nfp-{A36}", "xnfp_{A36}"]),
    ("render-key", &["rnd_{A28}"], &["rnd_{A27}", "rnd_{A41}", "rnd_{L32}"]),
    ("posthog-key", &["phx_{A43}"], &["phx_{A39}", "phx-{A43}", "phc_{A43}"]),
    ("neon-key", &["napi_{A64}"], &["napi_{A59}", "napi-{A64}", "unapi_{A64}"]),
    (
        "cloudflare-origin-key",
        &["v1.0-{h24}-{h146}"],
        &["v1.0-{h24}", "v1.1-{h24}-{h146}", "v1.0-{h24}-{h145}"],
    ),
    ("openshift-token", &["sha256~{A43}"], &["sha256~{A42}", "sha256:{A43}", "sha256~{A44}"]),
    ("easypost-key", &["EZAK{A54}"], &["EZAK{A53}", "EZAK{A55}", "xEZAK{A54}"]),
    (
        "duffel-token",
        &["duffel_live_{A43}"],
        &["duffel_live_{A42}", "duffel_x_{A43}", "duffel_live_{A44}"],
    ),
    (
        "flutterwave-key",
        &["[FLWSECK-{A32}]-X", "[FLWSECK_TEST-{A32}]-X"],
        &["FLWSECK-{A11}", "FLWPUBK-{A32}-X", "xFLWSECK-{A32}"],
    ),
    ("frame-io-token", &["fio-u-{A64}"], &["fio-u-{A63}", "fio-u-{A65}", "fio-x-{A64}"]),
    ("readme-key", &["rdme_{A70}"], &["rdme_{A69}", "rdme_{A71}", "rdme-{A70}"]),
    (
        "shippo-token",
        &["shippo_live_{h40}"],
        &["shippo_live_{h39}", "shippo_live_{h41}", "shippo_{h40}"],
    ),
    ("scalingo-token", &["tk-us-{A48}"], &["tk-us-{A47}", "tk-us-{A49}", "tk-eu-{A48}"]),
    (
        "airtable-token",
        &["pat{A14}.{h64}"],
        &["pat{A14}.{h63}", "pat{A13}.{h64}", "xpat{A14}.{h64}"],
    ),
    ("telegram-bot-token", &["{D9}[:AA{A33}]"], &["{D9}:AA{A32}", "{D9}:AA{A34}", "x:AA{A33}"]),
    (
        "jwt",
        &["eyJ{A20}.eyJ{A40}.{A43}", "eyJ{A20}.eyJ{A40}.", "\n-[eyJ{A20}.eyJ{A40}.{A43}]"],
        &["eyJ{A60}", "eyJ{A20}.{A40}.{A43}", "keyJ{A20}.eyJ{A40}.{A43}"],
    ),
    (
        "bearer-token",
        &["Authorization: Bearer [1{A39}]", "bearer [a.2{A30}]"],
        &[
            "Bearer {A1}short9",
            "bearer authentication-mechanism",
            "forbearer 1{A30}",
            "bearer src/auth2/token-endpoint.ts",
        ],
    ),
    (
        "basic-credentials",
        &["Authorization: Basic [bWlyYTp0aWRl{A8}eA==]"],
        &["Basic aB1", "basic internationalization", "Basic {D20}", "PASS Basic Es2022ClassFields"],
    ),
    (
        "azure-storage-key",
        &["AccountName=x;AccountKey=[{A86}==];Suffix"],
        &["AccountKey={A85}", "AccountKey: {A88}", "AccountKeys={A88}"],
    ),
    (
        "azure-shared-access-key",
        &["Endpoint=sb://x/;SharedAccessKeyName=y;SharedAccessKey=[{A43}=]"],
        &["SharedAccessKey={A40}", "SharedAccessKeyName={A43}", "SharedAccessKey: {A43}"],
    ),
    (
        "azure-sas-signature",
        &["?sv=2022&sig=[1{A45}%3D]"],
        &["?sig={A20}", "design=1{A45}", "sig={A42}"],
    ),
    (
        "url-password",
        &[
            "https://mira:[tide-{A6}]@example.org/x",
            "redis://:[{A9}]@cache:6379",
            "postgres://mira:[p@ss$w{A6}]@example.org/x",
            "postgres://mira@example.org:[{A6}@@x]@example.org",
            "https://mira:[grün{A6}é]@example.org",
            "https://aws:[{A2000}]@example.org",
            "mongodb://mira:[{A6}]@one:27017,two:27017/?x=@",
            r"postgres:\/\/mira:[tide\u0026{A6}]@db\/app",
        ],
        &[
            "http://localhost:8080，写信给mira@example.org",
            "https://mira:$PASSWORD@example.org",
            "https://example.org: mira@example.org",
            "https://example.org:8080/a@b",
            "http://mira@example.org",
            "https://mira:<password>@example.org",
            "docker://nginx:1.25.3@sha256:{h64}",
            "http://localhost:3000;me@example.com",
            "http://localhost:3000?mail=me@example.com",
        ],
    ),
    (
        "private-key",
        &[
            "[-----BEGIN RSA PRIVATE KEY-----\n{A64}\n{A20}==\n-----END RSA PRIVATE KEY-----]\n",
            "[-----BEGIN PRIVATE KEY-----\n{A64}\n]",
            "> [-----BEGIN PRIVATE KEY-----\n> {A64}\n> -----END PRIVATE KEY-----]\n> x",
            "client-key-data: [LS0tLS1CRUdJTiBSU0EgUFJJ{A80}==]",
            "1 | [-----BEGIN PRIVATE KEY-----\n2 | {A64}\n3 | -----END PRIVATE KEY-----]\n4 | x",
        ],
        &[
            "-----BEGIN PUBLIC KEY-----\n{A64}",
            "-----BEGIN CERTIFICATE-----\n{A64}",
            "-----BEGIN private key-----",
            "client-certificate-data: LS0tLS1CRUdJTiBDRVJU{A80}",
        ],
    ),
];

/// Makes the text of a sample, and the range of its secret: between brackets, or all of it.
pub(super) fn made(sample: &str, random: &mut Random) -> (String, std::ops::Range<usize>) {
    let (mut text, mut from, mut to) = (String::new(), None, None);
    let mut rest = sample;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        match next {
            '[' => from = Some(text.len()),
            ']' => to = Some(text.len()),
            '{' => {
                let (inside, after) = rest.split_once('}').unwrap();
                let (class, count) = inside.split_at(1);
                let class: &[u8] = match class {
                    "A" => b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789",
                    "T" => b"abcdefghijkmnopqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789-_",
                    "U" => b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
                    "L" => b"abcdefghijklmnopqrstuvwxyz",
                    "h" | "H" => b"0123456789abcdef",
                    "D" => b"123456789",
                    _ => unreachable!("{sample}"),
                };
                for _ in 0..count.parse::<usize>().unwrap() {
                    text.push(char::from(class[random.below(class.len())]));
                }
                rest = after;
            }
            other => text.push(other),
        }
    }
    let (begin, end) = (from.unwrap_or(0), to.unwrap_or(text.len()));
    (text, begin..end)
}

/// SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) % count as u64) as usize
    }
}
