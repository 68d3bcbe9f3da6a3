"""Dataclasses and NamedTuples: the `__init__` that Python writes for them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.binding import Arguments, BindingFailure, bind, with_receiver
from raiselens_server.foresee.frames import Raising, binding_error
from raiselens_server.foresee.objects import Class, DataField, Function, InstanceObject
from raiselens_server.source import ir, units
from raiselens_server.source.bindings import bound_by, calls_in
from raiselens_server.source.module import flatten
from raiselens_server.source.units import Body, FunctionUnit, Parameter
from raiselens_server.values.lattice import Callable, Named, Unknown, Value

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr

_NAMED_TUPLE: Final = "typing.NamedTuple"
_EMPTY = Body((), frozenset(), frozenset(), frozenset(), frozenset(), generator=False)


class DataClasses(Attributes):
    """Generated constructors."""

    def data_fields(self, cls: Class) -> tuple[DataField, ...] | None:
        """The constructor's fields in order, None where the class has no generated constructor."""
        if cls.fields is None:
            writer = self._writer(cls)
            if writer is None or "__init__" in self.members(writer):
                return None
            fields: dict[str, DataField] = {}
            for base in reversed(self.order(writer)):
                if isinstance(base, Class) and (base.dataclass is not None or self._is_named_tuple(base)):
                    for field in self._own_fields(base):
                        fields[field.name] = field
            cls.fields = tuple(fields.values())
        return cls.fields

    def _writes_init(self, cls: Class) -> bool:
        """Whether a class brings a constructor of its own, written or generated."""
        return bool(cls.dataclass) or "__init__" in self.members(cls) or self._is_named_tuple(cls)

    def _writer(self, cls: Class) -> Class | None:
        """The class of the MRO that the constructor is of."""
        return next((base for base in self.order(cls) if isinstance(base, Class) and self._writes_init(base)), None)

    def _is_named_tuple(self, cls: Class) -> bool:
        """Whether a class is made by `NamedTuple` itself: annotations of classes derived from it are no fields."""
        own = takewhile(lambda base: isinstance(base, str), self.order(cls)[1:])
        return _NAMED_TUPLE in own

    def _own_fields(self, cls: Class) -> list[DataField]:
        found: list[DataField] = []
        keyword_only = _decorated_keyword_only(cls.unit.decorators)
        frame = self.class_frame(cls)
        statements = tuple(flatten(cls.unit.block))
        top = set(map(id, cls.unit.block))
        bound = Counter(name for statement in statements for name in bound_by(statement))
        for statement in statements:
            if statement[0] != ir.ANNOTATED or statement[3][0] != ir.NAME:
                continue
            name, annotation, default = statement[3][3], statement[4], statement[5]
            text = cls.module.text(cls.unit.base + annotation[1], cls.unit.base + annotation[2])
            if "ClassVar" in text:
                continue
            if text.rstrip("\"'").endswith("KW_ONLY"):
                keyword_only = True
                continue
            field = self._field(DataField(name, default, cls, keyword_only=keyword_only), frame)
            # On a branch it may not be a field, and a name bound twice has the later value for its default.
            known = field.known and field.keyword_only is not None and id(statement) in top and bound[name] == 1
            found.append(replace(field, init_only="InitVar" in text, known=known))
        return found

    def _field(self, plain: DataField, frame: Frame) -> DataField:
        """The field with what a call of `field(…)` says of it."""
        default = plain.default
        if default is None or default[0] != ir.CALL:
            return plain
        specifier = self.evaluate(default[3], frame) if default[3][0] in {ir.NAME, ir.ATTRIBUTE} else None
        if isinstance(specifier, Callable) and isinstance(specifier.target, Function):
            # A helper may hand on what `field` gives.
            calls = calls_in(specifier.target.unit.code.block)
            return replace(plain, known=not any(_names_field(call[3]) for call in calls))
        if specifier != Named("dataclasses.field") and not _names_field(default[3]):
            return plain
        options = dict(default[5])
        init, keyword_only = _flag(options, "init", True), _flag(options, "kw_only", plain.keyword_only)
        return replace(
            plain,
            default=options.get("default", options.get("default_factory")),
            factory="default_factory" in options,
            init=init is not False,
            keyword_only=keyword_only,
            known=init is not None and None not in options,
        )

    def make_data(
        self, cls: Class, fields: tuple[DataField, ...], arguments: Arguments, frame: Frame, expr: Expr | None
    ) -> Value:
        """Bind the generated constructor and make the instance; `__post_init__` is run."""
        if not all(field.known for field in fields):
            return self.not_followed(arguments, "fields")
        shown = [field for field in fields if field.init]
        ordered = [f for f in shown if not f.keyword_only] + [f for f in shown if f.keyword_only]
        parameters = tuple(
            Parameter(
                field.name,
                units.KEYWORD_ONLY if field.keyword_only else units.POSITIONAL_OR_KEYWORD,
                field.default,
                None,
                0,
                0,
            )
            for field in ordered
        )
        writer = self._writer(cls) or cls
        # CPython names the method that the class was given: a NamedTuple has its fields from `__new__`.
        name, receiver = ("__new__", "_cls") if _NAMED_TUPLE in self.order(cls) else ("__init__", "self")
        self_parameter = Parameter(receiver, units.POSITIONAL_OR_KEYWORD, None, None, 0, 0)
        unit = FunctionUnit(
            name=name,
            qualname=f"{writer.unit.qualname}.{name}",
            parameters=(self_parameter, *parameters),
            decorators=(),
            returns=None,
            is_async=False,
            base=cls.unit.base,
            start=cls.unit.start,
            end=cls.unit.end,
            lower=lambda: _EMPTY,
        )
        ref = self.new("instance", InstanceObject(), cls)
        bound = bind(unit, with_receiver(ref, arguments), self.scopes.version)
        if isinstance(bound, BindingFailure):
            raise binding_error(bound, frame, f"{writer.dotted}.{name}")
        if expr is not None and frame.module is self.checked:
            self.followed.add(frame.base + expr[1])
        handed: list[Value] = []
        for field in fields:
            value = bound.values.get(field.name)
            if value is None:
                value = Unknown("starred") if field.name in bound.unsure else self._default(field)
            if field.init_only:
                handed.append(value)
                continue
            self.store_attribute(ref, field.name, value, frame)
        member = self.find_member(cls, "__post_init__")
        if member is not None and isinstance(member[0], Callable) and isinstance(member[0].target, Function):
            self.call(Callable(member[0].target, "__post_init__"), [ref, *handed], [], frame)
        return ref

    def _default(self, field: DataField) -> Value:
        if field.default is None:
            return Unknown("field")
        frame = self.class_frame(field.owner)
        try:
            value = self.evaluate(field.default, frame)
            return self.call(value, [], [], frame) if field.factory and isinstance(value, (Callable, Named)) else value
        except Raising:
            return Unknown("default")


def _decorated_keyword_only(decorators: tuple[Expr, ...]) -> bool | None:
    """Whether decorators say that all fields are given by name; None where that is decided at run time."""
    for decorator in decorators:
        if decorator[0] == ir.CALL and "kw_only" in (options := dict(decorator[5])):
            return _flag(options, "kw_only", False)
    return False


def _flag(options: dict[str | None, Expr], name: str, default: bool | None) -> bool | None:
    """An option that is True or False; None where that is decided at run time."""
    given = options.get(name)
    if given is None:
        return default
    return bool(given[3]) if given[0] == ir.CONST else None


def _names_field(function: Expr) -> bool:
    return function[0] in {ir.NAME, ir.ATTRIBUTE} and function[-1] == "field"
