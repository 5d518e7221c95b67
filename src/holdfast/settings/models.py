"""Language models, embedders, and what is learnt in the background."""

from __future__ import annotations

from holdfast.settings.row import Setting, boolean, embedder, one_of, secret, text, whole, words_list

ROWS: tuple[Setting, ...] = (
    Setting(
        "consolidation",
        "true",
        "Consolidate sessions in the background.",
        boolean,
        ("CONSOLIDATION_ENABLED",),
    ),
    Setting(
        "graph_extraction",
        "false",
        "Link sessions to the concepts of their summaries, for the graph.",
        boolean,
        ("GRAPH_EXTRACTION_ENABLED",),
    ),
    Setting(
        "auto_compress",
        "true",
        "Summarize ended sessions in the background.",
        boolean,
        ("AGENTMEMORY_AUTO_COMPRESS",),
    ),
    Setting("anthropic_key", "", "Key of the Anthropic API.", secret, ("ANTHROPIC_API_KEY",), True),
    Setting("openai_key", "", "Key of an OpenAI-compatible API.", secret, ("OPENAI_API_KEY",), True),
    Setting("gemini_key", "", "Key of the Gemini API.", secret, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), True),
    Setting(
        "anthropic_url",
        "https://api.anthropic.com",
        "Base URL of the Anthropic API.",
        text,
        ("ANTHROPIC_BASE_URL",),
    ),
    Setting(
        "openai_url",
        "https://api.openai.com/v1",
        "Base URL of an OpenAI-compatible API; local models too.",
        text,
        ("OPENAI_BASE_URL",),
    ),
    Setting("gemini_url", "https://generativelanguage.googleapis.com/v1beta", "Base URL of the Gemini API."),
    Setting(
        "llm",
        "auto",
        "Summarizer: auto takes the first with a key; none keeps everything on this machine.",
        one_of("auto", "none", "anthropic", "openai", "gemini"),
    ),
    Setting("llm_model", "", "Model name; empty takes the provider's default."),
    Setting("llm_seconds", "30", "Seconds to wait for one answer of the language model.", whole(1, 600)),
    Setting(
        "llm_calls_per_hour",
        "120",
        "Budget of calls to the language model; 0 is none at all.",
        whole(0, 1_000_000),
    ),
    Setting(
        "embedder",
        "minilm",
        "What finds by meaning: minilm on this machine, gemini, openai (any compatible URL), or none: words alone.",
        embedder,
        ("EMBEDDING_PROVIDER",),
    ),
    Setting(
        "embedder_path",
        "",
        "Folder with minilm's model.safetensors and tokenizer.json; empty looks for an installed package.",
    ),
    Setting(
        "embedder_model",
        "",
        "Model of a remote embedder; empty takes the provider's default.",
        text,
        ("OPENAI_EMBEDDING_MODEL",),
    ),
    Setting(
        "embedder_dims",
        "0",
        "Numbers in each vector of a remote embedder; 0 takes the model's usual size.",
        whole(0, 8_192),
        ("OPENAI_EMBEDDING_DIMENSIONS",),
    ),
    Setting(
        "embedder_url",
        "",
        "Base URL of a remote embedder if it is not the provider's, or of minilm's download; none downloads nothing.",
    ),
    Setting(
        "embedder_key",
        "",
        "Key for HOLDFAST_EMBEDDER_URL; the provider's own key is not sent there.",
        secret,
        (),
        True,
    ),
    Setting("embedder_seconds", "30", "Seconds to wait for one answer of a remote embedder.", whole(1, 600)),
    Setting(
        "embedder_calls_per_hour",
        "3600",
        "Budget of calls to a remote embedder; 0 is none at all.",
        whole(0, 1_000_000),
    ),
    Setting(
        "import_roots",
        "~/.claude/projects,~/.codex/sessions",
        "Folders that transcript import may read.",
        words_list,
    ),
)
