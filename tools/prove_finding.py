"""Run one statement of a library for real, with what it calls, and show what it raises.

python tools/prove_finding.py .cache/sglang-0.5.23 sglang/srt/models/minimax_m3.py:860 [NAME=EXPRESSION…]

The library's dependencies need not be installed; `FOLDER:FOLDER` finds the imports of one in another. The statement is compiled from the file as it shipped; a function or
class it names is found through the file's own definitions and imports, and compiled from *its* file, decorators, bases
and defaults included. Standard library, torch and whatever else is installed are imported. All other values (locals,
arguments, module-level results, missing packages) are placeholders. So is `self`, but for the parts that the class's
`__init__` makes of classes: a call of such a part, or of its method, is bound to the function that it enters. Where
`__init__` makes a part in several ways, the statement is run with each, and must raise the same with all.

So this proves what Python itself guards: it binds arguments before it looks at a value, and a placeholder changes
nothing about a call that cannot be bound. An error from inside the callee, or one that a placeholder caused, proves
nothing here and is refused.

Where a callee has to run and its result matters (as many values as it returns are unpacked), the values it needs are
given: `prompt=[1,2]` is evaluated among the file's names, and stands for the local or argument of that name.

Nothing here knows Raiselens: this is the second opinion. Exit code 0 where the statement raised, 1 where it did not,
2 where this cannot tell.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import functools
import importlib
import inspect
import os
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Roots = tuple[Path, ...]
"""The folders in which imports are looked up; a relative one in the folder that holds its file."""
Given = dict[str, str]
"""Locals and arguments of the statement, each as an expression among the names of its file."""


class CannotProveError(Exception):
    """A placeholder would have to decide something, or the place holds no statement."""


class Placeholder:
    """A value that is not needed; using it as a decorator would hide a signature, so that is refused."""

    def __getattr__(self, name: str) -> Placeholder:
        if name.startswith("__"):
            raise AttributeError(name)
        return Placeholder()

    def __setattr__(self, name: str, value: object) -> None:
        pass

    def __call__(self, *arguments: object, **named: object) -> Placeholder:
        """Another placeholder, whatever is given, unless this stands for a decorator."""
        if not named and len(arguments) == 1 and hasattr(arguments[0], "__qualname__"):
            raise CannotProveError(f"{arguments[0].__qualname__} is decorated by something that is not there")
        return Placeholder()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        return ()

    def _other(self, *_operands: object) -> Placeholder:
        return Placeholder()

    __getitem__ = __add__ = __sub__ = __mul__ = __floordiv__ = __truediv__ = __mod__ = __or__ = _other
    __radd__ = __rsub__ = __rmul__ = __ror__ = __neg__ = __invert__ = _other

    def _undecided(self) -> NoReturn:
        raise CannotProveError("a value that is not there would decide what runs")

    __bool__ = __iter__ = __len__ = _undecided


class Part(Placeholder):
    """What `__init__` keeps of a class: its calls bind as they do in a run, and its other values are placeholders.

    Calling a `torch.nn.Module` enters `forward` with the same arguments.
    """

    def __init__(self, cls: type) -> None:
        self.__dict__["cls"] = cls

    def __getattr__(self, name: str) -> Any:
        member = inspect.getattr_static(self.__dict__["cls"], name, None)
        if isinstance(member, staticmethod | classmethod):
            return getattr(self.__dict__["cls"], name)
        return functools.partial(member, self) if inspect.isfunction(member) else super().__getattr__(name)

    def __call__(self, *arguments: object, **named: object) -> Any:
        """What a call of the part enters, with a placeholder for the instance."""
        return getattr(self, "forward" if hasattr(self.__dict__["cls"], "forward") else "__call__")(*arguments, **named)


class Receiver(Placeholder):
    """`self`, whose parts are those that `__init__` makes; `turn` chooses where it makes one in several ways.

    A call of a method that its class holds is bound, and what it gives is a placeholder: its body is not run.
    """

    def __init__(self, names: Names, cls: ast.ClassDef, turn: int) -> None:
        self.__dict__.update(names=names, turn=turn, made=made_in(cls), cls=cls)

    def __getattr__(self, name: str) -> Any:
        method = next((n for n in self.__dict__["cls"].body if getattr(n, "name", None) == name), None)
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and not _is_accessor(method):
            return functools.partial(bind_only, self._defined(method), self)
        made = self.__dict__["made"].get(name, [])
        classes = [eval(_compiled(node, "eval"), self.__dict__["names"]) for node in made]
        if not classes or not all(isinstance(cls, type) for cls in classes):
            return super().__getattr__(name)
        return Part(classes[min(self.__dict__["turn"], len(classes) - 1)])

    def _defined(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> Any:
        """The method by itself, under the name that it has in its class."""
        names, cls = self.__dict__["names"], self.__dict__["cls"]
        kept = names.get(cls.name)
        names.define(ast.copy_location(ast.ClassDef(cls.name, [], [], [method], []), cls))
        alone = names.pop(cls.name)
        if kept is not None:
            names[cls.name] = kept
        return getattr(alone, method.name)


def bind_only(function: Any, *arguments: object, **named: object) -> Placeholder:
    """Bind a call; Python itself says why where that cannot be."""
    try:
        fits = inspect.signature(function).bind(*arguments, **named) is not None
    except TypeError:
        fits = False
    return Placeholder() if fits else function(*arguments, **named)


def _is_accessor(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any("property" in ast.unparse(d) or isinstance(d, ast.Attribute) for d in method.decorator_list)


def made_in(cls: ast.ClassDef) -> dict[str, list[ast.expr]]:
    """What `__init__` calls for each attribute; nothing of attributes that it also takes from elsewhere."""
    made: dict[str, list[ast.expr]] = {}
    elsewhere = set()
    for node in ast.walk(next((n for n in cls.body if getattr(n, "name", "") == "__init__"), ast.Pass())):
        for target in node.targets if isinstance(node, ast.Assign) else ():
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                if isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name | ast.Attribute):
                    made.setdefault(target.attr, []).append(node.value.func)
                else:
                    elsewhere.add(target.attr)
    return {name: calls for name, calls in made.items() if name not in elsewhere}


def _compiled(node: ast.expr, mode: str) -> Any:
    return compile(ast.Expression(node), "<class>", mode, dont_inherit=True)


class Names(dict[str, Any]):
    """The globals of one file, each made when it is first asked for."""

    def __init__(self, roots: Roots, file: Path) -> None:
        super().__init__(__name__="__main__", __file__=str(file))
        self.roots = roots
        self.file = file
        self.bindings = dict(_bindings(_parsed(file).body))

    def __missing__(self, name: str) -> Any:
        node = self.bindings.get(name)
        if isinstance(node, Definition):
            self.define(node)
            return self[name]
        self[name] = getattr(builtins, name, Placeholder()) if node is None else self._imported(node, name)
        return self[name]

    def define(self, node: Definition) -> None:
        """Run a definition. A class body looks its names up past `__missing__`, so they are made before."""
        for name in _names_at_definition(node):
            self[name]
        self.run(node)

    def run(self, node: ast.stmt) -> None:
        """Run one statement in these globals; annotations stay unevaluated."""
        module = ast.Module([node], type_ignores=[])
        flags = __future__.annotations.compiler_flag
        exec(compile(module, str(self.file), "exec", flags, dont_inherit=True), self)

    def _imported(self, node: ast.Import | ast.ImportFrom, name: str) -> Any:
        if isinstance(node, ast.Import):
            (alias,) = (alias for alias in node.names if _bound_by(alias) == name)
            return _installed(alias.name if alias.asname else name)
        (alias,) = (alias for alias in node.names if _bound_by(alias) == name)
        module = node.module or ""
        if node.level:
            root = next(root for root in self.roots if self.file.is_relative_to(root))
            package = self.file.relative_to(root).parent.parts
            module = ".".join((*package[: len(package) - node.level + 1], *filter(None, [module])))
        file = _file_of(self.roots, module)
        if file is not None:
            return names_of(self.roots, file)[alias.name]
        return getattr(_installed(module), alias.name, Placeholder())


@functools.cache
def names_of(roots: Roots, file: Path) -> Names:
    """The globals of a file; one for all who import from it, so that a class is one class."""
    return Names(roots, file)


@functools.cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes(), str(file))


def _file_of(roots: Roots, module: str) -> Path | None:
    bases = [root.joinpath(*module.split(".")) for root in roots]
    files = (file for base in bases for file in (base.with_suffix(".py"), base / "__init__.py"))
    return next((file for file in files if file.is_file()), None)


def _installed(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return Placeholder()


def _bound_by(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _bindings(body: list[ast.stmt]) -> Iterator[tuple[str, Definition | ast.Import | ast.ImportFrom]]:
    """What the statements define and import, on every branch; of several of one name the last holds, as in a run."""
    for node in body:
        if isinstance(node, Definition):
            yield node.name, node
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from ((_bound_by(alias), node) for alias in node.names)
        else:
            for field in ("body", "handlers", "orelse", "finalbody"):
                for child in getattr(node, field, []):
                    yield from _bindings(child.body if isinstance(child, ast.ExceptHandler) else [child])


def _names_at_definition(node: ast.AST) -> Iterator[str]:
    """The names that running a definition loads: not those of bodies, which run later, nor of annotations."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        parts: list[ast.AST] = [*node.decorator_list, *node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.Lambda):
        parts = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
    elif isinstance(node, ast.AnnAssign):
        parts = [node.value] if node.value else []
    else:
        parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Name):
        yield node.id
    for part in parts:
        yield from _names_at_definition(part)


def statement_at(file: Path, line: int) -> tuple[ast.stmt, list[Definition]]:
    """The innermost statement that begins on a line, and the functions and classes around it, outermost first."""

    def search(node: ast.AST, around: list[Definition]) -> Iterator[tuple[ast.stmt, list[Definition]]]:
        if isinstance(node, ast.stmt) and node.lineno == line:
            yield node, around
        inside = [*around, node] if isinstance(node, Definition) else around
        for child in ast.iter_child_nodes(node):
            yield from search(child, inside)

    found = list(search(_parsed(file), []))
    if not found:
        raise CannotProveError("no statement begins on this line")
    return found[-1]


def ways(file: Path, line: int) -> int:
    """How many ways `__init__` has to make the part of `self` that it makes in the most."""
    _, around = statement_at(file, line)
    return max((len(made) for node in _classes(around) for made in made_in(node).values()), default=1)


def _classes(around: list[Definition]) -> list[ast.ClassDef]:
    return [node for node in around if isinstance(node, ast.ClassDef)]


def run_statement(roots: Roots, file: Path, line: int, turn: int = 0, given: Given | None = None) -> None:
    """Run the statement; what it raises of itself comes out as it is. `turn` counts the `ways`.

    Raises:
        CannotProveError: The place holds no statement, its run came to something that is not there, or a given value
            could not be made.
    """
    statement, around = statement_at(file, line)
    names = Names(roots, file)
    for function in around:
        if isinstance(function, ast.ClassDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                names[node.arg] = Placeholder()
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = Placeholder()
        names.bindings.update(_bindings(function.body))
    if "self" in names and (classes := _classes(around)):
        names["self"] = Receiver(names, classes[-1], turn)
    for name, expression in (given or {}).items():
        try:
            names[name] = eval(compile(expression, f"<{name}>", "eval", dont_inherit=True), names)
        except Exception as error:
            raise CannotProveError(f"{name}={expression}: {error}") from error
    if isinstance(statement, ast.Return):
        statement = ast.copy_location(ast.Expr(statement.value or ast.Constant(None)), statement)
    try:
        names.run(statement)
    except CannotProveError:
        raise
    except Exception as error:
        innermost = traceback.extract_tb(error.__traceback__)[-1]
        bound_here = innermost.name == "<module>" or innermost.filename == __file__
        if not bound_here or Placeholder.__name__ in str(error):
            raise CannotProveError(f"the call was bound, and its callee came to a placeholder: {error}") from error
        raise


def main() -> int:
    """Run the statement named on the command line and print its traceback, from its own frame on."""
    given = dict(argument.partition("=")[::2] for argument in sys.argv[3:])
    if len(sys.argv) < 3 or not sys.argv[2].rpartition(":")[2].isdecimal() or not all(map(str.isidentifier, given)):
        print("usage: prove_finding.py FOLDER FILE:LINE [NAME=EXPRESSION…] (FILE relative to FOLDER)", file=sys.stderr)
        return 2
    roots = tuple(Path(folder).resolve() for folder in sys.argv[1].split(os.pathsep))
    name, _, line = sys.argv[2].rpartition(":")
    file = roots[0] / name
    if not file.is_file():
        print(f"{file}: no such file", file=sys.stderr)
        return 2
    try:
        raised = [raised_by(roots, file, int(line), turn, given) for turn in range(ways(file, int(line)))]
    except CannotProveError as error:
        print(f"{name}:{line}: {error}", file=sys.stderr)
        return 2
    clean = raised.count(None)
    if clean:
        print(f"{name}:{line}: ran without raising" + (f", {clean} of {len(raised)} ways" if len(raised) > 1 else ""))
        return 1
    # Two ways mostly raise the same; each text is shown once.
    print("".join(dict.fromkeys(filter(None, raised))), end="")
    return 0


def raised_by(roots: Roots, file: Path, line: int, turn: int, given: Given | None = None) -> str | None:
    """The traceback of the statement, from its own frame on; None where it ran."""
    try:
        run_statement(roots, file, line, turn, given)
    except CannotProveError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the library raises is the result
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        return "".join(traceback.format_exception(type(error), error, frames))
    return None


if __name__ == "__main__":
    sys.exit(main())
