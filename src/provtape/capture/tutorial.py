"""The replay server of a well-known tutorial: `POST /` with a prompt, and an output comes back.

Decides what such a request and answer look like. Which recorded answer it gets is the session's matter.
"""

from __future__ import annotations

from provtape.errors import FormatError, ProvtapeError
from provtape.format import strict
from provtape.format.record import Object
from provtape.session.recorded import Answer
from provtape.wire.refusal import Refusal, refusal

_NAMES = frozenset(("prompt", "model", "params"))


def asked(body: bytes) -> Object | None:
    """The members of the `llm` request that `{"prompt","model","params"}` stands for, or None when it is nothing like it."""
    try:
        value = strict.read(body)
    except FormatError:
        return None
    if not isinstance(value, dict) or "prompt" not in value or not value.keys() <= _NAMES:
        return None
    model, params = value.get("model", ""), value.get("params")
    if type(model) is not str:
        return None
    return {"model": model, "prompt": value["prompt"], "params": {} if params is None else params}


def answered(answer: Answer) -> Refusal:
    """The answer `{"output": …}`; 502 for a call that had failed when it was recorded."""
    if "output" not in answer.response:
        return refusal(
            502, "recorded_error", f"record {answer.seq}: the call had failed when it was recorded"
        )
    try:
        return Refusal(200, strict.dumps({"output": answer.response["output"]}))
    except ProvtapeError as error:
        return refusal(500, "unserved", error.message)
