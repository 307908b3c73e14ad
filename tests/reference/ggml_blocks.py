"""ggml's own block types, from the library that continuo is built with (scripts/setup.sh puts it into .deps/ggml)."""

import ctypes
from pathlib import Path

import torch

_LIBRARY = Path(__file__).resolve().parents[2] / ".deps" / "ggml" / "libggml" / "lib64" / "libggml-base.so"

# Name: ggml's number, values in a block, the function that gives floats back.
_TYPES = {"q8_0": (8, 32, "dequantize_row_q8_0"), "q4_0": (2, 32, "dequantize_row_q4_0"),
          "q4_k": (12, 256, "dequantize_row_q4_K")}


def fits(kind: str, weight: torch.Tensor) -> bool:
    return weight.shape[-1] % _TYPES[kind][1] == 0


def through(kind: str, weight: torch.Tensor) -> torch.Tensor:
    """The weights as blocks and back again. Raises ImportError without the library."""
    if not _LIBRARY.exists():
        raise ImportError(f"{_LIBRARY} is not there; run scripts/setup.sh")
    library = ctypes.CDLL(str(_LIBRARY))
    number, block, back = _TYPES[kind]
    rows, row = weight.shape
    assert row % block == 0
    library.ggml_row_size.restype = library.ggml_quantize_chunk.restype = ctypes.c_size_t
    source, result = weight.contiguous(), torch.empty_like(weight)
    size = rows * library.ggml_row_size(ctypes.c_int(number), ctypes.c_int64(row))
    blocks = ctypes.create_string_buffer(size)
    written = library.ggml_quantize_chunk(ctypes.c_int(number), ctypes.c_void_p(source.data_ptr()), blocks, ctypes.c_int64(0),
                                          ctypes.c_int64(rows), ctypes.c_int64(row), None)
    assert written == size
    getattr(library, back)(blocks, ctypes.c_void_p(result.data_ptr()), ctypes.c_int64(rows * row))
    return result
