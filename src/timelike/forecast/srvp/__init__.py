"""SRVP: stochastic futures by a state that residual steps move, drawn with a content that stays."""
