"""Run one statement of a library for real, with what it calls, and show what it raises.

python tools/prove_finding.py .cache/sglang-0.5.23 sglang/srt/models/minimax_m3.py:860

The library's dependencies need not be installed. The statement is compiled from the file as it shipped; a function or
class it names is found through the file's own definitions and imports, and compiled from *its* file, decorators, bases
and defaults included. Standard library, torch and whatever else is installed are imported. All other values (locals,
arguments, `self`, module-level results, missing packages) are placeholders.

So this proves what Python itself guards: it binds arguments before it looks at a value, and a placeholder changes
nothing about a call that cannot be bound. An error from inside the callee, or one that a placeholder caused, proves
nothing here and is refused.

Nothing here knows Raiselens: this is the second opinion. Exit code 0 where the statement raised, 1 where it did not,
2 where this cannot tell.
"""

from __future__ import annotations
import __future__

import ast
import builtins
import importlib
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


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


class Names(dict[str, Any]):
    """The globals of one file, each made when it is first asked for."""

    def __init__(self, root: Path, file: Path) -> None:
        super().__init__(__name__="__main__", __file__=str(file))
        self.root = root
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
            package = self.file.relative_to(self.root).parent.parts
            module = ".".join((*package[: len(package) - node.level + 1], *filter(None, [module])))
        file = _file_of(self.root, module)
        if file is not None:
            return names_of(self.root, file)[alias.name]
        return getattr(_installed(module), alias.name, Placeholder())


@cache
def names_of(root: Path, file: Path) -> Names:
    """The globals of a file; one for all who import from it, so that a class is one class."""
    return Names(root, file)


@cache
def _parsed(file: Path) -> ast.Module:
    return ast.parse(file.read_bytes(), str(file))


def _file_of(root: Path, module: str) -> Path | None:
    base = root.joinpath(*module.split("."))
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


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


def run_statement(root: Path, file: Path, line: int) -> None:
    """Run the statement; what it raises of itself comes out as it is.

    Raises:
        CannotProveError: The place holds no statement, or its run came to something that is not there.
    """
    statement, around = statement_at(file, line)
    names = Names(root, file)
    for function in around:
        if isinstance(function, ast.ClassDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, ast.arg):
                names[node.arg] = Placeholder()
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = Placeholder()
        names.bindings.update(_bindings(function.body))
    if isinstance(statement, ast.Return):
        statement = ast.copy_location(ast.Expr(statement.value or ast.Constant(None)), statement)
    try:
        names.run(statement)
    except CannotProveError:
        raise
    except Exception as error:
        innermost = traceback.extract_tb(error.__traceback__)[-1]
        if innermost.name != "<module>" or Placeholder.__name__ in str(error):
            raise CannotProveError(f"the call was bound, and its callee came to a placeholder: {error}") from error
        raise


def main() -> int:
    """Run the statement named on the command line and print its traceback, from its own frame on."""
    if len(sys.argv) != 3 or not sys.argv[2].rpartition(":")[2].isdecimal():
        print("usage: prove_finding.py FOLDER FILE:LINE (FILE relative to FOLDER)", file=sys.stderr)
        return 2
    root = Path(sys.argv[1]).resolve()
    name, _, line = sys.argv[2].rpartition(":")
    file = root / name
    if not file.is_file():
        print(f"{file}: no such file", file=sys.stderr)
        return 2
    try:
        run_statement(root, file, int(line))
    except CannotProveError as error:
        print(f"{name}:{line}: {error}", file=sys.stderr)
        return 2
    except Exception as error:  # noqa: BLE001 - whatever the library raises is the result
        frames = error.__traceback__
        while frames is not None and frames.tb_frame.f_code.co_filename == __file__:
            frames = frames.tb_next
        print("".join(traceback.format_exception(type(error), error, frames)), end="")
        return 0
    print(f"{name}:{line}: ran without raising")
    return 1


if __name__ == "__main__":
    sys.exit(main())
