"""Scores with a network where torch cannot be imported."""

import numpy as np
from safetensors.numpy import save_file

from blocked_torch import facts_without_torch

PROGRAM = """
import numpy as np, timelike as tl
images = np.zeros((1, 2, 1, 32, 32))
facts["file"] = refusal(lambda: tl.score.lpips(images, images, weights=sys.argv[1]))
facts["function"] = refusal(lambda: tl.score.lpips(images, images, weights=lambda x, y: 0))
facts["none"] = refusal(lambda: tl.score.lpips(images, images))
"""


def test_lpips_names_the_extra(tmp_path):
    save_file({"features.0.weight": np.zeros((64, 3, 11, 11), np.float32)}, tmp_path / "w.safetensors")
    facts = facts_without_torch(PROGRAM, tmp_path / "w.safetensors")
    assert facts["file"] == facts["function"] == 'MissingExtraError: lpips needs torch: pip install "timelike[learn]"'
    assert facts["none"].startswith("ValueError: weights=None: LPIPS is a trained network")
