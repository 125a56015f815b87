"""Networks as users of PyTorch and torchvision write them, with random weights of a fixed seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

import torch
import torchvision
from torch import nn
from torchvision.models.convnext import CNBlockConfig, ConvNeXt
from torchvision.models.swin_transformer import SwinTransformer

SEED = 20261123

Made = tuple[nn.Module, torch.Tensor]
"""A network with an input of its shape."""


def built(make: Callable[[], Made]) -> Made:
    """The network, ready for inference, with drawn statistics of BatchNorm."""
    torch.manual_seed(SEED)
    model, example = make()
    for layer in model.modules():
        if isinstance(layer, (nn.BatchNorm1d, nn.BatchNorm2d)):
            nn.init.uniform_(layer.running_var, 0.5, 1.5)
            nn.init.normal_(layer.running_mean, 0.0, 0.1)
            nn.init.normal_(layer.bias, 0.0, 0.1)
    return model.eval(), example


def _vision(name: str, size: int = 64, **others: object) -> Callable[[], Made]:
    def make() -> Made:
        return getattr(torchvision.models, name)(num_classes=10, **others), torch.randn(1, 3, size, size)

    return make


def convnext() -> Made:
    """ConvNeXt of four short stages."""
    stages = [
        CNBlockConfig(24, 48, 1),
        CNBlockConfig(48, 96, 1),
        CNBlockConfig(96, 192, 2),
        CNBlockConfig(192, None, 1),
    ]
    return ConvNeXt(stages, num_classes=10), torch.randn(1, 3, 64, 64)


def swin() -> Made:
    """Swin transformer of three short stages."""
    model = SwinTransformer([4, 4], 24, [2, 2, 2], [2, 4, 8], [4, 4], num_classes=10)
    return model, torch.randn(1, 3, 64, 64)


def vit() -> Made:
    """Vision transformer of two layers."""
    model = torchvision.models.VisionTransformer(32, 8, 2, 4, 64, 128, num_classes=10)
    return model, torch.randn(1, 3, 32, 32)


class Segmentation(nn.Module):
    """LR-ASPP, whose forward returns a dictionary of tensors; ``out`` is taken."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torchvision.models.segmentation.lraspp_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=3
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of pixels."""
        return self.inner(x)["out"]


class UNet(nn.Module):
    """An encoder and a decoder that upsamples."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.down = nn.ModuleList([self._block(a, b) for a, b in ((3, 8), (8, 16), (16, 32))])
        self.middle = self._block(32, 32)
        self.up = nn.ModuleList([self._block(a, b) for a, b in ((64, 16), (32, 8), (16, 8))])
        more = {} if mode == "nearest" else {"align_corners": False}
        self.larger = nn.Upsample(scale_factor=2, mode=mode, **more)
        self.last = nn.Conv2d(8, 2, 1)

    @staticmethod
    def _block(inputs: int, outputs: int) -> nn.Module:
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of pixels."""
        kept = []
        for block in self.down:
            kept.append(block(x))
            x = nn.functional.max_pool2d(kept[-1], 2)
        x = self.middle(x)
        for block in self.up:
            x = block(torch.cat([self.larger(x), kept.pop()], 1))
        return self.last(x)


class Temporal(nn.Module):
    """Causal convolutions with padding in front, linear layers along the last axis."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(40, 32)
        self.convs = nn.ModuleList([nn.Conv1d(32, 32, 3, dilation=2**n) for n in range(4)])
        self.last = nn.Linear(32, 12)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of classes."""
        x = self.first(x).transpose(1, 2)
        for number, conv in enumerate(self.convs):
            x = x + torch.relu(conv(nn.functional.pad(x, (2 * 2**number, 0))))
        return self.last(x.mean(2))


class Recurrent(nn.Module):
    """A recurrent layer and a linear one."""

    def __init__(self, kind: str, both: bool = False) -> None:
        super().__init__()
        self.inner = getattr(nn, kind)(20, 24, batch_first=True, bidirectional=both)
        self.last = nn.Linear(48 if both else 24, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores behind the last step."""
        return self.last(self.inner(x)[0][:, -1])


class Normalised(nn.Module):
    """Group and instance normalisation of images, then RMSNorm written out."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 16, 3, stride=2)
        self.groups, self.single = nn.GroupNorm(4, 16), nn.InstanceNorm2d(16, affine=True)
        self.scale, self.last = nn.Parameter(torch.rand(16) + 0.5), nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Scores of classes."""
        x = nn.functional.silu(self.groups(self.first(x)))
        x = nn.functional.leaky_relu(self.single(self.second(x)), 0.1).mean((2, 3))
        return self.last(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale)


class Spectrum(nn.Module):
    """Power of products with two matrices, in bands, in decibels."""

    def __init__(self) -> None:
        super().__init__()
        self.sine, self.cosine = nn.Parameter(torch.randn(320, 257)), nn.Parameter(torch.randn(320, 257))
        self.bands = nn.Parameter(torch.rand(257, 40) * 0.1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Bands of frames."""
        power = torch.matmul(x, self.sine).pow(2) + torch.matmul(x, self.cosine).pow(2)
        return torch.log10(torch.matmul(power.sqrt(), self.bands) + 1e-3)


class SuperResolution(nn.Module):
    """Convolutions and a pixel shuffle."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Sequential(
            nn.Conv2d(1, 16, 5, padding=2), nn.PReLU(16), nn.Conv2d(16, 16, 3, padding=1), nn.Hardswish(),
            nn.ReflectionPad2d(1), nn.Conv2d(16, 9, 3), nn.PixelShuffle(3),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The image, three times as large."""
        return self.inner(x)


def encoder() -> Made:
    """Two layers of a transformer with GELU."""
    layer = nn.TransformerEncoderLayer(64, 4, 128, activation="gelu", batch_first=True)
    model = nn.Sequential(nn.Linear(40, 64), nn.TransformerEncoder(layer, 2, enable_nested_tensor=False))
    return model, torch.randn(1, 49, 40)


def _own(model: Callable[[], nn.Module], *shape: int) -> Callable[[], Made]:
    return lambda: (model(), torch.randn(*shape))


NETWORKS: Mapping[str, Callable[[], Made]] = {
    "mobilenet_v2": _vision("mobilenet_v2", width_mult=0.35),
    "mobilenet_v3_small": _vision("mobilenet_v3_small"),
    "efficientnet_b0": _vision("efficientnet_b0"),
    "squeezenet1_1": _vision("squeezenet1_1"),
    "shufflenet_v2_x0_5": _vision("shufflenet_v2_x0_5"),
    "mnasnet0_5": _vision("mnasnet0_5"),
    "convnext": convnext,
    "swin": swin,
    "vit": vit,
    "lraspp": _own(Segmentation, 1, 3, 64, 64),
    "unet_nearest": _own(partial(UNet, "nearest"), 1, 3, 64, 64),
    "unet_bilinear": _own(partial(UNet, "bilinear"), 1, 3, 64, 64),
    "temporal": _own(Temporal, 1, 98, 40),
    "gru": _own(partial(Recurrent, "GRU"), 1, 98, 20),
    "bidirectional_lstm": _own(partial(Recurrent, "LSTM", both=True), 1, 98, 20),
    "normalised": _own(Normalised, 1, 3, 32, 32),
    "power_spectrum": _own(Spectrum, 1, 49, 320),
    "super_resolution": _own(SuperResolution, 1, 1, 24, 24),
    "encoder": encoder,
}
"""The function that builds each network, by name."""
