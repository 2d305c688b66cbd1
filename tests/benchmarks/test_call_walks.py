"""A call goes through few files: what is validated once is plain arrays from then on."""

import numpy as np
import pytest
from benchmarks.call_walks import walk

from timelike import native
from timelike.distributions import IPM, NTK, RBF, TwoSample, descend

pytestmark = pytest.mark.skipif(not native.is_native_enabled(), reason="the fallback has files of its own")

x, y = np.random.default_rng(0).standard_normal((2, 16, 2))


@pytest.mark.parametrize("kernel", [NTK(), RBF()], ids=repr)
def test_three_steps_of_a_flow_go_through_twenty_files_and_call_across_them_rarely(kernel):
    def flow():
        descend(x, y + 1, IPM(kernel), steps=3, step=0.1)

    flow()  # imports
    entered = walk(flow)
    assert len(entered.files) <= 20
    assert entered.switches <= 1500
    assert not any(file.startswith("sequences/") for file in entered.files)


def test_a_two_sample_test_of_vectors_goes_through_fifteen_files():
    def test():
        TwoSample(n_permutations=99, random_state=0).test(x, y + 1)

    test()
    entered = walk(test)
    assert len(entered.files) <= 15
    assert not any(file.startswith("sequences/") for file in entered.files)
