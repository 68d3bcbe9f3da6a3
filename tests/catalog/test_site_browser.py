"""The static site in a real browser: search, links, copying, keyboard, contrast. `browser/site.mjs` is the visit."""

from __future__ import annotations

import functools
import http.server
import os
import shutil
import subprocess
import threading
from pathlib import Path

import pytest

from raiselens_catalog import Catalog
from raiselens_catalog.site import write_site

FOLDER = Path(__file__).with_name("browser")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")

pytestmark = pytest.mark.slow


def missing(reason: str) -> None:
    """Skip with the reason; a failure where all must run."""
    (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


def test_a_visit(tmp_path: Path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    node, npm = shutil.which("node"), shutil.which("npm")
    if browser is None or node is None or npm is None:
        missing("the site was not tried in a browser: Chromium, node and npm must be on the PATH")
    if not (FOLDER / "node_modules").is_dir():
        done = subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=FOLDER, capture_output=True, check=False)
        if done.returncode:
            missing(f"the site was not tried in a browser: `npm ci` in {FOLDER} failed")
    write_site(Catalog.open(data_dir=tmp_path), tmp_path / "site")
    handler = functools.partial(Quiet, directory=str(tmp_path / "site"))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        done = subprocess.run(
            [node, "site.mjs", url, browser], cwd=FOLDER, capture_output=True, text=True, timeout=300, check=False
        )
        server.shutdown()
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 12
