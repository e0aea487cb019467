"""Options that overloads unpack from a `TypedDict`, listed in their signatures.

The reference is made from the sources, where they are `**options: Unpack[Options]`.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_UNPACKED = re.compile(r"^Unpack\[(\w+)\]$")


class Options(griffe.Extension):
    """Gives each overload the named parameters, with the defaults of the function itself."""

    def on_function(self, *, func: griffe.Function, **_: Any) -> None:
        """Complete the overloads of a function."""
        for overload in func.overloads or ():
            *given, last = overload.parameters
            unpacked = _UNPACKED.match(str(last.annotation))
            if unpacked is not None:
                own = {one.name: one for one in given}
                options = _options(func.module, unpacked[1])
                for one in func.parameters:
                    if one.name in options:
                        own[one.name] = _parameter(one, options[one.name])
                order = (own[one.name] for one in func.parameters if one.name in own)
                overload.parameters = griffe.Parameters(*order)


def _options(module: griffe.Module, name: str) -> dict[str, Any]:
    """The fields of a `TypedDict`, with those that it inherits."""
    found: Any = module.members[name]
    fields = {} if "TypedDict" in map(str, found.bases) else _options(module, str(found.bases[0]))
    return {**fields, **found.members}


def _parameter(of_function: griffe.Parameter, option: Any) -> griffe.Parameter:
    """An option has the function's default, unless it is required."""
    default = of_function.default if "total" in option.parent.keywords else None
    name, kind = of_function.name, of_function.kind
    return griffe.Parameter(name, annotation=option.annotation, kind=kind, default=default)
