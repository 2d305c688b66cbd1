"""Codec, the words for kinds of networks between frames and codes."""

from __future__ import annotations

from typing import Literal

Codec = Literal["perceptron", "dcgan", "vgg", "resnet", "sprites"]
Codecs = Literal["auto", "perceptron", "dcgan", "vgg", "resnet", "sprites"]
PLAIN = ("auto", "perceptron", "dcgan", "vgg", "resnet")  # those that need not know content and state apart
