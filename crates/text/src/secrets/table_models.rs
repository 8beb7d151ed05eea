//! Kinds of services that run models, search and browse for agents, or watch them.
//!
//! The comment above a kind says where its shape was seen, as in `table_clouds`.

use super::kinds::Part::{Open, Run};
use super::kinds::{ALNUM, DIGIT, HEX, Kind, LOWER, Needs, TOKEN, class};
use super::makers::{kind, named, short};

pub(super) const MODELS: &[Kind] = &[
    // https://platform.openai.com: the session of a browser.
    Kind { needs: Needs::Varied, ..short("openai-key", &["sess-"], &[Run(ALNUM, 40, 40)]) },
    // https://inference-docs.cerebras.ai.
    Kind { needs: Needs::Token, ..short("cerebras-key", &["csk-"], &[Run(LOWER | DIGIT, 48, 48)]) },
    // https://docs.fireworks.ai/getting-started/quickstart.
    Kind { needs: Needs::Varied, ..short("fireworks-key", &["fw_"], &[Run(ALNUM, 22, 24)]) },
    // https://docs.together.ai/docs/quickstart.
    kind("together-key", &["tgp_v1_"], &[Open(TOKEN, 40)]),
    // https://docs.voyageai.com/docs/api-key-and-installation.
    Kind { needs: Needs::Varied, ..short("voyage-key", &["pa-"], &[Run(TOKEN, 40, 48)]) },
    // https://jina.ai/embeddings.
    named("jina-key", &["jina_"], &[Open(ALNUM, 32)]),
    // https://docs.cloud.llamaindex.ai.
    named("llama-cloud-key", &["llx-"], &[Open(ALNUM, 40)]),
    // https://docs.tavily.com, https://docs.firecrawl.dev.
    Kind { needs: Needs::Token, ..kind("tavily-key", &["tvly-"], &[Open(TOKEN, 28)]) },
    short("firecrawl-key", &["fc-"], &[Run(HEX, 32, 32)]),
    // trufflehog `elevenlabs/v2`.
    short("elevenlabs-key", &["sk_"], &[Run(HEX, 48, 48)]),
    // trufflehog `langfuse`: secret keys. The public ones begin with `pk-lf-`.
    kind("langfuse-key", &["sk-lf-"], &[Run(HEX | class(b"-"), 36, 36)]),
    // https://docs.helicone.ai.
    kind("helicone-key", &["sk-helicone-"], &[Open(TOKEN, 24)]),
    // https://e2b.dev/docs, https://www.daytona.io/docs: sandboxes of agents.
    short("e2b-key", &["e2b_"], &[Run(HEX, 40, 40)]),
    short("daytona-key", &["dtn_"], &[Run(HEX, 64, 64)]),
    // https://modal.com/docs/reference/cli/token: a number and a secret.
    Kind { needs: Needs::Varied, ..short("modal-token", &["ak-", "as-"], &[Run(ALNUM, 22, 22)]) },
    // https://www.kaggle.com/docs/api.
    kind("kaggle-token", &["KGAT_"], &[Run(HEX, 32, 32)]),
    // https://docs.wandb.ai: keys in their second form.
    kind("wandb-key", &["wandb_v1_"], &[Open(TOKEN, 60)]),
    // https://docs.statsig.com/sdk-keys: keys of servers and of the console.
    Kind {
        needs: Needs::Varied,
        ..short("statsig-key", &["secret-", "console-"], &[Run(ALNUM, 40, 50)])
    },
];
