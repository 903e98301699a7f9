"""Return of freed memory to the system."""

import ctypes

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of <malloc.h>


def return_freed_memory() -> None:
    """Have glibc return large arrays to the system; elsewhere, nothing happens.

    By default glibc keeps freed arrays for later, in a heap for each thread, so that passes over a
    large table take more memory than they need. It is a setting of the whole process, so only the
    command line makes it, not the library.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_M_MMAP_THRESHOLD, 1 << 20)
    mallopt(_M_TRIM_THRESHOLD, 1 << 24)
