"""What a program asks of a model, and the JSON values that go in and come out.

Decides how a Python value becomes the value that is stored, and how a stored value is given back: both roads end in the same
plain Python value, so a program can not tell a live answer from a replayed one. Does not decide what is scrubbed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from provtape.errors import FormatError, SessionError
from provtape.format import strict
from provtape.format.strict import Number


@dataclass(frozen=True, slots=True)
class Call:
    """One question to a model.

    Attributes:
        model: The model's name.
        prompt: Any JSON value: a text, a list of messages.
        params: Sampling parameters, tools and whatever else decides the answer; all of it is part of the key.
    """

    model: str
    prompt: object
    params: Mapping[str, object] = field(default_factory=dict)

    def request(self) -> dict[str, object]:
        """The members of an `llm` request (spec C16)."""
        if type(self.model) is not str:
            raise SessionError("a call's model is not a string")
        params = dict(self.params) if isinstance(self.params, Mapping) else self.params
        return {"model": self.model, "prompt": self.prompt, "params": params}


def stored(value: object, what: str, depth: int = 2) -> object:
    """The value as the strict reader would read it back: a snapshot that no caller can change any more.

    Args:
        value: JSON in Python: dict, list or tuple, str, int, float, bool, None.
        what: What it is, for the message.
        depth: Where its outermost container will stand in the record; a member of the record stands at 2.

    Raises:
        SessionError: JSON can not say it, or it is nested too deep for a record.
    """
    try:
        snapshot = strict.read(strict.dumps(value))
        strict.check_depth(snapshot, depth)
    except FormatError as error:
        raise SessionError(f"{what} can not be recorded: {error.message}") from None
    return snapshot


def plain(value: object) -> object:
    """A stored value as `json.loads` would give it: number tokens become int or float.

    A token that no finite float comes near (`1e400`) stays a text: the token as it is spelled.
    """
    if isinstance(value, Number):
        return _number(value)
    if isinstance(value, dict):
        return {name: plain(child) for name, child in value.items()}
    if isinstance(value, list):
        return [plain(child) for child in value]
    return value


def _number(token: Number) -> object:
    try:
        number = float(token) if set(token) & set(".eE") or token == "-0" else int(token)
    except ValueError:  # over Python's limit of 4,300 digits
        return str(token)
    return number if math.isfinite(number) else str(token)
