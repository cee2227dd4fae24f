#!/usr/bin/env python3
"""vision_torch.py ResNet50|MobileNetV2 SIDE BATCH float32|bfloat16: images/s of the same network in
PyTorch's training, the best of some steps, and peak resident memory, as JSON. Channels last, which
its oneDNN likes best."""

import json
import resource
import sys
import time

import torch
from torch import nn

name, side, batch, precision = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]


def normalized(before, after, size, stride=1, groups=1, activation=None, bias=False):
    layers = [
        nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=bias),
        nn.BatchNorm2d(after, momentum=0.01, eps=1e-3),
    ]
    return nn.Sequential(*layers, *([activation()] if activation else []))


def relu():
    return nn.ReLU(inplace=True)


def relu6():
    return nn.ReLU6(inplace=True)


class Bottleneck(nn.Module):
    """As tf.keras.applications has it: the stride in the first convolution, biases."""

    def __init__(self, before, filters, stride, first):
        super().__init__()
        self.main = nn.Sequential(
            normalized(before, filters, 1, stride, activation=relu, bias=True),
            normalized(filters, filters, 3, activation=relu, bias=True),
            normalized(filters, 4 * filters, 1, bias=True),
        )
        self.shortcut = normalized(before, 4 * filters, 1, stride, bias=True) if first else nn.Identity()

    def forward(self, x):
        return torch.relu(self.main(x) + self.shortcut(x))


class Inverted(nn.Module):
    def __init__(self, before, after, expansion, stride):
        super().__init__()
        width = before * expansion
        expand = [normalized(before, width, 1, activation=relu6)] if expansion > 1 else []
        self.main = nn.Sequential(
            *expand, normalized(width, width, 3, stride, width, relu6), normalized(width, after, 1)
        )
        self.adds = before == after and stride == 1

    def forward(self, x):
        return x + self.main(x) if self.adds else self.main(x)


def resnet50():
    layers = [normalized(3, 64, 7, 2, activation=relu, bias=True), nn.MaxPool2d(3, 2, 1)]
    before = 64
    for count, filters, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for i in range(count):
            layers.append(Bottleneck(before, filters, stride if i == 0 else 1, i == 0))
            before = 4 * filters
    return layers, before


def mobilenet_v2():
    layers = [normalized(3, 32, 3, 2, activation=relu6)]
    before = 32
    for expansion, filters, count, stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for i in range(count):
            layers.append(Inverted(before, filters, expansion, stride if i == 0 else 1))
            before = filters
    return [*layers, normalized(before, 1280, 1, activation=relu6)], 1280


layers, features = resnet50() if name == "ResNet50" else mobilenet_v2()
model = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(features, 1000))
model = model.to(memory_format=torch.channels_last).train()
torch.manual_seed(1)
images = torch.rand(batch, 3, side, side).to(memory_format=torch.channels_last)
labels = torch.randint(1000, (batch,))
optimizer = torch.optim.SGD(model.parameters(), 0.001, momentum=0.9)
best = float("inf")
for _ in range(6):
    start = time.perf_counter()
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        logits = model(images)
    nn.functional.cross_entropy(logits.float(), labels).backward()
    optimizer.step()
    best = min(best, time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"images_per_s": batch / best, "peak_mib": peak}))
