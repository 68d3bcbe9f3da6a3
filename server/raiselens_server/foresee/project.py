"""The files of one check or one editor session, and the findings in them."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from raiselens_server.error import Foreseen
from raiselens_server.foresee.core import BudgetSpentError
from raiselens_server.foresee.facts import FactRun
from raiselens_server.foresee.frames import Frame
from raiselens_server.foresee.objects import Class, Derived, Function, InstanceObject
from raiselens_server.foresee.report import RootRun
from raiselens_server.foresee.run import Run
from raiselens_server.foresee.scopes import STATIC_DEPTH, Scopes
from raiselens_server.foresee.statistics import Statistics
from raiselens_server.source import ir, units
from raiselens_server.source.edits import find_edit
from raiselens_server.source.generated import is_template
from raiselens_server.source.module import flatten
from raiselens_server.source.resolve import Resolver
from raiselens_server.source.searched import sets_defaults
from raiselens_server.values import dtypes
from raiselens_server.values.lattice import Callable, Device, Unknown, Value
from raiselens_server.values.ops import Ambient

if TYPE_CHECKING:
    from collections.abc import Callable as Make
    from collections.abc import Iterable, Iterator, Mapping

    from raiselens_server.error import RaisedError
    from raiselens_server.foresee.facts import Fact
    from raiselens_server.foresee.report import Finding
    from raiselens_server.source.environment import Environment
    from raiselens_server.source.ir import Block
    from raiselens_server.source.module import Module
    from raiselens_server.source.units import ClassUnit, FunctionUnit

_Run = TypeVar("_Run", bound=RootRun)

_UNKNOWN_AMBIENT: Final = Ambient(dtypes.FLOATING, None)
_SCRIPT_AMBIENT: Final = Ambient(frozenset({"float32"}), Device("cpu"))
FUNCTION_DEPTH: Final = 4
"""Where a function or an imported module starts, of MAX_DEPTH: a script is followed deeper, for its facts are known."""
_MAX_LOCAL: Final = 32


@dataclass(frozen=True, slots=True)
class FileReport:
    """What foreseeing found in one file; every error's origin is `Foreseen`.

    `followed` are the byte offsets of the calls in this file whose callee was run. `alone`: it depends on no other files
    than those that it looks into, as `uses` tells; else the texts of others were compared.
    """

    file: str
    errors: tuple[RaisedError, ...]
    statistics: Statistics
    followed: frozenset[int] = frozenset()
    alone: bool = True


@dataclass(frozen=True, slots=True)
class Clean:
    """The run of a root that found nothing. It stands until one of the functions that it `visited` is edited."""

    statistics: Statistics
    seen: frozenset[tuple[int, int]]
    followed: frozenset[int]
    visited: frozenset[FunctionUnit]


class Project:
    """Source files under one environment, kept parsed between questions.

    `named` are the files and folders that the user asked about or has open: a finding is reported at the deepest
    frame that lies in one of them. Texts given to `open` stand for the file's content until `close`.
    Not safe for use from several threads at once: the caller serialises.
    """

    def __init__(self, environment: Environment, named: Iterable[str] = ()) -> None:
        """Use `environment` for imports."""
        self.environment = environment
        self._named_files: set[str] = set()
        self._named_folders: list[str] = []
        self._open: set[str] = set()
        roots: list[str] = []
        for path in named:
            full = os.path.abspath(path)
            if os.path.isdir(full):
                self._named_folders.append(full + os.sep)
                roots.extend((full, os.path.join(full, "src")))
            else:
                self._named_files.add(full)
        self.scopes = Scopes(Resolver(environment, roots))
        self.scopes.version = environment.python_version
        self.scopes.static = Run(self.scopes, _UNKNOWN_AMBIENT)
        self.scopes.is_whole = self._named_files.__contains__
        self._findings: dict[str, dict[RaisedError, Finding]] = {}
        self._witness: RaisedError | None = None
        self._clean: dict[str, dict[FunctionUnit | None, Clean]] = {}

    def open(self, path: str, text: str) -> None:
        """Let `text` stand for the content of `path` (an unsaved editor buffer), and count the file as named."""
        full = os.path.abspath(path)
        source = text.encode("utf-8", "surrogatepass")
        if full not in self._open:
            # What is reported depends on which files are named.
            self._clean.clear()
            self._open.add(full)
        before = self.scopes.overlays.get(full)
        if before == source:
            return
        self.scopes.overlays[full] = source
        if before is None or not self._edit(full, source):
            self._read_anew(full)

    def _edit(self, full: str, source: bytes) -> bool:
        """Take the new text of an open file, if only the inside of one function is new."""
        module = self.scopes.loaded(full)
        edit = None if module is None else find_edit(module, source)
        if module is None or edit is None or not self.scopes.forget_function(edit.region.unit, full):
            return False
        module.apply(edit)
        unit = edit.region.unit
        for path, roots in self._clean.items():
            self._clean[path] = {
                key: clean for key, clean in roots.items() if key is not unit and unit not in clean.visited
            }
        return True

    def _read_anew(self, full: str) -> None:
        """Read a file anew when next asked for, and forget what depends on it."""
        for user in self.scopes.users_of(full):
            self._clean.pop(user, None)
        self.scopes.drop(full)

    def close(self, path: str) -> None:
        """Let the file on disk count again."""
        full = os.path.abspath(path)
        self._open.discard(full)
        self._clean.clear()
        if self.scopes.overlays.pop(full, None) is not None:
            self.scopes.drop(full)

    def forget_disk(self) -> None:
        """Look at files and folders anew: something on disk has changed."""
        self._clean.clear()
        self.scopes.resolver.forget()
        self.scopes.forget_modules()

    def is_named(self, path: str) -> bool:
        """Whether findings may be reported in this file."""
        return path in self._named_files or path in self._open or any(path.startswith(f) for f in self._named_folders)

    def check(self, path: str, text: str | None = None) -> FileReport:
        """Foresee the errors of one file: its top level, if run as a script, and each of its functions.

        `text` stands for the file's content in this one question only. Raises OSError where the file cannot be read.
        """
        full = os.path.abspath(path)
        self._named_files.add(full)
        if text is None:
            module = self._module(full)
            keeps = full in self.scopes.overlays and self._witness is None
            clean = self._clean.setdefault(full, {}) if keeps else None
            return self._check(module, path, clean)
        module = self.scopes.make_module(full, text.encode("utf-8", "surrogatepass"), keep_tree=True)
        previous = self.scopes.put(module)
        try:
            return self._check(module, path, None)
        finally:
            self.scopes.restore(full, previous)

    def check_edited(self, path: str, texts: dict[str, str], roots: frozenset[int] | None = None) -> FileReport:
        """Check `path` with some files replaced by other texts, in this one question only.

        Only the `roots` of these numbers are run, where they are given: 0 is the top level, the functions follow.
        """
        previous: dict[str, Module | None] = {}
        full = os.path.abspath(path)
        kept = self._findings.get(full)
        for name, text in texts.items():
            edited = os.path.abspath(name)
            previous[edited] = self.scopes.put(self.scopes.make_module(edited, text.encode("utf-8", "surrogatepass")))
        module = self._module(full)
        try:
            return self._check(module, path, None, roots)
        finally:
            for name, standing in previous.items():
                self.scopes.restore(name, standing)
            if kept is not None:
                self._findings[full] = kept

    def facts(self, path: str, first: int, last: int) -> tuple[Fact, ...]:
        """What is known of the tensors that the lines from `first` to `last` bind to names, in the order of the text.

        Raises OSError where the file cannot be read.
        """
        module = self._module(os.path.abspath(path))
        runs = [self._top_level(module, FactRun)]
        for unit, owner in self._functions_of(module.block, None, module):
            if module.line_of(unit.start) <= last and first <= module.line_of(unit.end):
                runs.append(self._function(module, unit, owner, FactRun))
        found = (fact for run in runs for fact in run.facts(module) if first <= fact.line <= last)
        return tuple(sorted(found, key=lambda fact: (fact.line, fact.column)))

    @contextmanager
    def proven(self, observed: RaisedError) -> Iterator[None]:
        """Within, take the raise that a run has printed for certain wherever it may happen, also in repairs' checks."""
        previous, self._witness = self._witness, observed
        try:
            yield
        finally:
            self._witness = previous

    @property
    def uses(self) -> Mapping[str, set[str]]:
        """File → the files that looked into it so far."""
        return self.scopes.uses

    def text_of(self, path: str) -> str | None:
        """The text of a file as this project sees it, None where it cannot be read."""
        module = self.scopes.module_at(os.path.abspath(path))
        return None if module is None else module.source.decode("utf-8", "surrogatepass")

    def _module(self, full: str) -> Module:
        module = self.scopes.module_at(full)
        if module is None:
            with open(full, "rb"):
                pass
            message = f"cannot read {full}"
            raise OSError(message)
        return module

    def finding(self, error: RaisedError) -> Finding | None:
        """The finding behind an error of the last check of its file, for repairs."""
        for path, findings in list(self._findings.items()):
            if error not in findings:
                continue
            module = self.scopes.loaded(path)
            if module is not None and module.layout.edited:
                # Repairs speak of a text by byte offsets: they want addresses to be just that.
                self._read_anew(path)
                self.check(path)
            return self._findings[path].get(error)
        return None

    def findings_like(self, finding: Finding) -> Iterator[Finding]:
        """The findings of the last check of its file that the same guard raises for the same parameter; itself too."""
        for other in self._findings.get(finding.call.frame.module.path, {}).values():
            if _asked(other) == _asked(finding):
                yield other

    def _check(
        self,
        module: Module,
        path: str,
        clean: dict[FunctionUnit | None, Clean] | None,
        roots: frozenset[int] | None = None,
    ) -> FileReport:
        """Run the roots of a module; those that are `clean` are not run again, and those that prove so are added."""
        statistics = Statistics()
        followed: set[int] = set()
        findings: dict[tuple[object, ...], Finding] = {}
        seen: set[tuple[int, int]] = set()
        alone = True
        with module.tree_held():
            for number, (key, start) in enumerate(self._roots(module)):
                if roots is not None and number not in roots:
                    continue
                known = None if clean is None else clean.get(key)
                if known is None:
                    run = start()
                    alone = alone and not run.compared
                    known = Clean(run.statistics, frozenset(run.seen), frozenset(run.followed), frozenset(run.visited))
                    if clean is not None and not run.findings and not run.compared:
                        clean[key] = known
                    for finding in run.findings:
                        place = _place_of(finding)
                        if place not in findings or finding.known > findings[place].known:
                            findings[place] = finding
                followed |= known.followed
                seen |= known.seen
                statistics.add(known.statistics)
        statistics.calls, statistics.resolved = len(seen), len(followed)
        kept = {f.error: f for f in findings.values() if f.call.frame.module.path == module.path}
        self._findings[module.path] = kept
        if clean is None and not kept:
            module.release()
        ordered = sorted(kept, key=lambda error: (error.frames[0].line, error.message))
        return FileReport(path, tuple(ordered), statistics, frozenset(map(module.layout.offset, followed)), alone)

    # Roots

    def _roots(self, module: Module) -> Iterator[tuple[FunctionUnit | None, Make[[], RootRun]]]:
        """What there is to run: the top level, under the key None, and the functions and methods."""
        if is_template(module.path):
            return
        yield None, lambda: self._top_level(module, RootRun)
        for unit, owner in self._functions_of(module.block, None, module):
            yield unit, partial(self._function, module, unit, owner, RootRun)

    def _functions_of(
        self, block: Block, owner: Class | None, module: Module
    ) -> Iterator[tuple[FunctionUnit, Class | None]]:
        """The functions of a module and the methods of its classes, with their class."""
        for statement in flatten(block):
            if statement[0] == ir.FUNCTION:
                yield statement[3], owner
            elif statement[0] == ir.CLASS:
                cls = self._class_of(statement[3], module)
                yield from self._functions_of(statement[3].block, cls, module)

    def _class_of(self, unit: ClassUnit, module: Module) -> Class:
        """The class as its module's name has it, so that what is learnt of it is learnt once."""
        static = self.scopes.static
        assert static is not None  # noqa: S101 set with the scopes
        value = self.scopes.attribute(module, unit.name, static) if unit.name in module.bindings else None
        if isinstance(value, Callable) and isinstance(value.target, Class) and value.target.unit is unit:
            return value.target
        return Class(unit, module, None)

    def _top_level(self, module: Module, kind: type[_Run]) -> _Run:
        script = "." not in module.name and not os.path.isfile(
            os.path.join(os.path.dirname(module.path), "__init__.py")
        )
        local = [module, *(self._local_imports(module) if script else ())]
        plain = script and not any(sets_defaults(each.source) for each in local)
        run = kind(self.scopes, _SCRIPT_AMBIENT if plain else _UNKNOWN_AMBIENT, self.is_named)
        run.replaced = frozenset().union(*(each.patched for each in local))
        depth = 0 if script else FUNCTION_DEPTH
        run.deep = script
        run.checked = module
        frame = Frame(None, module, 0, {}, None, None, depth, rebound=module.rebound, live=True)
        run.live[module.path] = frame
        self._run(run, module.block, frame)
        return run

    def _local_imports(self, module: Module) -> list[Module]:
        """The modules of the user's own that a script imports: what they set or patch when imported holds for it."""
        found: dict[str, Module] = {module.path: module}
        waiting = [module]
        while waiting and len(found) < _MAX_LOCAL:
            importer = waiting.pop()
            for dotted in _imported(importer):
                target = self.scopes.find_module(dotted, importer)
                if target is None or target.path in found or self.scopes.resolver.library_of(target.path) is not None:
                    continue
                found[target.path] = target
                waiting.append(target)
        return [each for each in found.values() if each is not module]

    def _function(self, module: Module, unit: FunctionUnit, owner: Class | None, kind: type[_Run]) -> _Run:
        run = kind(self.scopes, _UNKNOWN_AMBIENT, self.is_named)
        run.replaced = module.patched
        run.checked = module
        function = Function(unit, module, None, owner)
        body = unit.code
        frame = Frame(
            function,
            module,
            unit.base,
            {},
            None,
            None,
            FUNCTION_DEPTH,
            local=body.assigned,
            rebound=body.rebound,
            owner=owner,
        )
        for index, parameter in enumerate(unit.parameters):
            frame.variables[parameter.name] = self._argument(run, unit, owner, index)
        if not unit.decorators or self._within_limits(run, lambda: self._stand_around(run, function, frame)):
            self._run(run, body.block, frame)
        return run

    def _stand_around(self, run: RootRun, function: Function, frame: Frame) -> None:
        """Take into account what the decorators of the function may do with its raises."""
        owner, unit = function.owner, function.unit
        scope = (
            run.class_frame(owner)
            if owner is not None
            else Frame(None, function.module, 0, {}, None, None, STATIC_DEPTH)
        )
        scope.quiet = 1
        frame.shields.extend(run.decorator_shields(function, scope))
        if any("autocast" in str(decorator) for decorator in unit.decorators):
            run.ambient = replace(run.ambient, overridden=True)

    def _argument(self, run: RootRun, unit: FunctionUnit, owner: Class | None, index: int) -> Value:
        parameter = unit.parameters[index]
        if index == 0 and owner is not None and parameter.kind in {units.POSITIONAL_ONLY, units.POSITIONAL_OR_KEYWORD}:
            names = {d[3] for d in unit.decorators if d[0] == ir.NAME}
            if "type" in run.order(owner):
                # A metaclass: its instances are classes.
                return Unknown("class")
            if "classmethod" in names or unit.name in {"__new__", "__init_subclass__", "__class_getitem__"}:
                return Callable(Derived(owner), "cls")
            if "staticmethod" not in names:
                return run.new("instance", InstanceObject(open=True, exact=False), owner)
        if parameter.kind in {units.VAR_POSITIONAL, units.VAR_KEYWORD}:
            return Unknown("starred")
        return Unknown("parameter", parameter.name)

    def _run(self, run: RootRun, block: Block, frame: Frame) -> None:
        run.witness, run.deep = self._witness, run.deep or self._witness is not None
        self._within_limits(run, lambda: run.block(block, frame))

    def _within_limits(self, run: RootRun, part: Make[[], object]) -> bool:
        """Do a part of a run; False where it took more than a run may take."""
        try:
            part()
        except BudgetSpentError:
            run.statistics.undecided["budget"] += 1
        except (RecursionError, MemoryError):
            run.statistics.undecided["nesting"] += 1
        else:
            return True
        return False


def _imported(module: Module) -> Iterator[str]:
    for statement in flatten(module.block):
        if statement[0] == ir.IMPORT:
            yield from (dotted for dotted, _ in statement[3])
        elif statement[0] == ir.FROM and not statement[3]:
            yield statement[4]


def _asked(finding: Finding) -> tuple[object, ...]:
    """Which guard asked what, whichever call it was."""
    guard, origin = finding.raising.levels[-1], finding.error.origin
    param = origin.param if isinstance(origin, Foreseen) else None
    return guard.frame.module.path, guard.frame.base, guard.at, param


def _place_of(finding: Finding) -> tuple[object, ...]:
    """What two findings of the same raise at the same call have in common."""
    guard, call = finding.raising.levels[-1], finding.call
    return (
        call.frame.module.path,
        call.at,
        finding.error.class_name,
        guard.frame.module.path,
        guard.at,
    )
