"""What is sent to the interpreter that verifies: one script on stdin that needs nothing installed on the other side."""

from __future__ import annotations

import base64
import importlib.util
import json
import shlex
import zlib
from pathlib import Path
from typing import Any

KERNEL_PACKAGE = "raiselens_kernel"

# The path is cleared first: the folder that an interpreter is started in may hold a json.py.
_SCRIPT = """\
import sys
sys.path[:] = [entry for entry in sys.path if entry]
bootstrap = {{"__name__": "raiselens_bootstrap"}}
exec(compile({source!r}, "<raiselens bootstrap>", "exec"), bootstrap)
sys.exit(bootstrap["main"]({packed!r}, {request!r}))
"""


def script(request: dict[str, Any]) -> bytes:
    """The bootstrap with the kernel package's sources and the request in it."""
    return _SCRIPT.format(
        source=Path(__file__).with_name("bootstrap.py").read_text(encoding="utf-8"),
        packed=_packed(),
        request=json.dumps(request),
    ).encode()


def command(interpreter: str, launcher: str | None) -> list[str]:
    """The command that reads `script` on stdin. No word of it needs quoting, so a remote shell may split it again.

    Raises `ValueError` where the launcher's quotes do not close.
    """
    return [*(shlex.split(launcher) if launcher else ()), interpreter, "-"]


def _packed() -> str:
    root = kernel_folder()
    sources = {
        f"{KERNEL_PACKAGE}/{path.relative_to(root).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.py"))
    }
    return base64.b64encode(zlib.compress(json.dumps(sources).encode(), 9)).decode("ascii")


def kernel_folder() -> Path:
    """Where the kernel package's sources are; raises `FileNotFoundError` where they are not installed."""
    # Found, not imported: the server must not run code that is made for another interpreter.
    spec = importlib.util.find_spec(KERNEL_PACKAGE)
    if spec is None or spec.origin is None:
        message = f"the package {KERNEL_PACKAGE} is not installed beside the server"
        raise FileNotFoundError(message)
    return Path(spec.origin).parent
