"""What the page of the CGRU comparison concludes: from common seeds only, and from the rows' own numbers."""

import numpy as np
import pytest
from benchmarks.papers.cgru import findings, har_report as report, pairing


def rows(**scores):
    """`coupled=[0.5, 0.7]` are the scores of seeds 0 and 1; what is told of epochs and noise is the same for all."""
    found = {}
    for method, values in scores.items():
        name = method.replace("coupled3", "coupled-3")
        for seed, value in enumerate(values):
            row = {"method": name, "part": "test", "seed": seed, "validation": value}
            found[f"{name}/test/{seed}"] = row | {"accuracy": value, "f1": 1 - value, "map": value}
    return found


def test_starts_are_compared_on_common_seeds_only():
    # the mean over all seeds of bias 0 is the greater one, and on seed 0, which both have, bias −3 is ahead
    said = pairing.starts(rows(coupled=[0.80, 0.99], coupled3=[0.85]))
    assert "(seed 0)" in said
    assert "validation (MAP) bias −3 ahead, 0.850 to 0.800" in said
    assert "test macro F1 bias 0 ahead, 0.200 to 0.150" in said
    both = pairing.starts(rows(coupled=[0.80, 0.99], coupled3=[0.85, 0.84]))
    assert "(seeds 0, 1)" in both
    assert "validation (MAP) bias 0 ahead, 0.895 to 0.845" in both


def test_without_a_common_seed_nothing_is_said_of_starts():
    assert "they cannot be compared" in pairing.starts(rows(coupled=[0.8]))


def test_the_lead_over_the_siamese_network_is_that_of_common_seeds():
    # seed 2 of the siamese network alone would turn a lead of 0.1 into none
    said = report.targets(rows(coupled=[0.7, 0.8], siamese=[0.6, 0.7, 1.0]))
    assert "seeds 0, 1: accuracy above SiameseGRU's on the same by ≥ 0.05: met, 0.100" in said


@pytest.mark.parametrize(("most", "contradicts"), [(1.9, True), (2.1, False)])
def test_a_norm_that_never_doubles_and_ends_below_its_start_contradicts_the_paper(most, contradicts):
    losses = np.array([4.0, 3.0, 2.0, 1.0])
    row = {"coupling": [1.0, 1.2, most, 0.9, 0.8], "epoch loss": losses, "epoch score": [0.1, 0.2, 0.3, 0.4]}
    found = findings.Norm.of(row)
    assert found.contradicts == contradicts
    assert (found.epoch, found.better, found.later) == (2, 4, 2)
    assert found.correlation == pytest.approx(np.corrcoef([1.2, most, 0.9, 0.8], losses)[0, 1])


def test_a_margin_is_gone_where_none_of_a_tenth_is_left_from_there_on():
    noise = {"levels": [0, 1, 2, 3], "positive": [1.0, 1.0, 1.0, 1.0], "negative": [3.0, 1.1, 1.5, 1.1]}
    assert findings.Margin.of(noise).gone == 3
    assert findings.Margin.of(noise | {"negative": [3.0, 3.0, 3.0, 2.0]}).gone == np.inf


def test_the_page_says_which_network_loses_its_margin_first():
    def told(siamese, coupled):
        found = rows(siamese=[0.5], coupled=[0.5])
        for method, negative in (("siamese", siamese), ("coupled", coupled)):
            found[f"{method}/test/0"]["noise"] = {"levels": [0, 0.5, 1], "positive": [1, 1, 1], "negative": negative}
        return findings.on_noise(found)

    assert "**This contradicts the paper**, here it is the other way round" in told([3, 2, 1], [3, 1, 1])
    assert "from σ = 0.5 on for CoupledGRU and from σ = 1 on for SiameseGRU" in told([3, 2, 1], [3, 1, 1])
    assert "other way round" not in told([3, 1, 1], [3, 2, 1])
    assert "left at no level tried for CoupledGRU" in told([3, 1, 1], [3, 2, 2])
    assert "waits" in findings.on_noise(rows(siamese=[0.5], coupled=[0.5]))
