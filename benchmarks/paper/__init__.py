"""The evaluation of the ExKMC paper (Frost, Moshkovitz, Rashtchian 2020), whole.

``cells`` says what is computed, ``methods`` how, ``run`` does it and keeps it; ``results`` reads
what is kept, ``tables``, ``figures`` and ``claims`` show it, and ``page`` puts them on one page.
"""

import sys
from pathlib import Path

# The scripts beside this folder import each other by their bare names.
_SCRIPTS = str(Path(__file__).resolve().parents[1])
if _SCRIPTS not in sys.path:
    sys.path.append(_SCRIPTS)
