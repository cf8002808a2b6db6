"""The stage of each user that this machine lets us be."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from enclosure_stage import USERS, Stage, staged


@pytest.fixture(scope="session", params=USERS)
def stage(request: pytest.FixtureRequest) -> Iterator[Stage]:
    with (
        tempfile.TemporaryDirectory(prefix="provtape-test-") as folder,
        staged(request.param, Path(folder)) as made,
    ):
        yield made
