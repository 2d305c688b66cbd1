"""SRVP: stochastic futures from a constant content and a state with random residual steps."""
