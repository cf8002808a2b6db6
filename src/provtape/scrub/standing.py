"""What `open`, `run` and `end` say about the recording itself.

Decides which of their members are text, URLs or a command line and are scrubbed, and which the format gives a meaning
to: a rule that finds something in one of those is an error, since a digest or time with a hole in it would be worth
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from provtape.errors import ScrubError
from provtape.scrub.address import scrub_url, url_texts
from provtape.scrub.engine import MAX_PASSES, Scrubber, endless
from provtape.scrub.sweep import Sweep
from provtape.scrub.values import Named, collect, scrub_value, scrub_words


class Standing:
    """Scrubs members of `open`, `run` and `end`; what it finds is not counted, for these records have no `scrubbed`."""

    def __init__(self, scrubber: Scrubber, named: Named) -> None:
        self._scrubber = scrubber
        self._named = named

    def member(self, name: str, value: object) -> object:
        """One member, scrubbed (spec C13, C14, C20).

        Raises:
            ScrubError: It can not be scrubbed, or must not change and would.
        """
        scrub = self._SPECIAL.get(name)
        return self.fixed(value, name) if scrub is None else scrub(self, value)

    def fixed(self, value: object, name: str) -> object:
        """A value that the format gives a meaning to, unchanged.

        Raises:
            ScrubError: The rules find something in it.
        """
        texts: list[str] = []
        collect(value, texts, self._named, 2)
        sweep = Sweep(self._scrubber, texts)
        if not sweep.idle and any(sweep.spans(text) for text in texts):
            raise ScrubError(
                f"the scrub rules find something in {name}, which must stay as it is",
                "give it another value, or disable the rule that finds it",
            )
        return value

    def _free(self, value: object) -> object:
        return self._settle(lambda: self._once(value))

    def _once(self, value: object) -> object:
        texts: list[str] = []
        collect(value, texts, self._named, 2)
        return scrub_value(value, "", Sweep(self._scrubber, texts), self._named)

    def _environment(self, value: object) -> object:
        """Free JSON; and each text is looked at beside its name as well, as in a file of assignments."""
        scrubbed = self._free(value)
        if not isinstance(scrubbed, dict):
            raise ScrubError("environment is not an object")
        return {name: self._assigned(name, item) for name, item in scrubbed.items()}

    def _assigned(self, name: str, value: object) -> object:
        if type(value) is not str:
            return value
        line = f"{name}={value}"
        sweep = Sweep(self._scrubber, [line])
        spans = [span for span in sweep.spans(line) if span.end > len(name) + 1]
        return sweep.whole(value, spans[0].rule, "") if spans else value

    def _command(self, value: object) -> object:
        if value is None:
            return None
        if not isinstance(value, list | tuple) or not all(type(word) is str for word in value):
            raise ScrubError("command is neither null nor a list of strings")
        return self._settle(lambda: self._words(value))

    def _words(self, words: Sequence[str]) -> list[str]:
        sweep = Sweep(self._scrubber, [*words, *(word.partition("=")[2] for word in words)])
        return scrub_words(words, "", sweep, self._named)

    def _code(self, value: object) -> object:
        if not isinstance(value, dict):
            return self.fixed(value, "code")
        return {
            name: self._url(item) if name == "uri" else self.fixed(item, f"code.{name}")
            for name, item in value.items()
        }

    def _capture(self, value: object) -> object:
        if not isinstance(value, dict):
            return self.fixed(value, "capture")
        return {name: self._capture_part(name, item) for name, item in value.items()}

    def _capture_part(self, name: str, value: object) -> object:
        if name == "routes" and isinstance(value, dict):
            self.fixed(list(value), "capture.routes")
            return {route: self._url(url) for route, url in value.items()}
        return self._free(value) if name in ("allow", "pass") else self.fixed(value, f"capture.{name}")

    def _scrub(self, value: object) -> object:
        if not isinstance(value, dict):
            return self.fixed(value, "scrub")
        self.fixed([item for name, item in value.items() if name != "rules"], "scrub")
        return value

    def _url(self, value: object) -> object:
        if type(value) is not str:
            return self.fixed(value, "a URL")
        return scrub_url(value, "", Sweep(self._scrubber, url_texts(value)), self._scrubber.rules.query)

    def _settle(self, scrub: Callable[[], object]) -> object:
        """Scrub once more whenever it taught the memory something that may also stand earlier in the value."""
        for _ in range(MAX_PASSES):
            known = self._scrubber.known
            result = scrub()
            if self._scrubber.known == known:
                return result
        raise endless()

    _SPECIAL: ClassVar[dict[str, Callable[[Standing, object], object]]] = {
        "meta": _free,
        "environment": _environment,
        "command": _command,
        "code": _code,
        "capture": _capture,
        "scrub": _scrub,
    }
