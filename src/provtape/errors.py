"""What can go wrong: every error that provtape raises, in one tree.

    ProvtapeError
    ├── FormatError         bytes break a rule of the format
    ├── LimitError          larger than a reader takes
    ├── InputError          a file can not be read, or is not what was asked for
    ├── KeyRefused          a key that provtape does not use
    ├── ScrubError          something that must not be written could not be scrubbed
    ├── ProvenanceError     the code or machine can not be named honestly
    ├── SigningError        `sign` refuses
    ├── ConvertError        another format can not be read
    ├── DemoError           the tour did not go as it must
    ├── CaptureError        calls can not be brought to the session
    │   ├── NotEnclosed     the kernel does not let a command be shut in
    │   └── NotStarted      the command could not be started
    ├── CassetteError       the file on disk
    │   ├── CassetteExists  record never overwrites
    │   ├── CassetteLocked  somebody else is writing
    │   ├── CassetteSealed  nothing may follow `end`
    │   └── RulesDiffer     scrub or match rules are not record 0's
    └── SessionError
        ├── Miss            a request that was not recorded
        │   └── Exhausted   recorded n times, call n+1 asked for
        ├── Missed          misses happened in a session that ends now
        └── RecordedError   the recorded call had raised; so does its replay

A message is one line and names place and rule, never content: no prompt, no output, no key, no secret.
"""

from __future__ import annotations


class ProvtapeError(Exception):
    """Anything that provtape refuses or can not do.

    Args:
        message: One line: what, where.
        hint: One line: what to do about it, or nothing.
    """

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class FormatError(ProvtapeError):
    """Bytes break a rule of the format; `code` is the finding's code (spec/verdict.md)."""

    def __init__(self, message: str, code: str = "record.json", hint: str | None = None) -> None:
        super().__init__(message, hint)
        self.code = code


class LimitError(ProvtapeError):
    """Larger than a reader takes (spec C5, N1, M1): no statement about the content."""


class InputError(ProvtapeError):
    """A file can not be read or is not the kind of file that was asked for; `code` is the finding's code."""

    def __init__(self, message: str, hint: str | None = None, code: str = "input.unreadable") -> None:
        super().__init__(message, hint)
        self.code = code


class KeyRefused(ProvtapeError):
    """A key that is no Ed25519 key, is weak, unreadable, or readable by others."""

    code = "key.refused"


class ScrubError(ProvtapeError):
    """Something that must not be written could not be scrubbed; nothing was written."""


class ProvenanceError(ProvtapeError):
    """The code, the machine or a file of theirs can not be named honestly."""


class SigningError(ProvtapeError):
    """`sign` refuses: the cassette does not hold, or the evidence would not; `code` is the finding's, if one decided."""

    def __init__(self, message: str, hint: str | None = None, code: str = "internal") -> None:
        super().__init__(message, hint)
        self.code = code


class ConvertError(ProvtapeError):
    """A file of another format breaks that format's rules."""


class CaptureError(ProvtapeError):
    """Calls can not be brought to the session."""


class NotEnclosed(CaptureError):
    """The kernel does not let a command be shut in; the message names the step that was refused. Nothing ran."""


class NotStarted(CaptureError):
    """The command could not be started.

    Args:
        message: One line: what, why.
        status: What a shell would exit with: 127 not found, 126 can not be executed, 125 anything before that.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class DemoError(ProvtapeError):
    """A step of the tour did not come out as it must; a forgery that passed is one."""


class CassetteError(ProvtapeError):
    """The cassette on disk can not be written or gone on with."""


class CassetteExists(CassetteError):
    """A cassette of this name is there already; record never overwrites."""


class CassetteLocked(CassetteError):
    """Another process or thread is writing this cassette."""


class CassetteSealed(CassetteError):
    """The cassette ends with `end`; it takes nothing more."""


class RulesDiffer(CassetteError):
    """The scrub or match rules are not those of record 0."""


class SessionError(ProvtapeError):
    """A call could not be answered."""


class Miss(SessionError):
    """A request that was not recorded; nothing went to the network."""


class Exhausted(Miss):
    """A request that was recorded n times and asked for once more."""


class Missed(SessionError):
    """Raised at the end of a session in which requests missed, even if the program swallowed them."""


class RecordedError(SessionError):
    """The live call had raised when it was recorded; `error` is what was recorded of it."""

    def __init__(self, message: str, error: object) -> None:
        super().__init__(message)
        self.error = error
