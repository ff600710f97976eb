"""Drivers: functions that call a game's kernels by names which are filled in for each game, and kept on disk."""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from .kernel import COMPILED, compiled, sources_of, uncompiled
from .kernel_cache import code_digest


def template(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that calls kernels by names which `specialise` has yet to fill in. By itself it cannot be
    called."""
    return function


def unbound(*args: Any) -> Any:
    """Stands in a template's module under each name that `specialise` fills in."""
    raise NotImplementedError("A template calls kernels by names that specialise() has yet to fill in.")


def specialise(
    templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]], *, keep: bool = True
) -> dict[str, Callable[..., Any]]:
    """The templates compiled with the kernels `names` in the places of those names, by the templates' own names.

    Templates work in arrays that their callers hold and make none, so they go without Numba's count of references
    (*measured*: handing a batch's arrays from function to function under that count took nine tenths of a small game's
    time). They may call one another. Their machine code is kept on disk like any kernel's, since the kernels are part
    of it (*measured*: hundredths of a second to load, against seconds to link a game's kernels anew in each process).
    Templates that call each other in a circle need `keep=False`: Numba keeps each function apart, and such code was
    seen to crash when only a part of it was still kept. Raises TypeError where two templates mean different things by
    one name.
    """
    parts = [(name, uncompiled(part)) for name, part in sorted(names.items())]
    words = " ".join(f"{name}={part.__module__}.{part.__qualname__}:{code_digest(part)}" for name, part in parts)
    mark = hashlib.sha256(words.encode()).hexdigest()[:12]
    sources = sorted({path for part in [*templates, *names.values()] for path in sources_of(part)})
    scope = _scope(templates, names)
    made = {}
    for part in templates:
        copy = FunctionType(part.__code__, scope, part.__name__)
        # Of a name that no other choice of kernels has, or machine code of two choices could be mistaken for one
        # another.
        copy.__qualname__ = f"{part.__name__}_{mark}"
        copy.__module__ = __name__
        copy.sources = tuple(sources)  # type: ignore[attr-defined]
        made[part.__name__] = scope[part.__name__] = (
            compiled(copy, *sources, keep=keep, arrays=False) if COMPILED else copy
        )
    return made


def _scope(templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """The globals of all templates together, with `names` in their places."""
    scope: dict[str, Any] = {}
    for part in templates:
        scope |= part.__globals__
    filled = {*names, *(part.__name__ for part in templates)}
    for part in templates:
        for name in _used(part.__code__) - filled:
            if name in part.__globals__ and part.__globals__[name] is not scope[name]:
                where = f"{part.__module__}.{part.__name__}"
                raise TypeError(f"{where} and another template mean different things by {name!r}; rename one of them.")
    return scope | dict(names)


def _used(code: CodeType) -> set[str]:
    """The global names that a function's code reads, and that of functions inside it."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return found.union(*(_used(part) for part in code.co_consts if isinstance(part, CodeType)))
