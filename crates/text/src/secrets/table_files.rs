//! Kinds of credentials in commands and files: `curl -u`, `.netrc`, `docker login`, NuGet, connection strings, tokens in
//! base64.

use super::kinds::Part::{From, Not, Open, Run, Text};
use super::kinds::{ALNUM, BASE64, BLANK, Kind, Needs, RUN, class};
use super::makers::{
    BETWEEN, EXPRESSION, NO_VALUE, PADDING, PASSWORD_SIGNS, TOKEN_SIGNS, announced, kind,
};

pub(super) const FILES: &[Kind] = &[
    // `curl -u NAME:PASSWORD`, as histories, scripts and `set -x` show it. Numbers are a user and a group, and words in small
    // letters are names of groups.
    Kind {
        not_after: 0,
        only_after: class(b" "),
        needs: Needs::Login,
        ..kind(
            "basic-credentials",
            &["-u", "--user", "--proxy-user"],
            &[
                Run(class(b" \t='\"\\"), 1, 4),
                Run(ALNUM | class(b"-._@+%"), 0, 128),
                Text(":"),
                From,
                Not(class(b"$%<{*")),
                Run(PASSWORD_SIGNS | class(b"&;"), 4, 256),
            ],
        )
    },
    // `.netrc` and options: a password after a blank.
    Kind {
        needs: Needs::Password,
        ..kind(
            "password",
            &["password", "Password", "PASSWORD", "passwd"],
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
