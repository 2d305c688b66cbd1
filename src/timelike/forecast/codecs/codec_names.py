"""Names of the codecs, the networks between frames and codes."""

from __future__ import annotations

from typing import Literal

CodecName = Literal["perceptron", "dcgan", "vgg", "resnet", "sprites"]
CodecOption = Literal["auto", "perceptron", "dcgan", "vgg", "resnet", "sprites"]
GENERIC_CODECS = ("auto", "perceptron", "dcgan", "vgg", "resnet")  # those that need not know content and state apart
