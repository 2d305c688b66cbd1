"""Systems that methods at their defaults are made of, for the programs that name them."""

from __future__ import annotations

DISCRIMINANT = ("discriminant", "rocket")
FUSED = ("fused", "elastic", *DISCRIMINANT)
PROTOTYPES = ("prototypes", *DISCRIMINANT, "statistics")  # two discriminants stand beside the network
