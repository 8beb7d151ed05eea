//! Kinds of credentials in commands and files: `curl -u`, `.netrc`, `docker login`, NuGet, connection strings, tokens in
//! base64.

use super::kinds::Part::{From, Login, Not, One, Open, Run, Text};
use super::kinds::{BASE64, BLANK, Class, Context, Kind, Needs, Part, RUN, class};
use super::makers::{
    BETWEEN, EXPRESSION, NO_VALUE, PADDING, PASSWORD_SIGNS, TOKEN_SIGNS, announced, kind,
};

/// The options of `curl` without a value that one letter stands for.
pub(super) const FLAGS: Class = class(b"BGIJLMNORSVZafgijklnpqsv");
/// The characters before an option.
const BEFORE_OPTION: Class = class(b" \t\r\n\"'`[(");
/// The characters between an option and its argument, which may be separate strings of a list.
const BEFORE_ARGUMENT: Class = class(b" \t='\"\\,");

/// An option of `curl` with a name and a password.
const fn option_of_curl(anchors: &'static [&'static str], parts: &'static [Part]) -> Kind {
    Kind {
        not_after: 0,
        only_after: BEFORE_OPTION,
        needs: Needs::Login,
        context: Context::Curl,
        ..kind("basic-credentials", anchors, parts)
    }
}

pub(super) const FILES: &[Kind] = &[
    // `curl -u NAME:PASSWORD`, as histories, scripts and `set -x` show it: https://curl.se/docs/manpage.html. Other options
    // without a value may come before the letter.
    option_of_curl(
        &["-"],
        &[Run(FLAGS, 0, 8), One(class(b"uU")), Run(BEFORE_ARGUMENT, 0, 16), Login],
    ),
    option_of_curl(&["--user", "--proxy-user"], &[Run(BEFORE_ARGUMENT, 1, 16), Login]),
    // `--password VALUE`, `--db-password VALUE`.
    Kind {
        needs: Needs::Password,
        context: Context::Option,
        ..kind(
            "password",
            &["password", "passwd", "passphrase"],
            &[
                Run(class(b" \t'\"\\"), 1, 8),
                From,
                Not(NO_VALUE | class(b"-")),
                Run(PASSWORD_SIGNS, 8, 256),
                Not(EXPRESSION),
            ],
        )
    },
    // `.netrc`: https://everything.curl.dev/usingcurl/netrc.html.
    Kind {
        needs: Needs::Password,
        context: Context::Netrc,
        ..kind(
            "password",
            &["password"],
            &[
                Run(BLANK, 1, 1),
                From,
                Not(NO_VALUE),
                Run(RUN & !class(b","), 8, 256),
                // The search sees the characters of runs.
                Run(PASSWORD_SIGNS, 0, 256),
                Not(EXPRESSION),
            ],
        )
    },
    // `"auth": "…"` in the configuration of Docker, `_auth=…` in one of npm.
    announced(
        "basic-credentials",
        &["auth"],
        &[Run(BETWEEN, 1, 64), From, Open(BASE64, 8)],
        Needs::Credentials,
    ),
    // gitleaks `nuget-config-password`.
    kind(
        "nuget-password",
        &["ClearTextPassword"],
        &[
            Run(class(b"\"' \t\\"), 1, 8),
            Text("value"),
            Run(class(b"\"'= \t\\"), 1, 8),
            From,
            Not(NO_VALUE),
            Run(PASSWORD_SIGNS, 8, 256),
        ],
    ),
    // Any name of a key, a token, a secret or a password before text that looks random. On request: most identifiers and
    // checksums look random, too.
    Kind {
        only_on_request: true,
        ..announced(
            "random-value",
            &["key", "token", "secret", "auth", "password", "passwd", "pwd"],
            &[
                Run(BETWEEN, 1, 64),
                From,
                Open(TOKEN_SIGNS, 16),
                Run(PADDING, 0, 2),
                Not(EXPRESSION),
            ],
            Needs::Random,
        )
    },
    // A JSON Web Token that was encoded once more, as in a secret of Kubernetes.
    Kind {
        needs: Needs::EncodedToken,
        ..kind("jwt", &["ZXlK"], &[Open(BASE64 | class(b"-_"), 40)])
    },
];
