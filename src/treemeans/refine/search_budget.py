"""The budget of a search: rounds, seconds or a fixed amount of work."""

import math
import time
import warnings
from typing import Self

from treemeans.progress import Progress
from treemeans.warning_level import depth_in_package

DEFAULT_STEPS = 2_900_000_000
"""Values read and added in a search of default effort: one and a half to five seconds on one core.

Counted, not timed, so that the same input gives the same tree on every machine."""

DEFAULT_ROUNDS = 5_000
"""Rounds of default effort, which end the search of a small table."""

_CHAIN_ROUNDS = 25
"""Rounds of a chain, in the core, that count as one of these."""

_CHAIN_STEP = 1.5
"""What a step of a chain takes, in steps of the default effort: it reads memory more at random."""

_FIRST_STEPS = 20_000_000
"""Steps of the first part of a search by time, from which the pace of the machine is known."""

_SEARCH_SHARE = 0.3
"""Share of the time for a search and a proof that the search gets at most."""

_MANY = 2**60

_STEPS_A_ROUND = 100_000
"""Fixed overhead of a round, however small the table."""


class Budget:
    """Limits on rounds, seconds and steps; the one that is spent first ends the search."""

    def __init__(
        self,
        max_iter: int | None,
        max_time: float | None,
        reference_cost: float,
        progress: Progress,
    ) -> None:
        default = max_iter is None and max_time is None
        self._max_iter = max_iter
        self._default_rounds = 0.0
        self._max_time = max_time
        self._max_steps = DEFAULT_STEPS if default else None
        self._reference_cost = reference_cost
        self._progress = progress
        self._rounds = self._steps = 0
        self._begin = self._begin_chains = time.monotonic()
        self._chain_steps = 0
        self._interrupted = False

    @classmethod
    def before_proof(
        cls,
        max_iter: int | None,
        max_time: float | None,
        reference_cost: float,
        progress: Progress,
    ) -> Self:
        """The budget of a search before a proof: the default effort, in a part of the time."""
        budget = cls(max_iter, None, reference_cost, progress)
        budget._max_time = None if max_time is None else _SEARCH_SHARE * max_time
        return budget

    @property
    def rounds(self) -> int:
        """Number of rounds so far."""
        return self._rounds

    @property
    def share(self) -> float:
        """Share of the budget that is spent, from 0 to 1."""
        shares = [0.0]
        if self._max_iter is not None:
            shares.append(self._rounds / self._max_iter if self._max_iter else 1.0)
        if self._max_time is not None:
            elapsed = time.monotonic() - self._begin
            shares.append(elapsed / self._max_time if self._max_time else 1.0)
        if self._max_steps is not None:
            shares.append(self._steps / self._max_steps)
            shares.append(self._default_rounds / DEFAULT_ROUNDS)
        return min(max(shares), 1.0)

    @property
    def spent(self) -> bool:
        """Whether the search is over."""
        return self._interrupted or self.share >= 1.0

    def spend(self, steps: int, cost: float) -> None:
        """Count a round of so many steps; ``cost`` is that of the best tree so far."""
        self._rounds += 1
        self._default_rounds += 1.0
        self._steps += steps + _STEPS_A_ROUND
        self._show(cost)

    def next_part(self, share: float, n_chains: int) -> tuple[int, int, int]:
        """What to do for about ``share`` of the budget: chains to run, rounds and steps of each."""
        rounds, steps = _MANY, _MANY
        if self._max_iter is not None:
            left = self._max_iter - self._rounds
            n_chains = min(n_chains, left)
            rounds = max(1, min(math.ceil(self._max_iter * share), left) // n_chains)
        if self._max_steps is not None:
            rounds = max(1, round(DEFAULT_ROUNDS * _CHAIN_ROUNDS * share / n_chains))
            steps = max(1, round(self._max_steps * share / n_chains / _CHAIN_STEP))
        if self._max_time is not None:
            elapsed = max(time.monotonic() - self._begin_chains, 1e-3) if self._chain_steps else 0.0
            pace = self._chain_steps / elapsed if elapsed else 0.0
            wanted = pace * self._max_time * share if pace else _FIRST_STEPS
            steps = max(1, min(steps, round(wanted / n_chains)))
        return n_chains, rounds, steps

    def spend_rounds(self, n_rounds: int, steps: int, cost: float) -> None:
        """Count so many rounds of chains, which took so many steps together."""
        self._rounds += n_rounds
        self._default_rounds += n_rounds / _CHAIN_ROUNDS
        self._steps += round(steps * _CHAIN_STEP)
        self._chain_steps += steps
        self._show(cost)

    def _show(self, cost: float) -> None:
        ratio = cost / self._reference_cost if self._reference_cost > 0.0 else 1.0
        self._progress.update(round(1000 * self.share), f"ratio {ratio:.4f}")

    def begin_chains(self) -> None:
        """Measure the pace of the machine from now on."""
        self._begin_chains = time.monotonic()
        self._chain_steps = 0

    def tell(self, what: str) -> None:
        """Show what is being done before the rounds begin."""
        self._progress.update(0, what)

    def interrupt(self) -> None:
        """End the search: the user pressed Ctrl-C."""
        self._interrupted = True
        warnings.warn(
            "The search was interrupted; the best tree so far is kept.",
            UserWarning,
            stacklevel=depth_in_package(),
        )
