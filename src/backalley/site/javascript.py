"""The Python functions that describe and draw a table, as JavaScript, so that a page without a server shows the same.

What a function names is translated with it: functions line by line, classes with their methods, and all other values of
modules as they are now. `runtime.js` has the built-in functions, and what operators mean in Python. A function that
uses more of the language than these do is refused by name.
"""

from __future__ import annotations

import ast
import builtins
import enum
import functools
import importlib
import inspect
import json
import re
import sys
import textwrap
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from backalley.console.errors import InvalidValue

_BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "div", ast.Mod: "mod", ast.LShift: "shl",
    ast.RShift: "shr", ast.BitOr: "or", ast.BitAnd: "and", ast.BitXor: "xor",
}  # fmt: skip
_COMPARED = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "===", ast.IsNot: "!=="}
_RESERVED = {"new", "default", "function", "delete", "typeof", "void", "switch", "case", "var", "let", "const", "this"}
_RESERVED |= {"package", "super"}
"""Names that are words of JavaScript."""
_SAFE = 1 << 53
"""Whole numbers from here on are BigInts."""
_FOREIGN: dict[Any, str] = {set: "py.set_"}
"""What `runtime.js` calls by another name."""


class Script:
    """Definitions as properties of one object `B`, each after those that it needs at once."""

    def __init__(self, instead: Mapping[Any, str] | None = None, given: Script | None = None) -> None:
        """`instead` are expressions for objects that are not translated; what `given` defines is not defined again."""
        self.lines: list[str] = []
        self._names: dict[int, tuple[str, Any]] = dict(given._names) if given else {}
        self._taken = {name for name, _ in self._names.values()}
        for thing, name in (instead or {}).items():
            found = _plain(thing)
            self._names[id(found)] = name, found

    def value(self, thing: Any, hint: str = "value") -> str:
        """Return an expression for a value, a function or a class, which is defined if it was not yet."""
        if isinstance(thing, enum.Enum):
            return self.value(thing.value)
        if isinstance(thing, np.generic):
            return self.value(thing.item())
        if thing is None or isinstance(thing, bool):
            return json.dumps(thing)
        if isinstance(thing, int):
            return f"{thing}n" if abs(thing) >= _SAFE else str(thing)
        if isinstance(thing, float) or (isinstance(thing, str) and len(thing) < 40):
            return json.dumps(thing)
        found: Any = _plain(thing) if callable(thing) else thing
        if id(found) not in self._names:
            if not isinstance(found, functools.partial) and callable(found) and _is_foreign(found):
                return _FOREIGN.get(found, f"py.{found.__name__}")
            self._define(found, hint)
        return self._names[id(found)][0]

    def method(self, kind: type, name: str) -> str:
        """Return an expression for a method, as a function of `self` and its arguments."""
        return self.value(vars(kind)[name], f"{kind.__name__}_{name}")

    def _define(self, thing: Any, hint: str) -> None:
        own = f"{thing.__module__.rpartition('.')[2]}_{thing.__qualname__}" if hasattr(thing, "__qualname__") else hint
        name = own = "B." + own.replace(".", "_").replace("<", "").replace(">", "")
        number = 1
        while name in self._taken:
            number += 1
            name = f"{own}{number}"
        self._taken.add(name)
        self._names[id(thing)] = name, thing  # before it is translated: it may name itself
        self.lines.append(f"{name} = {self._written(thing)};")

    def _written(self, thing: Any) -> str:
        """The right side of a definition."""
        if isinstance(thing, types.FunctionType):
            (tree,) = ast.parse(textwrap.dedent(inspect.getsource(thing))).body
            if not isinstance(tree, ast.FunctionDef):
                raise InvalidValue(f"{thing.__qualname__} is no function that can be translated.")
            return _Function(self, thing.__globals__, thing.__qualname__).function(tree)
        if isinstance(thing, type):
            return self._class(thing)
        if isinstance(thing, functools.partial):
            given = "".join(f"{self.value(one)}, " for one in thing.args)
            return f"(...more) => {self.value(thing.func)}({given}...more)"
        if isinstance(thing, re.Pattern):
            flags = "s" * bool(thing.flags & re.DOTALL) + "i" * bool(thing.flags & re.IGNORECASE)
            return f"new RegExp({json.dumps(thing.pattern.replace('(?P<', '(?<'))}, {json.dumps(flags + 'g')})"
        if isinstance(thing, np.ndarray):
            return json.dumps(thing.tolist())
        if isinstance(thing, Mapping):
            pairs = ", ".join(f"[{self.value(key)}, {self.value(one)}]" for key, one in thing.items())
            return f"new Map([{pairs}])"
        if isinstance(thing, (set, frozenset)):
            return f"new Set([{', '.join(self.value(one) for one in sorted(thing))}])"
        if isinstance(thing, (tuple, list)):
            parts = ", ".join(map(self.value, thing))
            return f"{self.value(type(thing))}({parts})" if hasattr(thing, "_fields") else f"[{parts}]"
        if isinstance(thing, str):
            return json.dumps(thing)
        raise InvalidValue(f"{thing!r} cannot be written in JavaScript.")

    def _class(self, kind: Any) -> str:
        name = json.dumps(kind.__name__)
        if issubclass(kind, enum.Enum):
            return f"py.enumeration({json.dumps({one.name: one.value for one in kind})})"
        if issubclass(kind, Exception):
            return f"py.failure({name})"
        methods, properties = [], []
        for key, found in vars(kind).items():
            plain = found.fget if isinstance(found, property) else found
            if isinstance(plain, types.FunctionType) and plain.__module__ == kind.__module__:
                methods.append(f"{key}: {self._written(inspect.unwrap(plain))}")
                properties += [key] * isinstance(found, property)
        about = f"{{{', '.join(methods)}}}, {json.dumps(properties)}"
        if hasattr(kind, "_fields"):
            defaults = ", ".join(f"{key}: {self.value(one)}" for key, one in kind._field_defaults.items())
            return f"py.named({name}, {json.dumps(kind._fields)}, {{{defaults}}}, {about})"
        return f"py.kind({name}, {about})"


def _plain(thing: Any) -> Any:
    """The function itself, without a compiler or a memory around it."""
    return thing if isinstance(thing, type) else inspect.unwrap(getattr(thing, "py_func", thing))


def _is_foreign(found: Any) -> bool:
    """Whether `runtime.js` has to know a function or class by its name."""
    return (found.__module__ or "").partition(".")[0] in (*sys.stdlib_module_names, "numpy")


class _Function:
    """The translation of one function, which sees the names of its module."""

    def __init__(self, script: Script, seen: Mapping[str, Any], name: str) -> None:
        self._script, self._seen, self._name = script, seen, name
        self._locals: list[set[str]] = []
        self._yields: list[str] = []

    def function(self, tree: ast.FunctionDef | ast.Lambda) -> str:
        """A function with what `py.kw` has to know of its arguments."""
        given = tree.args
        plain, only = [*given.posonlyargs, *given.args], given.kwonlyargs
        names = [one.arg for one in [*plain, *only, *filter(None, (given.vararg, given.kwarg))]]
        defaults = dict(zip([one.arg for one in plain][::-1], given.defaults[::-1], strict=False))
        defaults |= {one.arg: value for one, value in zip(only, given.kw_defaults, strict=True) if value is not None}
        ordered = [*plain, *([given.vararg] if given.vararg else []), *only, *([given.kwarg] if given.kwarg else [])]
        with self._scope(names):
            takes = [
                _named(one.arg) + (f" = {self.show(defaults[one.arg])}" if one.arg in defaults else "")
                for one in ordered
            ]
            if isinstance(tree, ast.Lambda):
                body = f"({', '.join(takes)}) => {self.show(tree.body)}"
            else:
                body = self._body(tree, takes)
        about = f"[{', '.join(json.dumps(one.arg) for one in plain)}]"
        if given.vararg or only or given.kwarg:
            about += f", {json.dumps([one.arg for one in only])}, {int(bool(given.vararg))}, {int(bool(given.kwarg))}"
        return f"py.fn({body}, {about})"

    def _body(self, tree: ast.FunctionDef, takes: Sequence[str]) -> str:
        own, yields = _assigned(tree.body), _has_yield(tree.body)
        held = any("contextmanager" in ast.unparse(one) for one in tree.decorator_list)
        self._yields.append("yield" if held else "made")
        with self._scope(own):
            lines = self._block(tree.body)
        self._yields.pop()
        declared = [_named(name) for name in sorted(own - set(self._locals[-1]))]
        if yields and not held:
            lines = ["const made = [];", *lines, "return made;"]
        if declared:
            lines.insert(0, f"let {', '.join(declared)};")
        inside = " ".join(lines)
        return f"function* ({', '.join(takes)}) {{ {inside} }}" if held else f"({', '.join(takes)}) => {{ {inside} }}"

    @contextmanager
    def _scope(self, names: Iterable[str]) -> Iterator[None]:
        self._locals.append(set(names))
        yield
        self._locals.pop()

    def _block(self, body: Sequence[ast.stmt]) -> list[str]:
        return [line for one in body for line in self._statement(one)]

    def _inside(self, body: Sequence[ast.stmt]) -> str:
        return f"{{ {' '.join(self._block(body))} }}"

    # Statements -----------------------------------------------------------------------------------------------------

    def _statement(self, tree: ast.stmt) -> list[str]:
        return getattr(self, f"_do_{type(tree).__name__}", self._refuse)(tree)  # type: ignore[no-any-return]

    def _refuse(self, tree: ast.AST) -> Any:
        raise InvalidValue(f"{self._name} has {type(tree).__name__}, which is not translated: {ast.unparse(tree)}")

    def _do_Return(self, tree: ast.Return) -> list[str]:
        return [f"return {self.show(tree.value)};" if tree.value else "return null;"]

    def _do_Expr(self, tree: ast.Expr) -> list[str]:
        if isinstance(tree.value, ast.Constant):
            return []
        if isinstance(tree.value, (ast.Yield, ast.YieldFrom)):
            shown = self.show(tree.value.value) if tree.value.value else "null"
            if self._yields[-1] == "yield":
                return [f"yield {shown};"]
            return [f"made.push({f'...py.it({shown})' if isinstance(tree.value, ast.YieldFrom) else shown});"]
        return [f"{self.show(tree.value)};"]

    def _do_Pass(self, tree: ast.Pass | ast.Assert) -> list[str]:
        return []

    _do_Assert = _do_Pass

    def _do_Continue(self, tree: ast.Continue | ast.Break) -> list[str]:
        return [f"{type(tree).__name__.lower()};"]

    _do_Break = _do_Continue

    def _do_ImportFrom(self, tree: ast.ImportFrom) -> list[str]:
        module = importlib.import_module(f"{'.' * tree.level}{tree.module or ''}", self._seen["__package__"])
        self._seen = {**self._seen, **{one.asname or one.name: getattr(module, one.name) for one in tree.names}}
        return []

    def _do_Raise(self, tree: ast.Raise) -> list[str]:
        return [f"throw {self.show(tree.exc)};" if tree.exc else self._refuse(tree)]

    def _do_Assign(self, tree: ast.Assign) -> list[str]:
        first, *others = tree.targets
        return [self._put(first, self.show(tree.value)), *(self._put(one, self.show(first)) for one in others)]

    def _do_AnnAssign(self, tree: ast.AnnAssign) -> list[str]:
        return [self._put(tree.target, self.show(tree.value))] if tree.value else []

    def _do_AugAssign(self, tree: ast.AugAssign) -> list[str]:
        return [self._put(tree.target, self.show(ast.BinOp(tree.target, tree.op, tree.value)))]

    def _put(self, target: ast.expr, shown: str) -> str:
        """An assignment."""
        if isinstance(target, ast.Subscript):
            return f"py.set({self.show(target.value)}, {self._index(target.slice)}, {shown});"
        if isinstance(target, (ast.Tuple, ast.List)):
            shown = f"py.it({shown})"
        return f"{self._target(target)} = {shown};"

    def _target(self, target: ast.expr) -> str:
        if isinstance(target, (ast.Tuple, ast.List)):
            return f"[{', '.join(map(self._target, target.elts))}]"
        if isinstance(target, ast.Starred):
            return f"...{self._target(target.value)}"
        return _named(target.id) if isinstance(target, ast.Name) else self.show(target)

    def _do_If(self, tree: ast.If) -> list[str]:
        more = f" else {self._inside(tree.orelse)}" if tree.orelse else ""
        return [f"if ({self.test(tree.test)}) {self._inside(tree.body)}{more}"]

    def _do_While(self, tree: ast.While) -> list[str]:
        return [f"while ({self.test(tree.test)}) {self._inside(tree.body)}"]

    def _do_For(self, tree: ast.For) -> list[str]:
        return [f"for ({self._target(tree.target)} of py.it({self.show(tree.iter)})) {self._inside(tree.body)}"]

    def _do_With(self, tree: ast.With) -> list[str]:
        (item,) = tree.items
        return [
            f"{{ const held = py.enter({self.show(item.context_expr)});",
            *self._block(tree.body),
            "py.leave(held); }",
        ]

    def _do_FunctionDef(self, tree: ast.FunctionDef) -> list[str]:
        return [f"{_named(tree.name)} = {self.function(tree)};"]

    # Expressions ----------------------------------------------------------------------------------------------------

    def show(self, tree: ast.expr) -> str:
        """Return an expression in JavaScript."""
        found, thing = self._static(tree)
        if found:
            return self._script.value(thing, tree.id if isinstance(tree, ast.Name) else getattr(tree, "attr", ""))
        return getattr(self, f"_show_{type(tree).__name__}", self._refuse)(tree)  # type: ignore[no-any-return]

    def _static(self, tree: ast.expr) -> tuple[bool, Any]:
        """Whether an expression is a name of the module, or of another module or enumeration, and what it is."""
        if isinstance(tree, ast.Name) and not any(tree.id in names for names in self._locals):
            if tree.id in self._seen:
                return True, self._seen[tree.id]
            return hasattr(builtins, tree.id), getattr(builtins, tree.id, None)
        if isinstance(tree, ast.Attribute):
            found, thing = self._static(tree.value)
            if found and (
                isinstance(thing, types.ModuleType) or (isinstance(thing, type) and issubclass(thing, enum.Enum))
            ):
                return True, getattr(thing, tree.attr)
        return False, None

    def test(self, tree: ast.expr) -> str:
        """Return whether an expression is true in Python, as a Boolean."""
        if isinstance(tree, ast.BoolOp):
            sign = " && " if isinstance(tree.op, ast.And) else " || "
            return f"({sign.join(map(self.test, tree.values))})"
        shown = self.show(tree)
        return shown if _is_boolean(tree) else f"py.t({shown})"

    def _show_Constant(self, tree: ast.Constant) -> str:
        return self._script.value(tree.value, "text")

    def _show_Name(self, tree: ast.Name) -> str:
        if not any(tree.id in names for names in self._locals):
            raise InvalidValue(f"{self._name} names {tree.id}, which is not there.")
        return _named(tree.id)

    def _show_Attribute(self, tree: ast.Attribute) -> str:
        own = {"shape": "py.shape(%s)", "length": "%s.length_"}  # what arrays have not, or have already
        return own.get(tree.attr, f"%s.{tree.attr}") % self.show(tree.value)

    def _show_Starred(self, tree: ast.Starred) -> str:
        return f"...py.it({self.show(tree.value)})"

    def _show_Tuple(self, tree: ast.Tuple | ast.List | ast.Set) -> str:
        shown = f"[{', '.join(map(self.show, tree.elts))}]"
        return f"new Set({shown})" if isinstance(tree, ast.Set) else shown

    _show_List = _show_Set = _show_Tuple

    def _show_Dict(self, tree: ast.Dict) -> str:
        pairs = (
            f"[{self.show(key)}, {self.show(value)}]" if key else f"...py.items({self.show(value)})"
            for key, value in zip(tree.keys, tree.values, strict=True)
        )
        return f"new Map([{', '.join(pairs)}])"

    def _show_BinOp(self, tree: ast.BinOp) -> str:
        left, right = self.show(tree.left), self.show(tree.right)
        if isinstance(tree.op, (ast.Div, ast.Pow)):
            return f"({left} {'/' if isinstance(tree.op, ast.Div) else '**'} {right})"
        return f"py.{_BINARY[type(tree.op)]}({left}, {right})" if type(tree.op) in _BINARY else self._refuse(tree)

    def _show_UnaryOp(self, tree: ast.UnaryOp) -> str:
        if isinstance(tree.op, ast.Not):
            return f"!{self.test(tree.operand)}"
        shown = self.show(tree.operand)
        return f"(-{shown})" if isinstance(tree.op, ast.USub) else f"py.not({shown})"

    def _show_BoolOp(self, tree: ast.BoolOp) -> str:
        if _is_boolean(tree):
            return self.test(tree)
        *others, shown = map(self.show, tree.values)
        for one in reversed(others):
            shown = f"py.{'both' if isinstance(tree.op, ast.And) else 'either'}({one}, () => {shown})"
        return shown

    def _show_Compare(self, tree: ast.Compare) -> str:
        sides = [tree.left, *tree.comparators]
        parts = [self._compared(*one) for one in zip(sides, tree.ops, sides[1:], strict=False)]
        return f"({' && '.join(parts)})"

    def _compared(self, left: ast.expr, sign: ast.cmpop, right: ast.expr) -> str:
        one, other = self.show(left), self.show(right)
        if type(sign) in _COMPARED:
            return f"{one} {_COMPARED[type(sign)]} {other}"
        if isinstance(sign, (ast.Eq, ast.NotEq)):
            return f"{'!' * isinstance(sign, ast.NotEq)}py.eq({one}, {other})"
        return f"{'!' * isinstance(sign, ast.NotIn)}py.has({other}, {one})"

    def _show_IfExp(self, tree: ast.IfExp) -> str:
        return f"({self.test(tree.test)} ? {self.show(tree.body)} : {self.show(tree.orelse)})"

    def _show_NamedExpr(self, tree: ast.NamedExpr) -> str:
        return f"({_named(tree.target.id)} = {self.show(tree.value)})"

    def _show_Lambda(self, tree: ast.Lambda) -> str:
        return self.function(tree)

    def _show_JoinedStr(self, tree: ast.JoinedStr) -> str:
        return f"[{', '.join(map(self.show, tree.values))}].join('')" if tree.values else '""'

    def _show_FormattedValue(self, tree: ast.FormattedValue) -> str:
        shown = self.show(tree.value)
        if tree.conversion == ord("r"):
            shown = f"py.repr({shown})"
        return f"py.format({shown}, {self.show(tree.format_spec)})" if tree.format_spec else f"py.str({shown})"

    def _show_Subscript(self, tree: ast.Subscript) -> str:
        return f"py.get({self.show(tree.value)}, {self._index(tree.slice)})"

    def _index(self, tree: ast.expr) -> str:
        if isinstance(tree, ast.Tuple):
            return f"[{', '.join(map(self._index, tree.elts))}]"
        if not isinstance(tree, ast.Slice):
            return self.show(tree)
        ends = (self.show(one) if one else "null" for one in (tree.lower, tree.upper, tree.step))
        return f"new py.Slice({', '.join(ends)})"

    def _show_Call(self, tree: ast.Call) -> str:
        callee = tree.func.value if isinstance(tree.func, ast.Subscript) else tree.func  # list[int]() is list()
        if isinstance(callee, ast.Attribute) and not self._static(callee)[0]:
            shown = f"py.m({self.show(callee.value)}, {json.dumps(callee.attr)})"
        else:
            shown = self.show(callee)
        given = ", ".join(map(self.show, tree.args))
        if not tree.keywords:
            return f"{shown}({given})"
        named = (
            f"{one.arg}: {self.show(one.value)}" if one.arg else f"...Object.fromEntries({self.show(one.value)})"
            for one in tree.keywords
        )
        return f"py.kw({shown}, [{given}], {{{', '.join(named)}}})"

    def _show_ListComp(self, tree: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> str:
        return self._each(tree.generators, lambda: self.show(tree.elt))

    _show_GeneratorExp = _show_ListComp

    def _show_SetComp(self, tree: ast.SetComp) -> str:
        return f"new Set({self._show_ListComp(tree)})"

    def _show_DictComp(self, tree: ast.DictComp) -> str:
        shown = self._each(tree.generators, lambda: f"[{self.show(tree.key)}, {self.show(tree.value)}]")
        return f"new Map({shown})"

    def _each(self, loops: Sequence[ast.comprehension], shown: Callable[[], str]) -> str:
        """A list of what an expression is in these loops, one in another."""
        loop, *others = loops
        through = f"py.it({self.show(loop.iter)})"
        with self._scope(one.id for one in ast.walk(loop.target) if isinstance(one, ast.Name)):
            one = self._target(loop.target)
            inner = self._each(others, shown) if others else shown()
            if loop.ifs:  # in one step: a test may assign what the expression names
                inner = f"({' && '.join(map(self.test, loop.ifs))}) ? {inner if others else f'[{inner}]'} : []"
            return f"{through}.{'flatMap' if others or loop.ifs else 'map'}(({one}) => {inner})"


def _named(name: str) -> str:
    return f"{name}_" if name in _RESERVED else name


def _is_boolean(tree: ast.expr) -> bool:
    """Whether an expression is a Boolean in both languages."""
    if isinstance(tree, ast.BoolOp):
        return all(map(_is_boolean, tree.values))
    return isinstance(tree, ast.Compare) or (isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not))


def _own(body: Sequence[ast.stmt]) -> Iterator[ast.AST]:
    """What belongs to a function itself, not to functions in it."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        one = waiting.pop()
        yield one
        if not isinstance(one, (ast.FunctionDef, ast.Lambda)):
            waiting += ast.iter_child_nodes(one)


def _assigned(body: Sequence[ast.stmt]) -> set[str]:
    """The names that a function assigns to, but for those of its comprehensions."""
    inner = {id(name) for one in _own(body) if isinstance(one, ast.comprehension) for name in ast.walk(one.target)}
    found = {one.name for one in _own(body) if isinstance(one, ast.FunctionDef)}
    stored = (one for one in _own(body) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store))
    return found | {one.id for one in stored if id(one) not in inner}


def _has_yield(body: Sequence[ast.stmt]) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in _own(body))
