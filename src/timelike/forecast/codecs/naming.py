"""Codec, the words for kinds of networks between frames and codes."""

from __future__ import annotations

from typing import Literal

Codec = Literal["perceptron", "dcgan", "vgg", "resnet"]
Codecs = Literal["auto", "perceptron", "dcgan", "vgg", "resnet"]
