"""What the CGRU paper reports (accuracy, macro F1, MAP), and what is aimed at."""

from __future__ import annotations

TARGETS = {"accuracy": 0.885, "map": 0.899}
ABOVE = 0.05  # of CoupledGRU over SiameseGRU, in accuracy
PAPER = {  # table 1b; the accuracy of RVSML (OPW) is printed as 0397 and read as 0.597
    "siamese": ("0.782 ± 0.041", "0.781 ± 0.044", "0.633 ± 0.152"),
    "coupled": ("0.885 ± 0.01", "0.887 ± 0.014", "0.899 ± 0.01"),
    "rvsml-dtw": ("0.698", "0.687", "0.437"),
    "rvsml-opw": ("0.597", "0.568", "0.438"),
}
VALIDATION = {  # table 1a
    "siamese": ("0.835 ± 0.068", "0.827 ± 0.074", "0.711 ± 0.016"),
    "coupled": ("0.913 ± 0.055", "0.916 ± 0.054", "0.900 ± 0.043"),
}
