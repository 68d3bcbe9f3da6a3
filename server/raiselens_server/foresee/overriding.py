"""Whether what was found in a class holds in every class derived from it, as far as these can be found."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from raiselens_server.foresee.attributes import UNKNOWN_BASE, Attributes
from raiselens_server.foresee.binding import BindingFailure, bind
from raiselens_server.foresee.objects import Class, Function
from raiselens_server.foresee.virtual import arity
from raiselens_server.values.lattice import Callable, Ref

if TYPE_CHECKING:
    from collections.abc import Iterator

    from raiselens_server.foresee.frames import Raising
    from raiselens_server.foresee.objects import Assumed
    from raiselens_server.values.lattice import Value


class Overriding(Attributes):
    """Asked only of what would be reported: derived classes are looked for among all files of the package.

    `compared` says that they were: what is found then depends on the texts of files that were not followed.
    """

    compared: bool

    def stands(self, raising: Raising, level: int) -> bool:
        """Whether a raise stands, whatever derived class its objects are of."""
        root = raising.levels[0].frame.module.path
        return all(self._holds(assumed, raising, root) for assumed in self._assumed_by(raising, level))

    def _assumed_by(self, raising: Raising, level: int) -> Iterator[Assumed]:
        yield from raising.assumed
        values: list[Value] = []
        if raising.arguments is not None:
            values += raising.arguments.values
        for inner in raising.levels[level + 1 :]:
            values += inner.frame.variables.values()
        if raising.implicit not in {"binding", "unpack"}:
            yield from self.leaned_on
        for value in values:
            if isinstance(value, Ref) and value.uid in self.assumed:
                yield self.assumed[value.uid]

    def _holds(self, assumed: Assumed, raising: Raising, root: str) -> bool:
        self.compared = True
        name = assumed.cls.unit.name
        for folder, deep in self._folders(assumed.cls, root).items():
            derived = self.scopes.subclasses.derived(folder, name, deep=deep)
            if derived is None:
                return False
            if not all(self._same(assumed, path, cls, raising) for path, cls in derived):
                return False
            if not assumed.stored and self._replaced(assumed, folder, deep=deep):
                return False
        return True

    def _folders(self, cls: Class, root: str) -> dict[str, bool]:
        """The folders whose files may derive from a class, and whether those below count too."""
        folders: dict[str, bool] = {}
        for path in (cls.module.path, root):
            top, name = self.scopes.resolver.package_of(path)
            package = name.split(".", 1)[0] if "." in name or path.endswith("__init__.py") else ""
            named = self.scopes.resolver.root_of(path)
            if named is not None:
                folders[named] = True
            elif package:
                folders[os.path.join(top, package)] = True
            else:
                folders.setdefault(top, False)
        return folders

    def _same(self, assumed: Assumed, path: str, name: str, raising: Raising) -> bool:
        """Whether the class `name` of a file, if it derives from the one looked at, would raise as well."""
        module = self.scopes.module_at(path)
        if module is None:
            return True
        text = module.source
        if not re.search(rb"\b" + re.escape(assumed.name.encode()) + rb"\b", text):
            return True
        value = self.scopes.attribute(module, name, self) if name in module.bindings else None
        if not isinstance(value, Callable) or not isinstance(value.target, Class):
            # It is nested, decorated or made in a way not followed.
            return False
        order = self.order(value.target)
        units = [base.unit for base in order if isinstance(base, Class)]
        if assumed.cls.unit not in units and UNKNOWN_BASE not in order:
            return True
        if assumed.stored:
            return self._stores_the_same(assumed, value.target)
        after = assumed.after
        known = self.find_member(assumed.cls, assumed.name, after)
        found = self.find_member(value.target, assumed.name, after)
        if found is None or known is None:
            return True
        return self._fails_too(found[0], known[0], raising)

    def _stores_the_same(self, assumed: Assumed, cls: Class) -> bool:
        own = {base.unit for base in self.order(assumed.cls) if isinstance(base, Class)}
        for base in self.order(cls):
            if not isinstance(base, Class) or base.unit in own:
                continue
            text = base.module.slice(base.unit.start, base.unit.end)
            if re.search(rb"\b" + re.escape(assumed.name.encode()) + rb"\s*(?::[^=\n]*)?=(?!=)", text):
                return False
        return True

    def _fails_too(self, found: Value, known: Value, raising: Raising) -> bool:
        if not isinstance(found, Callable) or not isinstance(found.target, Function):
            return found == known or getattr(found, "target", 0) == getattr(known, "target", 1)
        function = found.target
        if isinstance(known, Callable) and isinstance(known.target, Function) and known.target.unit is function.unit:
            return True
        if raising.arguments is not None:
            return isinstance(bind(function.unit, raising.arguments), BindingFailure)
        count = arity(function.unit)
        return raising.wanted is not None and count is not None and count != raising.wanted

    def _replaced(self, assumed: Assumed, folder: str, *, deep: bool) -> bool:
        """Whether some file that speaks of the class puts another thing in the method's place."""
        files = self.scopes.subclasses.files(folder, deep=deep) or ()
        name, attribute = assumed.cls.unit.name.encode(), assumed.name.encode()
        stores = re.compile(rb"\." + attribute + rb"[ \t]*=(?!=)|setattr\([^()\n]*[\"']" + attribute + rb"[\"']")
        speaking = self.scopes.subclasses.holding(files, stores)
        mentions = re.compile(rb"\b" + name + rb"\b")
        return any(mentions.search(module.source) for path in speaking if (module := self.scopes.module_at(path)))
