"""What went wrong in a kernel, in the words of who wrote it: which kernel, its §, the line and the field."""

from __future__ import annotations

import ast
import linecache
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numba
import numpy as np

from backalley.console.errors import KernelError, did_you_mean

_CORE = Path(__file__).resolve().parents[1]
_NUMBA = Path(numba.__file__).resolve().parent
_LINE = re.compile(r'^File "(.+)", line (\d+):', re.MULTILINE)
"""Where Numba's messages tell of lines, the innermost first."""
_UNKNOWN = re.compile(r"Unknown attribute '(\w+)' of type ")
_PARAGRAPH = re.compile(r"§\d+(?:\.\d+)*")


Line = tuple[Path, int]


def explain(error: Exception) -> None:
    """Raise a KernelError for a field that is not there and for what cannot be compiled. Any other error gets a note of
    where it happened."""
    frames = [*_frames(error.__traceback__)]
    lines = [*_lines(error, frames)]
    where, name = _where(lines), _missing_field(error, frames[0])
    if name:
        known = _fields(error, frames[0])
        has = f"; it has {', '.join(known)}" if known else ""
        meant = did_you_mean(name, known, repr)
        raise KernelError(f"In {where}, {_owner(lines, name)} has no field {name!r}{has}.{meant}") from error
    if type(error).__module__.startswith("numba."):
        said_by_numba = str(error).partition("\n\n")[0].splitlines()
        said = " ".join(" ".join(line for line in said_by_numba if not line.startswith("Failed in ")).split())
        raise KernelError(f"What {where} does cannot be compiled. Numba says: {said}") from error
    if not hasattr(error, "__notes__"):
        error.add_note(f"In {where}.")


class _Frame(NamedTuple):
    file: Path
    line: int
    names: dict[str, Any]
    """Its variables."""


def _frames(trace: TracebackType | None) -> Iterator[_Frame]:
    """What was called, the innermost first."""
    if trace is not None:
        yield from _frames(trace.tb_next)
        frame = trace.tb_frame
        yield _Frame(Path(frame.f_code.co_filename).resolve(), trace.tb_lineno, frame.f_locals)


def _lines(error: Exception, frames: Sequence[_Frame]) -> Iterator[Line]:
    """Where it happened, the innermost line first."""
    for file, number in _LINE.findall(str(error)):
        yield Path(file).resolve(), int(number)
    for frame in frames:
        typed: Any = getattr(frame.names.get("self"), "loc", None)  # what Numba was at
        if isinstance(typed, numba.core.ir.Loc):
            yield Path(typed.filename).resolve(), int(typed.line)
        elif not frame.file.is_relative_to(_NUMBA):
            yield frame.file, frame.line


def _where(lines: Sequence[Line]) -> str:
    """The kernel that failed and, where it is one of the core, the game's kernel that called it."""
    named = [(kernel, file) for file, line in lines if (kernel := _kernel_at(file, line))]
    of_game = next((kernel for kernel, file in named if not file.is_relative_to(_CORE)), "")
    inner = named[0][0] if named else "a kernel"
    return f"{inner}, called by {of_game}" if of_game not in ("", inner) else inner


def _tree(file: Path) -> ast.AST:
    try:
        return ast.parse("".join(linecache.getlines(str(file))))
    except SyntaxError:
        return ast.Module([], [])


def _kernel_at(file: Path, line: int) -> str:
    """The decorated function that has this line, with its §; empty where none has it."""
    functions = (node for node in ast.walk(_tree(file)) if isinstance(node, ast.FunctionDef) and node.decorator_list)
    around = [node for node in functions if node.lineno <= line <= (node.end_lineno or 0)]
    if not around:
        return ""
    cited = ", ".join(_PARAGRAPH.findall(ast.get_docstring(around[-1]) or ""))
    return f"the kernel {around[-1].name}{cited and f', {cited}'} ({file.parent.name}/{file.name}, line {line})"


def _owner(lines: Sequence[Line], name: str) -> str:
    """What is asked there for a field of that name, as it is written."""
    for file, line in lines:
        for node in ast.walk(_tree(file)):
            if isinstance(node, ast.Attribute) and node.attr == name and node.lineno == line:
                return ast.unparse(node.value)
    return "the record"


def _missing_field(error: Exception, inner: _Frame) -> str:
    """The name of a field that is not there; empty for other errors."""
    its = inner.names.get("self")
    if isinstance(error, AttributeError):
        return error.name or ""
    if isinstance(error, KeyError) and isinstance(its, numba.types.Record):
        return str(error.args[0])
    found = _UNKNOWN.search(str(error)) if type(error).__module__.startswith("numba.") else None
    return found[1] if found else ""


def _fields(error: Exception, inner: _Frame) -> Sequence[str]:
    """The fields that there are, as far as the error tells."""
    its = inner.names.get("self")
    if isinstance(its, np.record):
        return its.dtype.names or ()
    return [*its.fields] if isinstance(its, numba.types.Record) else getattr(getattr(error, "obj", None), "_fields", ())
