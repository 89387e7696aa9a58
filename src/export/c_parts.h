/* export/c_parts.h - the functions of which the written C files are made: a part for each kind of
 * layer and each activation.
 *
 * The library holds this file as a text (src/CMakeLists.txt), and export/c_layers.c copies the
 * parts that a network needs, in the order that they have here.  A part begins behind a line
 * "/// NAME PART..." with its name and the parts before it that it calls, and ends at the next such
 * line.  It is C99, and sees math.h and stddef.h alone.
 *
 * Images are [height][width][channels].  x and y may be the same array where a function says so.
 */

/// normal
/* Denormal numbers are zeros. */
static float normal(float v)
{
    return v > -0x1p-126f && v < 0x1p-126f ? 0.0f * v : v;
}

/// product
/* y[n_out] += x[n] W, the rows of W `row` numbers apart: eight sums at once, in blocks of 64
 * terms. */
static void product(const float *x, size_t n, const float *w, size_t row, size_t n_out, float *y)
{
    const size_t full = n_out - n_out % 8;
    for (size_t first = 0; first < n; first += 64) {
        const size_t end = n - first < 64 ? n : first + 64;
        for (size_t j = 0; j < full; j += 8) {
            float sum[8] = {0};
            for (size_t i = first; i < end; i++)
                for (size_t k = 0; k < 8; k++) sum[k] += x[i] * w[i * row + j + k];
            for (size_t k = 0; k < 8; k++) y[j + k] += sum[k];
        }
        for (size_t j = full; j < n_out; j++) {
            float sum = 0.0f;
            for (size_t i = first; i < end; i++) sum += x[i] * w[i * row + j];
            y[j] += sum;
        }
    }
}

/// dense product normal
/* y[n_out] = x[n] W[n][n_out] + b; b NULL: none */
static void dense(const float *x, size_t n, const float *w, const float *b, size_t n_out, float *y)
{
    for (size_t j = 0; j < n_out; j++) y[j] = 0.0f;
    product(x, n, w, n_out, n_out, y);
    for (size_t j = 0; j < n_out; j++) y[j] = normal(y[j] + (b != NULL ? b[j] : 0.0f));
}

/// dense_one normal
/* The same with one output, by fused operations. */
static void dense_one(const float *x, size_t n, const float *w, const float *b, float *y)
{
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++) sum = fmaf(x[i], w[i], sum);
    y[0] = normal(sum + (b != NULL ? b[0] : 0.0f));
}

/// dense_sparse normal
/* The same of data with many zeros. */
static void dense_sparse(const float *x, size_t n, const float *w, const float *b, size_t n_out,
                         float *y)
{
    for (size_t j = 0; j < n_out; j++) y[j] = b != NULL ? b[j] : 0.0f;
    for (size_t i = 0; i < n; i++) {
        if (x[i] == 0.0f) continue;
        for (size_t j = 0; j < n_out; j++) y[j] = fmaf(x[i], w[i * n_out + j], y[j]);
    }
    for (size_t j = 0; j < n_out; j++) y[j] = normal(y[j]);
}

/// window
/* A window that moves over an image. */
typedef struct window {
    size_t h, w, c;    /* the input's height, width, channels */
    size_t oh, ow, oc; /* the output's */
    size_t kh, kw;     /* the window's height, width */
    size_t sh, sw;     /* its steps */
    size_t ph, pw;     /* zeros above and left of the image */
    size_t dh, dw;     /* dilation: distance of the window's elements */
    size_t groups;     /* of channels, each convolved by itself */
    /* averages: the rows [y0, y1) and columns [x0, x1) that an area counts, from the zeros' edge */
    size_t y0, x0, y1, x1;
} window;

/// convolution window product normal
/* W[groups][kh][kw][c / groups][oc / groups], b[oc] or NULL: none.  A row or column before the
 * image is a very large number, and so not below h or w. */
static void convolution(const window *s, const float *x, const float *w, const float *b, float *y)
{
    const size_t n = s->c / s->groups, n_out = s->oc / s->groups;
    for (size_t oy = 0; oy < s->oh; oy++) {
        for (size_t ox = 0; ox < s->ow; ox++, y += s->oc) {
            for (size_t k = 0; k < s->oc; k++) y[k] = 0.0f;
            for (size_t ky = 0; ky < s->kh; ky++) {
                for (size_t kx = 0; kx < s->kw; kx++) {
                    const size_t iy = oy * s->sh + ky * s->dh - s->ph;
                    const size_t ix = ox * s->sw + kx * s->dw - s->pw;
                    if (iy >= s->h || ix >= s->w) continue;
                    for (size_t g = 0; g < s->groups; g++)
                        product(x + (iy * s->w + ix) * s->c + g * n, n,
                                w + ((g * s->kh + ky) * s->kw + kx) * n * n_out, n_out, n_out,
                                y + g * n_out);
                }
            }
            for (size_t k = 0; k < s->oc; k++) y[k] = normal(y[k] + (b != NULL ? b[k] : 0.0f));
        }
    }
}

/// depthwise window normal
/* A convolution whose groups are single channels: W[kh][kw][c], b[c] or NULL: none. */
static void depthwise(const window *s, const float *x, const float *w, const float *b, float *y)
{
    for (size_t oy = 0; oy < s->oh; oy++) {
        for (size_t ox = 0; ox < s->ow; ox++, y += s->c) {
            for (size_t k = 0; k < s->c; k++) y[k] = b != NULL ? b[k] : 0.0f;
            for (size_t ky = 0; ky < s->kh; ky++) {
                for (size_t kx = 0; kx < s->kw; kx++) {
                    const size_t iy = oy * s->sh + ky * s->dh - s->ph;
                    const size_t ix = ox * s->sw + kx * s->dw - s->pw;
                    if (iy >= s->h || ix >= s->w) continue; /* also before the image */
                    const float *from = x + (iy * s->w + ix) * s->c;
                    const float *factor = w + (ky * s->kw + kx) * s->c;
                    for (size_t k = 0; k < s->c; k++) y[k] += from[k] * factor[k];
                }
            }
            for (size_t k = 0; k < s->c; k++) y[k] = normal(y[k]);
        }
    }
}

/// max_pool window
/* The zeros around the image do not count; a NaN is larger than any number. */
static void max_pool(const window *s, const float *x, float *y)
{
    for (size_t oy = 0; oy < s->oh; oy++) {
        for (size_t ox = 0; ox < s->ow; ox++, y += s->c) {
            for (size_t k = 0; k < s->c; k++) y[k] = -INFINITY;
            for (size_t ky = 0; ky < s->kh; ky++) {
                for (size_t kx = 0; kx < s->kw; kx++) {
                    const size_t iy = oy * s->sh + ky - s->ph, ix = ox * s->sw + kx - s->pw;
                    if (iy >= s->h || ix >= s->w) continue; /* also before the image */
                    const float *from = x + (iy * s->w + ix) * s->c;
                    for (size_t k = 0; k < s->c; k++)
                        if (from[k] > y[k] || from[k] != from[k]) y[k] = from[k];
                }
            }
        }
    }
}

/// average_pool window
/* The numbers of [start, start + size) that lie in [first, last). */
static size_t part_of(size_t start, size_t size, size_t first, size_t last)
{
    return (start + size < last ? start + size : last) - (start > first ? start : first);
}

/* The sum over the window by the area of its part that counts. */
static void average_pool(const window *s, const float *x, float *y)
{
    for (size_t oy = 0; oy < s->oh; oy++) {
        for (size_t ox = 0; ox < s->ow; ox++, y += s->c) {
            const size_t rows = part_of(oy * s->sh, s->kh, s->y0, s->y1);
            const size_t cols = part_of(ox * s->sw, s->kw, s->x0, s->x1);
            for (size_t k = 0; k < s->c; k++) y[k] = 0.0f;
            for (size_t ky = 0; ky < s->kh; ky++) {
                for (size_t kx = 0; kx < s->kw; kx++) {
                    const size_t iy = oy * s->sh + ky - s->ph, ix = ox * s->sw + kx - s->pw;
                    if (iy >= s->h || ix >= s->w) continue; /* also before the image */
                    const float *from = x + (iy * s->w + ix) * s->c;
                    for (size_t k = 0; k < s->c; k++) y[k] += from[k];
                }
            }
            for (size_t k = 0; k < s->c; k++) y[k] *= 1.0f / (float)(rows * cols);
        }
    }
}

/// lrn
/* x (kappa + factor * the sum of squares of the channels at most `reach` away)^-beta */
static void lrn(const float *x, size_t places, size_t c, size_t reach, float factor, float beta,
                float kappa, float *y)
{
    for (size_t p = 0; p < places; p++, x += c, y += c) {
        for (size_t k = 0; k < c; k++) {
            const size_t last = c - 1 - k < reach ? c - 1 : k + reach;
            float        sum = 0.0f;
            for (size_t j = k < reach ? 0 : k - reach; j <= last; j++) sum += x[j] * x[j];
            y[k] = x[k] * powf(kappa + factor * sum, -beta);
        }
    }
}

/// affine
/* factor x + offset by channel: batch normalisation.  x may be y. */
static void affine(const float *x, size_t places, size_t c, const float *factor,
                   const float *offset, float *y)
{
    for (size_t p = 0; p < places; p++, x += c, y += c)
        for (size_t k = 0; k < c; k++) y[k] = factor[k] * x[k] + offset[k];
}

/// layer_norm
/* Place of number i of a group of these sides (height, width, channels) in an image of all. */
static size_t number_at(size_t i, const size_t *all, const size_t *group)
{
    const size_t row = i / group[2] / group[1], col = i / group[2] % group[1];
    return (row * all[1] + col) * all[2] + i % group[2];
}

/* Each group by its mean and deviation, then factor x + offset by number.  x may be y. */
static void layer_norm(const float *x, const size_t *all, const size_t *group, float epsilon,
                       const float *factor, const float *offset, float *y)
{
    const size_t n = group[0] * group[1] * group[2], n_all = all[0] * all[1] * all[2];
    const size_t groups[3] = {all[0] / group[0], all[1] / group[1], all[2] / group[2]};
    for (size_t g = 0; g < n_all / n; g++) {
        const size_t first = number_at(g, all, groups);
        double       sum = 0.0, squares = 0.0;
        for (size_t i = 0; i < n; i++) sum += (double)x[first + number_at(i, all, group)];
        const double mean = sum / (double)n;
        for (size_t i = 0; i < n; i++) {
            const double v = (double)x[first + number_at(i, all, group)] - mean;
            squares += v * v;
        }
        const float scale = (float)(1.0 / sqrt(squares / (double)n + (double)epsilon));
        for (size_t i = 0; i < n; i++) {
            const size_t at = first + number_at(i, all, group);
            y[at] = (x[at] - (float)mean) * scale * factor[i] + offset[i];
        }
    }
}

/// prelu
static float prelu(float v, float slope)
{
    return v < 0.0f ? slope * v : v;
}

/// join
/* Copies c channels of each place into those of an image that has `all` channels. */
static void join(const float *x, size_t places, size_t c, size_t all, float *y)
{
    for (size_t p = 0; p < places; p++)
        for (size_t k = 0; k < c; k++) y[p * all + k] = x[p * c + k];
}

/// softmax
/* Probabilities over the channels of each place.  x may be y. */
static void softmax(const float *x, size_t places, size_t c, float *y)
{
    for (size_t p = 0; p < places; p++, x += c, y += c) {
        float  largest = x[0];
        double sum = 0.0;
        for (size_t k = 1; k < c; k++) largest = x[k] > largest ? x[k] : largest;
        for (size_t k = 0; k < c; k++) {
            y[k] = expf(x[k] - largest);
            sum += (double)y[k];
        }
        for (size_t k = 0; k < c; k++) y[k] = (float)((double)y[k] / sum);
    }
}

/// normalize
/* x by its norm: the sum of magnitudes (power 1) or the Euclidean length (2).  x may be y. */
static void normalize(const float *x, size_t n, int power, float *y)
{
    double norm = 0.0;
    for (size_t i = 0; i < n; i++)
        norm += power == 1 ? fabs((double)x[i]) : (double)x[i] * (double)x[i];
    if (power == 2) norm = sqrt(norm);
    for (size_t i = 0; i < n; i++) y[i] = norm > 0.0 ? (float)((double)x[i] / norm) : x[i];
}

/// turn
/* [rows][cols] as [cols][rows]. */
static void turn(const float *x, size_t rows, size_t cols, float *y)
{
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++) y[j * rows + i] = x[i * cols + j];
}

/// reshape
/* The numbers of an image of c channels as one of oc channels, both in the order [c][h][w]. */
static void reshape(const float *x, size_t places, size_t c, size_t out_places, size_t oc, float *y)
{
    for (size_t i = 0; i < places * c; i++)
        y[i % out_places * oc + i / out_places] = x[i % places * c + i / places];
}

/// clip
static float clip(float v, float low, float high)
{
    const float raised = v < low ? low : v;
    return raised > high ? high : raised;
}

/// act_relu
static float act_relu(float v)
{
    return v < 0.0f ? 0.0f : v;
}

/// act_sigmoid normal
static float act_sigmoid(float v)
{
    return normal((float)(1.0 / (1.0 + exp(-(double)v))));
}

/// act_tanh normal
static float act_tanh(float v)
{
    return normal((float)tanh((double)v));
}

/// act_leaky_relu
static float act_leaky_relu(float v, float slope)
{
    return v < 0.0f ? slope * v : v;
}

/// act_elu
static float act_elu(float v, float slope)
{
    return v < 0.0f ? slope * expm1f(v) : v;
}

/// act_selu
static float act_selu(float v, float slope, float level)
{
    return level * (v < 0.0f ? slope * expm1f(v) : v);
}

/// act_gelu
static float act_gelu(float v)
{
    return v * 0.5f * erfcf(v * -0.707106781f);
}

/// act_gelu_tanh
/* v / (1 + e^-2u), 2 u = sqrt(8 / pi) (v + 0.044715 v^3); the factor is 0 or 1 beyond 10 */
static float act_gelu_tanh(float v)
{
    float c = v < -10.0f ? -10.0f : v;
    c = c > 10.0f ? 10.0f : c;
    return v / (1.0f + expf(-1.59576912f * (c + 0.044715f * c * c * c)));
}

/// act_silu
static float act_silu(float v, float slope)
{
    return v / (1.0f + expf(-slope * v));
}

/// act_mish
/* v tanh(log(1 + e^v)); from 20 on the factor is 1 */
static float act_mish(float v)
{
    const float e = expf(v > 20.0f ? 20.0f : v), n = e * (e + 2.0f);
    return v * (n / (n + 2.0f));
}

/// act_softplus
static float act_softplus(float v, float slope)
{
    return (v < 0.0f ? 0.0f : v) + log1pf(expf(v < 0.0f ? slope * v : -slope * v)) / slope;
}

/// act_relu6
static float act_relu6(float v)
{
    const float y = v < 0.0f ? 0.0f : v;
    return y > 6.0f ? 6.0f : y;
}

/// act_hard_swish
static float act_hard_swish(float v)
{
    const float s = v + 3.0f < 0.0f ? 0.0f : v + 3.0f;
    return v * (s > 6.0f ? 6.0f : s) / 6.0f;
}

/// act_hard_sigmoid
static float act_hard_sigmoid(float v, float slope, float level)
{
    const float s = slope * v + level < 0.0f ? 0.0f : slope * v + level;
    return s > 1.0f ? 1.0f : s;
}

/// act_erf
static float act_erf(float v)
{
    return erff(v);
}

/// act_smooth_clip
/* level u / sqrt(1 + u^2), u = v / level, where it is level to the last digit beyond 1e5 */
static float act_smooth_clip(float v, float level)
{
    float u = v / level;
    u = u < -1e5f ? -1e5f : u;
    u = u > 1e5f ? 1e5f : u;
    return level * u / sqrtf(1.0f + u * u);
}

/// act_sin
/* Beyond 8192 it stays as it is there. */
static float act_sin(float v, float slope)
{
    float turns = slope * v < -8192.0f ? -8192.0f : slope * v;
    turns = turns > 8192.0f ? 8192.0f : turns;
    return sinf(turns);
}
