"""Settings of language models, embedders and background learning."""

from __future__ import annotations

from holdfast.settings.row import Setting, boolean, one_of, secret, text, whole, words_list

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
        "Link sessions to the concepts in their summaries, for the graph.",
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
    Setting("anthropic_key", "", "API key for Anthropic.", secret, ("ANTHROPIC_API_KEY",), True),
    Setting("openai_key", "", "API key for OpenAI or a compatible API.", secret, ("OPENAI_API_KEY",), True),
    Setting("gemini_key", "", "API key for Gemini.", secret, ("GEMINI_API_KEY", "GOOGLE_API_KEY"), True),
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
        "Base URL of OpenAI or a compatible API, such as a local model.",
        text,
        ("OPENAI_BASE_URL",),
    ),
    Setting("gemini_url", "https://generativelanguage.googleapis.com/v1beta", "Base URL of the Gemini API."),
    Setting(
        "llm",
        "auto",
        "Language model that writes summaries. auto: the first provider that has a key; none: no text leaves "
        "this machine.",
        one_of("auto", "none", "anthropic", "openai", "gemini"),
    ),
    Setting("llm_model", "", "Name of the language model. Empty: the provider's default."),
    Setting("llm_seconds", "30", "Timeout of one request to the language model, in seconds.", whole(1, 600)),
    Setting(
        "llm_calls_per_hour",
        "120",
        "Maximum number of requests to the language model per hour; 0 disables it.",
        whole(0, 1_000_000),
    ),
    Setting(
        "embedder",
        "local",
        "Embedding model for semantic search. local: gte-small if it is installed, else minilm; gte-small, minilm, "
        "multilingual: run on this machine; gemini; openai: any compatible URL; none: keyword search only.",
        one_of("local", "gte-small", "minilm", "multilingual", "none", "gemini", "openai"),
        ("EMBEDDING_PROVIDER",),
    ),
    Setting(
        "embedder_path",
        "",
        "Folder with the files of minilm (model.safetensors, tokenizer.json), gte-small (model.onnx, "
        "tokenizer.json) or multilingual (embedding_model_quantized.onnx). Empty: the installed ones.",
    ),
    Setting(
        "embedder_model",
        "",
        "Model of a remote embedder. Empty: the provider's default.",
        text,
        ("OPENAI_EMBEDDING_MODEL",),
    ),
    Setting(
        "embedder_dims",
        "0",
        "Vector dimensions of a remote embedder; 0: the model's default.",
        whole(0, 8_192),
        ("OPENAI_EMBEDDING_DIMENSIONS",),
    ),
    Setting(
        "embedder_url",
        "",
        "Base URL of a remote embedder, or of the download of a local model. Empty: the default URL; "
        "none: no download.",
    ),
    Setting(
        "embedder_key",
        "",
        "API key for HOLDFAST_EMBEDDER_URL. The provider's own key is not sent there.",
        secret,
        (),
        True,
    ),
    Setting(
        "reranker",
        "local",
        "Model that reads the best hits of a search again beside the question. local: ms-marco-MiniLM-L-12-v2 if it is "
        "installed and HOLDFAST_EMBEDDER is not none; none: hits stay in the order of the ranking.",
        one_of("local", "none"),
    ),
    Setting(
        "reranker_path",
        "",
        "Folder with the files of the reranker (model.onnx, tokenizer.json). Empty: the installed ones.",
    ),
    Setting("embedder_seconds", "30", "Timeout of one request to a remote embedder, in seconds.", whole(1, 600)),
    Setting(
        "embedder_calls_per_hour",
        "3600",
        "Maximum number of requests to a remote embedder per hour; 0 disables it.",
        whole(0, 1_000_000),
    ),
    Setting(
        "import_roots",
        "~/.claude/projects,~/.codex/sessions",
        "Folders from which transcripts may be imported.",
        words_list,
    ),
    Setting(
        "page_folders",
        "",
        "Folders in which Markdown files may be shortened, and notes and MEMORY.md be written. Empty: none.",
        words_list,
        ("AGENTMEMORY_EXPORT_ROOT",),
    ),
    Setting(
        "claude_memory_file",
        "",
        "MEMORY.md of Claude Code that memory_claude_bridge_sync reads and writes. Empty: none.",
    ),
)
