"""Ground metrics: a map of frames is learned, and an aligner compares what it gives."""
