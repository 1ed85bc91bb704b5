"""Train the mask network, and judge it on scenes that it has not seen."""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from bgsub.segmenter.network import features
from training import scenes
from training.augment import Examples, augmented
from training.model import MaskNet

BATCH, FRESH, KEPT = 8, 3, 800
"""Crops of a batch, new ones among them, and crops that are kept to be shown again."""

_SMALL, _MOST_WEIGHT = 400, 6
"""Pixels of an object below which it has more weight, and the most that it has."""


_SHORT = torch.cpu._is_avx512_bf16_supported()
"""Whether the processor computes in bfloat16."""


def files_of(cache: Path, left_out: set[str], only: str) -> tuple[list[Path], list[float]]:
    """Return the prepared files of a fold and how often each is drawn from."""
    files, weights = [], []
    groups: dict[str, int] = {}
    real = [
        file
        for file in sorted(cache.glob("real_*.npz"))
        if scenes.group_of(file.stem[5:]) not in left_out and only != "made"
    ]
    for file in real:
        group = scenes.group_of(file.stem[5:])
        groups[group] = groups.get(group, 0) + 1
    for file in real:
        files.append(file)
        size = min(1.0, (len(np.load(file, mmap_mode="r")["truth"]) / 30) ** 0.5)
        weights.append(0.5 * size / groups[scenes.group_of(file.stem[5:])] ** 0.5)
    total = sum(weights) or 1.0
    weights = [0.5 * weight / total for weight in weights]
    # Sequences made of a group's plates and objects are left out with it.
    made = [
        file
        for file in sorted(cache.glob("made_*.npz"))
        if not left_out.intersection(file.stem.split("_")[1].split("+")) and only != "labels"
    ]
    files += made
    weights += [0.5 / max(len(made), 1)] * len(made)
    return files, weights


def weights_of(truth: np.ndarray) -> np.ndarray:
    """Return the weights of pixels: those of small objects count more, (h, w)."""
    mask = (truth == scenes.OBJECT).astype(np.uint8)
    count, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    areas = np.maximum(stats[:, cv2.CC_STAT_AREA], 1)
    factors = np.clip((_SMALL / areas) ** 0.5, 1, _MOST_WEIGHT).astype(np.float32)
    factors[0] = 1
    # What lies around a small object counts as much, or it would only grow.
    return cv2.dilate(factors[labels], np.ones((5, 5), np.uint8)) if count > 1 else factors[labels]


class Batches(IterableDataset[tuple[Tensor, Tensor, Tensor]]):
    """Endless batches of crops."""

    def __init__(self, files: list[Path], weights: list[float], seed: int) -> None:
        self._files, self._weights, self._seed = files, weights, seed

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        rng = np.random.default_rng(self._seed)
        examples = Examples(self._files, self._weights)
        kept: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        while True:
            fresh = FRESH if len(kept) >= 50 else BATCH
            crops = []
            for _ in range(fresh):
                planes, truth = augmented(examples.draw(rng), examples, rng)
                crops.append((planes.astype(np.float16), truth, weights_of(truth)))
            batch = crops + [kept[i] for i in rng.integers(len(kept) or 1, size=BATCH - fresh)]
            for one in crops:
                if len(kept) < KEPT:
                    kept.append(one)
                else:
                    kept[rng.integers(KEPT)] = one
            planes, truths, weights = (
                torch.from_numpy(np.stack([one[i] for one in batch])) for i in range(3)
            )
            yield planes, truths, weights


def loss_of(logits: Tensor, truth: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Return the loss, and the cross entropy of objects alone."""
    scored = (truth != scenes.UNSCORED).float()
    is_object, is_shadow = (truth == scenes.OBJECT).float(), (truth == scenes.SHADOW).float()
    entropy = functional.binary_cross_entropy_with_logits(logits[:, 0], is_object, reduction="none")
    weights = scored * weights
    entropy = (entropy * weights).sum() / weights.sum().clamp(min=1)
    chance = logits[:, 0].sigmoid() * scored
    common = (chance * is_object).sum((1, 2))
    dice = 1 - (2 * common + 20) / (chance.sum((1, 2)) + is_object.sum((1, 2)) + 20)
    # Truths that do not mark shadows say nothing of them.
    known = scored * (is_shadow.amax((1, 2), keepdim=True) > 0)
    shade = functional.binary_cross_entropy_with_logits(logits[:, 1], is_shadow, reduction="none")
    shade = (shade * known).sum() / known.sum().clamp(min=1)
    return entropy + 0.5 * dice.mean() + 0.2 * shade, entropy.detach()


@torch.no_grad()
def judge(net: nn.Module, cache: Path, names: list[str]) -> dict[str, float]:
    """Return F of objects in scenes at the working size, of all pixels of a scene together."""
    net.eval()
    found = {}
    for name in names:
        file = np.load(cache / f"real_{name}.npz")
        arrays = {key: file[key] for key in file.files}
        hit = marked = true = wrong = 0
        for i in range(len(arrays["truth"])):
            one = {key: value[i] for key, value in arrays.items()}
            truth = one["truth"]
            planes = features(
                *(one[key] for key in ("frame", "first", "second", "before")),
                one["shares"],
                one["noise"],
                one["activity"],
                one["order"],
            )
            mask = (
                functional.pixel_shuffle(net(torch.from_numpy(planes)[None]), 2)[0, 0].numpy() > 0
            )
            scored = truth != scenes.UNSCORED
            objects = (truth == scenes.OBJECT) & scored
            if not objects.any():
                wrong = max(wrong, int((mask & scored).sum()))
                continue
            hit += int((mask & objects).sum())
            marked += int((mask & scored).sum())
            true += int(objects.sum())
        found[name] = 2 * hit / max(marked + true, 1) if true else -wrong / truth.size
        if name == "flock":
            found[name] = hit / max(true, 1)
    net.train()
    return found


def main() -> None:
    """Train one network."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path)
    parser.add_argument("out", type=Path, help="weights and log are written under this name")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--leave-out", default="", help="groups of scenes, comma between them")
    parser.add_argument("--only", choices=["labels", "made", "all"], default="all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument("--begin-with", type=Path, help="weights to begin with")
    parser.add_argument("--every", type=int, default=500)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    torch.set_num_threads(arguments.threads)
    left_out = {one for one in arguments.leave_out.split(",") if one}
    files, weights = files_of(arguments.cache, left_out, arguments.only)
    judged = [name for group in sorted(left_out) for name in scenes.GROUPS.get(group, [])]
    loader = iter(
        DataLoader(Batches(files, weights, arguments.seed), batch_size=None, num_workers=1)
    )
    net = MaskNet()
    if arguments.begin_with:
        net.load_state_dict(torch.load(arguments.begin_with))
    net = net.to(memory_format=torch.channels_last)
    mean = {key: value.clone() for key, value in net.state_dict().items()}
    optimizer = torch.optim.AdamW(net.parameters(), lr=arguments.rate, weight_decay=1e-3)
    spent, step, recent = 0.0, 0, list[float]()
    stopped = arguments.out.with_suffix(".state")
    if stopped.exists():
        # What was stopped goes on where it was: --minutes are those of all sessions together.
        state = torch.load(stopped)
        net.load_state_dict(state["net"])
        optimizer.load_state_dict(state["optimizer"])
        mean, step, spent = state["mean"], state["step"], state["seconds"]
    start = time.monotonic() - spent
    log = arguments.out.with_suffix(".jsonl").open("a")
    while True:
        done = max((time.monotonic() - start) / (60 * arguments.minutes), step / arguments.steps)
        finished = done >= 1
        if recent and (step % arguments.every == 0 or finished):
            torch.save(mean, arguments.out)
            state = {"net": net.state_dict(), "optimizer": optimizer.state_dict(), "mean": mean}
            seconds = time.monotonic() - start
            torch.save(state | {"step": step, "seconds": seconds}, stopped)
            entry = {
                "step": step,
                "seconds": round(time.monotonic() - start),
                "entropy": round(float(np.mean(recent[-arguments.every :])), 4),
            }
            if judged and (finished or step % (6 * arguments.every) == 0):
                other = MaskNet()
                other.load_state_dict(mean)
                entry["judged"] = {
                    k: round(v, 3) for k, v in judge(other, arguments.cache, judged).items()
                }
                good = [v for v in entry["judged"].values() if v > 0]
                entry["mean"] = round(float(np.mean(good)), 3)
            print(json.dumps(entry), flush=True)
            log.write(json.dumps(entry) + "\n")
            log.flush()
        if finished:
            stopped.unlink(missing_ok=True)
            return
        rate = arguments.rate * min(1, (step + 1) / 50) * (0.504 + 0.5 * math.cos(math.pi * done))
        for group in optimizer.param_groups:
            group["lr"] = rate
        planes, truth, weights = next(loader)
        planes = planes.float().contiguous(memory_format=torch.channels_last)
        # Processors that know bfloat16 take three quarters of the time with it, others nine times.
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=_SHORT):
            halves = net(planes)
        logits = functional.pixel_shuffle(halves.float(), 2)
        loss, entropy = loss_of(logits, truth, weights)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 2.0)
        optimizer.step()
        step += 1
        recent.append(float(entropy))
        keep = min(0.995, 1 - 1 / (step + 1))
        with torch.no_grad():
            for key, value in net.state_dict().items():
                if value.is_floating_point():
                    mean[key].mul_(keep).add_(value, alpha=1 - keep)
                else:
                    mean[key].copy_(value)


if __name__ == "__main__":
    main()
