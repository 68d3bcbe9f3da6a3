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

from raiselens_kernel.verify import after_of
from raiselens_server.error import Hole
from raiselens_server.present.styled import plain
from raiselens_server.present.verification import report_text
from raiselens_server.verify import (
    After,
    Binding,
    Call,
    DeviceKind,
    FailureKind,
    FindingTarget,
    Predicted,
    ScatterTarget,
    SizeFact,
    TensorFact,
    UnknownFact,
    VerifyFailure,
    VerifyReport,
    VerifyRequest,
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


def call_of(function: str, *bindings: Binding, before: str, after: str | None = None, module: str = "mylib") -> Call:
    return Call((f"from {module} import {function}",), bindings, before + "\n", None if after is None else after + "\n")


def tensor(name: str, *shape: str | int, dtype: str = "float32") -> Binding:
    return Binding(name, TensorFact(dtype, shape))


@needs_torch
def test_any_function_is_called_before_and_after_with_sizes_that_fit(library: Path):
    exprs = ("x.shape[-1]", "weight.shape[0]")
    message = "weight must hold {x.shape[-1]} values, got {weight.shape[0]}"
    holes = tuple(Hole(message.index("{" + expr), message.index("{" + expr) + len(expr) + 2, expr) for expr in exprs)
    call = Call(
        ("import torch", "from mylib import normalise"),
        (tensor("x", "n", "2*h"), Binding("h", SizeFact("h"))),
        "normalise(x, torch.ones(2 * h + 1))\n",
        "normalise(x, torch.ones(2 * h))\n",
    )
    target = FindingTarget("mylib.normalise", Predicted("ValueError", message, holes), call, "Make it shorter")
    report = verified(request(library, target))
    assert report.exit_code == 0
    assert report.target == ("mylib.normalise",)
    assert report.before is not None
    assert report.before.message == "weight must hold 10 values, got 11"
    assert report.after is not None
    assert report.after == After(ok=True, cases=1, mismatches=0, compared=False)
    assert report.summary == "run in the CPU interpreter; not run on a GPU"
    assert "after: ran; there is no reference to compare with\n" in plain(report_text(report))
    assert report.repair == "Make it shorter"
    assert report.programs["before"].endswith("h = 5\nnormalise(x, torch.ones(2 * h + 1))\n")
    assert report.programs["after"].endswith("normalise(x, torch.ones(2 * h))\n")
    for program in report.programs.values():
        compile(program, "program", "exec")


@needs_torch
@pytest.mark.parametrize("name", ["before", "after"])
def test_a_program_runs_when_it_is_pasted(library: Path, name: str):
    call = call_of(
        "normalise",
        tensor("x", 2, 4),
        tensor("weight", 5),
        before="normalise(x, weight)",
        after="normalise(x, weight[:4])",
    )
    target = FindingTarget(
        "mylib.normalise", Predicted("ValueError", "weight must hold 4 values, got 5"), call, "Cut it"
    )
    pasted = library / "pasted.py"
    pasted.write_text(verified(request(library, target)).programs[name], encoding="utf-8")
    ran = subprocess.run([sys.executable, str(pasted)], capture_output=True, text=True, check=False)
    ended = ran.stderr.strip().splitlines()[-1:] == ["ValueError: weight must hold 4 values, got 5"]
    assert (ended, ran.returncode) == ((True, 1) if name == "before" else (False, 0)), ran.stderr


@needs_torch
@pytest.mark.parametrize(
    ("after", "worst"),
    [
        ("normalise(x, weight[:3])", "the repaired call raised ValueError: weight must hold 4 values, got 3"),
        ("normalise(x, weight)", "the repaired call raised ValueError: weight must hold 4 values, got 5"),
    ],
)
def test_a_repair_that_does_not_help_is_a_failed_verification(library: Path, after: str, worst: str):
    call = call_of("normalise", tensor("x", 2, 4), tensor("weight", 5), before="normalise(x, weight)", after=after)
    target = FindingTarget(
        "mylib.normalise", Predicted("ValueError", "weight must hold 4 values, got 5"), call, "Cut it"
    )
    report = verified(request(library, target))
    assert report.exit_code == 1
    assert report.after is not None
    assert report.after.worst == worst


@needs_torch
def test_another_error_of_made_up_values_proves_nothing(library: Path):
    call = call_of(
        "normalise",
        tensor("x", 2, 4),
        tensor("weight", 5),
        before="normalise(x, weight)",
        after="normalise(x, weight.gone)",
    )
    target = FindingTarget(
        "mylib.normalise", Predicted("ValueError", "weight must hold 4 values, got 5"), call, "Cut it"
    )
    report = verified(request(library, target))
    assert report.exit_code == 0
    assert report.after is None
    assert report.notes == (
        (
            "the repaired call was not shown to run: with made-up values it raised "
            "AttributeError: 'Tensor' object has no attribute 'gone'"
        ),
    )


@needs_torch
def test_a_repaired_call_that_kills_its_process_proves_nothing(library: Path):
    call = call_of(
        "normalise",
        tensor("x", 2, 4),
        tensor("weight", 5),
        before="normalise(x, weight)",
        after="import mylib; mylib.vanish(x)",
    )
    target = FindingTarget(
        "mylib.normalise", Predicted("ValueError", "weight must hold 4 values, got 5"), call, "Cut it"
    )
    report = verified(request(library, target))
    assert report.before is not None
    assert report.before.as_predicted
    assert report.after is None
    assert report.notes == ("the repaired call was not shown to run: call was killed by SIGSEGV",)


@needs_torch
def test_what_is_not_known_is_tried_until_the_error_comes(library: Path):
    call = call_of("noisy", Binding("x", UnknownFact()), before="noisy(x)")
    target = FindingTarget("mylib.noisy", Predicted("TypeError", "x must be float16, got torch.float32"), call)
    report = verified(request(library, target))
    assert report.exit_code == 0
    assert "x = torch.ones((8,), dtype=torch.float32" in report.programs["before"]


@needs_torch
@pytest.mark.parametrize(
    ("predicted", "raised"),
    [
        # The library prints what looks like a report; only the last line of our own counts.
        ("x must be float16, got torch.float32", True),
        ("x must be float16, got torch.int64", False),
    ],
)
def test_before_is_compared_word_for_word(library: Path, predicted: str, *, raised: bool):
    target = FindingTarget(
        "mylib.noisy",
        Predicted("TypeError", predicted),
        call_of("noisy", tensor("x", 2), before="noisy(x)"),
        notes=("no repair to verify",),
    )
    report = verified(request(library, target))
    assert report.before is not None
    assert report.before.as_predicted is raised
    assert report.after is None
    assert report.exit_code == (0 if raised else 1)
    assert report.notes == ("no repair to verify",)


@needs_torch
def test_a_module_is_loaded_without_its_package_where_that_does_not_import(library: Path):
    target = FindingTarget(
        "halfway.inner.f",
        Predicted("AssertionError", "n is 0"),
        call_of("f", module="halfway.inner", before="f(n=0)"),
    )
    report = verified(request(library, target))
    assert report.exit_code == 0
    assert report.notes[0] == (
        "halfway does not import here (ModuleNotFoundError: No module named 'no_such_dependency'); "
        "its packages were loaded without their __init__"
    )


@needs_torch
def test_a_device_that_the_source_names_means_the_cpu_where_there_is_no_gpu(library: Path):
    call = Call(
        ("import torch", "from mylib import noisy"),
        (),
        "x = torch.zeros(2, device='cuda').to(device='cuda:0', dtype=torch.float64).cuda()\nnoisy(x)\n",
    )
    target = FindingTarget("mylib.noisy", Predicted("TypeError", "x must be float16, got torch.float64"), call)
    assert verified(replace(request(library, target), devices=("cpu",))).exit_code == 0


@needs_torch
@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (
            FindingTarget("no_such.f", Predicted("TypeError", "x"), call_of("f", module="no_such", before="f(1)")),
            "no_such.f was not run: ModuleNotFoundError: No module named 'no_such'",
        ),
        (
            FindingTarget("mylib.gone", Predicted("TypeError", "x"), call_of("gone", before="gone(1)")),
            "mylib.gone was not run: ImportError: cannot import name 'gone' from 'mylib'",
        ),
        (
            FindingTarget("mylib.vanish", Predicted("TypeError", "x"), call_of("vanish", before="vanish(1)")),
            "mylib.vanish was not run: call was killed by SIGSEGV",
        ),
        (
            FindingTarget(
                "mylib.f", Predicted("TypeError", "x"), notes=("the call was not run: nothing is known of `x`",)
            ),
            "the call was not run: nothing is known of `x`",
        ),
        (
            FindingTarget(
                "mylib.noisy",
                Predicted("TypeError", "x"),
                call_of(
                    "noisy",
                    Binding("x", TensorFact("int64", (2,), "cpu")),
                    Binding("y", TensorFact("int64", (2,), "cuda")),
                    before="noisy(x)",
                ),
            ),
            "its tensors are on a GPU and on the CPU, and there is no GPU",
        ),
    ],
)
def test_what_cannot_be_run_is_said_in_one_line(library: Path, target: FindingTarget, reason: str):
    failure = run_verify(replace(request(library, target), devices=("cpu",)), interpreter=sys.executable)
    assert isinstance(failure, VerifyFailure)
    assert failure.kind is FailureKind.NOT_POSSIBLE
    assert failure.exit_code == 2
    assert reason in failure.reason


@needs_torch
def test_memory_is_limited_on_the_cpu(library: Path):
    target = FindingTarget("mylib.greedy", Predicted("MemoryError", ""), call_of("greedy", before="greedy(6)"))
    limited = replace(request(library, target), memory_limit=5 << 30)
    assert verified(limited).exit_code == 0


@needs_torch
def test_a_device_that_is_not_here_is_no_cpu_run():
    failure = run_verify(VerifyRequest(ScatterTarget(), devices=("cuda:99",)), interpreter=sys.executable)
    assert isinstance(failure, VerifyFailure)
    assert failure.kind is FailureKind.NOT_POSSIBLE


POOL_CALL = Call(
    ("import torch", f"from {SCATTER.rpartition('.')[0]} import {SCATTER.rpartition('.')[2]} as launch"),
    (
        Binding("offsets", TensorFact("int64", ("bs + 1",), "cuda"), "offsets"),
        Binding("rows", TensorFact("int64", ("bs",), "cuda"), "req_pool_indices"),
        Binding("flat", UnknownFact(), "flat_in"),
    ),
    "pool = torch.zeros(128, 64, dtype=torch.int64)\n"
    "launch(flat_in=flat, offsets=offsets, req_pool_indices=rows, pool_out=pool)\n",
)
REPAIRED = replace(POOL_CALL, after=POOL_CALL.before.replace("dtype=torch.int64", "dtype=torch.int32"))


@needs_torch
def test_without_sglang_the_call_runs_on_the_bundled_scatter():
    target = FindingTarget(SCATTER, Predicted("TypeError", POOL_DTYPE), REPAIRED, "Allocate it as int32")
    report = verified(VerifyRequest(target, devices=("cpu",)))
    assert report.exit_code == 0
    assert report.target == (BUNDLED,)
    assert report.before is not None
    assert (report.before.message, report.before.as_predicted) == (POOL_DTYPE, True)
    assert report.scatter is not None
    assert report.after is not None
    assert report.after.cases == 1 + report.scatter.cases
    assert report.notes == (f"{SCATTER} was not run: ModuleNotFoundError: No module named 'sglang'",)


@pytest.mark.parametrize(
    ("runs", "after"),
    [
        # Without a repair the scatter's own cases are no proof of one.
        ([{"before": {}}], None),
        ([{"after": None}, {}], None),
        (
            [{"after": {"ok": True, "cases": 1, "mismatches": 0}}],
            {"ok": True, "cases": 25, "mismatches": 0, "compared": True},
        ),
        # What only ran makes no comparison of the whole.
        (
            [{"after": {"ok": True, "cases": 1, "mismatches": 0, "compared": False}}],
            {"ok": True, "cases": 25, "mismatches": 0, "compared": False},
        ),
        (
            [{"after": {"ok": False, "cases": 1, "mismatches": 1, "worst": "w"}}],
            {"ok": False, "cases": 25, "mismatches": 1, "worst": "w", "compared": True},
        ),
    ],
)
def test_after_is_the_repaired_call_first(runs: list[dict[str, object]], after: dict[str, object] | None):
    cases = {"ok": True, "cases": 24, "mismatches": 0, "compared": True}
    assert after_of(runs, cases, alone=False) == after
    assert after_of([], cases, alone=True) == cases


@needs_torch
@pytest.mark.sglang
def test_installed_launcher_and_bundled_scatter_both_run(sglang_root: Path):
    target = FindingTarget(SCATTER, Predicted("TypeError", POOL_DTYPE), REPAIRED, "Allocate it as int32")
    report = verified(VerifyRequest(target, devices=("cpu",), extra_paths=(str(sglang_root),)))
    assert report.exit_code == 0
    assert report.target == (SCATTER, BUNDLED)
    assert report.device_kind is DeviceKind.INTERPRETER
    assert report.before is not None
    assert report.before.message == POOL_DTYPE
    assert report.after is not None
    assert report.scatter is not None
    assert report.after.cases == 2 + report.scatter.cases


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
        target = FindingTarget("slow.f", Predicted("TypeError", ""), Call(("from slow import f",), (), "f(1)"))
        run_verify(VerifyRequest(target, extra_paths=({str(library)!r},)), interpreter={sys.executable!r})
        """)
    with subprocess.Popen([sys.executable, "-c", server]) as process:
        for _ in range(1200):
            if pid.exists() and pid.read_text(encoding="utf-8"):
                break
            time.sleep(0.05)
        process.kill()
    assert gone(int(pid.read_text(encoding="utf-8")))


@needs_torch
def test_several_devices_share_the_cases_one_process_each(monkeypatch: pytest.MonkeyPatch):
    from raiselens_kernel import verify
    from raiselens_kernel.processes import Answered, Died

    started: list[tuple[str, int, int]] = []
    outcomes = [
        Answered({"after": {"ok": True, "cases": 12, "mismatches": 0, "worst": None}}),
        Answered({"after": {"ok": False, "cases": 11, "mismatches": 1, "worst": "signs: 3 wrong"}}),
        Died("scatter-after was killed by SIGSEGV"),
    ]

    class Started:
        def __init__(self, name: str, request: dict[str, int], *, device: str, interpreted: bool) -> None:
            assert (name, interpreted) == ("scatter-after", False)
            started.append((device, request["share"], request["of"]))
            self.result = iter([outcomes[request["share"]]]).__next__

    monkeypatch.setattr(verify, "start", Started)
    total = verify._scatter_cases({}, ["cuda:0", "cuda:1", "cuda:3"])
    assert started == [("cuda:0", 0, 3), ("cuda:1", 1, 3), ("cuda:3", 2, 3)]
    assert total == {"ok": False, "cases": 23, "mismatches": 2, "compared": True, "worst": "signs: 3 wrong"}
