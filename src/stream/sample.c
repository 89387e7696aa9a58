/* stream/sample.c - see sample.h. */
#include "stream/sample.h"

#include "base/mem.h"

#include <stdlib.h>

drove_status drove__sample_read(const drove_blocks *b, const uint64_t *number, size_t n,
                                size_t most_rows, drove_data **out)
{
    *out = NULL;
    size_t n_rows = 0;
    uint64_t n_stored = 0, n_labels = 0;
    drove_place_in to = {0};
    drove_data *data = calloc(1, sizeof *data);
    if (data == NULL) return drove__fail_nomem("data set", sizeof *data);

    for (size_t i = 0; i < n; i++) {
        n_rows += drove__blocks_rows(b, (size_t)number[i]);
        n_stored += drove__blocks_stored(b, (size_t)number[i]);
        n_labels += drove__blocks_labels(b, (size_t)number[i]);
    }
    drove_status status = drove__blocks_storage(b, n_rows, n_stored, n_labels, &data->storage);
    for (size_t i = 0; i < n && status == DROVE_OK; i++)
        status = drove__blocks_read(b, (size_t)number[i], data->storage, &to);
    if (status != DROVE_OK) goto fail;

    data->n_rows = data->storage->n_rows;
    if (data->n_rows > most_rows) {
        const uint64_t n_all = data->n_rows;
        data->n_rows = most_rows;
        data->row = drove__grow(NULL, most_rows, sizeof *data->row);
        if (data->row == NULL) {
            status = drove__fail_nomem("rows", most_rows * sizeof *data->row);
            goto fail;
        }
        for (uint64_t i = 0; i < most_rows; i++) data->row[i] = (uint32_t)(i * n_all / most_rows);
    }
    *out = data;
    return DROVE_OK;

fail:
    drove_data_destroy(data);
    return status;
}
