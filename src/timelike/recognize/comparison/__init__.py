"""Methods compared on one collection, and on several: folds, budget, scores with intervals, paired tests, ranks."""
