"""The reference sets are not part of the repository: other people's test vectors and known answers, read in place.

They stand in `../shared` beside the checkout (or where PROVTAPE_REFERENCE says). CI has them and fails without; on a machine that
never had them these tests say so and are left out.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SHARED = Path(os.environ.get("PROVTAPE_REFERENCE", Path(__file__).parent.parent.parent.parent / "shared"))


@pytest.fixture(scope="session")
def reference() -> Path:
    if not SHARED.is_dir():
        if os.environ.get("CI"):
            pytest.fail(f"the reference sets are missing: {SHARED}")
        pytest.skip("the reference sets are not on this machine")
    return SHARED
