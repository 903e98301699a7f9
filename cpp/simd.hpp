// The one place that names instruction sets: hot loops are compiled for plain x86-64, AVX2 and
// AVX-512, and the loader picks. Parallel regions stay outside such functions, because the bodies
// that OpenMP outlines are not cloned.
#pragma once

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
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
