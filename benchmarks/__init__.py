"""Programs that measure: speed, accuracy, and the papers' tables."""
