#!/usr/bin/env python3
"""tables_torch.py TABLES ROWS DIMENSION BATCH: examples/s of P16's network in PyTorch's training: an
EmbeddingBag a table with sparse gradients, Adagrad, ids drawn before. The best of some steps."""

import json
import sys
import time

import torch
from torch import nn

tables, rows, dimension, batch = map(int, sys.argv[1:5])
torch.manual_seed(1)
bags = nn.ModuleList(nn.EmbeddingBag(rows, dimension, mode="sum", sparse=True) for _ in range(tables))
bottom = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
top = nn.Sequential(nn.Linear(16 + tables * dimension, 128), nn.ReLU(), nn.Linear(128, 64), nn.ReLU(), nn.Linear(64, 1))
sparse = torch.optim.Adagrad(bags.parameters(), lr=0.05)
dense = torch.optim.SGD([*bottom.parameters(), *top.parameters()], lr=0.01)
batches = [
    (torch.randn(batch, 13), torch.randint(rows, (tables, batch, 1)), torch.randint(2, (batch, 1)).float())
    for _ in range(16)
]


def step(numbers, ids, labels):
    looked_up = [bag(ids[i]) for i, bag in enumerate(bags)]
    logits = top(torch.cat([bottom(numbers), *looked_up], 1))
    loss = nn.functional.binary_cross_entropy_with_logits(logits, labels)
    for optimizer in (sparse, dense):
        optimizer.zero_grad(set_to_none=True)
    loss.backward()
    sparse.step()
    dense.step()


best = 0
for _ in range(6):
    start = time.perf_counter()
    for one in batches:
        step(*one)
    best = max(best, len(batches) * batch / (time.perf_counter() - start))
print(json.dumps({"peer": "pytorch", "examples_per_s": best}))
