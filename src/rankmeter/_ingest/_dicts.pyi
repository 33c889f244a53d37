from typing import Any

import numpy as np
import numpy.typing as npt

def read(dicts: list[dict[Any, Any]], numbers: npt.NDArray[np.float64]) -> int: ...
def look_up(
    dicts: list[dict[Any, Any]],
    at: npt.NDArray[np.int64],
    items: list[Any],
    found: npt.NDArray[np.float64],
) -> None: ...
def kind(lists: list[Any]) -> int: ...
def find(
    lists: list[Any],
    at: npt.NDArray[np.int64],
    items: list[Any],
    found: npt.NDArray[np.float64],
) -> None: ...
