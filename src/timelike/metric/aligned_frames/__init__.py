"""A network of frames trained through a differentiable aligner: estimator and network."""
