/* tests/fuzz/mutate/mutate.h - what the mutators that know a format share.
 *
 * A mutator is one file here; tests/CMakeLists.txt says for which targets.  It changes data[size]
 * in place, whose memory has room for most bytes, and returns the new size.  Every so often it
 * leaves the change to libFuzzer, which knows no format but many tricks.
 */
#ifndef DROVE_TESTS_FUZZ_MUTATE_H
#define DROVE_TESTS_FUZZ_MUTATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);

/* A generator of its own (xorshift64*), so that a seed gives the same change on every machine. */
typedef struct mutate_random {
    uint64_t state;
} mutate_random;

static inline mutate_random mutate_seed(unsigned seed)
{
    return (mutate_random){(uint64_t)seed * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u};
}

/* 0 .. n - 1; 0 for n = 0. */
static inline size_t mutate_below(mutate_random *r, size_t n)
{
    r->state ^= r->state >> 12;
    r->state ^= r->state << 25;
    r->state ^= r->state >> 27;
    return n > 0 ? (size_t)((r->state * 0x2545f4914f6cdd1du >> 33) % n) : 0;
}

/* Puts with[n_with] in the place of data[at .. at + n_old); the size stays where there is no
 * room.  with is not part of data. */
static inline size_t mutate_splice(uint8_t *data, size_t size, size_t most, size_t at, size_t n_old,
                                   const void *with, size_t n_with)
{
    if (at > size || n_old > size - at || size - n_old > most || n_with > most - (size - n_old))
        return size;
    memmove(data + at + n_with, data + at + n_old, size - at - n_old);
    if (n_with > 0) memcpy(data + at, with, n_with);
    return size - n_old + n_with;
}

/* The line that begins at or before a place: its begin, and its end with the line break. */
static inline void mutate_line(const uint8_t *data, size_t size, size_t place, size_t *begin,
                               size_t *end)
{
    *begin = place;
    while (*begin > 0 && data[*begin - 1] != '\n') --*begin;
    *end = place;
    while (*end < size && data[*end] != '\n') ++*end;
    if (*end < size) ++*end;
}

enum { MUTATE_PIECE_MOST = 4096 };

/* Copies a piece of the data to another place, or over another piece. */
static inline size_t mutate_copy(uint8_t *data, size_t size, size_t most, size_t from, size_t n,
                                 size_t at, size_t n_old)
{
    uint8_t piece[MUTATE_PIECE_MOST];
    if (n > sizeof piece || from > size || n > size - from) return size;
    memcpy(piece, data + from, n);
    return mutate_splice(data, size, most, at, n_old, piece, n);
}

#endif
