"""Dataclasses and NamedTuples: the `__init__` that Python writes for them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from raiselens_server.foresee.attributes import Attributes
from raiselens_server.foresee.binding import Arguments, BindingFailure, bind, with_receiver
from raiselens_server.foresee.frames import Raising, binding_error
from raiselens_server.foresee.objects import Class, DataField, Function, InstanceObject
from raiselens_server.source import ir, units
from raiselens_server.source.units import Body, FunctionUnit, Parameter
from raiselens_server.values.lattice import Callable, Named, Unknown, Value

if TYPE_CHECKING:
    from raiselens_server.foresee.frames import Frame
    from raiselens_server.source.ir import Expr

_EMPTY = Body((), frozenset(), frozenset(), frozenset(), frozenset(), generator=False)


class DataClasses(Attributes):
    """Generated constructors."""

    def data_fields(self, cls: Class) -> tuple[DataField, ...] | None:
        """The constructor's fields in order, None where the class has no generated constructor."""
        if cls.fields is None:
            order = self.order(cls)
            named_tuple = "typing.NamedTuple" in order
            writer = next((base for base in order if isinstance(base, Class) and self._writes_init(base)), None)
            if writer is None or "__init__" in self.members(writer) or not (writer.dataclass or named_tuple):
                return None
            fields: dict[str, DataField] = {}
            for base in reversed(self.order(writer)):
                if isinstance(base, Class) and (base.dataclass or named_tuple):
                    for field in self._own_fields(base):
                        fields[field.name] = field
            cls.fields = tuple(fields.values())
        return cls.fields

    def _writes_init(self, cls: Class) -> bool:
        """Whether a class brings a constructor of its own, written or generated."""
        return bool(cls.dataclass) or "__init__" in self.members(cls) or "typing.NamedTuple" in self.order(cls)

    def _own_fields(self, cls: Class) -> list[DataField]:
        found: list[DataField] = []
        keyword_only = any("kw_only" in str(part) for part in cls.unit.decorators)
        for statement in cls.unit.block:
            if statement[0] != ir.ANNOTATED or statement[3][0] != ir.NAME:
                continue
            name, annotation, default = statement[3][3], statement[4], statement[5]
            text = cls.module.text(cls.unit.base + annotation[1], cls.unit.base + annotation[2])
            if "ClassVar" in text:
                continue
            if text.endswith("KW_ONLY"):
                keyword_only = True
                continue
            field = self._field(cls, name, default, keyword_only=keyword_only)
            found.append(replace(field, init_only="InitVar" in text))
        return found

    def _field(self, cls: Class, name: str, default: Expr | None, *, keyword_only: bool) -> DataField:
        is_call = default is not None and default[0] == ir.CALL and default[3][0] in {ir.NAME, ir.ATTRIBUTE}
        if (
            default is not None
            and is_call
            and (default[3][3] if default[3][0] == ir.NAME else default[3][4]) == "field"
        ):
            options = dict(default[5])
            init = options.get("init")
            shown = not (init is not None and init[0] == ir.CONST and init[3] is False)
            if "default_factory" in options:
                return DataField(
                    name, options["default_factory"], cls, factory=True, init=shown, keyword_only=keyword_only
                )
            return DataField(name, options.get("default"), cls, init=shown, keyword_only=keyword_only)
        return DataField(name, default, cls, keyword_only=keyword_only)

    def make_data(
        self, cls: Class, fields: tuple[DataField, ...], arguments: Arguments, frame: Frame, expr: Expr | None
    ) -> Value:
        """Bind the generated constructor and make the instance; `__post_init__` is run."""
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
        # CPython names the method that the class was given: a NamedTuple has its fields from `__new__`.
        name, receiver = ("__new__", "_cls") if "typing.NamedTuple" in self.order(cls) else ("__init__", "self")
        self_parameter = Parameter(receiver, units.POSITIONAL_OR_KEYWORD, None, None, 0, 0)
        unit = FunctionUnit(
            name=name,
            qualname=f"{cls.unit.qualname}.{name}",
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
            raise binding_error(bound, frame, f"{cls.dotted}.{name}")
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
