"""The codecs of Denton and Fergus for images of 64 × 64 pixels, as lists of torch's layers.

`DCGAN` and `VGG` with the ends of the authors' program of chapter 4; in that of chapter 5 the encoder of DCGAN ends in a
convolution alone, that of VGG without the tangent, and the layers that no normalization follows have a bias.
"""

import torch
from torch import nn


def norm(conv):
    return [conv, nn.BatchNorm2d(conv.out_channels), nn.LeakyReLU(0.2)]


def conv3(before, after):
    return norm(nn.Conv2d(before, after, 3, 1, 1, bias=False))


def dcgan_encoder(channels, code, f, *, program="srvp"):
    return nn.Sequential(
        nn.Conv2d(channels, f, 4, 2, 1, bias=program == "separation"),
        nn.LeakyReLU(0.2),
        *norm(nn.Conv2d(f, 2 * f, 4, 2, 1, bias=False)),
        *norm(nn.Conv2d(2 * f, 4 * f, 4, 2, 1, bias=False)),
        *norm(nn.Conv2d(4 * f, 8 * f, 4, 2, 1, bias=False)),
        nn.Conv2d(8 * f, code, 4, 1, 0, bias=program == "separation"),
        *([nn.BatchNorm2d(code), nn.Tanh()] if program == "srvp" else []),
        nn.Flatten(),
    )


def dcgan_decoder(channels, code, f, *, program="srvp"):
    return nn.Sequential(
        nn.Unflatten(1, (code, 1, 1)),
        *norm(nn.ConvTranspose2d(code, 8 * f, 4, 1, 0, bias=False)),
        *norm(nn.ConvTranspose2d(8 * f, 4 * f, 4, 2, 1, bias=False)),
        *norm(nn.ConvTranspose2d(4 * f, 2 * f, 4, 2, 1, bias=False)),
        *norm(nn.ConvTranspose2d(2 * f, f, 4, 2, 1, bias=False)),
        nn.ConvTranspose2d(f, channels, 4, 2, 1, bias=program == "separation"),
        nn.Sigmoid(),
    )


def vgg_encoder(channels, code, f, *, program="srvp"):
    return nn.Sequential(
        *conv3(channels, f),
        *conv3(f, f),
        nn.MaxPool2d(2),
        *conv3(f, 2 * f),
        *conv3(2 * f, 2 * f),
        nn.MaxPool2d(2),
        *conv3(2 * f, 4 * f),
        *conv3(4 * f, 4 * f),
        *conv3(4 * f, 4 * f),
        nn.MaxPool2d(2),
        *conv3(4 * f, 8 * f),
        *conv3(8 * f, 8 * f),
        *conv3(8 * f, 8 * f),
        nn.MaxPool2d(2),
        nn.Conv2d(8 * f, code, 4, 1, 0, bias=False),
        nn.BatchNorm2d(code),
        *([nn.Tanh()] if program == "srvp" else []),
        nn.Flatten(),
    )


def vgg_decoder(channels, code, f, *, program="srvp"):
    return nn.Sequential(
        nn.Unflatten(1, (code, 1, 1)),
        *norm(nn.ConvTranspose2d(code, 8 * f, 4, 1, 0, bias=False)),
        nn.Upsample(scale_factor=2),
        *conv3(8 * f, 8 * f),
        *conv3(8 * f, 8 * f),
        *conv3(8 * f, 4 * f),
        nn.Upsample(scale_factor=2),
        *conv3(4 * f, 4 * f),
        *conv3(4 * f, 4 * f),
        *conv3(4 * f, 2 * f),
        nn.Upsample(scale_factor=2),
        *conv3(2 * f, 2 * f),
        *conv3(2 * f, f),
        nn.Upsample(scale_factor=2),
        *conv3(f, f),
        nn.ConvTranspose2d(f, channels, 3, 1, 1, bias=program == "separation"),
        nn.Sigmoid(),
    )


def copy_weights(source, target):
    """Give ours the weights of one of these, layer by layer.

    The same numbers are stored in other shapes: a convolution of the last 4 × 4 pixels is a linear layer of all of
    them, and a transposed convolution that does not stride is a convolution with the kernel turned around.
    """
    kinds = nn.Conv2d | nn.ConvTranspose2d | nn.Linear | nn.BatchNorm2d
    pairs = [[layer for layer in module.modules() if isinstance(layer, kinds)] for module in (source, target)]
    with torch.no_grad():
        for one, other in zip(*pairs, strict=True):
            weight = one.weight
            if isinstance(other, nn.Linear):  # of all numbers of a code to all of the maps, or the reverse
                weight = one.weight.flatten(1) if isinstance(one, nn.Conv2d) else one.weight.flatten(1).T
            elif type(one) is nn.ConvTranspose2d and not isinstance(other, nn.ConvTranspose2d):
                weight = one.weight.transpose(0, 1).flip(2, 3)
            assert other.weight.shape == weight.shape
            other.weight.copy_(weight)
            assert (one.bias is None) == (other.bias is None)
            if one.bias is not None:
                other.bias.copy_(one.bias)
            if isinstance(one, nn.BatchNorm2d):
                other.running_mean.copy_(one.running_mean)
                other.running_var.copy_(one.running_var)
