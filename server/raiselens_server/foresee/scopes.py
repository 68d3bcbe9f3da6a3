"""Module scopes: what names are bound to at the top level of a module, and what imports give.

Only bindings that cannot change count: a name bound once, or last by `def` or `class`, and never declared `global` by a
function. Everything else is unknown.
"""

from __future__ import annotations

import builtins
import string
from typing import TYPE_CHECKING, Any, Final

from raiselens_server.foresee.core import BudgetSpentError
from raiselens_server.foresee.frames import Frame, Raising
from raiselens_server.foresee.objects import (
    UNKNOWN_CONTENTS,
    Class,
    DictObject,
    EnumMember,
    Function,
    InstanceObject,
    ListObject,
    ModuleObject,
    SetObject,
)
from raiselens_server.source import ir
from raiselens_server.source.module import Module
from raiselens_server.source.searched import changes_contents, changes_metadata
from raiselens_server.source.subclasses import Subclasses
from raiselens_server.values import dtypes, ops
from raiselens_server.values.lattice import Callable, Const, Device, DType, Named, Ref, Seq, Tensor, Unknown, Value

if TYPE_CHECKING:
    from collections.abc import Callable as Callable_

    from raiselens_server.foresee.core import Core
    from raiselens_server.foresee.objects import HeapObject
    from raiselens_server.foresee.run import Run
    from raiselens_server.source.ir import Stmt
    from raiselens_server.source.resolve import Resolver
    from raiselens_server.source.units import FunctionUnit

NAMED_FIRST: Final = frozenset({"torch", "numpy", "triton"})
"""Libraries known by rule before their source is looked at."""

FOLLOWED_TORCH: Final = (
    "torch.nn.",
    "torch.optim.",
    "torch.distributions.",
    "torch.utils.data.",
    "torch.distributed.tensor.",
    "torch._inductor.",
)
"""The parts of torch whose Python source is followed where no rule knows the name."""

RULED: Final = frozenset({"torch.nn.Module", "torch.Tensor", "torch.nn.Parameter", "torch.nn.parameter.Parameter"})
"""Classes of torch that the interpreter itself knows."""

CONSTANTS: Final = {
    f"string.{name}": Const(getattr(string, name))
    for name in ("ascii_letters", "ascii_lowercase", "ascii_uppercase", "digits")
}
"""Constants of the standard library."""

BUILTINS: Final = frozenset(vars(builtins))
STATIC_DEPTH: Final = 5
KEPT_RESULTS: Final = 20_000


class Scopes:
    """The modules of a project, and their names' values."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.heap: dict[int, HeapObject] = {}
        self.subclasses = Subclasses(self.content)
        self.overlays: dict[str, bytes] = {}
        self._modules: dict[str, Module | None] = {}
        self._values: dict[tuple[str, str], Value | None] = {}
        self._named: dict[str, Value] = {}
        self._busy: set[tuple[str, str]] = set()
        self.results: dict[tuple[str, object], Any] = {}
        self.visited: set[FunctionUnit] = set()
        """Functions that the value of a name depends on, or what is kept of a class."""
        self.uses: dict[str, set[str]] = {}
        self.static: Run | None = None
        self.version: tuple[int, int] = (3, 11)
        self.is_whole: Callable_[[str], bool] = lambda _path: False

    # Modules

    def module_at(self, path: str) -> Module | None:
        """The parsed file, None where it cannot be read."""
        if path not in self._modules:
            source = self.content(path)
            module = None if source is None else self.make_module(path, source, keep_tree=self.is_whole(path))
            self._modules[path] = module
            if module is not None and path in self.overlays:
                for unit in module.functions:
                    unit.watch = self.visited
        return self._modules[path]

    def content(self, path: str) -> bytes | None:
        """What a file holds, or what stands for it; None where it cannot be read."""
        module = self._modules.get(path)
        source = self.overlays.get(path) if module is None else module.source
        if source is not None:
            return source
        try:
            with open(path, "rb") as file:
                return file.read()
        except OSError:
            return None

    def make_module(self, path: str, source: bytes, *, keep_tree: bool = False) -> Module:
        """Parse `source` as the content of `path`."""
        name = self.resolver.package_of(path)[1]
        return Module(path, name, source, is_package=path.endswith("__init__.py"), keep_tree=keep_tree)

    def put(self, module: Module) -> Module | None:
        """Let `module` stand for its path, and give back what stood there."""
        previous = self._modules.get(module.path)
        self._modules[module.path] = module
        self.subclasses.forget(module.path)
        self.forget_values(module.path)
        return previous

    def restore(self, path: str, previous: Module | None) -> None:
        """Undo a `put`."""
        if previous is None:
            self._modules.pop(path, None)
        else:
            self._modules[path] = previous
        self.subclasses.forget(path)
        self.forget_values(path)

    def forget_modules(self) -> None:
        """Read every file anew when next asked for."""
        self._modules.clear()
        self.subclasses.forget()
        self.forget_values()

    def drop(self, path: str) -> None:
        """Read `path` anew when next asked for."""
        self._modules.pop(path, None)
        self.subclasses.forget(path)
        self.forget_values(path)

    def loaded(self, path: str) -> Module | None:
        """The module that stands for a path, None where it was not read yet."""
        return self._modules.get(path)

    def forget_function(self, unit: FunctionUnit, path: str) -> bool:
        """Forget what running a function gave; False where more than results depends on it, and all must be forgotten."""
        if unit in self.visited:
            return False
        self.subclasses.forget(path)
        self.results = {key: result for key, result in self.results.items() if unit not in result.visited}
        return True

    def users_of(self, path: str) -> set[str]:
        """The file and all that looked into it so far, through others too."""
        reached = {path}
        queue = [path]
        while queue:
            for user in self.uses.get(queue.pop(), ()):
                if user not in reached:
                    reached.add(user)
                    queue.append(user)
        return reached

    def forget_values(self, changed: str | None = None) -> None:
        """Forget evaluated names; parsed files stay.

        Where one file has `changed`, what was learnt of files that do not look into it is kept.
        """
        if changed is None:
            self._values.clear()
            self._named.clear()
            self.results.clear()
            self.heap.clear()
            self.visited.clear()
            return
        users = self.users_of(changed)
        if self.resolver.library_of(changed) is not None:
            self._named.clear()
        self._values = {key: value for key, value in self._values.items() if key[0] not in users}
        kept = {key: result for key, result in self.results.items() if key[0] not in users}
        # Keys may name classes of the changed file as it was: they are never asked for again, and pile up.
        self.results = kept if len(kept) < KEPT_RESULTS else {}

    def find_module(self, dotted: str, importer: Module) -> Module | None:
        """The module of an absolute dotted name, as `importer` would import it."""
        path = self.resolver.find(dotted, self.resolver.search_roots(importer.path))
        if path is None:
            return None
        self.uses.setdefault(path, set()).add(importer.path)
        return self.module_at(path)

    def submodule(self, dotted: str, importer: Module) -> Value | None:
        """A module inside a package, or a folder of modules without an `__init__.py`, as a value."""
        module = self.find_module(dotted, importer)
        if module is not None:
            return Callable(ModuleObject(module), dotted)
        is_folder = self.resolver.is_package_folder(dotted, self.resolver.search_roots(importer.path))
        return Named(dotted) if is_folder else None

    # Imports

    def import_module(self, dotted: str, importer: Module) -> Value:
        """The module that an `import` statement binds."""
        if dotted.split(".", 1)[0] in NAMED_FIRST:
            return Named(dotted)
        module = self.find_module(dotted, importer)
        return Named(dotted) if module is None else Callable(ModuleObject(module), dotted)

    def import_from(self, importer: Module, level: int, dotted: str, name: str, run: Core) -> Value:
        """`from dotted import name`; `level` dots before it."""
        if level:
            parts = importer.name.split(".")
            drop = level - 1 if importer.is_package else level
            if drop > len(parts):
                return Unknown("import")
            head = parts[: len(parts) - drop]
            dotted = ".".join([*head, dotted] if dotted else head)
        if dotted.split(".", 1)[0] in NAMED_FIRST:
            return self.named(f"{dotted}.{name}", importer, run)
        module = self.find_module(dotted, importer) if dotted else None
        if module is None:
            inner = self.find_module(f"{dotted}.{name}", importer)
            return Named(f"{dotted}.{name}") if inner is None else Callable(ModuleObject(inner), inner.name)
        # A package that binds a name by importing it from itself has nothing of that name yet but the submodule.
        from_itself = module.path == importer.path and (module.path, name) in self._busy
        value = None if from_itself else self.attribute(module, name, run)
        if value is not None:
            return value
        inner = self.find_module(f"{dotted}.{name}", importer)
        return Unknown("import") if inner is None else Callable(ModuleObject(inner), inner.name)

    def named(self, dotted: str, importer: Module, run: Core) -> Value:
        """A name of a library that is known by rule: a dtype, a rule, or else its source."""
        if dotted in self._named:
            return self._named[dotted]
        value = self._find_named(dotted, importer, run)
        self._named[dotted] = value
        return value

    def _find_named(self, dotted: str, importer: Module, run: Core) -> Value:
        head, _, name = dotted.rpartition(".")
        if dotted in CONSTANTS:
            return CONSTANTS[dotted]
        if head == "torch":
            dtype = dtypes.canonical(name)
            if dtype is not None:
                return DType(frozenset({dtype}))
        if dotted in RULED or ops.knows(dotted) or not dotted.startswith("torch."):
            # A folder without an `__init__.py` has no names of its own, but modules.
            folder = head.partition(".")[0] not in NAMED_FIRST and self.submodule(head, importer) == Named(head)
            return (self.submodule(dotted, importer) if folder else None) or Named(dotted)
        if self.find_module(dotted, importer) is not None:
            return Named(dotted)
        module = self.find_module(head, importer)
        if module is None or not dotted.startswith(FOLLOWED_TORCH):
            return Named(dotted)
        value = self.attribute(module, name, run)
        if isinstance(value, Callable) and isinstance(value.target, (Class, Function)):
            return value
        return Named(dotted)

    # Names

    def global_value(self, module: Module, name: str, run: Core) -> Value:
        """A name looked up in a module's scope, then among the builtins."""
        live = run.live.get(module.path)
        if live is not None and name in live.variables and name not in module.rebound:
            return live.variables[name]
        if name in run.replaced:
            return Unknown("patched")
        if name == "__name__":
            return Const("__main__" if live is not None else module.name)
        value = self.attribute(module, name, run)
        if value is not None:
            return value
        return Named(name) if name in BUILTINS else Unknown("name")

    def attribute(self, module: Module, name: str, run: Core) -> Value | None:
        """A top-level name of a module, None where it has no such name."""
        key = (module.path, name)
        found = self._values.get(key)
        if found is not None or key in self._values:
            return found
        if key in self._busy:
            return Unknown("cycle")
        self._busy.add(key)
        try:
            value = self._attribute(module, name, run)
        finally:
            self._busy.discard(key)
        self._values[key] = value
        return value

    def _attribute(self, module: Module, name: str, run: Core) -> Value | None:
        if name in module.rebound:
            return Unknown("global")
        statements = module.bindings.get(name)
        if not statements:
            found = self._elsewhere(module, name, run)
            return Unknown("declared") if found is None and statements is not None else found
        if len(statements) > 1:
            kinds = {statement[0] for statement in statements}
            if not kinds <= {ir.FUNCTION, ir.CLASS} or not module.unconditional(statements[-1]):
                return Unknown("several-bindings")
        return self._bound(module, statements[-1], name)

    def _elsewhere(self, module: Module, name: str, run: Core) -> Value | None:
        if module.is_package:
            inner = self.find_module(f"{module.name}.{name}", module)
            if inner is not None:
                return Callable(ModuleObject(inner), inner.name)
        if not name.startswith("_"):
            for statement in module.stars:
                value = self._through_star(module, statement, name, run)
                if value is not None:
                    return value
        return Unknown("module-getattr") if "__getattr__" in module.bindings else None

    def _through_star(self, module: Module, statement: Stmt, name: str, run: Core) -> Value | None:
        level, dotted = statement[3], statement[4]
        if level:
            parts = module.name.split(".")
            drop = level - 1 if module.is_package else level
            head = parts[: len(parts) - drop] if drop <= len(parts) else []
            dotted = ".".join([*head, dotted] if dotted else head)
        target = self.find_module(dotted, module) if dotted else None
        return None if target is None or target is module else self.attribute(target, name, run)

    def _bound(self, module: Module, statement: Stmt, name: str) -> Value:
        """What a statement binds a name to, worked out on a budget of its own: it is kept whoever asks first."""
        static = self.static
        assert static is not None  # noqa: S101 states what the caller has checked
        steps, static.steps = static.steps, 0
        try:
            return self._bound_by(module, statement, name, static)
        except BudgetSpentError:
            return Unknown("budget")
        finally:
            static.steps = steps

    def _bound_by(self, module: Module, statement: Stmt, name: str, static: Run) -> Value:
        frame = Frame(None, module, 0, {}, None, None, STATIC_DEPTH)
        frame.quiet = 1
        match statement[0]:
            case ir.FUNCTION:
                function = Function(statement[3], module, None)
                return static.decorate(Callable(function, function.dotted), statement[3].decorators, frame)
            case ir.CLASS:
                cls = Class(statement[3], module, None)
                return static.decorate(Callable(cls, cls.dotted), statement[3].decorators, frame)
            case ir.IMPORT:
                for dotted, alias in statement[3]:
                    bound = alias or dotted.split(".", 1)[0]
                    if bound == name:
                        return self.import_module(dotted if alias else bound, module)
                return Unknown("import")
            case ir.FROM:
                for original, alias in statement[5]:
                    if alias == name:
                        return self.import_from(module, statement[3], statement[4], original, static)
                return Unknown("import")
            case ir.ASSIGN | ir.ANNOTATED if module.rewritten:
                return Unknown("global")
            case ir.ASSIGN | ir.ANNOTATED:
                return self._assigned(statement, name, frame, static)
            case _:
                return Unknown("binding")

    def _assigned(self, statement: Stmt, name: str, frame: Frame, static: Run) -> Value:
        expr = statement[4] if statement[0] == ir.ASSIGN else statement[5]
        if expr is None:
            return Unknown("declared")
        heap, static.heap = static.heap, self.heap
        try:
            value = static.evaluate(expr, frame)
        except Raising:
            return Unknown("raises")
        except RecursionError:
            return Unknown("depth")
        finally:
            static.heap = heap
        targets = statement[3] if statement[0] == ir.ASSIGN else (statement[3],)
        module = frame.module
        if any(target[0] == ir.NAME and target[3] == name for target in targets):
            return self._settled(module, value, name)
        for target in targets:
            if target[0] in {ir.TUPLE, ir.LIST} and isinstance(value, Seq) and len(value.items) == len(target[3]):
                for item, part in zip(target[3], value.items, strict=True):
                    if item[0] == ir.NAME and item[3] == name:
                        return self._settled(module, part, name)
        return Unknown("binding")

    def _settled(self, module: Module, value: Value, name: str) -> Value:
        """A module's object as it will be later.

        A container keeps its contents where they are constants and nothing in its module changes it: an empty one is
        there to be filled, one of objects or functions is a registry that others add to, and an instance is configured
        at run time.
        """
        if isinstance(value, Tensor) and changes_metadata(module.source):
            return Unknown("in-place")
        if isinstance(value, Seq):
            return Seq(tuple(self._settled(module, item, name) for item in value.items), value.kind)
        if isinstance(value, Ref):
            contents = self.heap.get(value.uid)
            if value.kind == "instance":
                self.heap[value.uid] = InstanceObject(open=True, exact=True)
            elif not _of_constants(contents) or changes_contents(module.source, name):
                self.heap[value.uid] = UNKNOWN_CONTENTS[value.kind]
        return value


def _of_constants(contents: HeapObject | None) -> bool:
    match contents:
        case ListObject(items=items) | SetObject(items=items):
            return bool(items) and all(_is_constant(item) for item in items or ())
        case DictObject(items=pairs):
            return bool(pairs) and all(_is_constant(item) for pair in pairs or () for item in pair)
        case _:
            return False


def _is_constant(value: Value) -> bool:
    match value:
        case Const(value=constant):
            return constant is not None
        case DType() | Device() | Named():
            return True
        case Seq(items=items):
            return all(_is_constant(item) for item in items)
        case Callable(target=EnumMember()):
            return True
        case _:
            return False
