"""What systems do to programs: disks that are full, clocks that are set back, no new processes."""

import resource
from contextlib import contextmanager


@contextmanager
def full_disk(most=0):
    """No file of this process can grow beyond ``most`` bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
