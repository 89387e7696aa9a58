/* engine/accel/kernels/norm.h - local response, batch and layer normalisation, softmax, prelu and
 * dropout, in the common language of prelude_opencl.h; jobs (job.h).
 *
 * Definitions: src/model/lrn.c, src/model/batch_norm.c, src/model/layer_norm.c, src/model/prelu.c,
 * src/model/dropout.c.  Rows are places, columns channels, unless said.
 */

/* ---- local response normalisation: Krizhevsky, Sutskever, Hinton, NIPS 2012, section 3.3 ---- */

/* s ^ -beta, s > 0 */
DROVE_FUNCTION float drove_power(float s, float beta)
{
    if (beta == 0.75f) return 1.0f / DROVE_SQRT(s * DROVE_SQRT(s));
    if (beta == 0.5f) return 1.0f / DROVE_SQRT(s);
    return beta == 1.0f ? 1.0f / s : drove_exp(-beta * DROVE_LOG(s));
}

/* s = kappa + alpha / size * the sum of squares of a over the size channels around (kh: size);
 * b = a s^-beta, c = s.  scale: alpha / size. */
DROVE_JOB(lrn)
{
    float  s[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), before = (k.kh - 1) / 2;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        for (size_t i = 0; i < to - from; i++) s[i] = 0.0f;
        for (size_t t = 0; t < k.kh; t++) { /* channel i + t - before */
            size_t first = from + t < before ? before - t : from;
            size_t last = k.cols + before > t ? drove_least(to, k.cols + before - t) : 0;
            for (size_t i = first; i < last; i++)
                s[i - from] += x[i + t - before] * x[i + t - before];
        }
        for (size_t i = from; i < to; i++) {
            float v = k.kappa + k.scale * s[i - from];
            c[c_at + r * k.cols + i] = v;
            b[b_at + r * k.cols + i] = x[i] * drove_power(v, k.beta);
        }
    }
}

/* e, at the input, (+)= d s^-beta - 2 scale beta a (sum of d b / s over the channels whose sums
 * this one is in); a: input, b: output, c: s, d: derivative at the output. */
DROVE_JOB(lrn_grad)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), before = k.kh - 1 - (k.kh - 1) / 2;
    float  factor = 2.0f * k.scale * k.beta;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols, *y = b + b_at + r * k.cols;
        DROVE_GLOBAL const float *s = c + c_at + r * k.cols, *dy = d + d_at + r * k.cols;
        for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
        for (size_t t = 0; t < k.kh; t++) {
            size_t first = from + t < before ? before - t : from;
            size_t last = k.cols + before > t ? drove_least(to, k.cols + before - t) : 0;
            for (size_t i = first; i < last; i++) {
                size_t j = i + t - before;
                sum[i - from] += dy[j] * y[j] / s[j];
            }
        }
        for (size_t i = from; i < to; i++)
            sum[i - from] = dy[i] * drove_power(s[i], k.beta) - factor * x[i] * sum[i - from];
        drove_put(e + e_at + r * k.cols + from, sum, to - from, k.adds);
    }
}

/* ---- batch normalisation: Ioffe, Szegedy, ICML 2015, Algorithm 1 ---- */

/* b[block of rows][cols] = sums of a over the block's rows (rows_each is the caller's) */
DROVE_JOB(sum_values)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    if (DROVE_ROW_FIRST(k) >= k.rows) return;
    for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) sum[i] += x[i];
    }
    drove_put(b + b_at + DROVE_AT(1) * k.cols + from, sum, to - from, 0);
}

/* The same of (a - c)^2, c[cols] means. */
DROVE_JOB(sum_squares)
{
    float                     sum[DROVE_COLS];
    size_t                    from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    DROVE_GLOBAL const float *mean = c + c_at + from;
    if (DROVE_ROW_FIRST(k) >= k.rows) return;
    for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) {
            float v = x[i] - mean[i];
            sum[i] += v * v;
        }
    }
    drove_put(b + b_at + DROVE_AT(1) * k.cols + from, sum, to - from, 0);
}

/* The same of d (a - c) / sqrt(e + epsilon), e[cols] variances. */
DROVE_JOB(sum_products)
{
    float                     sum[DROVE_COLS];
    size_t                    from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    DROVE_GLOBAL const float *mean = c + c_at + from;
    if (DROVE_ROW_FIRST(k) >= k.rows) return;
    for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        DROVE_GLOBAL const float *dy = d + d_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) sum[i] += dy[i] * (x[i] - mean[i]);
    }
    for (size_t i = 0; i < to - from; i++)
        sum[i] = sum[i] / DROVE_SQRT(e[e_at + from + i] + k.epsilon);
    drove_put(b + b_at + DROVE_AT(1) * k.cols + from, sum, to - from, 0);
}

/* b[rows][cols] (a vector of n) = scale * the sum over o blocks, each n numbers, of a, ascending */
DROVE_JOB(fold)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t end = drove_vector_end(r, to, k);
        if (end <= from) break;
        for (size_t i = 0; i < end - from; i++) sum[i] = 0.0f;
        for (size_t block = 0; block < k.o; block++) {
            DROVE_GLOBAL const float *x = a + a_at + block * k.n + r * k.cols + from;
            for (size_t i = 0; i < end - from; i++) sum[i] += x[i];
        }
        for (size_t i = 0; i < end - from; i++) sum[i] *= k.scale;
        drove_put(b + b_at + r * k.cols + from, sum, end - from, k.adds);
    }
}

/* b = gamma (a - mean) / sqrt(variance + epsilon) + beta; c: means, then variances [2][cols];
 * d: gamma[cols], e: beta[cols] */
DROVE_JOB(batch_norm)
{
    float                     factor[DROVE_COLS];
    size_t                    from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    DROVE_GLOBAL const float *mean = c + c_at + from, *beta = e + e_at + from;
    for (size_t i = 0; i < to - from; i++) {
        float variance = c[c_at + k.cols + from + i];
        factor[i] = d[d_at + from + i] / DROVE_SQRT(variance + k.epsilon);
    }
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        DROVE_GLOBAL float       *y = b + b_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) y[i] = (x[i] - mean[i]) * factor[i] + beta[i];
    }
}

/* f, at the input, (+)= gamma / s (dy - dbeta / m - (a - mean) / s dgamma / m); a: input, b: dy,
 * c: means, then variances; d: gamma; e: dgamma, then dbeta [2][cols]; scale: 1 / m, m places;
 * s = sqrt(variance + epsilon) */
DROVE_JOB(batch_norm_grad)
{
    float                     v[DROVE_COLS];
    size_t                    from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    DROVE_GLOBAL const float *mean = c + c_at + from, *variance = mean + k.cols;
    DROVE_GLOBAL const float *gamma = d + d_at + from;
    DROVE_GLOBAL const float *dgamma = e + e_at + from, *dbeta = dgamma + k.cols;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        DROVE_GLOBAL const float *dy = b + b_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) {
            float inverse = 1.0f / DROVE_SQRT(variance[i] + k.epsilon);
            float near = (x[i] - mean[i]) * inverse;
            v[i] = gamma[i] * inverse * (dy[i] - k.scale * (dbeta[i] + near * dgamma[i]));
        }
        drove_put(f + f_at + r * k.cols + from, v, to - from, k.adds);
    }
}

/* ---- layer normalisation: Ba, Kiros, Hinton, 2016 ---- */

/* A group has sides kh, kw, o of the example's h, w, c; there are oh, ow, groups of them.  Place of
 * number i of an array of such sides. */
DROVE_FUNCTION size_t drove_place_in(size_t i, size_t wide, size_t deep, drove_numbers k)
{
    return (i / deep / wide * k.w + i / deep % wide) * k.c + i % deep;
}

/* Where group r of all examples begins. */
DROVE_FUNCTION size_t drove_group_at(size_t r, drove_numbers k)
{
    size_t n = (size_t)k.oh * k.ow * k.groups;
    return r / n * k.each + drove_place_in(r % n, k.ow, k.groups, k);
}

/* b[groups][4]: mean, 1 / sqrt(variance + epsilon); rows: groups, of which an item has whole ones
 * (cols 1) */
DROVE_JOB(group_moments)
{
    size_t n = (size_t)k.kh * k.kw * k.o;
    if (DROVE_COL_FIRST(k) > 0) return;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + drove_group_at(r, k);
        float                     sum = 0.0f, squares = 0.0f;
        for (size_t i = 0; i < n; i++) sum += x[drove_place_in(i, k.kw, k.o, k)];
        float mean = sum / (float)n;
        for (size_t i = 0; i < n; i++) {
            float v = x[drove_place_in(i, k.kw, k.o, k)] - mean;
            squares += v * v;
        }
        b[b_at + 4 * r] = mean;
        b[b_at + 4 * r + 1] = 1.0f / DROVE_SQRT(squares / (float)n + k.epsilon);
    }
}

/* Of place r, channel i: its group among all, and its number in the group. */
DROVE_FUNCTION size_t drove_group_of(size_t r, size_t i, drove_numbers k)
{
    size_t places = (size_t)k.h * k.w, y = r % places / k.w, x = r % k.w;
    size_t row = k.kh > 1 ? 0 : y, col = k.kw > 1 ? 0 : x, deep = k.o > 1 ? 0 : i;
    return r / places * k.oh * k.ow * k.groups + (row * k.ow + col) * k.groups + deep;
}

DROVE_FUNCTION size_t drove_number_of(size_t r, size_t i, drove_numbers k)
{
    size_t y = r % ((size_t)k.h * k.w) / k.w, x = r % k.w;
    size_t row = k.kh > 1 ? y : 0, col = k.kw > 1 ? x : 0, deep = k.o > 1 ? i : 0;
    return (row * k.kw + col) * k.o + deep;
}

/* b = d (a - mean) / s + e; c: of group_moments, d: gamma, e: beta */
DROVE_JOB(layer_norm)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        DROVE_GLOBAL float       *y = b + b_at + r * k.cols;
        for (size_t i = from; i < to; i++) {
            size_t at = c_at + 4 * drove_group_of(r, i, k), j = drove_number_of(r, i, k);
            y[i] = (x[i] - c[at]) * c[at + 1] * d[d_at + j] + e[e_at + j];
        }
    }
}

/* b[groups][4], behind what group_moments wrote: means of a d and of a d u, u = (c - mean) / s;
 * a: derivative at the output, c: input, d: gamma */
DROVE_JOB(group_means)
{
    size_t n = (size_t)k.kh * k.kw * k.o;
    if (DROVE_COL_FIRST(k) > 0) return;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *dy = a + a_at + drove_group_at(r, k);
        DROVE_GLOBAL const float *x = c + c_at + drove_group_at(r, k);
        DROVE_GLOBAL float       *own = b + b_at + 4 * r;
        float                     sum = 0.0f, product = 0.0f;
        for (size_t i = 0; i < n; i++) {
            size_t at = drove_place_in(i, k.kw, k.o, k);
            float  v = dy[at] * d[d_at + i];
            sum += v;
            product += v * ((x[at] - own[0]) * own[1]);
        }
        own[2] = sum / (float)n;
        own[3] = product / (float)n;
    }
}

/* b[block of groups][cols] = sums over the block of d (alpha (a - mean) / s + beta); c: of
 * group_moments, d: derivative at the output; rows: groups, columns: numbers of one */
DROVE_JOB(group_products)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    if (DROVE_ROW_FIRST(k) >= k.rows) return;
    for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t first = drove_group_at(r, k);
        float  mean = c[c_at + 4 * r], scale = c[c_at + 4 * r + 1];
        for (size_t i = 0; i < to - from; i++) {
            size_t at = first + drove_place_in(from + i, k.kw, k.o, k);
            sum[i] += d[d_at + at] * (k.alpha * ((a[a_at + at] - mean) * scale) + k.beta);
        }
    }
    drove_put(b + b_at + DROVE_AT(1) * k.cols + from, sum, to - from, 0);
}

/* e, at the input, (+)= (b d - mean(b d) - u mean(b d u)) / s; a: input, b: derivative at the
 * output, c: of group_moments and group_means, d: gamma */
DROVE_JOB(layer_norm_grad)
{
    float  v[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        DROVE_GLOBAL const float *dy = b + b_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) {
            DROVE_GLOBAL const float *own = c + c_at + 4 * drove_group_of(r, from + i, k);
            float                     g = dy[i] * d[d_at + drove_number_of(r, from + i, k)];
            v[i] = own[1] * (g - own[2] - (x[i] - own[0]) * own[1] * own[3]);
        }
        drove_put(e + e_at + r * k.cols + from, v, to - from, k.adds);
    }
}

/* ---- parametric relu: He, Zhang, Ren, Sun, ICCV 2015 ---- */

/* b = a, below 0 times its slope; c: slopes, one a column, or one (each 0) */
DROVE_JOB(prelu)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        DROVE_GLOBAL float       *y = b + b_at + r * k.cols;
        for (size_t i = from; i < to; i++) y[i] = x[i] < 0.0f ? c[c_at + i * k.each] * x[i] : x[i];
    }
}

/* d, at the input, (+)= a, at the output, below 0 times its slope; b: input, c: slopes */
DROVE_JOB(prelu_grad)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *dy = a + a_at + r * k.cols, *x = b + b_at + r * k.cols;
        DROVE_GLOBAL float       *dx = d + d_at + r * k.cols;
        for (size_t i = from; i < to; i++) {
            float v = x[i] < 0.0f ? c[c_at + i * k.each] * dy[i] : dy[i];
            dx[i] = k.adds ? dx[i] + v : v;
        }
    }
}

/* b[block of rows][cols] = sums over the block of a d where a is below 0; d: derivative at the
 * output */
DROVE_JOB(prelu_products)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    if (DROVE_ROW_FIRST(k) >= k.rows) return;
    for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols + from;
        DROVE_GLOBAL const float *dy = d + d_at + r * k.cols + from;
        for (size_t i = 0; i < to - from; i++) sum[i] += x[i] < 0.0f ? x[i] * dy[i] : 0.0f;
    }
    drove_put(b + b_at + DROVE_AT(1) * k.cols + from, sum, to - from, 0);
}

/* ---- softmax over the c channels of a place: an item has whole rows (cols 1) ---- */

DROVE_JOB(softmax)
{
    if (DROVE_COL_FIRST(k) > 0) return;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.c;
        DROVE_GLOBAL float       *y = b + b_at + r * k.c;
        float                     largest = x[0], sum = 0.0f;
        for (size_t i = 1; i < k.c; i++) largest = x[i] > largest ? x[i] : largest;
        for (size_t i = 0; i < k.c; i++) {
            y[i] = drove_exp(x[i] - largest);
            sum += y[i];
        }
        for (size_t i = 0; i < k.c; i++) y[i] = y[i] / sum;
    }
}

/* c (+)= b (a - sum of a b), b: the output, a: derivative there */
DROVE_JOB(softmax_grad)
{
    if (DROVE_COL_FIRST(k) > 0) return;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *dy = a + a_at + r * k.c, *y = b + b_at + r * k.c;
        DROVE_GLOBAL float       *dx = c + c_at + r * k.c;
        float                     sum = 0.0f;
        for (size_t i = 0; i < k.c; i++) sum += dy[i] * y[i];
        for (size_t i = 0; i < k.c; i++) {
            float v = y[i] * (dy[i] - sum);
            dx[i] = k.adds ? dx[i] + v : v;
        }
    }
}

/* ---- dropout: which numbers stay is the function of kernel/image.h ---- */

DROVE_FUNCTION drove_place drove_mix(drove_place z) /* SplitMix64's output function */
{
    z = (z ^ (z >> 30)) * DROVE_PLACE(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * DROVE_PLACE(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

DROVE_FUNCTION unsigned drove_hash(unsigned h) /* MurmurHash3's last step */
{
    h = (h ^ (h >> 16)) * 0x85ebca6bu;
    h = (h ^ (h >> 13)) * 0xc2b2ae35u;
    return h ^ (h >> 16);
}

/* b (+)= scale a where it stays, else 0.  Rows: examples; columns: numbers of one; seed: of the
 * run, of the batch; o: threshold. */
DROVE_JOB(dropout)
{
    const drove_place golden = DROVE_PLACE(0x9e3779b97f4a7c15);
    size_t            from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    drove_place       run = ((drove_place)k.seed[1] << 32) | k.seed[0];
    drove_place       batch = ((drove_place)k.seed[3] << 32) | k.seed[2];
    run =
        drove_mix(drove_mix(run + golden) + golden * (batch + 1)) ^ ((drove_place)k.seed[4] << 40);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        drove_place               key = drove_mix(run ^ r);
        unsigned                  low = (unsigned)key, high = (unsigned)(key >> 32);
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        DROVE_GLOBAL float       *y = b + b_at + r * k.cols;
        for (size_t i = from; i < to; i++) {
            unsigned h = drove_hash(drove_hash((unsigned)i ^ low) + high);
            float    v = h >> 8 >= k.o ? k.scale * x[i] : 0.0f;
            y[i] = k.adds ? y[i] + v : v;
        }
    }
}
