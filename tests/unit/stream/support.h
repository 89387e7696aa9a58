/* tests/unit/stream/support.h - a file of rows, and its blocks. */
#ifndef DROVE_TESTS_UNIT_STREAM_SUPPORT_H
#define DROVE_TESTS_UNIT_STREAM_SUPPORT_H

#include "data/disk/rows_file.h"
#include "stream/stream.h"
#include "support/test.h"

enum { FEATURES = 16, BLOCK_ROWS = 40, ROW_BYTES = FEATURES * sizeof(float) + sizeof(int32_t) };

/* Row i holds i in each of its features, and is of class i % 2. */
static inline void write_rows(const char *path, int n_rows)
{
    drove_rows_writer *w;
    float              x[FEATURES];
    int32_t            y = 0;
    drove_storage      s = {.n_rows = 1,
                            .n_features = FEATURES,
                            .x_kind = DROVE_X_F32,
                            .x_f32 = x,
                            .n_classes = 2,
                            .y_class = &y};
    const drove_data   row = {.storage = &s, .n_rows = 1};
    assert_int_equal(drove__rows_create(path, BLOCK_ROWS * ROW_BYTES, &w), DROVE_OK);
    for (int i = 0; i < n_rows; i++) {
        for (int f = 0; f < FEATURES; f++) x[f] = (float)i;
        y = i % 2;
        assert_int_equal(drove__rows_append(w, &row, NULL, NULL), DROVE_OK);
    }
    const drove_rows_end end = {.shape = &s};
    assert_int_equal(drove__rows_commit(w, &end), DROVE_OK);
}

static inline drove_stream_options options_of(drove_blocks *blocks)
{
    return (drove_stream_options){
        .blocks = blocks, .seed = 3, .memory = 1 << 20, .clock = &drove__clock_real};
}

#endif
