"""For the whole suite: in CI generated examples are the same in every run, so that a failure there can be met again here.

On a developer's machine they are new each time, and find what nobody thought of.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
