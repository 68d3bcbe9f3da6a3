"""The programs of a case, as its file writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from raiselens_kernel.programs import guesses, program
from raiselens_server.error import Diagnosis
from raiselens_server.repair import repairs_for
from raiselens_server.verify import target_of
from raiselens_server.verify.wire import encode_call

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.foresee.case_file import Case

    from raiselens_server.foresee import Project
    from raiselens_server.verify import FindingTarget


def target_in(project: Project, folder: Path) -> FindingTarget:
    """The target of the first finding of `main.py`."""
    errors = project.check(str(folder / "main.py")).errors
    assert errors, f"nothing is found in {folder}"
    return target_of(project, Diagnosis(errors[0], None, repairs_for(project, errors[0])))


def programs(target: FindingTarget) -> Iterator[str]:
    """What is run before and after, without docstrings, and the notes."""
    if target.call is not None:
        call = encode_call(target.call)
        guess = next(guesses(call["bindings"]))
        before, after = call["before"], call["after"]
        parts = [("before", before), *([("after", after)] if after is not None else [])]
        for name, body in parts:
            written = program(call, body, guess, device="cpu", title="")
            text = written.text.partition("annotations\n\n")[2]
            yield f"```{name}\n{text}```"
    yield from target.notes


def written(case: Case) -> list[str]:
    """What the case file says of them, in the same form."""
    blocks = [f"```{b.language}\n{b.text}```" for b in case.blocks if b.language in {"before", "after"}]
    return [*blocks, *(line for _, line in case.prose if not line.startswith("bug:"))]
