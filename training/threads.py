"""How many threads to use on a machine that others use too.

Two OpenMP threads run in lockstep: when one is put aside for another process, the other waits, and
two threads can be slower than one. So try both now and then and keep the faster.
"""

from __future__ import annotations

import time

import torch


class AdaptiveThreads:
    """Call `tick()` once a step; it sets torch's thread count."""

    def __init__(self, most: int, period: int = 80, trial: int = 5) -> None:
        self.most, self.period, self.trial = most, period, trial
        self.step, self.times, self.last = 0, {}, time.perf_counter()
        torch.set_num_threads(most)

    def tick(self) -> None:
        now = time.perf_counter()
        duration, self.last = now - self.last, now
        if self.most == 1:
            return
        phase = self.step % self.period
        self.step += 1
        if phase == 0:
            self.times = {1: [], self.most: []}
        if phase < 2 * (self.trial + 1):  # the first step after a change does not count
            count = 1 if phase <= self.trial else self.most
            if phase % (self.trial + 1):
                self.times[torch.get_num_threads()].append(duration)
            torch.set_num_threads(count)
            if phase == 2 * (self.trial + 1) - 1:
                mean = {n: sum(t) / len(t) for n, t in self.times.items()}
                torch.set_num_threads(min(mean, key=mean.get))
