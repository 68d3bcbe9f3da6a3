"""Verifying where the GPU is: through a launcher command, over a real ssh connection to this machine."""

from __future__ import annotations

import getpass
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from raiselens_server.verify import (
    Binding,
    Call,
    FailureKind,
    FindingTarget,
    Predicted,
    TensorFact,
    VerifyFailure,
    VerifyReport,
    VerifyRequest,
    run_verify,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}{os.pathsep}/usr/sbin")

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone"),
    pytest.mark.skipif(SSHD is None or shutil.which("ssh") is None, reason="no OpenSSH server and client here"),
]

ANY = FindingTarget("torch.matmul", Predicted("RuntimeError", ""), Call(("import torch",), (), "torch.matmul(1, 2)\n"))


def key(path: Path) -> Path:
    subprocess.run(
        [str(shutil.which("ssh-keygen")), "-q", "-t", "ed25519", "-N", "", "-f", str(path)],
        check=True,
        capture_output=True,
    )
    return path


@pytest.fixture
def ssh(tmp_path: Path) -> Iterator[str]:
    """The launcher that reaches this machine through a server of the test's own."""
    host_key, user_key = key(tmp_path / "host"), key(tmp_path / "user")
    shutil.copy(user_key.with_suffix(".pub"), tmp_path / "authorized")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = tmp_path / "sshd_config"
    config.write_text(
        f"ListenAddress 127.0.0.1:{port}\nHostKey {host_key}\nAuthorizedKeysFile {tmp_path / 'authorized'}\n"
        "StrictModes no\nUsePAM no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        f"PidFile {tmp_path / 'pid'}\n",
        encoding="utf-8",
    )
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    server = subprocess.Popen([str(SSHD), "-D", "-e", "-f", str(config)], stderr=subprocess.PIPE)
    try:
        for _ in range(100):
            if server.poll() is not None:
                pytest.skip(f"sshd does not start here: {server.stderr and server.stderr.read()!r}")
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield (
            f"ssh -p {port} -i {user_key} -o BatchMode=yes -o StrictHostKeyChecking=no "
            f"-o UserKnownHostsFile={tmp_path / 'known'} -o LogLevel=ERROR {getpass.getuser()}@127.0.0.1"
        )
    finally:
        server.terminate()
        server.wait()


def test_nothing_but_a_python_with_torch_is_needed_on_the_other_side(ssh: str, tmp_path: Path):
    folder = tmp_path / "folder-there"
    (tmp_path / "theirs.py").write_text(
        "import os\n"
        f"open({str(folder)!r}, 'w').write(os.getcwd())\n"
        "def f(x):\n    assert x.dim() == 2, f'x must be 2-D, got {x.dim()}-D'\n",
        encoding="utf-8",
    )
    call = Call(
        ("from theirs import f",),
        (Binding("x", TensorFact("float32", ("n",))),),
        "f(x)\n",
        "f(x.unsqueeze(0))\n",
    )
    target = FindingTarget("theirs.f", Predicted("AssertionError", "x must be 2-D, got 1-D"), call, "Add a dimension")
    steps: list[str] = []
    report = run_verify(
        VerifyRequest(target, extra_paths=(str(tmp_path),)),
        interpreter=sys.executable,
        launcher=ssh,
        progress=steps.append,
    )
    assert isinstance(report, VerifyReport), report
    assert report.exit_code == 0
    assert "running theirs.f" in steps
    # What was written over there is gone again.
    assert not Path(folder.read_text(encoding="utf-8")).exists()


def test_cancelling_ends_what_runs_on_the_other_side(ssh: str, tmp_path: Path):
    marker = tmp_path / "marker.py"
    marker.write_text(
        "import os, time\n"
        f"open({str(tmp_path / 'pid-there')!r}, 'w').write(str(os.getpid()))\n"
        "def f(x):\n    time.sleep(600)\n",
        encoding="utf-8",
    )
    target = FindingTarget("marker.f", Predicted("TypeError", "x"), Call(("from marker import f",), (), "f(1)\n"))
    cancel = threading.Event()
    there = tmp_path / "pid-there"

    def cancel_once_it_runs() -> None:
        while not (there.exists() and there.read_text(encoding="utf-8")):
            time.sleep(0.05)
        cancel.set()

    threading.Thread(target=cancel_once_it_runs, daemon=True).start()
    request = VerifyRequest(target, extra_paths=(str(tmp_path),))
    failure = run_verify(request, interpreter=sys.executable, launcher=ssh, cancel=cancel)
    assert isinstance(failure, VerifyFailure)
    assert failure.kind is FailureKind.CANCELLED
    process = Path("/proc") / there.read_text(encoding="utf-8")
    for _ in range(200):
        if not process.exists():
            break
        time.sleep(0.05)
    assert not process.exists()


def test_a_connection_that_is_refused_is_said_in_one_line():
    failure = run_verify(VerifyRequest(ANY), interpreter=sys.executable, launcher="ssh -o BatchMode=yes -p 1 127.0.0.1")
    assert isinstance(failure, VerifyFailure)
    assert failure.kind is FailureKind.BAD_ANSWER
    assert failure.reason.endswith("ended with status 255: ssh: connect to host 127.0.0.1 port 1: Connection refused")
