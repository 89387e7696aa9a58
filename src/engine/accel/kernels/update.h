/* engine/accel/kernels/update.h - the update rules over vectors of n parameters, in the common
 * language of prelude_opencl.h; jobs (job.h).
 *
 * Definitions: src/optim/optim.c (weight decay, clipping), kernel/ref/update.c (rules), whose
 * formulas and fused operations these are.
 */

/* a gradient = scale a + alpha b: the mean of the devices' and weight decay (b: parameters) */
DROVE_JOB(decay)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL float       *g = a + a_at + at;
        DROVE_GLOBAL const float *theta = b + b_at + at;
        for (size_t i = from; i < end; i++) g[i] = DROVE_FMA(k.alpha, theta[i], k.scale * g[i]);
    }
}

/* b[block of rows] = the sum of squares of a there; one column (rows_each is the caller's, `each`
 * numbers a row) */
DROVE_JOB(norm)
{
    float sum = 0.0f;
    if (DROVE_COL_FIRST(k) > 0 || DROVE_ROW_FIRST(k) >= k.rows) return;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        float  part = 0.0f;
        size_t end = drove_least((r + 1) * k.each, k.n);
        for (size_t i = r * k.each; i < end; i++) part += a[a_at + i] * a[a_at + i];
        sum += part;
    }
    b[b_at + DROVE_AT(1)] = sum;
}

/* b[0] = what a gradient with the o sums of squares a is multiplied by, so that its norm is at most
 * p[0]; one item */
DROVE_JOB(clip)
{
    float square = 0.0f;
    if (DROVE_COL_FIRST(k) > 0 || DROVE_ROW_FIRST(k) > 0) return;
    for (size_t i = 0; i < k.o; i++) square += a[a_at + i];
    float norm = DROVE_SQRT(square);
    b[b_at] = norm > k.p[0] ? k.p[0] / norm : 1.0f;
}

/* In all rules: a theta, b gradient, c and d state, e: factor of clipping where adds is 1;
 * scale: eta. */
DROVE_FUNCTION float drove_clipped(DROVE_GLOBAL const float *e, drove_place e_at, drove_numbers k)
{
    return k.adds ? e[e_at] : 1.0f;
}

DROVE_JOB(sgd)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    float  factor = drove_clipped(e, e_at, k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL float       *theta = a + a_at + at;
        DROVE_GLOBAL const float *g = b + b_at + at;
        for (size_t i = from; i < end; i++) theta[i] = DROVE_FMA(-k.scale, factor * g[i], theta[i]);
    }
}

/* p[0]: mu */
DROVE_JOB(momentum)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    float  factor = drove_clipped(e, e_at, k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL float       *theta = a + a_at + at, *velocity = c + c_at + at;
        DROVE_GLOBAL const float *g = b + b_at + at;
        for (size_t i = from; i < end; i++) {
            float v = DROVE_FMA(-k.scale, factor * g[i], k.p[0] * velocity[i]);
            velocity[i] = v;
            theta[i] = theta[i] + v;
        }
    }
}

/* p[2]: epsilon */
DROVE_JOB(adagrad)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    float  factor = drove_clipped(e, e_at, k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL float       *theta = a + a_at + at, *square = c + c_at + at;
        DROVE_GLOBAL const float *g = b + b_at + at;
        for (size_t i = from; i < end; i++) {
            float v = factor * g[i], s = DROVE_FMA(v, v, square[i]);
            square[i] = s;
            theta[i] = theta[i] - k.scale * v / (DROVE_SQRT(s) + k.p[2]);
        }
    }
}

/* p[0]: beta, p[2]: epsilon */
DROVE_JOB(rmsprop)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    float  factor = drove_clipped(e, e_at, k), rest = 1.0f - k.p[0];
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL float       *theta = a + a_at + at, *square = c + c_at + at;
        DROVE_GLOBAL const float *g = b + b_at + at;
        for (size_t i = from; i < end; i++) {
            float v = factor * g[i], s = DROVE_FMA(rest, v * v, k.p[0] * square[i]);
            square[i] = s;
            theta[i] = theta[i] - k.scale * v / (DROVE_SQRT(s) + k.p[2]);
        }
    }
}

/* p: beta1, beta2, epsilon, eta / correction1, 1 / correction2 */
DROVE_JOB(adam)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    float  factor = drove_clipped(e, e_at, k), rest1 = 1.0f - k.p[0], rest2 = 1.0f - k.p[1];
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL float       *theta = a + a_at + at, *m1 = c + c_at + at, *m2 = d + d_at + at;
        DROVE_GLOBAL const float *g = b + b_at + at;
        for (size_t i = from; i < end; i++) {
            float v = factor * g[i];
            float first = DROVE_FMA(rest1, v, k.p[0] * m1[i]);
            float second = DROVE_FMA(rest2, v * v, k.p[1] * m2[i]);
            m1[i] = first;
            m2[i] = second;
            theta[i] = theta[i] - k.p[3] * first / (DROVE_SQRT(second * k.p[4]) + k.p[2]);
        }
    }
}

/* c = a + p[0] b: where Nesterov's rule takes the gradient (a: theta, b: velocity) */
DROVE_JOB(look_ahead)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL const float *theta = a + a_at + at, *v = b + b_at + at;
        DROVE_GLOBAL float       *ahead = c + c_at + at;
        for (size_t i = from; i < end; i++) ahead[i] = DROVE_FMA(k.p[0], v[i], theta[i]);
    }
}
