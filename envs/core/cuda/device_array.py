"""`DeviceArray`: an array on the device, which other libraries take without a copy."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from .scratch import SIMULATED, cuda

_CPU, _CUDA = 1, 2
"""DLPack's numbers of kinds of devices; in the simulator, arrays are the CPU's."""
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
"""DLPack's numbers of kinds of types, by NumPy's."""
_LEGACY = (None, 1)
"""The streams that wait for each other: CUDA's legacy default, where our kernels run, and whoever names none."""


class DeviceArray:
    """An array on the device. `torch.from_dlpack(array)`, `torch.as_tensor(array, device="cuda")`, CuPy and JAX take
    it without a copy, by DLPack or by `__cuda_array_interface__`; `copy_to_host()` returns a NumPy array.

    Work on it is ordered by CUDA's legacy default stream, on which torch works too unless it is given another.
    """

    def __init__(self, array: Any, number: int) -> None:
        """`array` is numba's, on the device of that number."""
        self._array, self._number = array, number

    @property
    def shape(self) -> tuple[int, ...]:
        """As NumPy's."""
        return tuple(self._array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        """As NumPy's."""
        found: np.dtype[Any] = self._array.dtype
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def copy_to_host(self) -> npt.NDArray[Any]:
        """Return a copy as a NumPy array; it waits for what was launched before."""
        found: npt.NDArray[Any] = self._array.copy_to_host()
        return found

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        found: dict[str, Any] = self._array.__cuda_array_interface__
        return found

    def __dlpack_device__(self) -> tuple[int, int]:
        return (_CPU, 0) if SIMULATED else (_CUDA, self._number)

    def __dlpack__(self, *, stream: Any = None, **_: Any) -> Any:
        """Return a capsule as DLPack wants it, unversioned. Work that is on other streams than the legacy default waits
        for ours before this returns."""
        if stream not in _LEGACY:
            cuda.synchronize()
        address = self._array.ctypes.data if SIMULATED else self._array.device_ctypes_pointer.value
        return _capsule(self._array, address or 0, self.__dlpack_device__())

    def __repr__(self) -> str:
        return f"<DeviceArray of shape {self.shape} and type {self.dtype}>"


class _Tensor(ctypes.Structure):
    """`DLManagedTensor` of DLPack, with the fields of what it begins with."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


_held: dict[int, tuple[Any, ...]] = {}
"""What a consumer still uses, by the address of its tensor."""
_NAME = b"dltensor"


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _delete(address: int) -> None:
    _held.pop(address, None)


@ctypes.CFUNCTYPE(None, ctypes.c_void_p)  # type: ignore[untyped-decorator]
def _drop(capsule: int) -> None:
    """Delete the tensor of a capsule that nobody took; whoever takes it gives it another name."""
    if ctypes.pythonapi.PyCapsule_IsValid(ctypes.c_void_p(capsule), _NAME):
        find = ctypes.pythonapi.PyCapsule_GetPointer
        find.restype = ctypes.c_void_p
        _delete(find(ctypes.c_void_p(capsule), _NAME))


def _capsule(array: Any, address: int, device: tuple[int, int]) -> Any:
    dtype, numbers = np.dtype(array.dtype), ctypes.c_int64 * len(array.shape)
    shape = numbers(*array.shape)
    strides = numbers(*(stride // dtype.itemsize for stride in array.strides))
    tensor = _Tensor(address, *device, len(shape), _CODES[dtype.kind], 8 * dtype.itemsize, 1, shape, strides)
    tensor.deleter = ctypes.cast(_delete, ctypes.c_void_p)
    _held[ctypes.addressof(tensor)] = (tensor, shape, strides, array)
    make = ctypes.pythonapi.PyCapsule_New
    make.restype, make.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    return make(ctypes.addressof(tensor), _NAME, ctypes.cast(_drop, ctypes.c_void_p))
