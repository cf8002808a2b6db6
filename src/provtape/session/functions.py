"""The program's own functions: live functions and tools.

Decides how one call of a function is kept until it may run, how it runs for sync and async callers, and how the arguments of a
tool become the `arguments` of its request: by parameter name, defaults filled in, so that `f(1)`, `f(x=1)` and a default of 1 are
one request. Does not decide whether it runs (`session`).
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from provtape.errors import SessionError

MAX_MESSAGE = 65536


@dataclass(frozen=True, slots=True)
class Work:
    """One call of a function of the program, not made yet."""

    function: Callable[..., object]
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)

    def run(self) -> object:
        """Call it."""
        return self.function(*self.args, **self.kwargs)

    async def run_async(self) -> object:
        """Call it without holding up the event loop: a coroutine function on it, any other in a thread."""
        result = self.run() if is_async(self.function) else await asyncio.to_thread(self.run)
        return await result if inspect.isawaitable(result) else result


def is_async(function: Callable[..., object]) -> bool:
    """Whether calling it gives a coroutine (also for an object whose `__call__` does)."""
    method = getattr(type(function), "__call__", None)  # noqa: B004  # the method itself is wanted
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(method)


def refuse_awaitable(value: object) -> None:
    """Refuse what an async function gave to a sync caller.

    Raises:
        SessionError: It has to be awaited.
    """
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise needs_await()


def needs_await() -> SessionError:
    """The error for an async function in a sync call."""
    return SessionError("an async function can not be called from here", "use ask_async or call_tool_async")


def described(error: Exception) -> dict[str, object]:
    """What is recorded of an exception: its type's name and its message; none that is too long to be a message.

    It is not cut: scrubbing comes later, and half a secret is still one.
    """
    try:
        message = str(error)
    except Exception:  # an exception whose text can not be made is recorded without it
        message = ""
    if len(message) > MAX_MESSAGE:
        message = f"(a message of {len(message)} characters, not recorded)"
    message = message.encode("utf-8", "backslashreplace").decode()
    return {"error": {"type": type(error).__name__, "message": message}}


def bound_arguments(
    function: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]
) -> dict[str, object]:
    """The arguments of one call by parameter name, defaults included.

    Returns:
        Name to value; `*args` is a list under its name, `**kwargs` an object under its name.

    Raises:
        TypeError: As Python would raise for this call.
        SessionError: The function has no signature that could be read.
    """
    try:
        signature = inspect.signature(function)
    except ValueError:
        raise SessionError("a tool whose parameters can not be read", "wrap it in a function") from None
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    return dict(bound.arguments)


def tool_request(name: str, arguments: Mapping[str, object]) -> dict[str, object]:
    """The members of a `tool` request (spec C16)."""
    if type(name) is not str or not name:
        raise SessionError("a tool's name is not a string")
    return {"name": name, "arguments": dict(arguments)}
