/* bench/micro/linear_sparse_loops_body.h - dot and AXPY of a sparse example for one DATA, INDEX and
 * MODEL (kernel/linear_each_sparse.h): a part of linear_loops.h. */

static double NAME(spdot)(const drovek_pairs *x, const void *model)
{
    const INDEX_TYPE *index = x->index;
    const DATA_TYPE  *value = x->value;
    const MODEL_TYPE *w = model;
    uint32_t          place = 0;

    FOR_FORMATS(SUM) sum = 0;
    for (size_t k = 0; k < x->n_stored; k++) {
        place = PLACE(place, index[k]);
        sum += (FOR_FORMATS(SUM))value[k] * (FOR_FORMATS(SUM))w[place];
    }
    return (double)sum;
}

static size_t NAME(spaxpy)(void *model, const drovek_pairs *x, const drovek_factor *factor,
                           drovek_bits *bits)
{
    const INDEX_TYPE *index = x->index;
    const DATA_TYPE  *value = x->value;
    MODEL_TYPE       *w = model;
    size_t            n_clamped = 0;
    uint32_t          place = 0;

    (void)bits;
    for (size_t k = 0; k < x->n_stored; k++) {
        place = PLACE(place, index[k]);
        FOR_FORMATS(MOVE)(w + place, value[k], factor, &n_clamped);
    }
    return n_clamped;
}
