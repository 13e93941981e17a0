"""numpy, for the analysis of traces: the one module that imports it, since it is optional."""

from __future__ import annotations

from pasps.errors import InvalidError

try:
    import numpy as np
    from numpy.typing import NDArray
except ImportError as error:
    raise InvalidError(f"traces are analysed with numpy, which cannot be imported ({error}); pip install 'pasps[data]'") from error

__all__ = ["Bools", "Floats", "Ints", "NDArray", "np"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
