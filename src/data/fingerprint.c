/* data/fingerprint.c - see fingerprint.h. */
#include "data/fingerprint.h"

#include "base/checksum.h"
#include "data/quant.h"
#include "table/schema.h"

#include <stdlib.h>
#include <string.h>

static unsigned input_parts(const drove_storage *s, size_t row, drove_row_part *part)
{
    size_t n = s->n_features;
    switch (s->x_kind) {
    case DROVE_X_U8: part[0] = (drove_row_part){s->x_u8 + row * n, n}; return 1;
    case DROVE_X_F32:
        part[0] = (drove_row_part){s->x_f32 + row * n, n * sizeof *s->x_f32};
        return 1;
    case DROVE_X_QUANT: {
        const drove_quant *q = s->quant;
        if (q->index_bits == 0) {
            part[0] = (drove_row_part){(const char *)q->value + row * q->row_bytes, q->row_bytes};
            return 1;
        }
        size_t size_bytes = drove__number_size(q->number), index_bytes = q->index_bits / 8;
        size_t first = (size_t)q->row_start[row];
        n = (size_t)q->row_start[row + 1] - first;
        part[0] = (drove_row_part){(const char *)q->index + first * index_bytes, n * index_bytes};
        part[1] = (drove_row_part){(const char *)q->value + first * size_bytes, n * size_bytes};
        return 2;
    }
    case DROVE_X_CSR: break;
    }
    size_t first = (size_t)s->row_start[row];
    n = (size_t)s->row_start[row + 1] - first;
    part[0] = (drove_row_part){s->index + first, n * sizeof *s->index};
    if (s->value == NULL) return 1;
    part[1] = (drove_row_part){s->value + first, n * sizeof *s->value};
    return 2;
}

unsigned drove__row_parts(const drove_storage *storage, size_t row,
                          drove_row_part part[DROVE_MOST_ROW_PARTS])
{
    const drove_storage *s = storage;
    const unsigned n = input_parts(s, row, part);
    const size_t n_values = s->n_values > 1 ? s->n_values : 1;
    switch (s->y_kind) {
    case DROVE_Y_CLASS: part[n] = (drove_row_part){s->y_class + row, sizeof *s->y_class}; break;
    case DROVE_Y_VALUE:
        part[n] = (drove_row_part){s->y_value + row * n_values, n_values * sizeof *s->y_value};
        break;
    case DROVE_Y_LABELS: {
        const size_t first = (size_t)s->label_start[row];
        const size_t n_labels = (size_t)s->label_start[row + 1] - first;
        part[n] = (drove_row_part){s->label + first, n_labels * sizeof *s->label};
        break;
    }
    }
    return n + 1;
}

static drove_status sum_up(const drove_storage *storage, bool has_rows, uint64_t *out)
{
    drove_checksum *sum;
    DROVE_TRY(drove__checksum_begin(&sum));
    drove_status status = DROVE_OK;
    for (size_t i = 0; storage->class_name != NULL && i < drove__storage_n_names(storage); i++)
        drove__checksum_add(sum, storage->class_name[i], strlen(storage->class_name[i]) + 1);
    char *columns = NULL;
    if (storage->schema != NULL) status = drove__schema_to_json(storage->schema, &columns);
    if (columns != NULL) drove__checksum_add(sum, columns, strlen(columns));
    free(columns);
    if (status == DROVE_OK && has_rows) {
        const size_t n =
            storage->n_rows < DROVE_FINGERPRINT_ROWS ? storage->n_rows : DROVE_FINGERPRINT_ROWS;
        for (size_t i = 0; i < n; i++) {
            drove_row_part part[DROVE_MOST_ROW_PARTS];
            size_t row = (size_t)((double)i * (double)storage->n_rows / (double)n);
            unsigned n_parts = drove__row_parts(storage, row, part);
            if (storage->weight != NULL)
                drove__checksum_add(sum, &storage->weight[row], sizeof *storage->weight);
            for (unsigned k = 0; k < n_parts; k++) {
                drove__checksum_add(sum, &part[k].n, sizeof part[k].n);
                if (part[k].n > 0) drove__checksum_add(sum, part[k].bytes, part[k].n);
            }
        }
    }
    *out = drove__checksum_value(sum);
    drove__checksum_end(sum);
    return status;
}

drove_status drove__data_fingerprint(const drove_storage *storage, uint64_t *out)
{
    return sum_up(storage, true, out);
}

drove_status drove__data_fingerprint_names(const drove_storage *storage, uint64_t *out)
{
    return sum_up(storage, false, out);
}
