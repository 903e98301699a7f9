"""Methods of your own: an entry is a line in every plot and a column in every table of costs.

``make(centers, leaves, seed)`` returns an estimator that was not fitted: it gets the centers of the
reference and the most leaves it may have. After ``fit(X)`` its ``labels_`` say the center of each
row, by number; ``n_leaves_``, if it is there, how many leaves it has. X is dense or sparse, as the
data set is. For example::

    from treemeans import ExKMC

    ADDED = {
        "local": (
            "ExKMC (refine: local)",
            lambda centers, leaves, seed: ExKMC(
                None, reference=centers, max_leaf_nodes=leaves, refine="local", random_state=seed
            ),
        ),
    }

Then ``python -m benchmarks paper --only local`` computes its cells, and writes the page.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[[Any, int, int], Any]

ADDED: dict[str, tuple[str, Make]] = {}
