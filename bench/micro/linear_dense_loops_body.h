/* bench/micro/linear_dense_loops_body.h - dot and AXPY for one DATA and MODEL
 * (kernel/linear_each_dense.h): a part of linear_loops.h. */

static double DENSE_NAME(dot)(const void *x, const void *w, size_t n)
{
    return dot(DATA_NUMBER, MODEL_NUMBER, x, w, n);
}

static size_t DENSE_NAME(axpy)(void *w, const void *const *x, const drovek_factor *factor,
                               size_t n_rows, size_t n, drovek_bits *bits)
{
    (void)n_rows, (void)bits;
    return axpy(DATA_NUMBER, MODEL_NUMBER, w, *x, *factor, n);
}
