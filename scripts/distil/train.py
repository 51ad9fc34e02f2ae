"""Fit token vectors so that their plain sum stands where the teacher puts the whole text."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

TEXTS_A_BATCH = 1024


@dataclass(frozen=True, slots=True)
class Bags:
    """Texts as token ids, one after another; `starts` has one entry more than there are texts."""

    tokens: NDArray[np.int64]
    starts: NDArray[np.int64]

    def batch(self, rows: NDArray[np.int64]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the distinct tokens of some texts, and the index and offset arrays of their bags."""
        parts = [self.tokens[self.starts[row] : self.starts[row + 1]] for row in rows]
        offsets = np.cumsum([0, *map(len, parts[:-1])])
        distinct, index = np.unique(np.concatenate(parts), return_inverse=True)
        return torch.from_numpy(distinct), torch.from_numpy(index), torch.from_numpy(offsets)


@dataclass(frozen=True, slots=True)
class Settings:
    """How the fit runs; the values are those that measured best."""

    dimensions: int = 256
    shared_passes: int = 3
    own_passes: int = 4
    neighbour_weight: float = 1.0
    temperature: float = 0.1
    shared_rate: float = 0.001
    weight_rate: float = 0.01
    own_rate: float = 0.02
    seed: int = 0


def fit(
    bags: Bags,
    targets: NDArray[np.float32],
    alone: NDArray[np.float32],
    weights: NDArray[np.float32],
    how: Settings,
) -> NDArray[np.float32]:
    """Return a vector for each token, its weight in its length: first one map for all, then each on its own."""
    torch.manual_seed(how.seed)
    centre = targets.mean(axis=0)
    axes = _main_axes(targets - centre, how.dimensions)
    goal = functional.normalize(torch.from_numpy((targets - centre) @ axes), dim=1)
    table = _fit_shared(bags, goal, torch.from_numpy(alone - centre), axes=axes, weights=weights, how=how)
    return _fit_own(bags, goal, table, how).numpy()


def _main_axes(centred: NDArray[np.float32], dimensions: int) -> NDArray[np.float32]:
    _, vectors = np.linalg.eigh(centred.T @ centred)
    return np.ascontiguousarray(vectors[:, ::-1][:, :dimensions], dtype=np.float32)


def _fit_shared(
    bags: Bags,
    goal: torch.Tensor,
    alone: torch.Tensor,
    *,
    axes: NDArray[np.float32],
    weights: NDArray[np.float32],
    how: Settings,
) -> torch.Tensor:
    """Fit the weights and one map for all tokens, which moves those that no text holds as well."""
    turn = torch.from_numpy(axes).requires_grad_()
    weight = torch.from_numpy(np.log(weights)).requires_grad_()
    groups = [{"params": [turn], "lr": how.shared_rate}, {"params": [weight], "lr": how.weight_rate}]
    optimizer = torch.optim.Adam(groups)
    for rows in _batches(len(goal), how.shared_passes, how.seed):
        distinct, index, offsets = bags.batch(rows)
        vectors = (alone[distinct] @ turn) * weight[distinct].exp()[:, None]
        loss = _loss(functional.embedding_bag(index, vectors, offsets, mode="sum"), goal[rows], how)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return ((alone @ turn) * weight.exp()[:, None]).detach()


def _fit_own(bags: Bags, goal: torch.Tensor, table: torch.Tensor, how: Settings) -> torch.Tensor:
    rate = how.own_rate * float(table.norm(dim=1).mean()) / how.dimensions**0.5
    table = torch.nn.Parameter(table.clone())
    optimizer = torch.optim.SparseAdam([table], lr=rate)
    steps = list(_batches(len(goal), how.own_passes, how.seed + 1))
    for step, rows in enumerate(steps):
        distinct, index, offsets = bags.batch(rows)
        vectors = table.detach()[distinct].requires_grad_()
        loss = _loss(functional.embedding_bag(index, vectors, offsets, mode="sum"), goal[rows], how)
        (slope,) = torch.autograd.grad(loss, vectors)
        table.grad = torch.sparse_coo_tensor(distinct[None], slope, table.shape, is_coalesced=True)
        optimizer.param_groups[0]["lr"] = rate * (1 - step / len(steps))
        optimizer.step()
    return table.detach()


def _batches(texts: int, passes: int, seed: int) -> list[NDArray[np.int64]]:
    order = np.random.default_rng(seed)
    shuffled = [order.permutation(texts) for _ in range(passes)]
    return [
        rows[start : start + TEXTS_A_BATCH]
        for rows in shuffled
        for start in range(0, texts - TEXTS_A_BATCH + 1, TEXTS_A_BATCH)
    ]


def _loss(sums: torch.Tensor, goal: torch.Tensor, how: Settings) -> torch.Tensor:
    """Return how far rows differ from the teacher in direction, and in their neighbours within the batch."""
    ours = functional.normalize(sums, dim=1)
    direction = 1 - (ours * goal).sum(dim=1).mean()
    itself = torch.eye(len(ours), dtype=torch.bool)
    theirs = (goal @ goal.T / how.temperature).masked_fill(itself, -1e4)
    near = (ours @ ours.T / how.temperature).masked_fill(itself, -1e4)
    neighbours = functional.kl_div(
        functional.log_softmax(near, 1),
        functional.log_softmax(theirs, 1),
        log_target=True,
        reduction="batchmean",
    )
    return direction + how.neighbour_weight * neighbours
