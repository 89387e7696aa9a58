/* engine/touched.c - hierarchical bitmap: see touched.h. */
#include "engine/touched.h"

#include "base/mem.h"

#include <string.h>

typedef struct sink { /* where drained members go */
    size_t offset, width, n_spans;
    drove_span *span;
} sink;

drove_status drove__touched_init(drove_touched *set, size_t bound)
{
    size_t n_words = 0, words[DROVE_TOUCHED_MAX_LEVELS];
    memset(set, 0, sizeof *set);
    for (size_t n = bound; set->n_levels == 0 || n > 1; set->n_levels++) {
        n = n / 64 + (n % 64 != 0);
        words[set->n_levels] = n;
        n_words += n;
    }
    set->memory = drove__alloc(n_words, sizeof *set->memory);
    if (set->memory == NULL) {
        memset(set, 0, sizeof *set);
        return drove__fail_nomem("set of touched features", n_words * sizeof *set->memory);
    }
    uint64_t *next = set->memory;
    for (unsigned l = 0; l < set->n_levels; l++) {
        set->level[l] = next;
        next += words[l];
    }
    return DROVE_OK;
}

void drove__touched_fini(drove_touched *set)
{
    if (set == NULL) return;
    drove__free(set->memory);
    memset(set, 0, sizeof *set);
}

/* Depth is the number of levels. */
static void drain_word(drove_touched *set, unsigned level, size_t index, sink *to)
{
    uint64_t word = set->level[level][index];
    set->level[level][index] = 0;
    for (; word != 0; word &= word - 1) {
        size_t below = index * 64 + (size_t)__builtin_ctzll(word);
        if (level == 0) {
            size_t at = to->offset + below * to->width;
            drove_span *last = to->span + to->n_spans - 1;
            if (to->n_spans > 0 && last->offset + last->length == at) {
                last->length += to->width;
            } else {
                to->span[to->n_spans++] = (drove_span){.offset = at, .length = to->width};
            }
        } else {
            drain_word(set, level - 1, below, to);
        }
    }
}

size_t drove__touched_drain(drove_touched *set, size_t offset, size_t width, drove_span *span)
{
    sink to = {.offset = offset, .width = width, .span = span};
    drain_word(set, set->n_levels - 1, 0, &to);
    return to.n_spans;
}
