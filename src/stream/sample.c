/* stream/sample.c - see sample.h. */
#include "stream/sample.h"

#include "base/mem.h"

#include <stdlib.h>

static drove_status read_blocks(const drove_blocks *b, const uint64_t *number, size_t n,
                                drove_storage **out)
{
    size_t n_rows = 0;
    uint64_t n_stored = 0, n_labels = 0;
    drove_place_in to = {0};
    for (size_t i = 0; i < n; i++) {
        n_rows += drove__blocks_rows(b, (size_t)number[i]);
        n_stored += drove__blocks_stored(b, (size_t)number[i]);
        n_labels += drove__blocks_labels(b, (size_t)number[i]);
    }
    DROVE_TRY(drove__blocks_storage(b, n_rows, n_stored, n_labels, out));
    for (size_t i = 0; i < n; i++) DROVE_TRY(b->ops->read(b, (size_t)number[i], *out, &to));
    return DROVE_OK;
}

static drove_status pick_rows(drove_data *data, size_t most_rows)
{
    const uint64_t n = data->storage->n_rows;
    data->n_rows = (size_t)n;
    if (n <= most_rows) return DROVE_OK;
    data->n_rows = most_rows;
    data->row = drove__grow(NULL, most_rows, sizeof *data->row);
    if (data->row == NULL) return drove__fail_nomem("rows", most_rows * sizeof *data->row);
    for (uint64_t i = 0; i < most_rows; i++) data->row[i] = (uint32_t)(i * n / most_rows);
    return DROVE_OK;
}

drove_status drove__sample_read(const drove_blocks *b, const uint64_t *number, size_t n,
                                size_t most_rows, drove_data **out)
{
    *out = NULL;
    drove_data *data = calloc(1, sizeof *data);
    if (data == NULL) return drove__fail_nomem("data set", sizeof *data);
    drove_status status = read_blocks(b, number, n, &data->storage);
    if (status == DROVE_OK) status = pick_rows(data, most_rows);
    if (status != DROVE_OK) {
        drove_data_destroy(data);
        return status;
    }
    *out = data;
    return DROVE_OK;
}
