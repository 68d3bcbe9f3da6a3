"""What tests of several areas share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent
SGLANG = "sglang-0.5.23"

settings.register_profile("default", deadline=None)
settings.register_profile("nightly", deadline=None, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest.fixture(scope="session")
def sglang_root() -> Path:
    """The unpacked sglang wheel, which `make` fetches; `$SGLANG_ROOT` names another copy."""
    named = os.environ.get("SGLANG_ROOT")
    root = Path(named) if named else ROOT / ".cache" / SGLANG
    if not (root / "sglang").is_dir():
        message = f"the sources of {SGLANG} are not in {root}: run `make sync`"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return root


@pytest.fixture(autouse=True)
def _own_data_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the records of the person who runs it, or takes their environment for the project's."""
    monkeypatch.setenv("RAISELENS_DATA", str(tmp_path_factory.mktemp("data")))
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    for name in ("NO_COLOR", "FORCE_COLOR", "RAISELENS_DEBUG"):
        monkeypatch.delenv(name, raising=False)
