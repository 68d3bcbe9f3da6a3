"""`run_verify` from end to end: real interpreters, real processes, and the ways in which they can go wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from raiselens_server.error import Foreseen, Frame, Hole, Place, RaisedError, Severity, Span
from raiselens_server.present.styled import plain
from raiselens_server.present.verification import report_text
from raiselens_server.verify import (
    After,
    Argument,
    ConstantFact,
    DeviceKind,
    FailureKind,
    FindingTarget,
    Predicted,
    ScatterTarget,
    TensorFact,
    VerifyFailure,
    VerifyReport,
    VerifyRequest,
    finding_target,
    run_verify,
    transport,
)

SCATTER = "sglang.kernels.ops.kv_canary.scatter_req_token_ids.launch_scatter_req_token_ids_kernel"
BUNDLED = "raiselens_kernel.scatter.launch.launch_scatter_req_token_ids_kernel"
POOL_DTYPE = "kv-canary: scatter_req_token_ids pool_out must be int32, got torch.int64"

needs_torch = pytest.mark.skipif(sys.platform != "linux", reason="triton is published for Linux alone")


def script(folder: Path, text: str) -> str:
    """An executable that stands in for an interpreter or a launcher."""
    path = folder / "stand-in"
    path.write_text(f"#!/bin/sh\n{textwrap.dedent(text)}", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def verified(request: VerifyRequest, **options: object) -> VerifyReport:
    report = run_verify(request, interpreter=sys.executable, **options)  # type: ignore[arg-type]
    assert isinstance(report, VerifyReport), report
    return report


def failed(interpreter: str, **options: object) -> VerifyFailure:
    failure = run_verify(VerifyRequest(ScatterTarget()), interpreter=interpreter, **options)  # type: ignore[arg-type]
    assert isinstance(failure, VerifyFailure), failure
    assert failure.exit_code == 2
    assert "\n" not in failure.reason
    return failure


@needs_torch
def test_scatter_on_the_cpu_is_right_and_says_that_it_was_no_gpu_run():
    steps: list[str] = []
    report = verified(VerifyRequest(ScatterTarget(), devices=("cpu",)), progress=steps.append)
    shown = report.to_json()
    assert shown["schema"] == 1
    assert shown["device"] == {"kind": "interpreter", "name": "CPU interpreter, not a GPU run"}
    assert set(shown["versions"]) == {"torch", "triton", "python"}
    assert shown["before"] == {"class": "TypeError", "message": POOL_DTYPE, "as_predicted": True}
    assert shown["after"]["ok"] is True
    assert shown["after"]["cases"] > 20
    assert shown["after"]["mismatches"] == 0
    assert shown["after"]["compared"] is True
    assert shown["compiled"] == ["sm_80", "sm_90", "sm_100"]
    assert shown["timing"] is None
    assert shown["target"] == [BUNDLED]
    assert report.exit_code == 0
    assert report.summary == (
        "values checked in the CPU interpreter; compiles for sm_80, sm_90, sm_100; not run on a GPU"
    )
    assert len(steps) > 1


@needs_torch
def test_a_broken_kernel_fails_the_verification(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    folder = transport.kernel_folder()
    for path in folder.rglob("*.py"):
        copy = tmp_path / "raiselens_kernel" / path.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_text(encoding="utf-8")
        copy.write_text(text.replace("begin + width)", "begin + width - 1)"), encoding="utf-8")
    monkeypatch.setattr(transport, "kernel_folder", lambda: tmp_path / "raiselens_kernel")
    report = verified(VerifyRequest(ScatterTarget()))
    assert report.exit_code == 1
    assert report.before is not None
    assert report.before.as_predicted
    assert report.after is not None
    assert not report.after.ok
    assert report.after.mismatches > 0
    assert "wrong, first at pool[" in (report.after.worst or "")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """A user's library: a guard on a dtype, one on a size, and a package that does not import."""
    (tmp_path / "mylib.py").write_text(
        textwrap.dedent("""
            def normalise(x, weight, eps=1e-5):
                if x.shape[-1] != weight.shape[0]:
                    raise ValueError(f"weight must hold {x.shape[-1]} values, got {weight.shape[0]}")
                return x * weight + eps

            def noisy(x):
                print('{"schema": 1, "ok": true}')
                raise TypeError(f"x must be float16, got {x.dtype}")

            def greedy(x):
                return bytearray(x << 30)

            def vanish(x):
                import os
                os.kill(os.getpid(), 11)
            """),
        encoding="utf-8",
    )
    (tmp_path / "halfway").mkdir()
    (tmp_path / "halfway" / "__init__.py").write_text("import no_such_dependency\n", encoding="utf-8")
    (tmp_path / "halfway" / "inner.py").write_text("def f(n):\n    assert n > 0, 'n is 0'\n", encoding="utf-8")
    return tmp_path


def request(library: Path, target: FindingTarget) -> VerifyRequest:
    return VerifyRequest(target, extra_paths=(str(library),))


def x_and_weight(weight: tuple[str | int, ...]) -> tuple[Argument, ...]:
    return (Argument("x", TensorFact("float32", ("n", "2*h"))), Argument("weight", TensorFact("float32", weight)))


@needs_torch
def test_any_function_is_called_before_and_after_with_sizes_that_fit(library: Path):
    exprs = ("x.shape[-1]", "weight.shape[0]")
    message = "weight must hold {x.shape[-1]} values, got {weight.shape[0]}"
    holes = tuple(Hole(message.index("{" + expr), message.index("{" + expr) + len(expr) + 2, expr) for expr in exprs)
    target = FindingTarget(
        "mylib.normalise",
        Predicted("ValueError", message, holes),
        arguments=x_and_weight(("2*h + 1",)),
        repaired=x_and_weight(("2*h",)),
    )
    report = verified(request(library, target))
    assert report.exit_code == 0
    assert report.target == ("mylib.normalise",)
    assert report.before is not None
    assert report.before.message == "weight must hold 10 values, got 11"
    assert report.after is not None
    assert report.after == After(ok=True, cases=1, mismatches=0, compared=False)
    assert report.summary == "run in the CPU interpreter; not run on a GPU"
    assert "after: ran; there is no reference to compare with\n" in plain(report_text(report))
    assert report.programs["before"].endswith("normalise(x=x, weight=weight)\n")
    compile(report.programs["after"], "after", "exec")


@needs_torch
def test_a_repair_that_does_not_help_is_a_failed_verification(library: Path):
    target = FindingTarget(
        "mylib.normalise",
        Predicted("ValueError", "weight must hold 4 values, got 5"),
        arguments=(Argument("x", TensorFact("float32", (2, 4))), Argument("weight", TensorFact("float32", (5,)))),
        repaired=(Argument("x", TensorFact("float32", (2, 4))), Argument("weight", TensorFact("float32", (3,)))),
    )
    report = verified(request(library, target))
    assert report.exit_code == 1
    assert report.after is not None
    assert report.after.worst == "the repaired call raised ValueError: weight must hold 4 values, got 3"


@needs_torch
@pytest.mark.parametrize(
    ("callee", "predicted", "argument", "raised"),
    [
        # The library prints what looks like a report; only the last line of our own counts.
        ("mylib.noisy", "x must be float16, got torch.float32", TensorFact("float32", (2,)), True),
        ("mylib.noisy", "x must be float16, got torch.int64", TensorFact("float32", (2,)), False),
    ],
)
def test_before_is_compared_word_for_word(
    library: Path, callee: str, predicted: str, argument: TensorFact, *, raised: bool
):
    target = FindingTarget(callee, Predicted("TypeError", predicted), arguments=(Argument("x", argument),))
    report = verified(request(library, target))
    assert report.before is not None
    assert report.before.as_predicted is raised
    assert report.after is None
    assert report.exit_code == (0 if raised else 1)
    assert report.notes == (("there is no repair, so nothing was run after it",) if raised else ())


@needs_torch
def test_a_module_is_loaded_without_its_package_where_that_does_not_import(library: Path):
    target = FindingTarget(
        "halfway.inner.f", Predicted("AssertionError", "n is 0"), arguments=(Argument("n", ConstantFact(0)),)
    )
    report = verified(request(library, target))
    assert report.exit_code == 0
    assert report.notes[0] == (
        "halfway does not import here (ModuleNotFoundError: No module named 'no_such_dependency'); "
        "halfway.inner was loaded without its packages' __init__"
    )


@needs_torch
@pytest.mark.parametrize(
    ("callee", "arguments", "reason"),
    [
        ("no_such.f", (Argument("x", ConstantFact(1)),), "no_such.f was not run: no module named 'no_such'"),
        ("mylib.normalise", (), "mylib.normalise was not run: nothing is known of its arguments"),
        ("mylib.gone", (Argument("x", ConstantFact(1)),), "module 'mylib' has no attribute 'gone'"),
        (
            "mylib.vanish",
            (Argument("x", ConstantFact(1)),),
            "mylib.vanish was not run: installed was killed by SIGSEGV",
        ),
        ("mylib.made.<locals>.f", (Argument("x", ConstantFact(1)),), "is made inside a function"),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(
    library: Path, callee: str, arguments: tuple[Argument, ...], reason: str
):
    target = FindingTarget(callee, Predicted("TypeError", "x"), arguments=arguments)
    failure = run_verify(request(library, target), interpreter=sys.executable)
    assert isinstance(failure, VerifyFailure)
    assert failure.kind is FailureKind.NOT_POSSIBLE
    assert reason in failure.reason


@needs_torch
def test_memory_is_limited_on_the_cpu(library: Path):
    target = FindingTarget("mylib.greedy", Predicted("MemoryError", ""), arguments=(Argument("x", ConstantFact(6)),))
    limited = replace(request(library, target), memory_limit=5 << 30)
    assert verified(limited).exit_code == 0


@needs_torch
def test_a_device_that_is_not_here_is_no_cpu_run():
    failure = run_verify(VerifyRequest(ScatterTarget(), devices=("cuda:99",)), interpreter=sys.executable)
    assert isinstance(failure, VerifyFailure)
    assert failure.kind is FailureKind.NOT_POSSIBLE


@needs_torch
@pytest.mark.sglang
def test_installed_launcher_and_bundled_scatter_both_run(sglang_root: Path):
    place = Place("train.py", Span(14, 5, 19, 6))
    error = RaisedError(
        "TypeError",
        POOL_DTYPE,
        (Frame("train.py", 14, "main"),),
        Foreseen(place, Severity.ERROR, "rule", "pool_out.dtype != torch.int32", SCATTER, "pool_out"),
    )
    arguments = (
        Argument("offsets", TensorFact("int64", ("bs + 1",), "cuda")),
        Argument("req_pool_indices", TensorFact("int64", ("bs",), "cuda")),
        Argument("pool_out", TensorFact("int64", (128, None), "cuda")),
    )
    report = verified(VerifyRequest(finding_target(error, arguments=arguments), extra_paths=(str(sglang_root),)))
    assert report.exit_code == 0
    assert report.target == (SCATTER, BUNDLED)
    assert report.device_kind is DeviceKind.INTERPRETER
    assert report.before is not None
    assert report.before.message == POOL_DTYPE
    assert report.after is not None
    assert report.after.cases > 30


def test_no_torch_is_said_in_one_line(tmp_path: Path):
    venv.create(tmp_path / "bare", symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    failure = failed(python)
    assert failure.kind is FailureKind.NO_TORCH
    assert failure.reason == f"{python}: torch cannot be imported: No module named 'torch'"


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("echo hello", FailureKind.BAD_ANSWER, "printed no report but 'hello'"),
        ("exit 0", FailureKind.BAD_ANSWER, "printed nothing; a launcher must pass stdin on"),
        (
            "echo 'Permission denied (publickey).' >&2; exit 255",
            FailureKind.BAD_ANSWER,
            "Permission denied (publickey).",
        ),
        ("kill -SEGV $$", FailureKind.KILLED, "was killed by SIGSEGV"),
        ('echo \'{"schema": 1, "ok": true}\'', FailureKind.BAD_ANSWER, "printed no report"),
        ("head -c 30000000 /dev/zero; exit 1", FailureKind.BAD_ANSWER, "ended with status 1"),
        ('echo \'{"schema": 1, "error": {"kind": "no-torch", "reason": "r"}}\'', FailureKind.NO_TORCH, "r"),
    ],
)
def test_whatever_runs_in_its_place_gives_a_clear_failure(tmp_path: Path, text: str, kind: FailureKind, reason: str):
    failure = failed(script(tmp_path, text))
    assert failure.kind is kind
    assert reason in failure.reason


def test_an_interpreter_that_is_not_there(tmp_path: Path):
    failure = failed(str(tmp_path / "python"))
    assert failure.kind is FailureKind.NOT_STARTED
    assert failure.reason == f"{tmp_path / 'python'} cannot be started: No such file or directory"


def test_a_launcher_whose_quotes_do_not_close():
    failure = failed(sys.executable, launcher="ssh 'box")
    assert failure.kind is FailureKind.NOT_STARTED
    assert failure.reason == 'the launcher "ssh \'box" cannot be split into words: No closing quotation'


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # A zombie that nobody waited for yet does not run either.
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"


def gone(process: int) -> bool:
    """Whether a process ends, given a moment."""
    for _ in range(200):
        if not alive(process):
            return True
        time.sleep(0.05)
    return False


def hanging(folder: Path) -> tuple[str, Path]:
    """An interpreter that hangs with a child that ignores being asked to end; the file gets both process ids."""
    pids = folder / "pids"
    text = f"""
        trap '' TERM
        sh -c "trap '' TERM; while true; do sleep 1; done" &
        echo $$ $! > {pids}.new && mv {pids}.new {pids}
        echo 'raiselens: step: hanging' >&2
        while true; do sleep 1; done
        """
    return script(folder, text), pids


def test_a_hang_is_killed_whole_at_the_limit(tmp_path: Path):
    interpreter, pids = hanging(tmp_path)
    failure = failed(interpreter, timeout=1.5)
    assert failure.kind is FailureKind.TIMED_OUT
    assert failure.reason == "not done after 1.5 s, while hanging; killed"
    assert all(gone(int(process)) for process in pids.read_text(encoding="utf-8").split())


def test_cancelling_kills_the_whole_process_group(tmp_path: Path):
    interpreter, pids = hanging(tmp_path)
    cancel = threading.Event()
    failure = failed(interpreter, cancel=cancel, progress=lambda step: cancel.set())
    assert failure.kind is FailureKind.CANCELLED
    assert all(gone(int(process)) for process in pids.read_text(encoding="utf-8").split())


def test_cancelled_before_it_starts(tmp_path: Path):
    cancel = threading.Event()
    cancel.set()
    assert failed(script(tmp_path, "echo hello"), cancel=cancel).kind is FailureKind.CANCELLED


@needs_torch
def test_behind_a_launcher_nothing_is_left_when_the_line_is_cut(tmp_path: Path):
    """What is on the other side is in no group of ours; it ends because nobody reads it any more."""
    pids = tmp_path / "pids"
    # A shell in front, so that `setsid` forks: what is behind it leads a session of its own, as under sshd.
    launcher = script(
        tmp_path,
        f"""
        exec 3<&0
        setsid sh -c 'echo $$ > {pids}.new && mv {pids}.new {pids}; exec "$0" "$@"' "$@" <&3 &
        wait
        """,
    )
    cancel = threading.Event()
    started = threading.Timer(2.0, cancel.set)
    started.start()
    failure = failed(sys.executable, launcher=launcher, cancel=cancel)
    started.cancel()
    assert failure.kind is FailureKind.CANCELLED
    other_side = int(pids.read_text(encoding="utf-8"))
    assert os.getpgid(os.getpid()) != other_side
    assert gone(other_side)


@needs_torch
def test_a_server_that_is_killed_leaves_nothing_running(library: Path, tmp_path: Path):
    pid = tmp_path / "pid"
    (library / "slow.py").write_text(
        f"import os, time\nopen({str(pid)!r}, 'w').write(str(os.getpid()))\ndef f(x):\n    time.sleep(600)\n",
        encoding="utf-8",
    )
    server = textwrap.dedent(f"""
        from raiselens_server.verify import *
        target = FindingTarget("slow.f", Predicted("TypeError", ""), (Argument("x", ConstantFact(1)),))
        run_verify(VerifyRequest(target, extra_paths=({str(library)!r},)), interpreter={sys.executable!r})
        """)
    with subprocess.Popen([sys.executable, "-c", server]) as process:
        for _ in range(1200):
            if pid.exists() and pid.read_text(encoding="utf-8"):
                break
            time.sleep(0.05)
        process.kill()
    assert gone(int(pid.read_text(encoding="utf-8")))
