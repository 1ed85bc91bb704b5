"""Train mask networks on one stream of crops, and judge each on scenes that it has not seen.

A network that leaves scenes out is given only crops that nothing of these went into. Where a GPU is
at hand all folds train at once: crops wait in its memory, and each network's step is one graph.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset, get_worker_info

from bgsub.segmenter.network import CHANNELS, features
from training import scenes
from training.augment import SIDE, VARIATIONS, Examples, augmented, groups_of, mapped
from training.export import weights_in
from training.model import MaskNet

ORIGINS = [*scenes.GROUPS, "real", "made", *VARIATIONS]
"""What crops come from and what was made of them, by the bits of their tags."""

WITHOUT = {
    "look": [0, 1, 2],
    "second": [6, 8, 11, 12, 13],
    "motion": [10],
    "noise": [7, 8, 14, 15],
}
"""Groups of inputs that can be kept from a network, to see what they bring; see `features`."""

_UNSEEN = 0.12
"""Share of crops in which each of these groups is not shown: a network relies on no single one."""

_WIDE = (32, 64, 96, 128)
"""Channels of a teacher, which is too slow for use."""

_SMALL, _MOST_WEIGHT = 400, 6
"""Pixels of an object below which it has more weight, and the most that it has."""

_OF_CLOCKS, _OF_SHADOWS = 4.0, 2.0
"""Weights of pixels of a clock that is burned in, and of cast shadows: both look like objects."""

_SHORT = torch.cuda.is_available() or torch.cpu._is_avx512_bf16_supported()
"""Whether the processor computes in bfloat16: with it, it takes three quarters of the time; others
take nine times as long."""


def files_of(cache: Path) -> tuple[list[Path], list[float]]:
    """Return the prepared files and how often each is drawn: made films a third of the time."""
    real, made = (sorted(cache.glob(f"{kind}_*.npz")) for kind in ("real", "made"))
    groups = [scenes.group_of(file.stem[5:]) for file in real]
    sizes = [min(1.0, (len(mapped(file)["truth"]) / 30) ** 0.5) for file in real]
    weights = np.array(
        [size / groups.count(group) ** 0.5 for size, group in zip(sizes, groups, strict=True)]
    )
    shares = (2 / 3 * weights / weights.sum()).tolist() + [1 / 3 / max(len(made), 1)] * len(made)
    return real + made, shares


def weights_of(truth: np.ndarray) -> np.ndarray:
    """Return the weights of pixels: small objects and what looks like one count more, (h, w)."""
    mask = (truth == scenes.OBJECT).astype(np.uint8)
    _, labels, stats, _ = cv2.connectedComponentsWithStats(mask, connectivity=8)
    areas = np.maximum(stats[:, cv2.CC_STAT_AREA], 1)
    factors = np.clip((_SMALL / areas) ** 0.5, 1, _MOST_WEIGHT).astype(np.float32)
    factors[0] = 1
    # What lies around a small object counts as much, or it would only grow.
    weights = cv2.dilate(factors[labels], np.ones((5, 5), np.uint8))
    weights[truth == scenes.CLOCK] = _OF_CLOCKS
    return np.where(truth == scenes.SHADOW, np.maximum(weights, _OF_SHADOWS), weights)


def tag_of(origins: set[str]) -> int:
    """Return the bits of what a crop comes from."""
    return sum(1 << ORIGINS.index(origin) for origin in origins)


class Crops(IterableDataset[tuple[Tensor, ...]]):
    """Endless packs of new crops: inputs, truths, weights of pixels, and tags.

    Films that are made meanwhile are found once in a while.
    """

    def __init__(self, cache: Path, seed: int, pack: int) -> None:
        self._cache, self._seed, self._pack = cache, seed, pack

    def __iter__(self) -> Iterator[tuple[Tensor, ...]]:
        cv2.setNumThreads(1)
        torch.set_num_threads(1)
        worker = get_worker_info()
        rng = np.random.default_rng([self._seed, worker.id if worker else 0])
        files: list[Path] = []
        count = 0
        while True:
            if count % 50 == 0:
                found, weights = files_of(self._cache)
                if found != files:
                    files, examples = found, Examples(found, weights)
            count += 1
            pack = []
            for _ in range(self._pack):
                examples.used.clear()
                planes, truth = augmented(examples.draw(rng), examples, rng)
                weight, tag = weights_of(truth).astype(np.float16), np.int64(tag_of(examples.used))
                pack.append((planes.astype(np.float16), truth, weight, tag))
            yield tuple(torch.from_numpy(np.stack(arrays)) for arrays in zip(*pack, strict=True))


class Bank:
    """Crops that are shown again, on the device: a new one takes the place of any."""

    def __init__(self, size: int, device: str) -> None:
        self.planes = torch.zeros(size, CHANNELS, SIDE, SIDE, dtype=torch.half, device=device)
        self.truth = torch.zeros(size, SIDE, SIDE, dtype=torch.uint8, device=device)
        self.weights = torch.zeros(size, SIDE, SIDE, dtype=torch.half, device=device)
        self.tags = np.zeros(size, np.int64)
        self.filled = 0

    def add(self, pack: tuple[Tensor, ...], rng: np.random.Generator) -> None:
        """Take in a pack of crops."""
        size, count = len(self.tags), len(pack[0])
        if self.filled + count <= size:
            where = np.arange(self.filled, self.filled + count)
            self.filled += count
        else:
            where = rng.choice(self.filled, count, replace=False)
        at = torch.from_numpy(where).to(self.planes.device)
        for mine, new in zip((self.planes, self.truth, self.weights), pack, strict=False):
            mine[at] = new.to(mine.device)
        self.tags[where] = pack[3].numpy()

    def draw(self, forbidden: int, count: int, rng: np.random.Generator) -> Tensor:
        """Return the places of crops that nothing forbidden went into."""
        allowed = np.flatnonzero(self.tags[: self.filled] & forbidden == 0)
        if not len(allowed):
            raise SystemExit("no crop without what is left out: prepare more films")
        return torch.from_numpy(rng.choice(allowed, count))


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


def _rims(truth: Tensor) -> Tensor:
    """Return 1 within three pixels of the outlines of objects, (n, 1, h, w), 0 elsewhere."""
    own = (truth == scenes.OBJECT).float()[:, None]
    return functional.max_pool2d(own, 7, 1, 3) + functional.max_pool2d(-own, 7, 1, 3)


class Learner:
    """A network, the mean of its weights over time, its optimizer, and what it must not see.

    Parameters
    ----------
    name : str
    left_out : set of str
        Of `ORIGINS`.
    bank : Bank
    arguments : Namespace
        Of the command.
    wide : bool
        Whether it is a teacher.
    """

    def __init__(
        self,
        name: str,
        left_out: set[str],
        bank: Bank,
        arguments: argparse.Namespace,
        *,
        wide: bool = False,
    ) -> None:
        self.name, self.left_out, self.bank = name, left_out, bank
        device = bank.planes.device
        torch.manual_seed(arguments.seed)
        self.net, self.mean = (MaskNet(_WIDE) if wide else MaskNet() for _ in range(2))
        self.mean.eval().requires_grad_(False)
        self.teacher: Learner | None = None
        if arguments.taught and not wide:
            self.teacher = Learner(f"{name}-wide", left_out, bank, arguments, wide=True)
        self.trust = torch.zeros((), device=device)
        """How much the teacher's answers count beside the truths."""
        if arguments.begin_with and not wide:
            begin = arguments.begin_with
            begin = begin.with_stem(begin.stem + name.removeprefix(arguments.out.stem))
            is_exported = begin.suffix == ".onnx"
            self.net.load_state_dict(weights_in(begin) if is_exported else torch.load(begin))
            self.net.train(not is_exported)
        self.mean.load_state_dict(self.net.state_dict())
        self.net, self.mean = (
            one.to(device, memory_format=torch.channels_last) for one in (self.net, self.mean)
        )
        self._before = None
        """What it began with: it answers crops that show nothing of what is added, not outlines."""
        if arguments.add:
            self._before = copy.deepcopy(self.net).eval().requires_grad_(False)
        self._added = tag_of({*arguments.add})
        self._old = torch.ones(arguments.batch, device=device)
        self.kept: list[dict[str, Tensor]] = []
        """Weights that it began with, if any, and those halfway."""
        if arguments.begin_with and not wide:
            self.keep()
        self.rate = torch.tensor(arguments.rate, device=device)
        self.optimizer = torch.optim.AdamW(
            self.net.parameters(), self.rate, weight_decay=1e-3, capturable=device.type == "cuda"
        )
        self.seen = torch.ones(1, CHANNELS, 1, 1, device=device)
        self.seen[:, [plane for one in arguments.without for plane in WITHOUT.get(one, ())]] = 0
        self._groups = torch.zeros(len(WITHOUT), CHANNELS, device=device)
        for group, numbers in zip(self._groups, WITHOUT.values(), strict=True):
            group[numbers] = 1
        self.entropy = torch.zeros((), device=device)
        self._where = torch.zeros(arguments.batch, dtype=torch.int64, device=device)
        both = zip(self.mean.state_dict().values(), self.net.state_dict().values(), strict=True)
        self._pairs = [(old, new) for old, new in both if old.is_floating_point()]
        self._average = 1 - arguments.average
        self._graph: torch.cuda.CUDAGraph | None = None

    def step(self, rng: np.random.Generator) -> None:
        """Learn from a batch. On a GPU the fourth is recorded, and run again from then on."""
        where = self.bank.draw(tag_of(self.left_out), len(self._where), rng)
        self._where.copy_(where)
        self._old.copy_(torch.from_numpy(self.bank.tags[where.numpy()] & self._added == 0))
        if self._where.device.type != "cuda":
            self._learn()
            return
        if self._graph is None:
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(3):
                    self._learn()
            torch.cuda.current_stream().wait_stream(stream)
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph):
                self._learn()
        self._graph.replay()

    def _learn(self) -> None:
        bank, at = self.bank, self._where
        planes = (bank.planes[at].float() * self.seen).contiguous(memory_format=torch.channels_last)
        kind = at.device.type
        unseen = torch.rand(len(at), len(WITHOUT), device=at.device) < _UNSEEN
        shown = 1 - (unseen.float() @ self._groups).clamp(max=1)
        with torch.autocast(kind, dtype=torch.bfloat16, enabled=_SHORT, cache_enabled=False):
            halves = self.net(planes * shown[..., None, None])
        logits = functional.pixel_shuffle(halves.float(), 2)
        loss, entropy = loss_of(logits, bank.truth[at], bank.weights[at].float())
        if self.teacher is not None:
            with torch.autocast(kind, dtype=torch.bfloat16, enabled=_SHORT, cache_enabled=False):
                said = self.teacher.mean(planes).float().sigmoid()
            taught = functional.binary_cross_entropy_with_logits(halves.float(), said)
            loss = loss + self.trust * taught
        if self._before is not None:
            with torch.autocast(kind, dtype=torch.bfloat16, enabled=_SHORT, cache_enabled=False):
                said = functional.pixel_shuffle(self._before(planes).float(), 2).sigmoid()
            kept = functional.binary_cross_entropy_with_logits(logits, said, reduction="none")
            kept = kept.mean(1, keepdim=True) * (1 - _rims(bank.truth[at]))
            loss = loss + (kept.mean((1, 2, 3)) * self._old).mean()
        self.optimizer.zero_grad(set_to_none=False)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 2.0)
        self.optimizer.step()
        self.entropy.lerp_(entropy, 0.01)
        with torch.no_grad():
            old, new = zip(*self._pairs, strict=True)
            torch._foreach_lerp_(old, new, self._average)

    def state(self) -> dict[str, Any]:
        """Return what is needed to go on."""
        return {
            "net": self.net.state_dict(),
            "mean": self.mean.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "entropy": self.entropy,
            "kept": self.kept,
        }

    def keep(self) -> None:
        """Keep the mean weights of now for the end."""
        self.kept.append({key: one.clone() for key, one in self.mean.state_dict().items()})

    def settle(self) -> None:
        """Make the weights the mean of those kept and of now: these do better on other scenes."""
        for key, one in self.mean.state_dict().items():
            if one.is_floating_point():
                one.copy_(torch.stack([one, *(state[key] for state in self.kept)]).mean(0))

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        self.entropy.copy_(state["entropy"])
        self.net.load_state_dict(state["net"])
        self.mean.load_state_dict(state["mean"])
        self.kept = state["kept"]
        self.optimizer.load_state_dict(state["optimizer"])
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate


@torch.no_grad()
def judge(learner: Learner, cache: Path) -> dict[str, float]:
    """Return F of objects in scenes that a network has not seen, at the working size.

    All pixels of a scene count together; where nothing is, minus the largest share marked.
    """
    found = {}
    for name in scenes.names():
        file = cache / f"real_{name}.npz"
        if not file.exists() or not groups_of(file) & learner.left_out & {*scenes.GROUPS}:
            continue
        arrays = mapped(file)
        hit = marked = true = wrong = 0
        for i, truth in enumerate(arrays["truth"]):
            one = {key: value[i] for key, value in arrays.items() if key != "truth"}
            planes = torch.from_numpy(features(**one))[None].to(learner.seen.device)
            logits = functional.pixel_shuffle(learner.mean(planes * learner.seen), 2)[0, 0]
            mask = logits.cpu().numpy() > 0
            scored = truth != scenes.UNSCORED
            objects = (truth == scenes.OBJECT) & scored
            if not objects.any():
                wrong = max(wrong, int((mask & scored).sum()))
                continue
            hit += int((mask & objects).sum())
            marked += int((mask & scored).sum())
            true += int(objects.sum())
        found[name] = 2 * hit / max(marked + true, 1) if true else -wrong / arrays["truth"][0].size
        if name == "flock":
            found[name] = hit / max(true, 1)
    return found


def main() -> None:
    """Train one network, or one for each group of scenes that it leaves out beside it."""
    gpu = torch.cuda.is_available()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cache", type=Path)
    parser.add_argument("out", type=Path, help="weights and log are written under this name")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--steps", type=int, default=10**9)
    parser.add_argument("--leave-out", default="", help="groups of scenes, comma between them")
    parser.add_argument("--folds", action="store_true", help="leave out each group in turn, too")
    parser.add_argument("--only", choices=["labels", "made", "all"], default="all")
    parser.add_argument("--without", choices=[*WITHOUT, *VARIATIONS], nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--workers", type=int, default=15 if gpu else 1, help="that draw crops")
    parser.add_argument("--batch", type=int, default=32 if gpu else 8)
    parser.add_argument("--fresh", type=int, default=24 if gpu else 3, help="new crops each step")
    parser.add_argument("--kept", type=int, default=42000 if gpu else 800, help="crops in memory")
    parser.add_argument("--average", type=float, default=0.998 if gpu else 0.995)
    parser.add_argument("--rate", type=float, default=4e-3)
    parser.add_argument(
        "--begin-with", type=Path, help="weights or .onnx; with --folds one for each"
    )
    parser.add_argument(
        "--add", choices=VARIATIONS, nargs="*", default=[], help="all else stays as it began"
    )
    parser.add_argument("--taught", action="store_true", help="by a wider network beside each")
    parser.add_argument("--every", type=int, default=500)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    out, cache = arguments.out, arguments.cache
    crops = Crops(cache, arguments.seed, arguments.fresh)
    loader = iter(DataLoader(crops, batch_size=None, num_workers=arguments.workers))
    rng, bank = (
        np.random.default_rng(arguments.seed),
        Bank(arguments.kept, "cuda" if gpu else "cpu"),
    )
    while bank.filled + arguments.fresh <= min(arguments.kept, 8 * arguments.batch):
        bank.add(next(loader), rng)
    left_out = {one for one in arguments.leave_out.split(",") if one}
    left_out |= {"all": set[str](), "labels": {"made"}, "made": {"real"}}[arguments.only]
    left_out |= {*arguments.without} & {*VARIATIONS}
    learners = [Learner(out.stem, left_out, bank, arguments)]
    learners += [
        Learner(f"{out.stem}-{group}", left_out | {group}, bank, arguments)
        for group in (scenes.GROUPS if arguments.folds else ())
    ]
    everyone = learners + [one.teacher for one in learners if one.teacher is not None]
    spent, step = 0.0, 0
    stopped, log = out.with_suffix(".state"), out.with_suffix(".jsonl")
    if stopped.exists():
        # What was stopped goes on where it was: --minutes are those of all sessions together.
        state = torch.load(stopped)
        step, spent = state["step"], state["seconds"]
        for learner in everyone:
            learner.restore(state[learner.name])
    begun, start = step, time.monotonic() - spent
    while True:
        seconds = time.monotonic() - start
        done = max(seconds / (60 * arguments.minutes), step / arguments.steps)
        for learner in learners:
            if done >= 1:
                learner.settle()
            elif done >= 0.5 and len(learner.kept) < 1 + bool(arguments.begin_with):
                learner.keep()
        if done >= 1 or (step > begun and step % arguments.every == 0):
            for learner in learners:
                torch.save(learner.mean.state_dict(), out.with_name(f"{learner.name}.pt"))
            states = {learner.name: learner.state() for learner in everyone}
            torch.save({**states, "step": step, "seconds": seconds}, stopped)
            entropies = {one.name: round(float(one.entropy), 4) for one in learners}
            entry = {"step": step, "seconds": round(seconds), "entropy": entropies}
            if done >= 1 or step % (6 * arguments.every) == 0:
                entry["judged"] = {one.name: judge(one, cache) for one in learners}
            print(json.dumps(entry), flush=True)
            with log.open("a") as file:
                file.write(json.dumps(entry) + "\n")
        if done >= 1:
            stopped.unlink(missing_ok=True)
            return
        warm = min(1, (step + 1) / 50)
        for learner in everyone:
            learner.trust.fill_(min(1, max(0, (done - 0.15) / 0.35)))
            learner.rate.fill_(arguments.rate * warm * (0.504 + 0.5 * math.cos(math.pi * done)))
        bank.add(next(loader), rng)
        for learner in everyone:
            learner.step(rng)
        step += 1


if __name__ == "__main__":
    main()
