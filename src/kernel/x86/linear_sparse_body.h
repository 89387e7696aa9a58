/* kernel/x86/linear_sparse_body.h - spdot and spaxpy for one DATA, INDEX and MODEL
 * (kernel/linear_each_sparse.h), on the operations of x86/linear_sparse.h. */

/* sum + the products of `count` pairs */
INLINE FOR_FORMATS(LANE_SUM)
    NAME(dot_some)(FOR_FORMATS(LANE_SUM) sum, const char *base, const INDEX_TYPE *index,
                   const DATA_TYPE *value, size_t count, ints *before)
{
    ints place = JOIN(places_, INDEX)(JOIN(load_index_, INDEX)(index, count), before);
    return FOR_FORMATS(add)(sum, JOIN(load_value_, DATA)(value, count),
                            JOIN(gather_, MODEL)(base, place, count));
}

static double NAME(spdot)(const drovek_pairs *x, const void *w)
{
    const INDEX_TYPE *index = x->index;
    const DATA_TYPE  *value = x->value;
    const char       *base = biased(w, sizeof(MODEL_TYPE));
    ints              before = ints_set(PLACE_BIAS);
    size_t            k = 0, n_full = x->n_stored - x->n_stored % LANES;

    FOR_FORMATS(TOTAL) total = 0;
    while (k < n_full) {
        size_t end = n_full - k < DOT_RUN * LANES ? n_full : k + DOT_RUN * LANES;
        FOR_FORMATS(LANE_SUM) sum = FOR_FORMATS(zero)();
        for (; k < end; k += LANES)
            sum = NAME(dot_some)(sum, base, index + k, value + k, LANES, &before);
        total += FOR_FORMATS(total)(sum);
    }
    if (k < x->n_stored) {
        total += FOR_FORMATS(total)(NAME(dot_some)(FOR_FORMATS(zero)(), base, index + k, value + k,
                                                   x->n_stored - k, &before));
    }
    return (double)total;
}

/* Lanes whose value is not 0. */
static unsigned NAME(nonzero)(const DATA_TYPE *value, size_t count)
{
    unsigned lanes = 0;
    for (size_t i = 0; i < count; i++) lanes |= (unsigned)(value[i] != 0) << i;
    return lanes;
}

#if JOIN(USES_SCATTER_, MODEL) == 0
/* Stores the elements of LANES pairs; *at: the position of the previous pair, updated. */
INLINE void NAME(put)(MODEL_TYPE *w, const INDEX_TYPE *index, JOIN(LANES_, MODEL) moved, size_t *at)
{
    JOIN(packed_, MODEL) elements = JOIN(pack_, MODEL)(moved);
    size_t place = *at;
    UNROLL
    for (size_t i = 0; i < LANES; i++) {
        place = PLACE(place, index[i]);
        JOIN(STORE_, MODEL)(w + place, JOIN(take_, MODEL)(&elements, i));
    }
    *at = place;
}

/* The same for `count` pairs, but only those with their bit set in `keep`. */
static void NAME(put_some)(MODEL_TYPE *w, const INDEX_TYPE *index, JOIN(LANES_, MODEL) moved,
                           size_t *at, size_t count, unsigned keep)
{
    JOIN(packed_, MODEL) elements = JOIN(pack_, MODEL)(moved);
    for (size_t i = 0; i < count; i++) {
        *at = PLACE(*at, index[i]);
        MODEL_TYPE element = JOIN(take_, MODEL)(&elements, i);
        if (keep >> i & 1) JOIN(STORE_, MODEL)(w + *at, element);
    }
}
#endif

/* Updates the elements of w for `count` pairs, pairs k and following of the row.  *before, *at: the
 * position of the previous pair. */
INLINE void NAME(axpy_some)(update *u, MODEL_TYPE *w, const INDEX_TYPE *index,
                            const DATA_TYPE *value, size_t k, size_t count, ints *before,
                            size_t *at)
{
    char  *base = biased(w, sizeof *w);
    size_t in_block = k % FOR_FORMATS(PER_BLOCK);
    if (in_block == 0) JOIN(next_block_, MODEL)(u);

    ints numbers = JOIN(load_index_, INDEX)(index + k, count);
    ints place = JOIN(places_, INDEX)(numbers, before);
    bool meet = JOIN(may_meet_, INDEX)(numbers, count);
    JOIN(LANES_, MODEL)
    moved = FOR_FORMATS(MOVED)(u, JOIN(gather_, MODEL)(base, place, count),
                               JOIN(load_value_, DATA)(value + k, count), in_block);
#if JOIN(USES_SCATTER_, MODEL)
    (void)at;
    JOIN(scatter_, MODEL)
    (base, place, moved, meet ? NAME(nonzero)(value + k, count) : (1u << count) - 1u);
#else
    if (!meet && count == LANES) {
        NAME(put)(w, index + k, moved, at);
        return;
    }
    uint32_t active = meet ? NAME(nonzero)(value + k, count) : ~0u;
    NAME(put_some)(w, index + k, moved, at, count, active);
#endif
}

static size_t NAME(spaxpy)(void *w, const drovek_pairs *x, const drovek_factor *factor,
                           drovek_bits *bits)
{
    ints   before = ints_set(PLACE_BIAS);
    size_t k = 0, at = 0, n_full = x->n_stored - x->n_stored % LANES;
    update u;

    update_begin(&u, factor, bits);
    for (; k < n_full; k += LANES)
        NAME(axpy_some)(&u, w, x->index, x->value, k, LANES, &before, &at);
    if (k < x->n_stored)
        NAME(axpy_some)(&u, w, x->index, x->value, k, x->n_stored - k, &before, &at);
    return (size_t)ints_total(u.n_clamped);
}
