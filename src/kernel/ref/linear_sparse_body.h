/* kernel/ref/linear_sparse_body.h - spdot and spaxpy for one DATA, INDEX and MODEL
 * (kernel/linear_each_sparse.h); included by linear_sparse.c, which defines what it calls. */

static double NAME(spdot)(const drovek_pairs *x, const void *model)
{
    const INDEX_TYPE *index = x->index;
    const DATA_TYPE  *value = x->value;
    const MODEL_TYPE *w = model;
    size_t            place = 0;

    FOR_FORMATS(SUM) sum = 0;
    for (size_t k = 0; k < x->n_stored; k++) {
        place = PLACE(place, index[k]);
        sum += (FOR_FORMATS(SUM))value[k] * JOIN(LOAD_, MODEL)(w + place);
    }
    return (double)sum;
}

static size_t NAME(spaxpy)(void *model, const drovek_pairs *x, const drovek_factor *factor,
                           drovek_bits *bits)
{
    const INDEX_TYPE *index = x->index;
    const DATA_TYPE  *value = x->value;
    MODEL_TYPE       *w = model;
    size_t            place = 0;

    update u;
    JOIN(begin_, MODEL)(&u, factor, bits);
    for (size_t k = 0; k < x->n_stored; k++) {
        place = PLACE(place, index[k]);
        MODEL_TYPE before = JOIN(LOAD_, MODEL)(w + place);
        JOIN(STORE_, MODEL)(w + place, FOR_FORMATS(MOVED)(&u, before, value[k]));
    }
    return u.n_clamped;
}
