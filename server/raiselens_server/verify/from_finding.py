"""A finding as a target: its call as a program, and the same call with its repair."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from raiselens_server.error import Foreseen
from raiselens_server.verify.request import FindingTarget, predicted_by
from raiselens_server.verify.slicing import CannotSliceError, SourceEdit, sliced

if TYPE_CHECKING:
    from raiselens_server.error import Diagnosis, Edit
    from raiselens_server.foresee import Project
    from raiselens_server.source.module import Module

NO_REPAIR = "no repair to verify"


def target_of(project: Project, diagnosis: Diagnosis) -> FindingTarget:
    """The target for a diagnosis; one that no run on abstract values stands behind has no call."""
    error = diagnosis.error
    finding = project.finding(error)
    predicted = predicted_by(error)
    if finding is None or not isinstance(error.origin, Foreseen):
        return FindingTarget("", predicted, notes=("the call was not foreseen, so nothing is known of it",))
    callee = error.origin.callee
    paths = _import_roots(finding.call.frame.module)
    unbuilt = ""
    for repair in diagnosis.repairs:
        try:
            call = sliced(project, finding, [_source_edit(project, edit) for edit in repair.edits])
        except CannotSliceError as reason:
            unbuilt = unbuilt or f"the repair was not run: {reason}"
            continue
        return FindingTarget(callee, predicted, call, repair.title, paths=paths)
    notes = (unbuilt or NO_REPAIR,)
    try:
        return FindingTarget(callee, predicted, sliced(project, finding, ()), notes=notes, paths=paths)
    except CannotSliceError as reason:
        return FindingTarget(callee, predicted, notes=(f"the call was not run: {reason}", *notes))


def _import_roots(module: Module) -> tuple[str, ...]:
    """The folder of the topmost package of a file, and the file's own, which a script has on its path."""
    folder = Path(module.path).parent
    depth = module.name.count(".") + module.is_package
    root = folder if depth == 0 else folder.parents[depth - 1] if depth <= len(folder.parents) else folder
    return tuple(dict.fromkeys((str(root), str(folder)))) if depth == 0 else (str(root),)


def _source_edit(project: Project, edit: Edit) -> SourceEdit:
    file = str(Path(edit.place.file).absolute())
    lines = (project.text_of(file) or "").split("\n")
    span = edit.place.span

    def offset(line: int, column: int) -> int:
        before = sum(len(text.encode("utf-8", "surrogatepass")) + 1 for text in lines[: line - 1])
        return before + len(lines[line - 1][: column - 1].encode("utf-8", "surrogatepass"))

    return SourceEdit(file, offset(span.line, span.column), offset(span.end_line, span.end_column), edit.text)
