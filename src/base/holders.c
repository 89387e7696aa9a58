/* base/holders.c - see holders.h: a hash table of blocks of lines; each line has a bit for every
 * core.  Bits go by lines, not by blocks, so that where vectors lie in memory changes nothing. */
#include "base/holders.h"

#include "base/available.h"
#include "base/mem.h"

#include <stdint.h>
#include <string.h>

enum { WORD_BITS = 64, LINES = 16 /* of a block */, BLOCK_BYTES = LINES * DROVE_CACHE_LINE };

struct drove_holders {
    unsigned n_words; /* of a line's bits */
    uint64_t *near;   /* [n_cores][n_words] cores of a core's socket */
    size_t n_slots;   /* a power of two; at most half are used */
    size_t n_used;
    uintptr_t *number; /* [n_slots] address / BLOCK_BYTES; 0: none */
    uint64_t *bits;    /* [n_slots][LINES][n_words] */
};

drove_status drove__holders_create(unsigned n_cores, const unsigned *socket, size_t n_vectors,
                                   size_t size_bytes, drove_holders **out)
{
    *out = NULL;
    drove_holders *h = drove__alloc(1, sizeof *h);
    if (h == NULL) return drove__fail_nomem("cache lines of a modelled machine", sizeof *h);
    h->n_words = (n_cores + WORD_BITS - 1) / WORD_BITS;
    h->n_slots = LINES;
    while (h->n_slots / 2 < size_bytes / BLOCK_BYTES + 2 * n_vectors) h->n_slots *= 2;
    const double needed = (double)h->n_slots * (double)(LINES * h->n_words + 1) * sizeof *h->bits;
    const double there = (double)drove__memory_available();
    if (there <= 0.0 || needed <= there) {
        h->near = drove__alloc((size_t)n_cores * h->n_words, sizeof *h->near);
        h->number = drove__alloc(h->n_slots, sizeof *h->number);
        h->bits = drove__alloc(h->n_slots * LINES * h->n_words, sizeof *h->bits);
    }
    if (h->near == NULL || h->number == NULL || h->bits == NULL) {
        drove__holders_destroy(h);
        return drove__fail_nomem("cache lines of a modelled machine (take_gb_s)", (size_t)needed);
    }
    for (unsigned i = 0; i < n_cores; i++) {
        uint64_t *near = &h->near[(size_t)i * h->n_words];
        for (unsigned k = 0; k < n_cores; k++)
            if (socket[i] == socket[k]) near[k / WORD_BITS] |= UINT64_C(1) << k % WORD_BITS;
    }
    *out = h;
    return DROVE_OK;
}

void drove__holders_destroy(drove_holders *h)
{
    if (h == NULL) return;
    drove__free(h->bits);
    drove__free(h->number);
    drove__free(h->near);
    drove__free(h);
}

/* [LINES][n_words] of a block; NULL: no room. */
static uint64_t *bits_of(drove_holders *h, uintptr_t number)
{
    const size_t mask = h->n_slots - 1;
    size_t i = (size_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & mask;
    while (h->number[i] != 0 && h->number[i] != number) i = (i + 1) & mask;
    if (h->number[i] == 0) {
        if (h->n_used == h->n_slots / 2) return NULL;
        h->number[i] = number;
        h->n_used++;
    }
    return &h->bits[i * LINES * h->n_words];
}

/* Of a line, and which of them are near. */
static void take_line(const drove_holders *h, unsigned core, uint64_t *bits, bool writes,
                      drove_taken *taken)
{
    const uint64_t *near = &h->near[(size_t)core * h->n_words];
    const uint64_t mine = UINT64_C(1) << core % WORD_BITS;
    const unsigned word = core / WORD_BITS;
    uint64_t of_near = 0, of_far = 0;
    for (unsigned i = 0; i < h->n_words; i++) {
        uint64_t others = i == word ? bits[i] & ~mine : bits[i];
        of_near |= others & near[i];
        of_far |= others & ~near[i];
    }
    bool has_it = (bits[word] & mine) != 0;
    /* A reader asks the nearest that has it; a writer waits for the farthest to give it up. */
    bool is_far = writes ? of_far != 0 : of_near == 0 && of_far != 0;
    bool lacks = (writes || !has_it) && (of_near | of_far) != 0;
    if (lacks && is_far) taken->far += DROVE_CACHE_LINE;
    if (lacks && !is_far) taken->near += DROVE_CACHE_LINE;
    if (writes) memset(bits, 0, h->n_words * sizeof *bits);
    bits[word] |= mine;
}

drove_taken drove__holders_take(drove_holders *h, unsigned core, const void *at, size_t size_bytes,
                                bool writes)
{
    drove_taken taken = {0.0, 0.0};
    if (size_bytes == 0) return taken;
    const uintptr_t first = (uintptr_t)at / DROVE_CACHE_LINE,
                    end = ((uintptr_t)at + size_bytes - 1) / DROVE_CACHE_LINE + 1;
    for (uintptr_t line = first; line < end;) {
        uintptr_t number = line / LINES, stop = (number + 1) * LINES;
        uint64_t *bits = bits_of(h, number);
        if (stop > end) stop = end;
        for (; line < stop && bits != NULL; line++)
            take_line(h, core, bits + line % LINES * h->n_words, writes, &taken);
        line = stop;
    }
    return taken;
}
