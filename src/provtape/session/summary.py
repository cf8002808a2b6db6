"""What a session did, in numbers: so that a run in which nothing was served can not pass for a replay.

Decides what is counted and how it is said in one line. Does not decide whether the program's exit status changes (`cli`).
"""

from __future__ import annotations

from dataclasses import dataclass

from provtape.session.decide import Mode


@dataclass(frozen=True, slots=True)
class Summary:
    """The counts of one session.

    Attributes:
        mode: How it was opened.
        loaded: Interactions in the cassette when the session began.
        served: Requests that got a recorded answer.
        missed: Requests that got none, exhausted ones among them.
        unused: Loaded interactions that nobody asked for.
        recorded: Interactions that this session appended, durable.
    """

    mode: Mode
    loaded: int
    served: int
    missed: int
    unused: int
    recorded: int

    @property
    def idle(self) -> bool:
        """Whether a replay served nothing: the program never asked, or asked somewhere else."""
        return self.mode == "replay" and self.served == 0

    def line(self) -> str:
        """One line, e.g. `12 loaded, 11 served, 0 missed, 1 unused`."""
        replayed = f"{self.loaded} loaded, {self.served} served, {self.missed} missed, {self.unused} unused"
        if self.mode == "replay":
            return replayed
        return (
            f"{self.recorded} recorded" if self.mode == "record" else f"{replayed}, {self.recorded} recorded"
        )
