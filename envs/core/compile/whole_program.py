"""Numba, but a kernel that Python calls is compiled once, as a whole, with all kernels that it calls.

Numba treats every function as if Python called it: each is linked with all that it calls, optimised, turned into
machine code, given a wrapper for Python and saved. A kernel at depth d of the calls goes through that d times
(*measured*: 127 times in Pitch, for 11 functions that Python calls; 60 to 65 % of all compile time). Here a kernel that
another kernel calls is typed and translated to LLVM's language, and no more. An *entry*, a kernel that Python calls,
links those of its callees once, hides all names but its own, and is optimised and turned into machine code once. LLVM
then inlines what has one caller and drops what nobody calls.

All of it is subclasses of Numba's own: code of other people in this process is compiled as before. The numbers of
`kernel_cache.SEEN_IN` name the versions it was checked with; where a version lacks something this needs,
`POSSIBLE` is False and kernels are compiled by Numba's own dispatcher.
"""

from __future__ import annotations

import copy
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from weakref import WeakValueDictionary

import llvmlite.binding as llvm
import numba
from numba.core import codegen, compiler, dispatcher
from numba.core.compiler_lock import global_compiler_lock
from numba.core.dispatcher import OmittedArg
from numba.core.environment import Environment
from numba.core.registry import CPUDispatcher

from . import tiering
from .kernel_cache import KernelCache
from .tiering import Interpreted, explaining, runs_as_python

_FunctionCompiler: Any = getattr(dispatcher, "_FunctionCompiler", object)


def _possible() -> bool:
    """Whether this Numba has what the classes below use, and nobody asked for Numba's own compiler."""
    parts = {
        codegen.JITCodeLibrary: ("_optimize_functions", "_optimize_final_module", "_finalize_final_module"),
        codegen.CPUCodegen: ("_check_llvm_bugs",),
        _FunctionCompiler: ("_compile_core", "_customize_flags"),
        dispatcher.Dispatcher: ("add_overload", "_compile_for_args", "_compilation_chain_init_hook"),
    }
    return (
        os.environ.get("BACKALLEY_WHOLE_PROGRAM", "1") != "0"
        and llvm.llvm_version_info >= (17, 0, 0)  # since then LLVM's pointers have no type, see `_close_circles`
        and all(hasattr(owner, name) for owner, names in parts.items() for name in names)
        and "library" in inspect.signature(compiler.compile_extra).parameters
        and "no_compile" in compiler.Flags.options
    )


POSSIBLE = _possible()
"""Whether kernels are compiled as whole programs. `BACKALLEY_WHOLE_PROGRAM=0` makes it False."""


class _NotCalled:
    """Stands for the entry point of a kernel that Python has not called. Numba finds callees by it."""


_with: WeakValueDictionary[str, _Library] = WeakValueDictionary()
"""The library that has the code of each function."""


class _Library(codegen.JITCodeLibrary):  # type: ignore[misc]  # Numba has no types
    """The code of one kernel as it was translated; of an entry, when it is finalised, that of all its callees too."""

    visible = ""
    """The name of a function that is found by its address; all others can be hidden."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Optimise nothing yet: that is done once, for the whole program."""
        ll_module.data_layout = self._codegen._data_layout

    def add_linking_library(self, library: Any) -> None:
        """Note a library that this one calls."""
        if not isinstance(library, _Library):
            library._ensure_finalized()
        self._linking_libraries.append(library)

    def add_llvm_module(self, ll_module: Any) -> None:
        """Take over translated code."""
        super().add_llvm_module(ll_module)
        for function in self._final_module.functions:
            if not function.is_declaration:
                _with[function.name] = self

    def _callees(self) -> Iterator[Any]:
        """All libraries that this one calls, directly or not, each once."""
        seen, waiting = {id(self)}, self._called()
        while waiting:
            library = waiting.pop(0)
            if id(library) not in seen:
                seen.add(id(library))
                yield library
                if isinstance(library, _Library):
                    waiting += library._called()

    def _called(self) -> list[Any]:
        """The libraries that this one calls, and those that it calls back: Numba does not list these."""
        prefix = codegen.RuntimeLinker.PREFIX
        back = [one.name for one in self._final_module.global_variables if one.name.startswith(prefix)]
        return [*self._linking_libraries, *(_with[name.removeprefix(prefix)] for name in back)]

    def _close_circles(self) -> None:
        """Fill in the calls back to a kernel that was not translated yet when its callee was. Numba leaves a pointer
        for each, to be filled when the program runs; here both are in one program."""
        here = {function.name for function in self._final_module.functions if not function.is_declaration}
        for pointer in list(self._final_module.global_variables):
            name = pointer.name.removeprefix(codegen.RuntimeLinker.PREFIX)
            if name != pointer.name and name in here:
                filled = f'declare void @"{name}"()\n@"{pointer.name}" = linkonce_odr constant ptr @"{name}"'
                self._final_module.link_in(llvm.parse_assembly(filled))

    def finalize(self) -> None:
        """Link, optimise and emit the whole program."""
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        own = {function.name for function in self._final_module.functions if not function.is_declaration}
        for library in self._callees():
            self._reload_init.update(library._reload_init)
            raw = isinstance(library, _Library) and not library._finalized
            module = library._final_module if raw else library._get_module_for_linking()
            self._final_module.link_in(module, preserve=True)
        self._close_circles()
        own.add(self.visible)
        for function in self._final_module.functions:
            if not function.is_declaration and function.name not in own:
                function.linkage = llvm.Linkage.internal
        self._optimize_final_module()
        self._final_module.verify()
        self._finalize_final_module()


class _Compiler(_FunctionCompiler):  # type: ignore[misc]
    """Types a kernel and translates it to LLVM's language."""

    def _customize_flags(self, flags: Any) -> Any:
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        return flags

    def _compile_core(self, args: tuple[Any, ...], return_type: Any) -> Any:
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        context = self.targetdescr.target_context
        result = compiler.compile_extra(
            self.targetdescr.typing_context,
            context,
            self.py_func,
            args=args,
            return_type=return_type,
            flags=self._customize_flags(flags),
            locals=self.locals,
            library=_Library(context.codegen(), self.py_func.__qualname__),
            pipeline_class=self.pipeline_class,
        )
        result = result._replace(entry_point=_NotCalled())
        context.insert_user_function(result.entry_point, result.fndesc, [result.library])
        return result


def _wide(kind: Any) -> Any:
    kind = numba.types.unliteral(kind)
    small = isinstance(kind, numba.types.Integer) and kind.signed and kind.bitwidth < 64
    return numba.types.int64 if small else kind


class WholeProgramDispatcher(CPUDispatcher):  # type: ignore[misc]
    """A kernel. Numba's `compile` prepares it as a callee of another; `entry` compiles it for calls from Python."""

    def __init__(
        self,
        py_func: Callable[..., Any],
        locals: dict[str, Any] | None = None,
        targetoptions: dict[str, Any] | None = None,
        cache: KernelCache | None = None,
    ) -> None:
        """The first three are Numba's; `cache` keeps the machine code of its entries."""
        super().__init__(py_func, locals, targetoptions)
        self._compiler = _Compiler(py_func, self.targetdescr, self.targetoptions, self.locals, compiler.Compiler)
        self.cache = cache
        self.at_once = False
        """Whether a call from Python is large work, compiled before it runs (`tiering.runs_as_python`)."""
        self.entries: dict[tuple[Any, ...], Any] = {}
        """Numba's compile result for each tuple of argument types for which there is machine code."""
        self.has_address = False
        """Whether machine code may call its entries by their addresses (`addresses.addressed`)."""
        self._sought: dict[tuple[Any, ...], int] = {}
        """The types for which the disk has been searched, and at which state of it (`tiering.searches`)."""

    def get_call_template(self, args: Sequence[Any], kws: Mapping[str, Any]) -> Any:
        """Numba's hook for a call from another kernel. Small signed integers, such as fields of a State, and literal
        numbers are passed as int64: one compilation serves them all (*measured*: 141 instead of 185 in Bezique). A call
        back into a kernel that is being compiled stays as it is, for Numba to recognise it."""
        if self.is_compiling:
            return super().get_call_template(args, kws)
        return super().get_call_template([_wide(arg) for arg in args], {name: _wide(arg) for name, arg in kws.items()})

    def add_overload(self, result: Any) -> None:
        """Numba's hook for a compiled function; here for a callee, which Python cannot call."""
        self.overloads[tuple(result.signature.args)] = result

    def found(self, args: tuple[Any, ...]) -> Callable[..., Any] | None:
        """Return the entry for arguments of these Numba types if it has been compiled: in this process, or on disk."""
        if tiering.MODE == "never":
            return None
        known = self.entries.get(args)
        if known is None and self.cache is not None and self._sought.get(args) != tiering.searches:
            self._sought[args] = tiering.searches
            self._compilation_chain_init_hook()
            with global_compiler_lock:
                loaded = self.cache.load_overload(args, self.targetctx)
            if loaded is not None:
                self._cache_hits[args] += 1
                known = self._add_entry(args, loaded)
        return None if known is None else known.entry_point

    def entry(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """Return the machine code for arguments of these Numba types, compiled if needed. Raises KernelError
        where the kernel cannot take them."""
        self._compilation_chain_init_hook()
        with global_compiler_lock:
            self._sought.pop(args, None)
            known = self.found(args)
            if known is not None:
                return known
            with tiering.compiling():
                return self._made(args)

    def _made(self, args: tuple[Any, ...]) -> Callable[..., Any]:
        """Compile an entry for these types, and keep it."""
        with explaining():
            self.compile(args)
        callee = self.overloads[args]
        context = callee.target_context
        library = _Library(context.codegen(), f"{callee.library.name}.entry")
        library.enable_object_caching()
        library.add_linking_library(callee.library)
        library.visible = callee.fndesc.llvm_func_name if self.has_address else ""
        about = copy.copy(callee.fndesc)
        # The wrapper keeps Python objects in an environment of its own: where the callee's has been kept with
        # another entry, it would lack them.
        about.env_name = f"{about.env_name}.entry"
        own, release = Environment.from_fndesc(about), self.targetoptions.get("nogil", False)
        context.create_cpython_wrapper(library, about, own, callee.call_helper, release)
        function = context.get_executable(library, about, own)
        initial = list(library._reload_init)
        result = callee._replace(
            entry_point=function, fndesc=about, environment=own, library=library, reload_init=initial
        )
        for environment in result._find_referenced_environments():
            library.codegen.set_env(environment.env_name, environment)
        if self.cache is not None:
            self.cache.save_overload(args, result)
        return self._add_entry(args, result).entry_point  # type: ignore[no-any-return]

    def _add_entry(self, args: tuple[Any, ...], result: Any) -> Any:
        self.entries[args] = result
        self._insert([kind._code for kind in args], result.entry_point, result.objectmode)
        return result

    def _compile_for_args(self, *args: Any) -> Callable[..., Any]:
        """Numba's hook for a call from Python with arguments of types that are new; it calls what it gets."""
        try:
            kinds = tuple(self._kind(arg) for arg in args)
            found = self.found(kinds)
            if found is None:
                found = Interpreted(self) if runs_as_python(self.at_once) else self.entry(kinds)
            return found
        finally:
            self._types_active_call.clear()

    def _kind(self, arg: Any) -> Any:
        return numba.types.Omitted(arg.value) if isinstance(arg, OmittedArg) else self.typeof_pyval(arg)
