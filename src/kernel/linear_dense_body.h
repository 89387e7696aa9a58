/* kernel/linear_dense_body.h - the slots dot, axpy and axpy_dot of one DATA and MODEL
 * (kernel/linear_each_dense.h), from inline functions of the same names that take the two formats
 * as their first arguments.  `inline`: a tier may leave some of them out of its table. */

static inline double DENSE_NAME(dot)(const void *x, const void *w, size_t n)
{
    return dot(DATA_NUMBER, MODEL_NUMBER, x, w, n);
}

static inline size_t DENSE_NAME(axpy)(void *w, const void *const *x, const drovek_factor *factor,
                                      size_t n_rows, size_t n, drovek_bits *bits)
{
    return axpy(DATA_NUMBER, MODEL_NUMBER, w, x, factor, n_rows, n, bits);
}

static inline double DENSE_NAME(axpy_dot)(void *w, const void *x, const drovek_factor *factor,
                                          const void *next, const void *ahead, size_t n,
                                          drovek_bits *bits, size_t *n_clamped)
{
    return axpy_dot(DATA_NUMBER, MODEL_NUMBER, w, x, factor, next, ahead, n, bits, n_clamped);
}
