"""What exported kernels read and write beside their arguments: pointers, their own stack, and numbers that the file
holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic


@intrinsic  # type: ignore[untyped-decorator]
def pointer_to(typing_context: Any, given: Any, number: Any) -> Any:
    """The address of a record, or a pointer, as a pointer to numbers of a type."""
    result = numba.types.CPointer(number.instance_type)

    def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], context.get_value_type(result))

    return result(given, number), code


def on_stack(count: int, kind: Any = numba.int32) -> Callable[[], Any]:
    """A kernel's own memory of that many numbers, without an allocation."""

    @intrinsic  # type: ignore[untyped-decorator]
    def memory(typing_context: Any) -> Any:
        result = numba.types.CPointer(kind)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            first = cgutils.alloca_once(builder, ir.ArrayType(context.get_value_type(kind), count))
            return builder.bitcast(first, context.get_value_type(result))

        return result(), code

    return memory  # type: ignore[no-any-return]


def held(name: str) -> Callable[[], Any]:
    """The float32 numbers that the file holds under a name (`translate.object_code` puts them there)."""

    @intrinsic  # type: ignore[untyped-decorator]
    def numbers(typing_context: Any) -> Any:
        result = numba.types.CPointer(numba.float32)

        def code(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            known = builder.module.globals.get(name)
            return known or ir.GlobalVariable(builder.module, ir.FloatType(), name)

        return result(), code

    return numbers  # type: ignore[no-any-return]
