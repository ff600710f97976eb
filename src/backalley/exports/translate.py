"""Kernels as one LLVM module with C entry points, for any processor, without Python, NumPy or Numba at run time."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import numba
import numpy as np
import numpy.typing as npt
from numba.core import codegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext
from numba.core.dispatcher import Dispatcher
from numba.core.registry import cpu_target

from backalley.console.errors import InvalidType, InvalidValue
from backalley.envs.core.compile.whole_program import WholeProgramDispatcher, _Library, _NotCalled


@dataclass(frozen=True)
class Argument:
    """One parameter of a C function."""

    name: str
    type: str
    """`int32` or `uint64`; or what it points to: `state*`, `int8*`, `batch*`."""
    parts: tuple[int, ...] = ()
    """Of a `batch*`: the pointers in it that the kernel takes, in this order."""


@dataclass(frozen=True)
class Function:
    """One C function of a game."""

    name: str
    doc: str
    arguments: tuple[Argument, ...]
    result: str
    """`void`, `int32` or `uint64`."""
    kernel: Callable[..., Any]
    """The Python function of it."""
    kinds: tuple[Any, ...]
    """Numba's types of its arguments: a record, a pointer, int64 or uint64."""


class _Exported(_Library):
    """The code of several functions, linked with all that they call, and neither optimised nor loaded here."""

    def add_linking_library(self, library: Any) -> None:
        """Note a library; Numba's own memory for arrays is left out: `_ARRAYS` is in its place."""
        if library.name != "nrt":
            if not isinstance(library, _Library):
                library._ensure_finalized()
            self._linking_libraries.append(library)

    def _callees(self) -> Iterator[Any]:
        return (library for library in super()._callees() if library.name != "nrt")

    def _optimize_final_module(self) -> None:
        """Nothing: it is optimised for the processor that it will run on."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


def _leave_as_translated() -> None:
    """From now on Numba prepares no code for this processor, its own functions included: where pointers have another
    size, such code would mistake the places of fields. So this is done in a process that does nothing else."""
    for name in ("_optimize_functions", "_optimize_final_module", "_finalize_final_module", "add_linking_library"):
        setattr(codegen.JITCodeLibrary, name, getattr(_Exported, name))
    for owner, name, own in (
        (CPUContext, "get_executable", lambda *given: _NotCalled()),
        (Dispatcher, "add_overload", WholeProgramDispatcher.add_overload),
    ):
        setattr(owner, name, own)


@global_compiler_lock  # type: ignore[untyped-decorator]
def linked(functions: Sequence[Function], prefix: str) -> str:
    """Return the functions, named with `prefix`, and all kernels that they call, as one module in LLVM's language. This
    process can compile nothing afterwards."""
    _leave_as_translated()
    library = _Exported(cpu_target.target_context.codegen(), prefix)
    entries = []
    for function in functions:
        flags = {"nopython": True, "boundscheck": None, "nogil": True, "_nrt": True}
        dispatcher = WholeProgramDispatcher(function.kernel, {}, flags)
        dispatcher.compile(function.kinds)
        callee = dispatcher.overloads[function.kinds]
        library.add_linking_library(callee.library)
        entries.append(_entry(function, prefix, callee.fndesc.llvm_func_name, callee.signature.return_type))
    library.add_llvm_module(llvm.parse_assembly("declare void @llvm.trap()\n" + "\n".join(entries)))
    library.finalize()
    return str(library._final_module)


_PASSED = {"int32": "i32", "uint64": "i64", "float": "float", "double": "double", "void": "void"}


def _entry(function: Function, prefix: str, called: str, returned: Any) -> str:
    """The C function around a kernel, whose own form has a status and a pointer to its result. A status other than
    "fine" (0 and -2) is a bug of the rules or a state that they cannot reach: it stops the program."""
    known = {"void": numba.none, "uint64": numba.uint64, "int32": numba.int64}
    known |= {"float": numba.float32, "double": numba.float64}
    if returned != known[function.result]:
        raise InvalidType(f"The kernel of {function.name} returns {returned}, and not {known[function.result]}.")
    lines, given, taken = list[str](), list[str](), list[str]()
    for place, argument in enumerate(function.arguments):
        kind = _PASSED.get(argument.type, "ptr")
        given.append(f"{kind} %a{place}")
        if argument.parts:
            fields = "{ " + ", ".join(["ptr"] * (max(argument.parts) + 1)) + " }"
            for part in argument.parts:
                at = f"%a{place}.{len(lines)}"
                lines.append(f"{at} = getelementptr {fields}, ptr %a{place}, i32 0, i32 {part}")
                lines.append(f"{at}.v = load ptr, ptr {at}")
                taken.append(f"ptr {at}.v")
        elif kind == "i32":
            lines.append(f"%a{place}.wide = sext i32 %a{place} to i64")
            taken.append(f"i64 %a{place}.wide")
        else:
            taken.append(f"{kind} %a{place}")
    words = ", ".join(["ptr %result", "ptr %error", *taken])
    kinds = ", ".join(word.split()[0] for word in words.split(", "))
    declared = f'declare i32 @"{called}"({kinds})'
    lines += [
        f'%status = call i32 @"{called}"({words})',
        "%fine = icmp eq i32 %status, 0",
        "%none = icmp eq i32 %status, -2",
        "%good = or i1 %fine, %none",
        "br i1 %good, label %end, label %stop",
        "stop:",
        "call void @llvm.trap()",
        "unreachable",
        "end:",
    ]
    if function.result == "void":
        lines.append("ret void")
    else:
        kind = "i64" if function.result == "int32" else _PASSED[function.result]
        lines.append(f"%value = load {kind}, ptr %result")
        short = function.result == "int32"
        lines += ["%short = trunc i64 %value to i32", "ret i32 %short"] if short else [f"ret {kind} %value"]
    head = ["%result = alloca i64", "%error = alloca ptr"]
    body = "\n  ".join([*head, *lines])
    passed = _PASSED[function.result]
    return f"{declared}\ndefine {passed} @{prefix}_{function.name}({', '.join(given)}) {{\n  {body}\n}}"


# Memory for a kernel's arrays, in the form that Numba's own functions expect: a count of references, the address of the
# numbers as the fourth field, and the numbers from a multiple of 32 on.
_ARRAYS = """
%block = type { i64, ptr, ptr, ptr, i64, ptr }
declare ptr @llvm.ptrmask.p0.SIZE(ptr, SIZE)
define linkonce_odr ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 %align) {
  %all = add i64 %size, 96
  %made = call ptr @backalley_take(i64 %all)
  store i64 1, ptr %made
  %after = getelementptr i8, ptr %made, i32 95
  %numbers = call ptr @llvm.ptrmask.p0.SIZE(ptr %after, SIZE -32)
  %field = getelementptr %block, ptr %made, i32 0, i32 3
  store ptr %numbers, ptr %field
  ret ptr %made
}
define linkonce_odr ptr @NRT_MemInfo_data_fast(ptr %made) {
  %field = getelementptr %block, ptr %made, i32 0, i32 3
  %numbers = load ptr, ptr %field
  ret ptr %numbers
}
define linkonce_odr void @NRT_incref(ptr %made) {
  %none = icmp eq ptr %made, null
  br i1 %none, label %end, label %count
count:
  %old = load i64, ptr %made
  %new = add i64 %old, 1
  store i64 %new, ptr %made
  br label %end
end:
  ret void
}
define linkonce_odr void @NRT_decref(ptr %made) {
  %none = icmp eq ptr %made, null
  br i1 %none, label %end, label %count
count:
  %old = load i64, ptr %made
  %new = sub i64 %old, 1
  store i64 %new, ptr %made
  %last = icmp eq i64 %new, 0
  br i1 %last, label %give, label %end
give:
  call void @backalley_give(ptr %made)
  br label %end
end:
  ret void
}
define linkonce_odr ptr @NRT_MemInfo_new_varsize_dtor(i64 %size, ptr %unused) {
  %made = call ptr @NRT_MemInfo_alloc_aligned(i64 %size, i32 32)
  ret ptr %made
}
define linkonce_odr ptr @NRT_Allocate(i64 %size) {
  %made = call ptr @backalley_take(i64 %size)
  ret ptr %made
}
define linkonce_odr void @NRT_Free(ptr %made) {
  call void @backalley_give(ptr %made)
  ret void
}
"""
_HEAP = """
declare noalias ptr @malloc(SIZE)
declare void @free(ptr)
define linkonce_odr ptr @backalley_take(i64 %size) {
  NEED
  %made = call ptr @malloc(SIZE %need)
  ret ptr %made
}
define linkonce_odr void @backalley_give(ptr %made) {
  call void @free(ptr %made)
  ret void
}
"""
# Every array is given back before a function returns, so memory begins again where none is left.
_ARENA = """
@backalley_arena = internal global [4194304 x i8] zeroinitializer, align 16
@backalley_used = internal global i64 16
@backalley_blocks = internal global i64 0
declare void @llvm.trap()
define linkonce_odr ptr @backalley_take(i64 %size) {
  %used = load i64, ptr @backalley_used
  %more = add i64 %size, 15
  %whole = and i64 %more, -16
  %end = add i64 %used, %whole
  %over = icmp ugt i64 %end, 4194304
  br i1 %over, label %full, label %fits
full:
  call void @llvm.trap()
  unreachable
fits:
  store i64 %end, ptr @backalley_used
  %blocks = load i64, ptr @backalley_blocks
  %and_one = add i64 %blocks, 1
  store i64 %and_one, ptr @backalley_blocks
  %block = getelementptr i8, ptr @backalley_arena, i64 %used
  ret ptr %block
}
define linkonce_odr void @backalley_give(ptr %block) {
  %blocks = load i64, ptr @backalley_blocks
  %but_one = sub i64 %blocks, 1
  store i64 %but_one, ptr @backalley_blocks
  %none = icmp eq i64 %but_one, 0
  br i1 %none, label %begin, label %end
begin:
  store i64 16, ptr @backalley_used
  br label %end
end:
  ret void
}
"""


def object_code(
    text: str,
    exported: Collection[str],
    triple: str,
    processor: str,
    features: str,
    instead: Mapping[str, str],
    held: Mapping[str, npt.NDArray[np.float32]],
    *,
    addresses: str = "default",
) -> bytes:
    """Return a module as an object file for a processor, with these functions to be called. `instead` has functions of
    the module by the names of what they stand for, `held` the numbers that it reads, by their names; `addresses` is
    LLVM's code model, "jitdefault" for code that is loaded into this process. Raises ValueError for an unknown triple,
    or where the module calls what only Python has."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    wasm = triple.startswith("wasm")
    try:
        target = llvm.Target.from_triple(triple)
    except RuntimeError as error:
        raise InvalidValue(
            f"The triple is {triple!r}; it takes one that LLVM knows, such as aarch64-linux-gnu ({error})."
        ) from None
    machine = target.create_target_machine(
        processor, features, opt=3, reloc="static" if wasm else "pic", codemodel=addresses
    )
    for name, own in instead.items():
        text = re.sub(rf"^declare .*@{re.escape(name)}\(.*$", "", text, flags=re.MULTILINE)
        text = text.replace(f"@{name}(", f"@{own}(")
    module = llvm.parse_assembly(text)
    narrow = "-p:32:32" in str(machine.target_data)
    memory = (_ARRAYS + (_ARENA if wasm else _HEAP)).replace("SIZE", "i32" if narrow else "i64")
    memory = memory.replace("NEED", "%need = trunc i64 %size to i32" if narrow else "%need = add i64 %size, 0")
    module.link_in(llvm.parse_assembly(memory + _constants(held, big=str(machine.target_data).startswith("E"))))
    module.triple, module.data_layout = triple, str(machine.target_data)
    for one in [*module.functions, *module.global_variables]:
        if not one.is_declaration and one.name not in exported:
            one.linkage = llvm.Linkage.internal
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = tuning.slp_vectorization = True
    passes = llvm.create_pass_builder(machine, tuning)
    passes.getModulePassManager().run(module, passes)
    module.verify()
    called = {one.name for one in [*module.functions, *module.global_variables] if one.is_declaration}
    python = sorted(name for name in called if not name.startswith("llvm.") and name not in C_LIBRARY)
    if python:
        raise InvalidValue(f"The rules call {', '.join(python)}, which a program without Python does not have.")
    return machine.emit_object(module)  # type: ignore[no-any-return]


def _constants(held: Mapping[str, npt.NDArray[np.float32]], *, big: bool) -> str:
    """Numbers in LLVM's language; it is called `big` where the highest byte comes first."""
    lines = []
    for name, numbers in held.items():
        data = numbers.astype(">f4" if big else "<f4").tobytes().hex()
        text = re.sub("..", r"\\\g<0>", data)
        lines.append(f'@{name} = constant [{len(data) // 2} x i8] c"{text}", align 16\n')
    return "".join(lines)


C_LIBRARY = {"free", "malloc", "memcpy", "memmove", "memset", "pow", "log1p", "expm1", "exp", "log", "erf", "sqrt"}
"""What a file may leave to the C library."""
