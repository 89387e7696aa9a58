/* base/racy.h - the only place where shared memory is read or written without a lock or an ordered
 * atomic.
 *
 * Two forms (docs/inside/memory-model.md numbers and argues each use):
 *   - drove__racy_load / drove__racy_store: one float as a relaxed atomic; with _i8, _i16: one
 *     integer of a low-precision model.  No cost for sparse updates.
 *   - the vector kernels of src/kernel/x86 and src/kernel/arm, whose loads and stores are inline
 *     assembly that the compiler can neither split, repeat nor invent.  In a build with
 *     ThreadSanitizer only the plain-C kernels exist, and those use the first form for every
 *     shared element.
 */
#ifndef DROVE_BASE_RACY_H
#define DROVE_BASE_RACY_H

#include <stdint.h>

#if defined(__SANITIZE_THREAD__)
#define DROVE_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define DROVE_TSAN 1
#endif
#endif
#ifndef DROVE_TSAN
#define DROVE_TSAN 0
#endif

static inline float drove__racy_load(const float *p)
{
    float value;
    __atomic_load(p, &value, __ATOMIC_RELAXED);
    return value;
}

static inline void drove__racy_store(float *p, float value)
{
    __atomic_store(p, &value, __ATOMIC_RELAXED);
}

static inline int8_t drove__racy_load_i8(const int8_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void drove__racy_store_i8(int8_t *p, int8_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}

static inline int16_t drove__racy_load_i16(const int16_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline void drove__racy_store_i16(int16_t *p, int16_t value)
{
    __atomic_store_n(p, value, __ATOMIC_RELAXED);
}

#endif
