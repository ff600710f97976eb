"""From LLVM's object file to a WebAssembly module without imports: it takes memory and stack of its own.

One object holds all code, so nothing is moved: functions and data keep the numbers that LLVM gave them. Memory and
stack, which it imports, are declared in place of that, and what is exported is written down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backalley.console.errors import InvalidValue

FEATURES = "+bulk-memory,+mutable-globals,+nontrapping-fptoint,+sign-ext,+simd128"
"""What an engine of 2021 or later knows."""
_STACK, _PAGE = 1 << 17, 1 << 16
_CUSTOM, _IMPORT, _MEMORY, _GLOBAL, _EXPORT, _DATA_COUNT, _DATA = 0, 2, 5, 6, 7, 12, 11
_ORDER = [1, 3, 4, _MEMORY, _GLOBAL, _EXPORT, 10, _DATA]
_IN_PLACE = {0, 3, 4, 5, 6, 7}
"""Relocations of functions, data, types and globals, which LLVM has filled in as they stay."""


class _Bytes:
    """Numbers and names read from bytes, one after the other."""

    def __init__(self, data: bytes, place: int = 0) -> None:
        self.data, self.place = data, place

    def byte(self) -> int:
        self.place += 1
        return self.data[self.place - 1]

    def number(self, signed: bool = False) -> int:
        """A number in LEB128."""
        found = shift = 0
        while True:
            byte = self.byte()
            found |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return found - (1 << shift) if signed and byte & 64 else found

    def part(self, size: int) -> bytes:
        self.place += size
        return self.data[self.place - size : self.place]

    def name(self) -> str:
        return self.part(self.number()).decode()


def _number(value: int) -> bytes:
    """LEB128, such that it can be read with a sign, too."""
    found = b""
    while value >= 64:
        found += bytes([value & 127 | 128])
        value >>= 7
    return found + bytes([value])


def _named(name: str) -> bytes:
    return _number(len(name)) + name.encode()


def module_of(code: bytes, exported: Sequence[str]) -> bytes:
    """Return the module of an object file, which exports `memory`, `heap_base` (the first byte that is the caller's)
    and these functions. Raises ValueError where it needs what is not in it."""
    sections = {}
    for kind, body in _sections(code):
        name = _Bytes(body).name() if kind == _CUSTOM else ""
        sections[kind, name] = body
    _check_imports(_Bytes(sections[_IMPORT, ""]))
    for (_, name), body in sections.items():
        if name.startswith("reloc."):
            _check_relocations(_Bytes(body))
    numbers = _functions(_Bytes(sections[_CUSTOM, "linking"]))
    data, end = _without_zeros(_Bytes(sections.get((_DATA, ""), b"\0")))
    top = -(-end // 16) * 16 + _STACK
    made = {kind: body for (kind, name), body in sections.items() if not name}
    made[_MEMORY] = b"\1\0" + _number(-(-top // _PAGE))
    made[_GLOBAL] = b"\2\x7f\1\x41" + _number(top) + b"\x0b\x7f\0\x41" + _number(top) + b"\x0b"
    entries = [_named("memory") + b"\2\0", _named("heap_base") + b"\3\1"]
    entries += [_named(name) + b"\0" + _number(numbers[name]) for name in exported]
    made[_EXPORT] = _number(len(entries)) + b"".join(entries)
    made[_DATA] = data
    parts = [bytes([kind]) + _number(len(made[kind])) + made[kind] for kind in _ORDER if kind in made]
    return code[:8] + b"".join(parts)


def _sections(code: bytes) -> Iterator[tuple[int, bytes]]:
    reader = _Bytes(code, 8)
    while reader.place < len(code):
        kind = reader.byte()
        yield kind, reader.part(reader.number())


def _check_imports(reader: _Bytes) -> None:
    """Raise where the object imports more than memory and the stack's pointer, which is global 0."""
    for _ in range(reader.number()):
        reader.name()
        name, kind = reader.name(), reader.byte()
        if name not in ("__linear_memory", "__stack_pointer"):
            raise InvalidValue(f"The rules call {name}, which no WebAssembly module has; export another target.")
        if kind == 2 and reader.byte() & 1:
            reader.number()
        reader.place += 1 if kind == 2 else 2


def _check_relocations(reader: _Bytes) -> None:
    """Raise where the object holds addresses that are known only when it is loaded, as of functions called by them."""
    reader.name()
    reader.number()
    for _ in range(reader.number()):
        kind = reader.byte()
        reader.number()
        reader.number()
        if kind in (3, 4, 5):
            reader.number(signed=True)
        if kind not in _IN_PLACE:
            raise InvalidValue(f"The rules need WebAssembly's relocation {kind}; export another target.")


def _functions(reader: _Bytes) -> dict[str, int]:
    """The number of each function that the object names."""
    found = {}
    reader.name()
    reader.number()
    while reader.place < len(reader.data):
        kind, size = reader.byte(), reader.number()
        table = _Bytes(reader.part(size))
        if kind != 8:
            continue
        for _ in range(table.number()):
            what, flags = table.byte(), table.number()
            defined = not flags & 0x10
            if what in (0, 2, 5):
                number = table.number()
                name = table.name() if defined or flags & 0x40 else ""
                if what == 0:
                    found[name] = number
            elif what == 1:
                table.name()
                for _ in range(3 if defined else 0):
                    table.number()
            else:
                table.number()
    return found


def _without_zeros(reader: _Bytes) -> tuple[bytes, int]:
    """The data without segments of zeros, which memory holds as it is, and where all data end."""
    kept, end = list[bytes](), 16
    for _ in range(reader.number()):
        begin = reader.place
        reader.number()
        reader.byte()
        offset = reader.number(signed=True)
        reader.byte()
        body = reader.part(reader.number())
        end = max(end, offset + len(body))
        if any(body):
            kept.append(reader.data[begin : reader.place])
    return _number(len(kept)) + b"".join(kept), end
