"""Methods that a class takes from elsewhere, such as `prepare = preparing.prepare`.

The reference is made from the sources, where such a line is an attribute without a docstring.
"""

from __future__ import annotations

import copy
import re
from typing import Any

import griffe

# A name, or a function of the pool that runs a connection's method of that name.
_TAKEN = re.compile(r"^(?:mirrored\()?([\w.]+)\)?$")


class Methods(griffe.Extension):
    """Puts the functions in the place of the attributes that hold them."""

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Look through all classes of the package."""
        self._package = pkg
        for module in modules_of(pkg):
            for held in list(module.members.values()):
                if isinstance(held, griffe.Class):
                    self._complete(held)

    def _complete(self, owner: griffe.Class) -> None:
        for name, member in list(owner.members.items()):
            function = self._function(member)
            if function is not None and not name.startswith("_"):
                method = copy.copy(function)
                method.name = name
                owner.set_member(name, method)

    def _function(self, member: object) -> griffe.Function | None:
        """Return the function that a member of a class holds; None if it holds something else."""
        if isinstance(member, griffe.Function):
            return member
        if not isinstance(member, griffe.Attribute) or member.value is None:
            return None
        taken = _TAKEN.match(str(member.value))
        if taken is None or member.parent is None:
            return None
        first, *rest = taken[1].split(".")
        try:
            # In `cursor = cursor`, the second is not the first.
            scope = member.parent if first != member.name else member.module
            path = ".".join([scope.resolve(first), *rest])
        except griffe.NameResolutionError:
            return None
        return self._function(self._found(path))

    def _found(self, path: str) -> object:
        """Return what was defined under a path; what classes inherit is known later."""
        place: Any = self._package
        for name in path.split(".")[1:]:
            if name not in place.members:
                return None
            place = place.members[name]
            if isinstance(place, griffe.Alias):
                place = self._found(place.target_path)
        return place


def modules_of(package: griffe.Module) -> list[griffe.Module]:
    """A package and all modules within it."""
    inner = [held for held in package.members.values() if isinstance(held, griffe.Module)]
    return [package, *(module for held in inner for module in modules_of(held))]
