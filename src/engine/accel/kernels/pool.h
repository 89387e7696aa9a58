/* engine/accel/kernels/pool.h - max and average pooling of NHWC images, in the common language of
 * prelude_opencl.h; jobs (job.h).
 *
 * Definitions: src/kernel/ref/pool.c.  A window lies at y sh - ph; its part inside the image
 * is read, and an average is divided by its part in the counted rows and columns.
 */

/* Where a window begins and ends inside the image. */
DROVE_FUNCTION size_t drove_window_first(size_t y, size_t step, size_t margin)
{
    return y * step > margin ? y * step - margin : 0;
}

DROVE_FUNCTION size_t drove_window_last(size_t y, size_t step, size_t margin, size_t size, size_t n)
{
    size_t end = y * step + size; /* from margin above the image */
    return end > margin ? drove_least(end - margin, n) : 0;
}

/* The outputs whose windows hold input i: first, and behind the last. */
DROVE_FUNCTION size_t drove_pooled_first(size_t i, size_t step, size_t margin, size_t size)
{
    return i + margin < size ? 0 : (i + margin - size) / step + 1;
}

DROVE_FUNCTION size_t drove_pooled_last(size_t i, size_t step, size_t margin, size_t n_out)
{
    return drove_least((i + margin) / step + 1, n_out);
}

/* b = the largest of a in each window, c its place y w + x, the first of equals.  Rows: places of
 * the output; columns: channels. */
DROVE_JOB(max_pool)
{
    float    best[DROVE_COLS];
    unsigned place[DROVE_COLS];
    size_t   from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), size = (size_t)k.oh * k.ow;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, y = r % size / k.ow, x = r % k.ow;
        size_t y0 = drove_window_first(y, k.sh, k.ph), x0 = drove_window_first(x, k.sw, k.pw);
        size_t y1 = drove_window_last(y, k.sh, k.ph, k.kh, k.h);
        size_t x1 = drove_window_last(x, k.sw, k.pw, k.kw, k.w);
        for (size_t i = 0; i < to - from; i++) {
            best[i] = a[a_at + ((image * k.h + y0) * k.w + x0) * k.c + from + i];
            place[i] = (unsigned)(y0 * k.w + x0);
        }
        for (size_t iy = y0; iy < y1; iy++) {
            for (size_t ix = x0; ix < x1; ix++) {
                unsigned                  here = (unsigned)(iy * k.w + ix);
                DROVE_GLOBAL const float *in =
                    a + a_at + ((image * k.h + iy) * k.w + ix) * k.c + from;
                for (size_t i = 0; i < to - from; i++) {
                    int is_larger = in[i] > best[i] || in[i] != in[i]; /* a NaN stays */
                    best[i] = is_larger ? in[i] : best[i];
                    place[i] = is_larger ? here : place[i];
                }
            }
        }
        for (size_t i = 0; i < to - from; i++) {
            b[b_at + r * k.c + from + i] = best[i];
            DROVE_WORD_TO(c)[c_at + r * k.c + from + i] = place[i];
        }
    }
}

/* c, at the input, (+)= a, at the output, where the place b says so.  Rows: places of the input. */
DROVE_JOB(max_pool_grad)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), size = (size_t)k.h * k.w;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, iy = r % size / k.w, ix = r % k.w;
        size_t y1 = drove_pooled_last(iy, k.sh, k.ph, k.oh);
        size_t x1 = drove_pooled_last(ix, k.sw, k.pw, k.ow);
        for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
        for (size_t y = drove_pooled_first(iy, k.sh, k.ph, k.kh); y < y1; y++) {
            for (size_t x = drove_pooled_first(ix, k.sw, k.pw, k.kw); x < x1; x++) {
                size_t                       at = ((image * k.oh + y) * k.ow + x) * k.c + from;
                DROVE_GLOBAL const float    *dy = a + a_at + at;
                DROVE_GLOBAL const unsigned *place = DROVE_WORD(b) + b_at + at;
                for (size_t i = 0; i < to - from; i++)
                    sum[i] += place[i] == (unsigned)(r % size) ? dy[i] : 0.0f;
            }
        }
        drove_put(c + c_at + r * k.c + from, sum, to - from, k.adds);
    }
}

/* What a window's sum is divided by: its places in the counted rows and columns. */
DROVE_FUNCTION float drove_window_size(size_t y, size_t x, drove_numbers k)
{
    size_t top = y * k.sh > k.counted[0] ? y * k.sh : k.counted[0];
    size_t left = x * k.sw > k.counted[2] ? x * k.sw : k.counted[2];
    size_t high = drove_least(y * k.sh + k.kh, k.counted[1]) - top;
    size_t wide = drove_least(x * k.sw + k.kw, k.counted[3]) - left;
    return (float)(high * wide);
}

/* b = the mean of a in each window */
DROVE_JOB(average_pool)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), size = (size_t)k.oh * k.ow;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, y = r % size / k.ow, x = r % k.ow;
        size_t y1 = drove_window_last(y, k.sh, k.ph, k.kh, k.h);
        size_t x1 = drove_window_last(x, k.sw, k.pw, k.kw, k.w);
        float  part = 1.0f / drove_window_size(y, x, k);
        for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
        for (size_t iy = drove_window_first(y, k.sh, k.ph); iy < y1; iy++) {
            for (size_t ix = drove_window_first(x, k.sw, k.pw); ix < x1; ix++) {
                DROVE_GLOBAL const float *in =
                    a + a_at + ((image * k.h + iy) * k.w + ix) * k.c + from;
                for (size_t i = 0; i < to - from; i++) sum[i] += in[i];
            }
        }
        for (size_t i = 0; i < to - from; i++) b[b_at + r * k.c + from + i] = part * sum[i];
    }
}

/* b, at the input, (+)= its share of a, at the output.  Rows: places of the input. */
DROVE_JOB(average_pool_grad)
{
    float  sum[DROVE_COLS];
    size_t from = DROVE_COL_FIRST(k), to = DROVE_COL_LAST(k), size = (size_t)k.h * k.w;
    for (size_t r = DROVE_ROW_FIRST(k); r < DROVE_ROW_LAST(k); r++) {
        size_t image = r / size, iy = r % size / k.w, ix = r % k.w;
        size_t y1 = drove_pooled_last(iy, k.sh, k.ph, k.oh);
        size_t x1 = drove_pooled_last(ix, k.sw, k.pw, k.ow);
        for (size_t i = 0; i < to - from; i++) sum[i] = 0.0f;
        for (size_t y = drove_pooled_first(iy, k.sh, k.ph, k.kh); y < y1; y++) {
            for (size_t x = drove_pooled_first(ix, k.sw, k.pw, k.kw); x < x1; x++) {
                float                     part = 1.0f / drove_window_size(y, x, k);
                DROVE_GLOBAL const float *dy =
                    a + a_at + ((image * k.oh + y) * k.ow + x) * k.c + from;
                for (size_t i = 0; i < to - from; i++) sum[i] += part * dy[i];
            }
        }
        drove_put(b + b_at + r * k.c + from, sum, to - from, k.adds);
    }
}
