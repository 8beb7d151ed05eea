//! Kinds of services that people and shops work with: mail, payment, support, design, maps.
//!
//! The comment above a kind says where its shape was seen, as in `table_clouds`.

use super::kinds::Part::{From, Not, Open, Run, Text};
use super::kinds::{ALNUM, BASE64, DIGIT, HEX, Kind, LOWER, Needs, TOKEN, UPPER, WORD, class};
use super::makers::{kind, marked, named, short, short_named};

pub(super) const SERVICES: &[Kind] = &[
    // https://developer.adobe.com/developer-console/docs/guides/authentication, gitleaks `adobe-client-secret`.
    short_named("adobe-client-secret", &["p8e-", "p8-"], &[Run(ALNUM, 32, 32)]),
    // gitleaks `adyen-api-key`.
    Kind {
        needs: Needs::Mixed,
        ..kind(
            "adyen-key",
            &["AQE"],
            &[Open(ALNUM, 5), Text("."), Run(TOKEN | class(b"="), 50, 80)],
        )
    },
    // https://airtable.com/developers/web/api/oauth-reference.
    kind(
        "airtable-token",
        &["oaa"],
        &[Run(ALNUM, 10, 20), Text(".v1."), Open(TOKEN, 20), Text("."), Run(HEX, 32, 128)],
    ),
    // https://io.adafruit.com/api/docs.
    named("adafruit-key", &["aio_"], &[Run(ALNUM, 28, 28)]),
    // https://docs.apify.com/platform/integrations/api.
    named("apify-token", &["apify_api_"], &[Run(ALNUM, 30, 40)]),
    // https://cal.com/docs/api-reference.
    kind("cal-com-key", &["cal_live_"], &[Run(HEX, 32, 32)]),
    // https://www.checkout.com/docs/developer-resources/api/api-keys.
    Kind {
        needs: Needs::Token,
        ..kind("checkout-com-key", &["sk_sbox_"], &[Run(LOWER | DIGIT, 24, 30)])
    },
    // trufflehog `clickuppersonaltoken`.
    kind("clickup-token", &["pk_"], &[Run(DIGIT, 7, 9), Text("_"), Run(UPPER | DIGIT, 32, 32)]),
    // trufflehog `closecrm`.
    Kind {
        needs: Needs::Varied,
        ..kind("close-key", &["api_"], &[Run(ALNUM, 22, 22), Text("."), Run(ALNUM, 22, 22)])
    },
    // https://developers.figma.com/docs/rest-api/authentication: tokens that apps get and refresh.
    kind(
        "figma-token",
        &["figu_", "figo_", "figor_", "figur_", "figoh_", "figuh_"],
        &[Open(TOKEN, 40)],
    ),
    // trufflehog `fullstory/v2`.
    Kind { needs: Needs::Varied, ..kind("fullstory-key", &["na1.", "eu1."], &[Open(BASE64, 90)]) },
    // gitleaks `gocardless-api-token`.
    Kind { needs: Needs::Varied, ..short("gocardless-token", &["live_"], &[Run(TOKEN, 40, 40)]) },
    // https://developers.hubspot.com/docs/guides/apps/private-apps, trufflehog `hubspot_apikey/v2`.
    kind(
        "hubspot-token",
        &["pat-na1-", "pat-na2-", "pat-eu1-", "pat-ap1-"],
        &[Run(HEX | class(b"-"), 36, 36)],
    ),
    // https://developers.intercom.com: the base64 of `tok:`.
    kind("intercom-token", &["dG9rO"], &[Run(BASE64, 55, 60)]),
    // gitleaks `intra42-client-secret`.
    kind("intra42-client-secret", &["s-s4t2ud-", "s-s4t2af-"], &[Run(HEX, 64, 64)]),
    // https://docs.lob.com/#tag/Authentication.
    short("lob-key", &["live_", "test_"], &[Run(HEX, 35, 35)]),
    // https://mailchimp.com/developer/marketing/guides/quick-start: 32 digits and the data center.
    marked("mailchimp-key", 32, b"-us", &[Run(HEX, 32, 32), Text("-us"), Run(DIGIT, 1, 2)]),
    // https://documentation.mailgun.com: the second form of keys, and keys that sign.
    marked(
        "mailgun-key",
        32,
        b"-",
        &[Run(HEX, 32, 32), Text("-"), Run(HEX, 8, 8), Text("-"), Run(HEX, 8, 8), Not(class(b"-"))],
    ),
    // https://developers.mailersend.com/general.
    kind("mailersend-token", &["mlsn."], &[Run(HEX, 64, 64)]),
    // https://mailchimp.com/developer/transactional: keys since 2022.
    Kind { needs: Needs::Varied, ..short("mandrill-key", &["md-"], &[Run(TOKEN, 22, 22)]) },
    // https://developers.brevo.com: passwords for sending mail.
    kind("brevo-key", &["xsmtpsib-"], &[Run(HEX, 64, 64), Text("-"), Run(ALNUM, 16, 16)]),
    // https://docs.mapbox.com/help/dive-deeper/access-tokens: a payload and a signature.
    Kind {
        needs: Needs::Varied,
        ..kind(
            "mapbox-token",
            &["sk.", "pk.", "tk."],
            &[Open(TOKEN, 56), Text("."), Run(TOKEN, 22, 22)],
        )
    },
    // https://docs.pagar.me.
    named("pagarme-key", &["ak_live_", "ak_test_"], &[Run(ALNUM, 30, 30)]),
    // https://developer.paddle.com/api-reference/about/authentication.
    kind("paddle-key", &["pdl_live_apikey_", "pdl_sdbx_apikey_", "pdl_ntfset_"], &[Open(WORD, 26)]),
    // https://plaid.com/docs/api/tokens, gitleaks `plaid-api-token`.
    kind(
        "plaid-token",
        &["access-sandbox-", "access-development-", "access-production-"],
        &[Run(HEX | class(b"-"), 36, 36)],
    ),
    // https://posthog.com/docs/feature-flags: keys that evaluate flags on a server.
    named("posthog-key", &["phs_"], &[Open(ALNUM, 40)]),
    // https://www.pubnub.com/docs: the key that grants access. Those that publish and subscribe are in clients.
    kind("pubnub-key", &["sec-c-"], &[Open(BASE64, 40)]),
    // trufflehog `ramp`.
    named("ramp-secret", &["ramp_sec_"], &[Run(ALNUM, 48, 48)]),
    // https://docs.rapidapi.com/docs/keys: three marks among 50 characters.
    marked("rapidapi-key", 10, b"msh", &[Run(LOWER | DIGIT, 50, 50)]),
    // https://razorpay.com/docs/api/authentication.
    Kind {
        needs: Needs::Token,
        ..kind("razorpay-key", &["rzp_live_", "rzp_test_"], &[Run(ALNUM, 14, 14)])
    },
    // trufflehog `salesforce`: the session of an organization.
    Kind {
        not_after: 0,
        only_after: ALNUM,
        needs: Needs::Mixed,
        ..kind("salesforce-token", &["!AQ", "!AR"], &[Open(WORD | class(b"."), 80)])
    },
    // https://shopify.dev/docs/apps: tokens of delegates, of themes and of automation.
    kind("shopify-token", &["shptka_", "shpua_", "atkn_"], &[Run(HEX, 32, 64)]),
    // https://docs.stripe.com/keys: keys of organizations.
    named("stripe-key", &["sk_org_live_", "sk_org_test_"], &[Open(ALNUM, 16)]),
    // https://stytch.com/docs.
    kind("stytch-secret", &["secret-live-", "secret-test-"], &[Open(TOKEN | class(b"="), 36)]),
    // https://developers.telnyx.com: a number and a secret.
    kind("telnyx-key", &["KEY0"], &[Run(HEX | UPPER, 30, 40), Text("_"), Run(TOKEN, 20, 24)]),
    // https://developer.x.com: tokens of applications begin with zeros and are percent-encoded.
    Kind {
        needs: Needs::Encoded,
        ..kind("twitter-bearer-token", &["AAAAAAAAAAAAAAAAAAAAA"], &[Open(ALNUM | class(b"%"), 60)])
    },
    // trufflehog `voiceflow`.
    kind(
        "voiceflow-key",
        &["VF.DM.", "VF.WS.", "VF."],
        &[Run(HEX, 24, 24), Text("."), Run(ALNUM, 16, 16)],
    ),
    // https://woocommerce.github.io/woocommerce-rest-api-docs.
    short("woocommerce-key", &["ck_", "cs_"], &[Run(HEX, 40, 40)]),
    // https://www.zoho.com/developer/help/api: tokens that give access and that refresh.
    kind("zoho-token", &["1000."], &[Run(HEX, 32, 32), Text("."), Run(HEX, 32, 32)]),
    // gitleaks `sidekiq-secret`: the name of the variable, two numbers.
    Kind {
        by_name: true,
        ..kind(
            "sidekiq-secret",
            &["BUNDLE_ENTERPRISE__CONTRIBSYS__COM", "BUNDLE_GEMS__CONTRIBSYS__COM"],
            &[Run(class(b" \t\"'=:\\>|"), 1, 64), From, Run(HEX, 8, 8), Text(":"), Run(HEX, 8, 8)],
        )
    },
];
