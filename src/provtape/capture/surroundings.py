"""The environment variables of a captured command (pure).

Decides what is told to the clients in it: whom to trust, that no proxy and no cloud metadata is there, and, in replay alone, keys
that open nothing where a client insists on having one. Everything else stays as it was inherited.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final
from urllib.parse import urlsplit

# Each names one file of roots. OpenSSL, Go, httpx and Rust read the first; it replaces their store, hence the whole bundle.
TRUST: Final = (
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "AWS_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "PIP_CERT",
)
# Inside, every address is the recorder's: a proxy of the network outside would be one as well, at a port that nobody serves.
PROXIES: Final = frozenset({"http_proxy", "https_proxy", "all_proxy", "ftp_proxy"})
# SDKs look for a machine's role at 169.254.169.254 when they have no credentials.
METADATA: Final = {"AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true"}
DUMMY: Final = "provtape-dummy-key"

OPENAI: Final = ("OPENAI_API_KEY",)
ANTHROPIC: Final = ("ANTHROPIC_API_KEY",)
# Host, or the end of one after a dot: the variables without which its SDK does not start.
DUMMY_BY_HOST: Final[Mapping[str, tuple[str, ...]]] = {
    "openai.com": OPENAI,
    "openai.azure.com": ("AZURE_OPENAI_API_KEY",),
    "anthropic.com": ANTHROPIC,
    "generativelanguage.googleapis.com": ("GOOGLE_API_KEY",),
    "mistral.ai": ("MISTRAL_API_KEY",),
    "cohere.com": ("CO_API_KEY",),
    "groq.com": ("GROQ_API_KEY",),
    "together.xyz": ("TOGETHER_API_KEY",),
    "fireworks.ai": ("FIREWORKS_API_KEY",),
    "deepseek.com": ("DEEPSEEK_API_KEY",),
    "openrouter.ai": ("OPENROUTER_API_KEY",),
    "x.ai": ("XAI_API_KEY",),
    "perplexity.ai": ("PERPLEXITY_API_KEY",),
    "cerebras.ai": ("CEREBRAS_API_KEY",),
    "voyageai.com": ("VOYAGE_API_KEY",),
    "replicate.com": ("REPLICATE_API_TOKEN",),
    "amazonaws.com": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
}
# The end of a path that an SDK calls at whatever server it was pointed to.
DUMMY_BY_PATH: Final[Mapping[str, tuple[str, ...]]] = {
    "/chat/completions": OPENAI,
    "/completions": OPENAI,
    "/responses": OPENAI,
    "/embeddings": OPENAI,
    "/models": OPENAI,
    "/v1/messages": ANTHROPIC,
}
# A client that has one of these needs no dummy for the first of its variables.
INSTEAD: Final[Mapping[str, tuple[str, ...]]] = {
    "GOOGLE_API_KEY": ("GEMINI_API_KEY",),
    "CO_API_KEY": ("COHERE_API_KEY",),
    "ANTHROPIC_API_KEY": ("ANTHROPIC_AUTH_TOKEN",),
    "AZURE_OPENAI_API_KEY": ("AZURE_OPENAI_AD_TOKEN",),
    "AWS_ACCESS_KEY_ID": ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK"),
}


def surroundings(inherited: Mapping[str, str], bundle: str, *, enclosed: bool) -> dict[str, str]:
    """Make the whole environment of a command whose calls are captured.

    Args:
        inherited: Ours.
        bundle: The path of the authority's bundle.
        enclosed: Whether it runs in an enclosure: then proxies are taken away, and host names are looked up as they stand before
            a search list is tried.
    """
    kept = {name: value for name, value in inherited.items() if not (enclosed and name.lower() in PROXIES)}
    if enclosed:
        kept["RES_OPTIONS"] = f"{inherited.get('RES_OPTIONS', '')} ndots:1".strip()
    return kept | dict.fromkeys(TRUST, bundle) | METADATA


def dummy_keys(inherited: Mapping[str, str], urls: Iterable[str]) -> dict[str, str]:
    """Choose variables for SDKs that do not start without a key; for replay only, where no key opens anything.

    Args:
        inherited: The environment; what is set in it stays.
        urls: The URLs that were recorded: only their providers' variables are given, since programs choose by which keys are there.

    Returns:
        The variables to add, each with a value that nobody can mistake for a key.
    """
    wanted = {names for url in set(urls) for names in _insisting(url)}
    return {
        name: DUMMY
        for names in sorted(wanted)
        if not any(inherited.get(one) for one in (*names, *INSTEAD.get(names[0], ())))
        for name in names
    }


def _insisting(url: str) -> set[tuple[str, ...]]:
    try:
        parts = urlsplit(url)
        host, path = (parts.hostname or "").rstrip("."), parts.path.rstrip("/")
    except ValueError:
        return set()
    by_host = {names for end, names in DUMMY_BY_HOST.items() if host == end or host.endswith(f".{end}")}
    by_path = {names for end, names in DUMMY_BY_PATH.items() if path.endswith(end)}
    return by_host or by_path
