// The one place that names instruction sets: hot loops are compiled for plain x86-64, AVX2 and
// AVX-512, and the loader picks. Parallel regions stay outside such functions, because the bodies
// that OpenMP outlines are not cloned.
#pragma once

#include <cstdlib>  // defines __GLIBC__ where that is the C library

// The choice is made by the dynamic loader through an indirect function, which glibc has and musl
// has not. Sanitizers are not ready yet when the loader asks it.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define TM_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define TM_CLONES
#endif

#if defined(__GNUC__)
#define TM_INLINE inline __attribute__((always_inline))
#define TM_RESTRICT __restrict__
#else
#define TM_INLINE inline
#define TM_RESTRICT
#endif
