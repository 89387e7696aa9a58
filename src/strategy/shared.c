/* strategy/shared.c - a step in place on a vector that others are changing; see shared.h.
 *
 * On a virtual clock one thread runs at a time, so that no two would ever be in one element at
 * once.  There a step is made in pieces of PIECE floats, whose ends are the same for all workers: a
 * piece is loaded, time passes, and what the step makes of it is stored.  What others have stored
 * meanwhile is lost, as it is on a machine whose cores load a cache line at the same moment.
 */
#include "strategy/shared.h"

#include "base/cost.h"

#include <string.h>

enum { PIECE = 4096, STRIDE = 1024 }; /* floats; 16 divides both */

typedef struct stepping { /* a step on its way into a vector */
    const drove_sync *s;
    const drove_step *step;
    uint64_t staleness, t;
    float *vector;
    float *copy; /* [n_vector] gets what each stride has become; NULL: nobody wants it */
} stepping;

/* Of theta and every shared state. */
static void store(const stepping *a, size_t offset, size_t length, const float *from)
{
    const size_t n = a->s->optim->n;
    for (size_t base = 0; base < a->s->n_vector; base += n)
        memcpy(a->vector + base + offset, from + base + offset, length * sizeof *from);
}

/* The part of [offset, offset + length) that spans cover, in floats. */
static size_t covered(const drove_step *step, size_t offset, size_t length)
{
    size_t sum = 0, end = offset + length;
    if (step->span == NULL) return length;
    for (size_t i = 0; i < step->n_spans && step->span[i].offset < end; i++) {
        size_t from = step->span[i].offset, to = from + step->span[i].length;
        if (from < offset) from = offset;
        if (to > end) to = end;
        if (to > from) sum += to - from;
    }
    return sum;
}

/* Elements between the spans are nobody's to store. */
static void store_covered(const stepping *a, size_t offset, size_t length, const float *from)
{
    const drove_step *step = a->step;
    size_t end = offset + length;
    if (step->span == NULL) store(a, offset, length, from);
    for (size_t i = 0; step->span != NULL && i < step->n_spans; i++) {
        size_t begin = step->span[i].offset, stop = begin + step->span[i].length;
        if (begin < offset) begin = offset;
        if (stop > end) stop = end;
        if (stop > begin) store(a, begin, stop - begin, from);
    }
}

/* Elements of [offset, offset + length) that the step stores and that are not as they were loaded:
 * what others have stored since is lost. */
static uint64_t overwritten(const stepping *a, size_t offset, size_t length, const float *before)
{
    const drove_step *step = a->step;
    const drove_span all = {.offset = offset, .length = length};
    const drove_span *span = step->span != NULL ? step->span : &all;
    const size_t n_spans = step->span != NULL ? step->n_spans : 1;
    uint64_t n = 0;
    for (size_t k = 0; k < n_spans && span[k].offset < offset + length; k++) {
        size_t from = span[k].offset, end = from + span[k].length;
        if (from < offset) from = offset;
        if (end > offset + length) end = offset + length;
        for (size_t i = from; i < end; i++)
            n += memcmp(&a->vector[i], &before[i - offset], sizeof *before) != 0;
    }
    return n;
}

static void apply_virtually(const stepping *a, size_t offset, size_t length)
{
    static _Thread_local float before[PIECE]; /* theta as it was loaded */
    const drove_optim *optim = a->s->optim;
    float *loaded = drove__spend_scratch();
    for (size_t end = offset + length; offset < end;) {
        size_t stop = (offset / PIECE + 1) * PIECE;
        if (stop > end) stop = end;
        size_t n = stop - offset, n_states = a->s->n_vector / optim->n;
        size_t n_touched = covered(a->step, offset, n);
        if (n_touched > 0) {
            memcpy(before, a->vector + offset, n * sizeof *before);
            drove__optim_apply_at_once(optim, a->step, a->staleness, a->t, offset, n, a->vector,
                                       loaded);
            /* The lines that the piece needs alone, of theta and every shared state. */
            double taken_ns = 0.0;
            for (size_t base = 0; base < a->s->n_vector; base += optim->n)
                taken_ns += drove__optim_take(a->vector + base, offset, n, a->step->span,
                                              a->step->n_spans, true);
            double left_ns = drove__spend_loads(n_touched * n_states, taken_ns);
            drove__spend_overwrite(overwritten(a, offset, n, before));
            store_covered(a, offset, n, loaded);
            drove__spend_stores(left_ns);
        }
        offset = stop;
    }
}

static void apply(const stepping *a, size_t offset, size_t length)
{
    if (drove__spend_scratch() != NULL) apply_virtually(a, offset, length);
    else
        drove__optim_apply(a->s->optim, a->step, a->staleness, a->t, offset, length, a->vector,
                           a->vector);
}

static void copy_stride(const stepping *a, size_t offset, size_t length)
{
    const size_t n = a->s->optim->n;
    for (size_t base = offset; base < a->s->n_vector; base += n)
        a->s->optim->kernels->copy_f32(a->copy + base, a->vector + base, length);
}

/* [from, to), a stride after the other; is_back: the last first.  Real time only. */
static void apply_strides(const stepping *a, bool is_back, size_t from, size_t to)
{
    while (to > from) {
        size_t at = is_back ? (to - 1) / STRIDE * STRIDE : from;
        size_t end = is_back ? to : (from / STRIDE + 1) * STRIDE;
        if (at < from) at = from;
        if (end > to) end = to;
        apply(a, at, end - at);
        if (a->copy != NULL) copy_stride(a, at, end - at);
        if (is_back) to = at;
        else from = end;
    }
}

static void apply_range(const stepping *a, bool is_back, size_t from, size_t to)
{
    if (is_back || a->copy != NULL) apply_strides(a, is_back, from, to);
    else if (to > from) apply(a, from, to - from);
}

static void apply_dense(const stepping *a, unsigned part, unsigned n_parts)
{
    const size_t n = a->s->optim->n, n_lines = n / 16; /* of 16 floats: a cache line */
    const bool is_back = part % 2 == 1 && drove__spend_scratch() == NULL;
    size_t first = n_lines * (part + is_back) / n_parts * 16;
    if (is_back && part + 1 == n_parts) first = n;
    apply_range(a, is_back, is_back ? 0 : first, is_back ? first : n);
    apply_range(a, is_back, is_back ? first : 0, is_back ? n : first);
}

void drove__sync_apply_from(const drove_sync *s, const drove_step *step, unsigned part,
                            unsigned n_parts, uint64_t staleness, uint64_t t, float *vector)
{
    const stepping a = {.s = s, .step = step, .staleness = staleness, .t = t, .vector = vector};
    if (step->span != NULL) apply(&a, 0, s->optim->n);
    else apply_dense(&a, part, n_parts);
}

bool drove__sync_apply_and_copy(const drove_sync *s, const drove_step *step, unsigned part,
                                unsigned n_parts, uint64_t staleness, uint64_t t, float *vector,
                                float *copy)
{
    stepping a = {.s = s, .step = step, .staleness = staleness, .t = t, .vector = vector};
    const bool copies = step->span == NULL && !drove__is_modelled();
    if (copies) a.copy = copy;
    if (step->span != NULL) apply(&a, 0, s->optim->n);
    else apply_dense(&a, part, n_parts);
    return copies;
}

void drove__sync_copy_from(const drove_sync *s, const float *from, float *to)
{
    if (!drove__is_modelled()) {
        s->optim->kernels->copy_f32(to, from, s->n_vector);
        return;
    }
    for (size_t offset = 0; offset < s->n_vector; offset += PIECE) {
        size_t n = s->n_vector - offset < PIECE ? s->n_vector - offset : PIECE;
        memcpy(to + offset, from + offset, n * sizeof *to);
        drove__spend_fetch(from + offset, n);
    }
}
