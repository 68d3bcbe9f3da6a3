"""Rows of the rule tables, and how a call's arguments are bound to a row's signature.

A row is `(namespaces, names, signature, rule)` or `(namespaces, names, signature, rule, data)`.

- namespaces: a string of `t` (`torch.`), `m` (a method of `torch.Tensor`), `i` (also the in-place method `name_`),
  `f` (`torch.nn.functional.`), `l` (`torch.linalg.`), `s` (`torch.special.`), `n` (`numpy.`), `d` (a full dotted name).
- names: one or more, separated by spaces.
- signature: parameters in torch's order and by torch's names, separated by spaces. `?` after a name: may be left out;
  `:T` before it: must be a tensor; `*` alone: what follows is keyword-only; `*name`: takes `f(2, 3)` and `f((2, 3))`.
  None in place of a signature: the rule reads the arguments itself, from `args` and `named`.
- rule: from the bound call to an outcome. data: what distinguishes the row from others with the same rule.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from raiselens_server.values.lattice import Const, Seq, Tensor, Value
from raiselens_server.values.ops.building import SAME_DEVICE, error
from raiselens_server.values.ops.outcome import NO_RULE, Ambient, Outcome, Raise, Result
from raiselens_server.values.ops.reading import settled, tensor_of, type_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_NAMESPACES: Final = {
    "t": "torch.",
    "m": "torch.Tensor.",
    "f": "torch.nn.functional.",
    "l": "torch.linalg.",
    "s": "torch.special.",
    "n": "numpy.",
    "d": "",
}
_SHOWN: Final = {"l": "linalg_", "s": "special_"}
_NUMPY_NAMES: Final = {"axis": "dim", "keepdims": "keepdim", "x": "input", "a": "input", "x1": "input", "x2": "other"}


@dataclass(frozen=True, slots=True)
class Bound:
    """A call whose arguments are bound: `named` by parameter, left-out ones missing; `args` the rest, unbound."""

    name: str
    named: dict[str, Value]
    ambient: Ambient
    data: Any
    args: tuple[Value, ...] = ()
    method: bool = False
    inplace: bool = False

    @property
    def shown(self) -> str:
        """The name as messages print it."""
        return f"{self.name}_" if self.inplace else self.name

    def get(self, name: str) -> Value | None:
        """The argument, None where it is left out."""
        return self.named.get(name)

    def tensor(self, name: str = "input") -> Tensor | None:
        """The argument as a tensor, None where it is certainly none."""
        return tensor_of(self.named.get(name))


if TYPE_CHECKING:
    Rule: TypeAlias = Callable[[Bound], Outcome]
    Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """What a full dotted name stands for."""

    short: str
    shown: str
    signature: str | None
    rule: Rule
    data: Any = None
    method: bool = False
    inplace: bool = False


@dataclass(frozen=True, slots=True)
class _Signature:
    positional: tuple[str, ...]
    variadic: str | None
    keywords: frozenset[str]
    required: tuple[str, ...]
    tensors: tuple[tuple[int, str], ...] = field(default=())


def entries(rows: Iterable[Row]) -> dict[str, Entry]:
    """The rows by full dotted name."""
    table: dict[str, Entry] = {}
    for spaces, names, signature, rule, *rest in rows:
        data = rest[0] if rest else None
        for short in names.split():
            for space in spaces:
                if space == "i":
                    table[f"torch.Tensor.{short}_"] = Entry(short, f"{short}_", signature, rule, data, True, True)
                else:
                    name = short.rpartition(".")[2]
                    shown = _SHOWN.get(space, "") + name
                    table[_NAMESPACES[space] + short] = Entry(name, shown, signature, rule, data, space == "m")
    return table


@lru_cache(maxsize=1024)
def _parsed(signature: str) -> _Signature:
    positional: list[str] = []
    keywords: set[str] = set()
    required: list[str] = []
    tensors: list[tuple[int, str]] = []
    variadic: str | None = None
    keyword_only = False
    for word in signature.split():
        if word == "*":
            keyword_only = True
            continue
        if word.startswith("*"):
            variadic = word[1:]
            keyword_only = True
            keywords.add(variadic)
            continue
        name = word.removeprefix(":T").rstrip("?")
        keywords.add(name)
        if not keyword_only:
            if word.startswith(":T"):
                tensors.append((len(positional), name))
            positional.append(name)
        if not word.endswith("?"):
            required.append(name)
    return _Signature(tuple(positional), variadic, frozenset(keywords), tuple(required), tuple(tensors))


def positional(entry: Entry) -> tuple[str, ...]:
    """The parameters that take an argument by position."""
    return _parsed(entry.signature or "").positional


def bind(entry: Entry, args: Sequence[Value], kwargs: Mapping[str, Value]) -> dict[str, Value] | None:
    """The arguments by parameter; None where they do not fit the signature."""
    signature = _parsed(entry.signature or "")
    named: dict[str, Value] = {}
    taken = len(signature.positional)
    if len(args) > taken:
        if signature.variadic is None:
            return None
        rest = tuple(args[taken:])
        named[signature.variadic] = rest[0] if len(rest) == 1 and isinstance(rest[0], Seq) else Seq(rest, "varargs")
    named.update(zip(signature.positional, args, strict=False))
    for key, value in kwargs.items():
        name = key
        if name not in signature.keywords:
            name = _NUMPY_NAMES.get(key, key)
            if name not in signature.keywords:
                if key == "out":
                    if value != Const(None):
                        named["out"] = value
                    continue
                if key == "self" and "input" in signature.keywords:
                    name = "input"
                else:
                    return None
        if name in named:
            return None
        named[name] = value
    for name in signature.required:
        if name not in named:
            return None
    return named


def run(entry: Entry, args: Sequence[Value], kwargs: Mapping[str, Value], ambient: Ambient) -> Outcome:
    """Bind the arguments and apply the rule."""
    if entry.signature is None:
        outcome = entry.rule(
            Bound(entry.short, dict(kwargs), ambient, entry.data, tuple(args), entry.method, entry.inplace)
        )
        return hedged(outcome, (*args, *kwargs.values())) if isinstance(outcome, Raise) else outcome
    named = bind(entry, args, kwargs)
    if named is None:
        return NO_RULE
    for position, name in _parsed(entry.signature).tensors:
        value = named.get(name)
        if value is None or isinstance(value, Tensor):
            continue
        if tensor_of(value) is None:
            broken = _not_a_tensor(entry, position if position < len(args) else None, name, value)
            return hedged(broken, named.values()) if isinstance(broken, Raise) else broken
    outcome = entry.rule(Bound(entry.short, named, ambient, entry.data, (), entry.method, entry.inplace))
    if isinstance(outcome, Raise):
        if outcome.condition != SAME_DEVICE and mixes_meta(named.values()):
            return NO_RULE
        found = hedged(outcome, named.values())
        return on_leaf(args[0] if args else None, found) if entry.shown.endswith("_") else found
    if "out" in named and "out" not in _parsed(entry.signature).keywords:
        return _into_out(named["out"], outcome)
    return outcome


def mixes_meta(values: Iterable[Value]) -> bool:
    """Whether some tensors are meta tensors and others not: what then raises first differs from kernel to kernel."""
    found: set[bool] = set()
    for value in values:
        for item in value.items if isinstance(value, Seq) else (value,):
            if isinstance(item, Tensor):
                found.add(item.device is not None and item.device.type == "meta")
    return len(found) > 1


def hedged(outcome: Raise, values: Iterable[Value]) -> Raise:
    """The raise, with `earlier` set where a check before it may have been left open by one of the arguments."""
    return outcome if outcome.earlier or all(settled(value) for value in values) else replace(outcome, earlier=True)


def on_leaf(target: Value | None, outcome: Raise) -> Raise:
    """The raise of an in-place operation; a leaf that requires gradients, or an expanded tensor, may refuse first."""
    if isinstance(target, Tensor) and (target.requires_grad is not False or 0 in (target.strides or ())):
        return replace(outcome, earlier=True)
    return outcome


def _not_a_tensor(entry: Entry, position: int | None, name: str, value: Value) -> Outcome:
    kind = type_name(value)
    if kind is None or (entry.method and position == 0) or (isinstance(value, Seq) and kind not in ("list", "tuple")):
        return NO_RULE
    place = "" if position is None else f" (position {position if entry.method else position + 1})"
    text = f"{entry.shown}(): argument '{name}'{place} must be Tensor, not {kind}"
    return error("TypeError", name, f"isinstance({name}, Tensor)", text)


def _into_out(out: Value, outcome: Outcome) -> Outcome:
    """What `out=` gives back: itself, resized to what was written to it."""
    if not isinstance(outcome, Result) or not isinstance(out, Tensor):
        return NO_RULE
    made = outcome.value
    shape = made.shape if isinstance(made, Tensor) else None
    if shape is not None and shape == out.shape:
        return Result(replace(out, item=None), may_raise=True)
    return Result(replace(out, shape=shape, strides=None, contiguous=None, item=None, shape_site=None), may_raise=True)
