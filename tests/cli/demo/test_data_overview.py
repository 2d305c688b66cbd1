"""The demo's first section: the faults that are put into the recordings are the ones that are found."""

import numpy as np

from timelike.cli.demo.data import load_or_generate
from timelike.cli.demo.sections import data_overview


def test_each_fault_is_found_and_nothing_else():
    recordings = load_or_generate("BasicMotions").train
    damaged = data_overview.damage(recordings)
    changed = [i for i in range(len(recordings)) if not np.array_equal(recordings[i], damaged[i])]
    assert changed == [5, 11, 17]
    found = {issue.kind: issue.items.tolist() for issue in damaged.describe().quality_issues}
    assert found == {"constant channel": [11], "duplicate sequence": [2, 5], "short sequence": [17]}
    assert recordings.describe().quality_issues == ()


def test_the_section_shows_the_description_the_classes_and_the_faults():
    data = load_or_generate("BasicMotions")
    html = "".join(data_overview.run().parts)
    assert data.train.describe()._repr_html_() in html
    for label in np.unique(data.train.labels):
        assert f"{label}: 5 of 10" in html  # the title of its panel
    assert html.count("<svg") == 1
    assert data.source in html
