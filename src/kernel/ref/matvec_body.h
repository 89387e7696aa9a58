/* kernel/ref/matvec_body.h - the functions of matvec.c for one format of factors.  Before it:
 *   REF(name)      the kernel's name         PRODUCT(name)  a name of this format's own
 *   FACTOR(v)      v rounded to the format
 */
/* y[n] += value * row[n], row shared */
static void PRODUCT(add_row)(float *y, float value, const float *row, size_t n)
{
    for (size_t o = 0; o < n; o++)
        y[o] = fmaf(FACTOR(value), FACTOR(drove__racy_load(row + o)), y[o]);
}

/* row[n] -= eta * round(value * dy[n]), row shared */
static void PRODUCT(step_row)(float *row, float value, const float *dy, size_t n, float eta)
{
    for (size_t o = 0; o < n; o++) {
        float gradient = FACTOR(value) * FACTOR(dy[o]);
        drove__racy_store(row + o, fmaf(-eta, gradient, drove__racy_load(row + o)));
    }
}

void REF(matvec)(float *y, const float *x, const float *w, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++) {
        if (x[j] != 0.0f) PRODUCT(add_row)(y, x[j], w + j * n_out, n_out);
    }
}

void REF(matvec_t)(float *dx, const float *dy, const float *w, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++) {
        float sum = 0.0f;
        for (size_t o = 0; o < n_out; o++)
            sum = fmaf(FACTOR(drove__racy_load(w + j * n_out + o)),
                       FACTOR(drove__racy_load(dy + o)), sum);
        dx[j] = sum;
    }
}

void REF(ger)(float *w, const float *x, const float *dy, size_t n_in, size_t n_out, float eta)
{
    for (size_t j = 0; j < n_in; j++) {
        if (x[j] != 0.0f) PRODUCT(step_row)(w + j * n_out, x[j], dy, n_out, eta);
    }
}

void REF(outer)(float *g, const float *x, const float *dy, size_t n_in, size_t n_out)
{
    for (size_t j = 0; j < n_in; j++) {
        for (size_t o = 0; o < n_out; o++) g[j * n_out + o] = FACTOR(x[j]) * FACTOR(dy[o]);
    }
}

void REF(spmatvec)(float *y, const uint32_t *index, const float *value, size_t nnz, const float *w,
                   size_t n_out)
{
    for (size_t k = 0; k < nnz; k++)
        PRODUCT(add_row)(y, value ? value[k] : 1.0f, w + index[k] * n_out, n_out);
}

void REF(spger)(float *w, const uint32_t *index, const float *value, size_t nnz, const float *dy,
                size_t n_out, float eta)
{
    for (size_t k = 0; k < nnz; k++)
        PRODUCT(step_row)(w + index[k] * n_out, value ? value[k] : 1.0f, dy, n_out, eta);
}

void REF(spouter)(float *g, const uint32_t *index, const float *value, size_t nnz, const float *dy,
                  size_t n_out)
{
    for (size_t k = 0; k < nnz; k++) {
        float *row = g + index[k] * n_out;
        float  factor = FACTOR(value ? value[k] : 1.0f);
        for (size_t o = 0; o < n_out; o++) row[o] = fmaf(factor, FACTOR(dy[o]), row[o]);
    }
}
