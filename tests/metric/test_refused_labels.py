"""Labels that a model folder cannot hold are refused before anything is learned from them."""

import datetime

import numpy as np
import pytest

from timelike.models import registry

X = np.random.default_rng(0).standard_normal((8, 5, 2))


@pytest.mark.parametrize(
    "name",
    [
        *("Neighbors", "Discriminant"),
        *(pytest.param(name, marks=pytest.mark.learn) for name in ("RVSML", "SiameseGRU")),
    ],
)
@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        ([b"a", b"b"], "bytes"),
        (np.array(["2020-01-01", "2020-01-02"], "datetime64"), "date"),
        (np.array([1, 2], "timedelta64[s]"), "timedelta"),
        ([datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)], "date"),
        ([object(), object()], "object"),
        ([1j, 2j], "complex"),
        ([(0, 1), (1,)], "tuple"),
    ],
)
def test_labels_that_no_model_folder_holds_are_refused_by_fit(name, labels, kind):
    y = np.tile(labels, 4) if isinstance(labels, np.ndarray) else labels * 4
    with pytest.raises(TypeError, match=rf"y\[0\] is .* \({kind}\): expected all numbers .*write them as text"):
        registry.find_class(name)().fit(X, y)
