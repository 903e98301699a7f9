"""Memory that goes back to the system as soon as it is free."""

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of <malloc.h>


def return_freed_memory() -> None:
    """Have glibc return large arrays to the system; elsewhere, nothing happens.

    Of itself it keeps more and more of them for later, in a heap for each thread, and passes over a
    large table take more memory than they need. It is a setting of the whole process, so it is for
    programs to choose, and not made behind a user's back.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, 1 << 20)
    mallopt(_M_TRIM_THRESHOLD, 1 << 24)
