"""Templates: functions that call a game's kernels by names filled in for each game, compiled and cached on disk."""

from __future__ import annotations

import dis
import hashlib
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any

from backalley.console.errors import InvalidType

from .kernel import COMPILED, compiled, sources_of, uncompiled
from .kernel_cache import code_digest
from .whole_program import POSSIBLE


def template(function: Callable[..., Any]) -> Callable[..., Any]:
    """Mark a function that calls kernels by names which `specialise` fills in. It cannot be called before that."""
    return function


def unbound(*args: Any) -> Any:
    """The value of each name in a template's module until `specialise` fills it in."""
    raise NotImplementedError("A template calls kernels by names that specialise() has yet to fill in.")


def specialise(
    templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]], *, circular: bool = False
) -> dict[str, Callable[..., Any]]:
    """Return the templates, by name, compiled with the kernels `names` in place of those names.

    Templates work in arrays that their callers own and create none, so they are compiled without Numba's reference
    counts (*measured*: passing a batch's arrays between functions with those counts took nine tenths of a small game's
    time). They may call one another. Their machine code includes the kernels and is cached on disk (*measured*:
    hundredths of a second to load, against seconds to link a game's kernels in each process). `circular` says that
    templates call each other in a circle: where Numba itself compiles them they are not kept, since such code crashed
    when only a part of it was still cached. Raises TypeError where two templates use one name for
    different things.
    """
    parts = [(name, uncompiled(part)) for name, part in sorted(names.items())]
    words = " ".join(f"{name}={part.__module__}.{part.__qualname__}:{code_digest(part)}" for name, part in parts)
    mark = hashlib.sha256(words.encode()).hexdigest()[:12]
    sources = sorted({path for part in [*templates, *names.values()] for path in sources_of(part)})
    scope = _scope(templates, names)
    made = {}
    for part in templates:
        copy = FunctionType(part.__code__, scope, part.__name__)
        # A name of its own for each choice of kernels, so that machine code of two choices is never confused.
        copy.__qualname__ = f"{part.__name__}_{mark}"
        copy.__module__ = __name__
        copy.sources = tuple(sources)  # type: ignore[attr-defined]
        made[part.__name__] = scope[part.__name__] = (
            compiled(copy, *sources, keep=POSSIBLE or not circular, arrays=False) if COMPILED else copy
        )
        made[part.__name__].at_once = True  # type: ignore[attr-defined]  # one call may play for hours
    return made


def _scope(templates: Sequence[Callable[..., Any]], names: Mapping[str, Callable[..., Any]]) -> dict[str, Any]:
    """The globals of all templates together, with `names` filled in."""
    scope: dict[str, Any] = {}
    for part in templates:
        scope |= part.__globals__
    filled = {*names, *(part.__name__ for part in templates)}
    for part in templates:
        for name in _used(part.__code__) - filled:
            if name in part.__globals__ and part.__globals__[name] is not scope[name]:
                where = f"{part.__module__}.{part.__name__}"
                raise InvalidType(
                    f"{where} and another template mean different things by {name!r}; rename one of them."
                )
    return scope | dict(names)


def _used(code: CodeType) -> set[str]:
    """The global names that a function's code, and that of functions inside it, reads."""
    found = {str(one.argval) for one in dis.get_instructions(code) if one.opname == "LOAD_GLOBAL"}
    return found.union(*(_used(part) for part in code.co_consts if isinstance(part, CodeType)))
