"""The keys of a well-known tutorial's recorder: how answers that came without their prompts are found again.

Decides how such a key is computed and which request stands for it in a cassette. Those files hold a digest in place of the
prompt, so a `Call` finds its answer when it hashes to that digest. Does not read such files (`convert.tutorial`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Final

KEY: Final = re.compile(r"[0-9a-f]{16}")
MODEL: Final = "unknown"

_MEMBER: Final = "tutorial_key"


def tutorial_request(key: str) -> dict[str, object]:
    """The `llm` request that stands in a cassette for an answer whose prompt is not known.

    Args:
        key: 16 lower-case hex digits.
    """
    return {"model": MODEL, "prompt": {_MEMBER: key}, "params": {}}


def is_tutorial(request: Mapping[str, object]) -> bool:
    """Whether a recorded request is one of those."""
    prompt = request.get("prompt")
    return request.get("model") == MODEL and isinstance(prompt, dict) and tuple(prompt) == (_MEMBER,)


def tutorial_keys(model: object, prompt: object, params: object) -> tuple[str, ...]:
    """The keys under which the tutorial's recorder could have kept the answer of a call.

    Args:
        model: As the program gave it.
        prompt: As the program gave it, not scrubbed: that recorder scrubbed nothing.
        params: When they are empty, `{}` and `null` are both tried.

    Returns:
        At most two; none when that recorder could not have written the call.
    """
    choices = (params,) if params else ({}, None)
    keys = (_digest({"p": prompt, "m": model, "x": choice}) for choice in choices)
    return tuple(key for key in keys if key is not None)


def _digest(value: object) -> str | None:
    try:
        return hashlib.sha256(json.dumps(value, sort_keys=True, ensure_ascii=False).encode()).hexdigest()[:16]
    except (TypeError, ValueError, RecursionError):
        return None
