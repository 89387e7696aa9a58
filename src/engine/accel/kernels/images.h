/* engine/accel/kernels/images.h - what convolutions and graphs do to images beside products, in the
 * common language of prelude_opencl.h; jobs (job.h).
 *
 * Images are NHWC: [n][h][w][c], so that a row of a job is a place and its columns are channels.
 * Sums are gathered by the one item that writes them, in a fixed order.
 */

/* The rows and columns of this item. */
#define DROVE_ROW_FIRST(k) drove_least(DROVE_AT(1) * (size_t)(k).rows_each, (k).rows)
#define DROVE_ROW_LAST(k)  drove_least(DROVE_ROW_FIRST(k) + (k).rows_each, (k).rows)
#define DROVE_COL_FIRST(k) drove_least(DROVE_AT(0) * DROVE_COLS, (k).cols)
#define DROVE_COL_LAST(k)  drove_least(DROVE_COL_FIRST(k) + DROVE_COLS, (k).cols)

/* The end of columns in a row of a vector of n numbers. */
DROVE_FUNCTION size_t drove_vector_end(size_t row, size_t to, drove_numbers k)
{
    size_t left = k.n - row * k.cols;
    return drove_least(to, left);
}

/* to[i] (+)= v[i] */
DROVE_FUNCTION void drove_put(DROVE_GLOBAL float *DROVE_RESTRICT to, const float *v, size_t n,
                              unsigned adds)
{
    if (adds)
        for (size_t i = 0; i < n; i++) to[i] += v[i];
    else
        for (size_t i = 0; i < n; i++) to[i] = v[i];
}

/* b, NHWC, from a, NCHW.  Rows: places; columns: channels; h x w: the image. */
DROVE_JOB(to_rows)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), size = (size_t)k.h * k.w;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, place = r % size;
        for (size_t i = from; i < to; i++)
            b[b_at + r * k.cols + i] = a[a_at + (image * k.cols + i) * size + place];
    }
}

/* b, NHWC, from the bytes a, NCHW, as drovek_widen_u8_f32 has them bit by bit: no product is fused
 * with a difference.  each > 0: numbers of an example, (byte - c[number]) * c[each + number]; else
 * the bytes themselves.  Rows: places; columns: channels; h x w: the image. */
DROVE_JOB(widen)
{
    size_t                    from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    unsigned                  size = k.h * k.w; /* divisions by 32 bits are far faster on GPUs */
    DROVE_GLOBAL const float *shift = c + c_at, *factor = shift + k.each;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        unsigned                          image = (unsigned)r / size, place = (unsigned)r % size;
        DROVE_GLOBAL const unsigned char *x =
            DROVE_BYTE(a + a_at) + (size_t)image * k.cols * size + place;
        DROVE_GLOBAL float *y = b + b_at + r * k.cols;
        if (k.each == 0)
            for (size_t i = from; i < to; i++) y[i] = (float)x[i * size];
        else
            for (size_t i = from; i < to; i++) {
                size_t number = i * size + place;
                y[i] = ((float)x[i * size] - shift[number]) * factor[number];
            }
    }
}

/* Without groups and dilation a row of a window is one stretch of memory: columns from .. to of the
 * place (y, x) of an image, at most one row of the window at a time. */
DROVE_FUNCTION void drove_copy_windows(DROVE_GLOBAL const float          *image,
                                       DROVE_GLOBAL float *DROVE_RESTRICT into, size_t y, size_t x,
                                       size_t from, size_t to, drove_numbers k)
{
    size_t wide = (size_t)k.kw * k.c, p = from / wide, at = from - p * wide;
    size_t margin = (size_t)k.pw * k.c,
           left = x * k.sw * k.c;                     /* the window begins at left - margin */
    size_t first = left < margin ? margin - left : 0; /* inside the image from here ... */
    size_t last = (size_t)k.w * k.c + margin - left;  /* ... to there */
    for (size_t j = from; j < to; p++, at = 0) {
        size_t              iy = y * k.sh + p * k.dh - k.ph; /* wraps around above the edge */
        size_t              end = drove_least(wide, at + (to - j)), inside = at;
        size_t              stop = iy < k.h ? drove_least(last, end) : at;
        size_t              base = iy * k.w * k.c + left - margin; /* + inside: in the image */
        DROVE_GLOBAL float *to_row = into + p * wide;
        for (; inside < stop && inside < first; inside++) to_row[inside] = 0.0f;
        for (; inside < stop; inside++) to_row[inside] = image[base + inside];
        for (; inside < end; inside++) to_row[inside] = 0.0f;
        j += end - at;
    }
}

/* b[group][rows][kh kw c / groups] = what each window of a sees, 0 beyond the edge.  Rows: places
 * of the output; columns: of all groups. */
DROVE_JOB(im2col)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    size_t channels = k.c / k.groups, of_group = channels * k.kh * k.kw, size = (size_t)k.oh * k.ow;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, y = r % size / k.ow, x = r % k.ow;
        if (k.groups == 1 && k.dw == 1) {
            drove_copy_windows(a + a_at + image * k.h * k.w * k.c, b + b_at + r * of_group, y, x,
                               from, to, k);
            continue;
        }
        for (size_t j = from; j < to;) {
            size_t g = j / of_group, in_group = j % of_group;
            size_t t = in_group / channels, at = in_group % channels;
            size_t n = drove_least(channels - at, to - j);
            size_t iy = y * k.sh + t / k.kw * k.dh - k.ph; /* wraps around above the edge */
            size_t ix = x * k.sw + t % k.kw * k.dw - k.pw;
            DROVE_GLOBAL float *into = b + b_at + (g * k.rows + r) * of_group + in_group;
            if (iy < k.h && ix < k.w) {
                DROVE_GLOBAL const float *x_row =
                    a + a_at + ((image * k.h + iy) * k.w + ix) * k.c + g * channels + at;
                for (size_t i = 0; i < n; i++) into[i] = x_row[i];
            } else {
                for (size_t i = 0; i < n; i++) into[i] = 0.0f;
            }
            j += n;
        }
    }
}

/* The numbers of output y that see input iy at distance d of the window; false: none does. */
DROVE_FUNCTION int drove_seen_by(size_t iy, size_t d, size_t margin, size_t step, size_t n_out,
                                 size_t *y)
{
    size_t above = iy + margin; /* = y step + d */
    if (above < d) return 0;
    *y = above - d;
    if (step == 1) return *y < n_out;
    if ((unsigned)*y % (unsigned)step != 0) return 0;
    *y = (unsigned)*y / (unsigned)step;
    return *y < n_out;
}

/* b, an image, (+)= the sum of all that im2col would have copied from a place, of the columns a.
 * Rows: places of the input; columns: channels; o: how many places all outputs have. */
DROVE_JOB(col2im)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    size_t channels = k.c / k.groups, of_group = channels * k.kh * k.kw, size = (size_t)k.h * k.w;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, iy = r % size / k.w, ix = r % k.w, y, x;
        for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
        for (size_t p = 0; p < k.kh; p++) {
            if (!drove_seen_by(iy, p * k.dh, k.ph, k.sh, k.oh, &y)) continue;
            for (size_t q = 0; q < k.kw; q++) {
                if (!drove_seen_by(ix, q * k.dw, k.pw, k.sw, k.ow, &x)) continue;
                size_t row = (image * k.oh + y) * k.ow + x;
                for (size_t j = from; j < to;) { /* group by group */
                    size_t g = j / channels, end = drove_least((g + 1) * channels, to);
                    DROVE_GLOBAL const float *col = a + a_at + (g * k.o + row) * of_group +
                                                    (p * k.kw + q) * channels + (j - g * channels);
                    for (size_t i = 0; i < end - j; i++) sum[j - from + i] += col[i];
                    j = end;
                }
            }
        }
        drove_put(b + b_at + r * k.c + from, sum, to - from, k.adds);
    }
}

/* b (+)= scale a: rows of cols numbers, from_row and to_row apart. */
DROVE_JOB(move)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.from_row;
        DROVE_GLOBAL float       *y = b + b_at + r * k.to_row;
        size_t                    end = k.n > 0 ? drove_vector_end(r, to, k) : to;
        if (k.adds)
            for (size_t i = from; i < end; i++) y[i] += k.scale * x[i];
        else
            for (size_t i = from; i < end; i++) y[i] = k.scale * x[i];
    }
}

/* a *= b[row]: rows of cols numbers. */
DROVE_JOB(weigh)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL float *x = a + a_at + r * k.cols;
        for (size_t i = from; i < to; i++) x[i] *= b[b_at + r];
    }
}

DROVE_FUNCTION void drove_activate_row(DROVE_GLOBAL const float *x, DROVE_GLOBAL float *y,
                                       size_t from, size_t to, int act)
{
    for (size_t c = from; c < to; c++) y[c] = drove_activate(x[c], act);
}

/* b = act(a), vectors; b may be a */
DROVE_JOB(activate)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        DROVE_GLOBAL float       *y = b + b_at + r * k.cols;
        size_t                    end = drove_vector_end(r, to, k);
        if (k.act == DROVE_ACT_RELU) drove_activate_row(x, y, from, end, DROVE_ACT_RELU);
        else if (k.act == DROVE_ACT_SIGMOID) drove_activate_row(x, y, from, end, DROVE_ACT_SIGMOID);
        else if (k.act == DROVE_ACT_TANH) drove_activate_row(x, y, from, end, DROVE_ACT_TANH);
        else drove_activate_row(x, y, from, end, 0);
    }
}

DROVE_FUNCTION void drove_derive_row(DROVE_GLOBAL const float *dy, DROVE_GLOBAL const float *y,
                                     DROVE_GLOBAL float *dx, size_t from, size_t to, unsigned adds,
                                     int act)
{
    if (adds)
        for (size_t c = from; c < to; c++) dx[c] += drove_derive(dy[c], y[c], act);
    else
        for (size_t c = from; c < to; c++) dx[c] = drove_derive(dy[c], y[c], act);
}

/* c (+)= a act'(.) by the output b, vectors; c may be a */
DROVE_JOB(derive)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL const float *dy = a + a_at + at, *y = b + b_at + at;
        DROVE_GLOBAL float       *dx = c + c_at + at;
        if (k.act == DROVE_ACT_RELU) drove_derive_row(dy, y, dx, from, end, k.adds, DROVE_ACT_RELU);
        else if (k.act == DROVE_ACT_SIGMOID)
            drove_derive_row(dy, y, dx, from, end, k.adds, DROVE_ACT_SIGMOID);
        else if (k.act == DROVE_ACT_TANH)
            drove_derive_row(dy, y, dx, from, end, k.adds, DROVE_ACT_TANH);
        else drove_derive_row(dy, y, dx, from, end, k.adds, 0);
    }
}

/* The curves of kernel/curves.h in the order of drovek_act. */
enum {
    DROVE_CURVES_BEFORE = DROVE_ACT_TANH,
#define X(name) DROVE_CURVE_##name,
    DROVE_CURVES(X)
#undef X
};

/* b = f(a), vectors; alpha and beta: the curve's numbers */
DROVE_JOB(curve)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        DROVE_GLOBAL float       *y = b + b_at + r * k.cols;
        size_t                    end = drove_vector_end(r, to, k);
#define X(name)                                                                                    \
    if (k.act == DROVE_CURVE_##name)                                                               \
        for (size_t i = from; i < end; i++) y[i] = curve_##name(x[i], k.alpha, k.beta);
        DROVE_CURVES(X)
#undef X
    }
}

/* c (+)= a f'(b), vectors; c may be a */
DROVE_JOB(curve_grad)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t                    at = r * k.cols, end = drove_vector_end(r, to, k);
        DROVE_GLOBAL const float *dy = a + a_at + at, *x = b + b_at + at;
        DROVE_GLOBAL float       *dx = c + c_at + at;
#define X(name)                                                                                    \
    if (k.act == DROVE_CURVE_##name)                                                               \
        for (size_t i = from; i < end; i++) {                                                      \
            float v = dy[i] * slope_##name(x[i], k.alpha, k.beta);                                 \
            dx[i] = k.adds ? dx[i] + v : v;                                                        \
        }
        DROVE_CURVES(X)
#undef X
    }
}

/* c (+)= a b, rows of cols numbers; each: rows of a for one of b */
DROVE_JOB(product)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL const float *x = a + a_at + r * k.cols;
        DROVE_GLOBAL const float *by = b + b_at + r / k.each * k.cols;
        DROVE_GLOBAL float       *y = c + c_at + r * k.cols;
        for (size_t i = from; i < to; i++) {
            float v = x[i] * by[i];
            y[i] = k.adds ? y[i] + v : v;
        }
    }
}

/* c (+)= the sum over each rows of a b: a row of c for `each` of a and b */
DROVE_JOB(product_sum)
{
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k);
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        DROVE_GLOBAL float *y = c + c_at + r * k.cols;
        for (size_t i = from; i < to; i++) {
            size_t at = r * k.each * k.cols + i;
            float  sum = 0.0f;
            for (size_t j = 0; j < k.each; j++, at += k.cols) sum += a[a_at + at] * b[b_at + at];
            y[i] = k.adds ? y[i] + sum : sum;
        }
    }
}
