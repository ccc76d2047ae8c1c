"""Data to try things on: scikit-learn's breast-cancer measurements."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from netbenefit.common import FloatArray


def load_breast_cancer() -> tuple[dict[str, FloatArray], NDArray[np.bool_]]:
    """Return ten measurements of 569 breast tumours, and which of these are malignant."""
    from sklearn import datasets  # late: slow to import

    raw = datasets.load_breast_cancer()
    columns = {
        str(name): raw.data[:, k]
        for k, name in enumerate(raw.feature_names)
        if str(name).startswith("worst ")
    }
    return columns, raw.target == 0
