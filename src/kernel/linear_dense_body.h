/* kernel/linear_dense_body.h - the slots dot, axpy and axpy_dot of one DATA and MODEL
 * (kernel/linear_each_dense.h), merge and decay of one MODEL, from inline functions of the same
 * names that take the formats as their first arguments.  `inline`: a tier may leave some of them
 * out of its table. */

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

#if IS_FIRST_DATA
static inline size_t MODEL_NAME(merge)(void *centre, void *w, void *last, size_t n, float share,
                                       drovek_bits *bits)
{
    return merge(MODEL_NUMBER, centre, w, last, n, share, bits);
}

static inline void MODEL_NAME(decay)(void *w, size_t n, float kappa, drovek_bits *bits)
{
    decay(MODEL_NUMBER, w, n, kappa, bits);
}
#endif
