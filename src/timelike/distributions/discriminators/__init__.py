"""Discriminators that separate two samples: infinitely wide ones in closed form or integrated, finite ones, any f."""

from .base import as_discriminator as as_discriminator
