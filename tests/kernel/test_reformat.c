/* Images from one format into another, and added to what is there: every pair of formats against
 * the place of each element by the definition of the format. */
#include "base/mem.h"
#include "kernel/conv/conv.h"
#include "support/test.h"

enum { ROWS = 2, C = 32, H = 3, W = 5, N = ROWS * C * H * W };

static const drovek_format formats[] = {DROVEK_NHWC, DROVEK_NCHW, DROVEK_NCHW8, DROVEK_NCHW16};

static size_t place_of(drovek_format format, size_t row, size_t c, size_t y, size_t x)
{
    const size_t block = format == DROVEK_NCHW8 ? 8 : 16;
    switch (format) {
    case DROVEK_NHWC: return ((row * H + y) * W + x) * C + c;
    case DROVEK_NCHW: return ((row * C + c) * H + y) * W + x;
    default: return (((row * (C / block) + c / block) * H + y) * W + x) * block + c % block;
    }
}

static void check(drovek_format from_format, drovek_format to_format, bool adds)
{
    static float from[N], to[N];
    for (size_t i = 0; i < N; i++) from[i] = (float)i, to[i] = (float)(4 * N - i);
    drovek_reformat(from, from_format, to, to_format, ROWS, C, H, W, adds);
    for (size_t row = 0; row < ROWS; row++)
        for (size_t c = 0; c < C; c++)
            for (size_t y = 0; y < H; y++)
                for (size_t x = 0; x < W; x++) {
                    const size_t read = place_of(from_format, row, c, y, x),
                                 written = place_of(to_format, row, c, y, x);
                    const float before = adds ? (float)(4 * N - written) : 0.0f;
                    if (to[written] != (float)read + before)
                        fail_msg("formats %d and %d, adds %d: row %zu, channel %zu, %zu, %zu",
                                 (int)from_format, (int)to_format, adds, row, c, y, x);
                }
}

TEST(elements_keep_their_places)
{
    for (size_t a = 0; a < DROVE_COUNT(formats); a++)
        for (size_t b = 0; b < DROVE_COUNT(formats); b++)
            for (int adds = 0; adds < 2; adds++) check(formats[a], formats[b], adds);
}
