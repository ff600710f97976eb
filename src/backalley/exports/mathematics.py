"""The functions of mathematics that rules and players call, for processors without a C library (WebAssembly).

Each is right to about one unit in the last place; a C library's may differ in the last bit.
"""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np

from .translate import Argument, Function

_LN2 = 0.6931471805599453
_TERMS = 24


def power(base: float, exponent: float) -> float:
    """`base ** exponent` for whole exponents; NaN for others, which no rule uses. The product is kept in two numbers,
    the second of which has what the first one cannot hold."""
    count = abs(exponent)
    if count != float(int(count)):
        return math.nan
    high, low, times = 1.0, 0.0, int(count)
    factor, rest = base, 0.0
    while times > 0:
        if times & 1:
            high, low = _product(high, low, factor, rest)
        factor, rest = _product(factor, rest, factor, rest)
        times >>= 1
    if exponent >= 0:
        found: float = high + low
        return found
    inverse = 1.0 / high
    whole, part = _product(inverse, 0.0, high, low)
    better: float = inverse + inverse * ((1.0 - whole) - part)
    return better


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _product(a: float, a_rest: float, b: float, b_rest: float) -> tuple[float, float]:
    """Dekker's product of two numbers, each of two parts."""
    product = a * b
    wide_a, wide_b = a * 134217729.0, b * 134217729.0
    a_high, b_high = wide_a - (wide_a - a), wide_b - (wide_b - b)
    a_low, b_low = a - a_high, b - b_high
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    error += a * b_rest + a_rest * b
    total = product + error
    return total, error - (total - product)


def log1p(x: float) -> float:
    """The logarithm of 1 + x, for x of 0 or more."""
    total = 1.0 + x
    lost, twos, part = x - (total - 1.0), 0, total
    while part > 1.4142135623730951:
        part *= 0.5
        twos += 1
    ratio = (part - 1.0) / (part + 1.0)
    square, series = ratio * ratio, 0.0
    for term in range(_TERMS - 1, -1, -1):
        series = series * square + 1.0 / (2 * term + 1)
    return twos * _LN2 + (2.0 * ratio * series + lost / total)


@numba.njit(inline="always")  # type: ignore[untyped-decorator]
def _powers(x: float) -> tuple[float, float]:
    """e to the power of x as `part + scale`, where scale is a power of two."""
    twos = int(x / _LN2 + (0.5 if x >= 0 else -0.5))
    part, series = x - twos * _LN2, 0.0
    for term in range(_TERMS, 0, -1):
        series = (series + 1.0) * part / term
    scale = 1.0
    for _ in range(abs(twos)):
        scale *= 2.0 if twos > 0 else 0.5
    return series * scale, scale


def exp(x: float) -> float:
    """e to the power of x."""
    part, scale = _powers(x)
    found: float = part + scale
    return found


def exp_float(x: Any) -> Any:
    """The same of a float32."""
    part, scale = _powers(x)
    return np.float32(part + scale)


def expm1(x: float) -> float:
    """e to the power of x, less 1."""
    part, scale = _powers(x)
    found: float = part + (scale - 1.0)
    return found


NAMES = {name: name for name in ("log1p", "expm1")}
NAMES |= {"llvm.pow.f64": "power", "llvm.exp.f64": "exp", "llvm.exp.f32": "exp_float"}
"""What rules and players call, and what stands for it."""
_X, _Y, _F = Argument("x", "double"), Argument("y", "double"), numba.float64
FUNCTIONS = [
    Function("power", "", (_X, _Y), "double", power, (_F, _F)),
    *(Function(one.__name__, "", (_X,), "double", one, (_F,)) for one in (exp, expm1, log1p)),
    Function("exp_float", "", (Argument("x", "float"),), "float", exp_float, (numba.float32,)),
]
