"""The scorecard: what of the eight systems' papers is reproduced, computed from the rows by one rule."""
