"""Options that a function takes as `**options: Unpack[Options]`, listed in its signature.

The reference is made from the sources, and a `TypedDict` has no defaults: they are those of the
function itself for its overloads, and those of the callable in `@options_of(...)` for a function.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

from website.methods import modules_of

_UNPACKED = re.compile(r"^Unpack\[(\w+)\]$")
_TAKER = re.compile(r"^options_of\((\w+)\)$")


class Options(griffe.Extension):
    """Puts the named parameters in the place of `**options`."""

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

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Complete the functions that pass their options on."""
        for module in modules_of(pkg):
            own = [one for one in module.members.values() if isinstance(one, griffe.Function)]
            for function, decorator in ((one, each) for one in own for each in one.decorators):
                taker = _TAKER.match(str(decorator.value))
                if taker is not None:
                    path = module.resolve(taker[1]).removeprefix(f"{pkg.path}.")
                    _pass_on(function, pkg[path].parameters)


def _pass_on(function: griffe.Function, taken: griffe.Parameters) -> None:
    own = [one for one in function.parameters if one.kind != griffe.ParameterKind.var_keyword]
    names = {one.name for one in own}
    options = [one for one in taken if one.kind == griffe.ParameterKind.keyword_only]
    more = (one for one in options if one.name not in names)
    function.parameters = griffe.Parameters(*own, *more)


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
