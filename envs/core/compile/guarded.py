"""Kernels for arguments that may be anything: the same text, compiled a second time with bounds checks and a limit of
steps.

Rules and bots trust what they are given: a number of an observation may be an index, or say how often a loop runs. So
where users pass arrays of their own, this second compilation is called. In it, and in all kernels that it calls, every
index is checked (IndexError), and so are the passes through loops and the sizes of arrays (TookTooLong).
"""

from __future__ import annotations

import ast
import copy
import functools
import linecache
from collections.abc import Callable, Iterator
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
from llvmlite import ir
from numba.core.dispatcher import Dispatcher
from numba.extending import intrinsic, overload

from . import tiering
from .kernel import COMPILED, specialise, template, unbound, uncompiled
from .tiering import TookTooLong
from .whole_program import WholeProgramDispatcher

STEPS = 30_000_000
"""Steps that one call may take: passes through loops whose number is not written in the source, and numbers in arrays
that it creates. Ours take a tenth at most: Poker Duel's, where a split has been begun otherwise than they would."""
_STEPS_IN_PYTHON = 1_000_000
"""Steps after which a call that runs as Python is compiled, and begins again."""
_left = [0]
"""Steps left to a call that runs as Python."""
_TOO_LONG = "it takes too long"


@intrinsic  # type: ignore[untyped-decorator]
def _add_steps(typing: Any, number: Any, again: Any) -> Any:
    """Add a number to the steps left, or set them to it where `again`; return how many are left."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        wide, name = ir.IntType(64), "backalley_steps_left"
        if name not in builder.module.globals:
            place = ir.GlobalVariable(builder.module, wide, name)
            place.linkage, place.initializer = "linkonce_odr", ir.Constant(wide, 0)
        place = builder.module.globals[name]
        left = builder.add(args[0], builder.select(args[1], ir.Constant(wide, 0), builder.load(place)))
        builder.store(left, place)
        return left

    return numba.types.int64(numba.types.int64, numba.types.boolean), generate


def allow_steps() -> None:
    """Begin to count."""
    _left[0] = STEPS if tiering.MODE == "never" or not COMPILED else _STEPS_IN_PYTHON


@overload(allow_steps)  # type: ignore[untyped-decorator]
def _allow_steps() -> Callable[..., Any]:
    def allowed() -> None:
        _add_steps(STEPS, True)

    return allowed


def count_step() -> None:
    """Take one step. Raises TookTooLong where none is left."""
    _left[0] -= 1
    if _left[0] < 0:
        raise TookTooLong(_TOO_LONG)


@overload(count_step)  # type: ignore[untyped-decorator]
def _count_step() -> Callable[..., Any]:
    def counted() -> None:
        if _add_steps(-1, False) < 0:
            raise TookTooLong(_TOO_LONG)

    return counted


def count_numbers(shape: Any) -> Any:
    """Take a step for each number of an array of this shape, and return the shape. Raises TookTooLong."""
    for length in shape if isinstance(shape, tuple) else (shape,):
        if not 0 <= length <= STEPS:
            raise TookTooLong(_TOO_LONG)
        _left[0] -= int(length)
    if _left[0] < 0:
        raise TookTooLong(_TOO_LONG)
    return shape


@overload(count_numbers)  # type: ignore[untyped-decorator]
def _count_numbers(shape: Any) -> Callable[..., Any]:
    def of_one(shape: Any) -> Any:
        if shape < 0 or shape > STEPS or _add_steps(-shape, False) < 0:
            raise TookTooLong(_TOO_LONG)
        return shape

    def of_many(shape: Any) -> Any:
        size = 1
        for length in shape:
            if length < 0 or length > STEPS or size > STEPS:
                raise TookTooLong(_TOO_LONG)
            size *= length
        if size > STEPS or _add_steps(-size, False) < 0:
            raise TookTooLong(_TOO_LONG)
        return shape

    return of_many if isinstance(shape, numba.types.BaseTuple) else of_one


# The same text, counting ----------------------------------------------------------------------------------------------

_COUNTERS = {"_count_step": count_step, "_count_numbers": count_numbers}
"""The names under which kernels call them."""


def _calls(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


class _Counting(ast.NodeTransformer):
    """Counts the passes through loops and the sizes of arrays."""

    def __init__(self, code: CodeType) -> None:
        self._global = set(code.co_names)

    def visit_While(self, node: ast.While) -> ast.While:
        """A loop that says itself when it ends."""
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_calls("_count_step")))
        return node

    def visit_For(self, node: ast.For) -> ast.For:
        """A loop over a range, which may follow from the arguments."""
        self.generic_visit(node)
        over = node.iter
        if not (isinstance(over, ast.Call) and all(self._is_fixed(arg) for arg in over.args)):
            node.body.insert(0, ast.Expr(_calls("_count_step")))
        return node

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """The creation of an array."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("empty", "zeros", "ones", "full"):
            node.args[0] = _calls("_count_numbers", node.args[0])
        return node

    def _is_fixed(self, node: ast.expr) -> bool:
        """Whether a number is written in the source, or is the size of an array."""
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if isinstance(node, ast.BinOp):
            return self._is_fixed(node.left) and self._is_fixed(node.right)
        if isinstance(node, ast.Call):
            return isinstance(node.func, ast.Name) and node.func.id == "len"
        return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in self._global)


@functools.cache
def _functions_in(path: str) -> dict[int, tuple[ast.FunctionDef, CodeType]]:
    """The functions of a file, each as its tree and its byte code, by their first line, decorators included."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return {}
    codes = {code.co_firstlineno: code for code in _codes(compile(tree, path, "exec", dont_inherit=True))}
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    lines = ((min([node.lineno, *(one.lineno for one in node.decorator_list)]), node) for node in nodes)
    return {line: (node, codes[line]) for line, node in lines if line in codes}


def _codes(code: CodeType) -> Iterator[CodeType]:
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield part
            yield from _codes(part)


def _compiled(node: ast.FunctionDef, code: CodeType) -> CodeType:
    """A function as Python's byte code, with the closure of `code`."""
    tree = ast.parse(f"def around({', '.join(code.co_freevars)}): pass")
    tree.body[0].body = [node]  # type: ignore[attr-defined]
    found = compile(ast.fix_missing_locations(tree), code.co_filename, "exec", dont_inherit=True)
    for name in ("around", node.name):
        found = next(part for part in found.co_consts if isinstance(part, CodeType) and part.co_name == name)
    return found


def _bare(node: ast.FunctionDef) -> ast.FunctionDef:
    """A function without decorators, annotations and defaults, which its byte code does not have either."""
    bare = copy.deepcopy(node)
    bare.decorator_list, bare.returns, bare.args.defaults = [], None, []
    bare.args.kw_defaults = [None for _ in bare.args.kwonlyargs]
    for arg in ast.walk(bare.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    return bare


def _counting(code: CodeType) -> CodeType:
    """The code of a kernel that counts; the code itself where its source is not at hand, or was changed since."""
    node, found = _functions_in(code.co_filename).get(code.co_firstlineno, (None, None))
    if node is None or found is None or _text(found) != _text(code):
        return code
    return _compiled(_Counting(code).visit(_bare(node)), code)


def _text(code: CodeType) -> tuple[Any, ...]:
    constants = [value for value in code.co_consts if not isinstance(value, CodeType)]
    return code.co_name, code.co_code, code.co_names, constants


# The same kernel, guarded ---------------------------------------------------------------------------------------------

_known: dict[Any, Any] = {}
_modules: dict[ModuleType, ModuleType] = {}


def _is_kernel(value: Any) -> bool:
    return isinstance(value, Dispatcher if COMPILED else FunctionType)


def _again(original: Any) -> Any:
    """A kernel that counts and checks, with such kernels in place of all that it names."""
    if original in _known:
        return _known[original]
    inside = uncompiled(original)
    if getattr(inside, "is_bounded", False) or (hasattr(original, "__wrapped__") and not COMPILED):
        return original  # the second: `wrapping`
    code = _counting(inside.__code__)
    cells = tuple(CellType() for _ in code.co_freevars)
    scope: dict[str, Any] = {"__name__": inside.__module__, "__builtins__": inside.__globals__["__builtins__"]}
    made = FunctionType(code, scope, inside.__name__, inside.__defaults__, cells or None)
    # A name of its own, so that its machine code is never mistaken for the other's.
    made.__kwdefaults__, made.__qualname__ = inside.__kwdefaults__, f"{inside.__qualname__}_guarded"
    if hasattr(inside, "sources"):
        made.sources = inside.sources  # type: ignore[attr-defined]
    result: Any = made
    if isinstance(original, Dispatcher):
        flags = {**original.targetoptions, "boundscheck": True}
        whole = isinstance(original, WholeProgramDispatcher)
        result = WholeProgramDispatcher(made, {}, flags) if whole else numba.jit(**flags)(made)
    _known[original] = result  # before its scope is filled: a kernel may name itself
    names = _names(inside.__code__)
    scope |= {name: _replaced(inside.__globals__[name], names) for name in names & inside.__globals__.keys()}
    scope |= _COUNTERS
    for cell, old in zip(cells, inside.__closure__ or (), strict=True):
        cell.cell_contents = _replaced(old.cell_contents, names)
    return result


def _replaced(value: Any, names: set[str]) -> Any:
    """A kernel, or a module with those kernels that `names` holds, guarded; anything else as it is."""
    if _is_kernel(value):
        return _again(value)
    if not isinstance(value, ModuleType) or value.__name__.split(".")[0] in ("numpy", "math"):
        return value
    module = _modules.setdefault(value, ModuleType(value.__name__))
    for name in names & vars(value).keys() - vars(module).keys():
        setattr(module, name, _replaced(getattr(value, name), names))
    return module


def _names(code: CodeType) -> set[str]:
    """All names that a function's code, and that of functions inside it, reads."""
    inside = (_names(constant) for constant in code.co_consts if isinstance(constant, CodeType))
    return set(code.co_names).union(*inside)


GUARDED = unbound
"""The kernel in `from_outside`."""


@template
def from_outside(by: Any, shown: Any, mask: Any, last: Any) -> Any:
    """Call a kernel in the form of a bot's, or of its `chances`."""
    allow_steps()
    return GUARDED(by, shown, mask, last)


@functools.cache
def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that takes four arguments, as bots do, for arguments that may be anything. It raises IndexError
    or TookTooLong, an ArithmeticError, where the other would read or write wrong memory, or not end. Of
    all guarded kernels one runs at a time: they count in the same place."""
    return specialise([from_outside], {"GUARDED": _again(function)})["from_outside"]
