/* data/info.c - facts of a data set, and its description for people. */
#include "data/data.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/print.h"
#include "data/origin.h"
#include "data/quant.h"
#include "data/scale.h"
#include "table/schema.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_SHOWN = 20, CLASS_SIZE = 256 };

/* ---- facts ---- */

/* Bytes of the numbers and indices of a storage. */
static size_t count_x_bytes(const drove_storage *s)
{
    const drove_quant *q = s->quant;
    size_t n = s->n_rows * s->n_features;
    if (s->x_kind == DROVE_X_U8) return n;
    if (s->x_kind == DROVE_X_F32) return n * sizeof *s->x_f32;
    size_t starts = (s->n_rows + 1) * sizeof *s->row_start;
    if (s->x_kind == DROVE_X_CSR) {
        size_t pair = sizeof *s->index + (s->value != NULL ? sizeof *s->value : 0);
        return starts + (size_t)s->row_start[s->n_rows] * pair;
    }
    if (q->index_bits == 0) return q->n_rows * q->row_bytes;
    return starts + (size_t)q->n_stored * (drove__number_size(q->number) + q->index_bits / 8);
}

void drove_data_describe(const drove_data *data, drove_data_facts *out)
{
    DROVE_ALIVE(data, "data");
    if (data == NULL || out == NULL) return;
    const drove_storage *s = data->storage;
    const drove_quant *q = s->quant;
    size_t n_stored = 0;
    for (size_t i = 0; i < data->n_rows; i++) { /* without bridges */
        const size_t row = drove__data_row(data, i);
        if (!drove__storage_is_sparse(s)) n_stored += s->n_features;
        else if (s->x_kind == DROVE_X_CSR)
            n_stored += (size_t)(s->row_start[row + 1] - s->row_start[row]);
        else {
            drove_quant_walk walk = drove__quant_walk(q, row);
            while (drove__quant_next(q, &walk)) n_stored++;
        }
    }

    size_t n_bytes = sizeof *data + sizeof *s + count_x_bytes(s);
    n_bytes +=
        s->n_rows * (s->y_kind == DROVE_Y_LABELS ? sizeof *s->label_start
                                                 : drove__storage_n_values(s) * sizeof *s->y_value);
    if (s->y_kind == DROVE_Y_LABELS)
        n_bytes += (size_t)s->label_start[s->n_rows] * sizeof *s->label;
    if (s->weight != NULL) n_bytes += s->n_rows * sizeof *s->weight;
    if (data->row != NULL) n_bytes += data->n_rows * sizeof *data->row;
    if (drove__data_scale(data).factor != NULL) n_bytes += 2 * s->n_features * sizeof *data->factor;
    *out = (drove_data_facts){
        .n_rows = data->n_rows,
        .n_features = s->n_features,
        .n_classes = s->n_classes,
        .n_stored = n_stored,
        .channels = s->channels,
        .height = s->height,
        .width = s->width,
        .storage = drove__storage_name(s),
        .target = drove__target_name(s->y_kind),
        .scale = drove__scaling_name(drove__data_scale(data).scaling),
        .notes = s->notes,
        .memory_bytes = n_bytes,
        .quantum = q != NULL ? (double)q->scale : 0,
        .n_clamped = q != NULL ? q->n_clamped : 0,
        .n_bridges = q != NULL ? q->n_bridges : 0,
        .n_inputs = drove__data_n_inputs(data),
        .crop_height = data->augment.crop_height,
        .crop_width = data->augment.crop_width,
        .pad = data->augment.pad,
        .mirror = data->augment.mirror,
    };
}

/* ---- for people ---- */

typedef struct value_range {
    double least, most, sum;
    size_t n, n_zero; /* numbers looked at, and how many of them are 0 */
} value_range;

static void see(value_range *range, double value)
{
    if (range->n == 0 || value < range->least) range->least = value;
    if (range->n == 0 || value > range->most) range->most = value;
    range->sum += value;
    range->n_zero += value == 0;
    range->n++;
}

static drove_status print_x(const drove_data *data, const drove_data_facts *facts, FILE *stream)
{
    double *origin; /* of dense examples; NULL: zeros */
    DROVE_TRY(drove__origin_all(data->storage, &origin));
    const drove_storage *s = data->storage;
    value_range range = {0};
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i), at = row * s->n_features;
        if (s->x_kind == DROVE_X_QUANT) {
            drove_quant_walk walk = drove__quant_walk(s->quant, row);
            while (drove__quant_next(s->quant, &walk)) see(&range, (double)walk.value);
            continue;
        }
        if (s->x_kind == DROVE_X_CSR) {
            for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
                see(&range, s->value != NULL ? (double)s->value[k] : 1.0);
            }
            continue;
        }
        for (size_t f = 0; f < s->n_features; f++) {
            const double x =
                s->x_kind == DROVE_X_U8 ? (double)s->x_u8[at + f] : (double)s->x_f32[at + f];
            see(&range, origin != NULL ? x + origin[f] : x);
        }
    }
    free(origin);
    double cells = (double)facts->n_rows * (double)facts->n_features;
    double n_nonzero = (double)(range.n - range.n_zero);
    fprintf(stream, "storage   %s, %.1f MB\n", facts->storage, (double)facts->memory_bytes / 1e6);
    if (range.n > 0) {
        fprintf(stream, "values    %g to %g, mean %.6g%s\n", range.least, range.most,
                range.sum / (double)range.n,
                drove__storage_is_sparse(s) ? " (of the stored ones)" : "");
    }
    fprintf(stream, "non-zero  %.0f (%.3g %%), %.4g a row\n", n_nonzero, 100.0 * n_nonzero / cells,
            n_nonzero / (double)facts->n_rows);
    fprintf(stream, "scale     %s%s\n", facts->scale,
            facts->quantum != 0 && s->scaling != DROVE_SCALE_NONE ? ", applied" : "");
    if (facts->quantum == 0) return DROVE_OK;
    fprintf(stream, "quantum   %g (value of the number 1); %llu values clamped, %llu bridges\n",
            facts->quantum, (unsigned long long)facts->n_clamped,
            (unsigned long long)facts->n_bridges);
    return DROVE_OK;
}

typedef struct class_count {
    size_t class, n;
} class_count;

static int compare_counts(const void *a, const void *b)
{
    const class_count *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return x->class < y->class ? -1 : 1;
}

static drove_status print_classes(const drove_data *data, FILE *stream)
{
    const drove_storage *s = data->storage;
    class_count *count = calloc(s->n_classes > 0 ? s->n_classes : 1, sizeof *count);
    if (count == NULL) return drove__fail_nomem("class counts", s->n_classes * sizeof *count);
    for (size_t c = 0; c < s->n_classes; c++) count[c].class = c;
    size_t n_labels = 0;
    for (size_t i = 0; i < data->n_rows; i++) {
        size_t row = drove__data_row(data, i);
        if (s->y_kind == DROVE_Y_CLASS) {
            count[s->y_class[row]].n++;
            continue;
        }
        for (uint64_t k = s->label_start[row]; k < s->label_start[row + 1]; k++)
            count[s->label[k]].n++;
        n_labels += (size_t)(s->label_start[row + 1] - s->label_start[row]);
    }
    /* Up to CLASSES_SHOWN classes in their order; if there are more, the most and the least
     * frequent. */
    char number[DROVE_CLASS_TEXT_SIZE], plain[CLASS_SIZE];
    size_t n = s->n_classes;
    const char *what = s->y_kind == DROVE_Y_LABELS ? "labels" : "classes";
    bool all = n <= CLASSES_SHOWN;
    fprintf(stream, "%-9s %zu:", what, n);
    if (!all) qsort(count, n, sizeof *count, compare_counts);
    for (size_t i = 0; i < n; i++) {
        if (!all && i == CLASSES_SHOWN / 2) {
            fprintf(stream, " ...");
            i = n - CLASSES_SHOWN / 2;
        }
        const char *name = drove__class_text(s, count[i].class, number);
        fprintf(stream, "%s %s (%zu)", i == 0 ? "" : ",",
                drove__print_plain(name, plain, sizeof plain), count[i].n);
    }
    putc('\n', stream);
    if (s->y_kind == DROVE_Y_LABELS) {
        fprintf(stream, "labelling %zu, %.4g a row\n", n_labels,
                (double)n_labels / (double)data->n_rows);
    }
    free(count);
    return DROVE_OK;
}

static double value_of(const drove_data *data, size_t i, size_t which)
{
    size_t n_values = drove__storage_n_values(data->storage);
    return (double)data->storage->y_value[drove__data_row(data, i) * n_values + which] +
           drove__origin_y(data->storage, which);
}

static void print_value(const drove_data *data, size_t which, FILE *stream)
{
    const drove_storage *s = data->storage;
    value_range range = {0};
    double squares = 0;
    char name[CLASS_SIZE] = "";
    for (size_t i = 0; i < data->n_rows; i++) see(&range, value_of(data, i, which));
    double mean = range.sum / (double)range.n;
    for (size_t i = 0; i < data->n_rows; i++) {
        double off = value_of(data, i, which) - mean;
        squares += off * off;
    }
    if (s->class_name != NULL) drove__print_plain(s->class_name[which], name, sizeof name);
    fprintf(stream, "target    value%s%.60s, %g to %g, mean %.6g, deviation %.6g\n",
            *name != '\0' ? " " : "", name, range.least, range.most, mean,
            sqrt(squares / (double)range.n));
}

drove_status drove_data_print_info(const drove_data *data, FILE *stream)
{
    DROVE_ALIVE(data, "data");
    DROVE_GIVEN(data);
    DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    drove_data_facts facts;
    drove_data_describe(data, &facts);
    fprintf(stream, "rows      %zu\nfeatures  %zu", facts.n_rows, facts.n_features);
    if (facts.channels > 0) {
        fprintf(stream, " (%zu x %zu x %zu: channels, height, width)", facts.channels, facts.height,
                facts.width);
    }
    putc('\n', stream);
    if (facts.crop_height > 0) {
        fprintf(stream, "loaded as %zu (%zu x %zu x %zu), %zu zeros round them%s\n", facts.n_inputs,
                data->augment.channels, facts.crop_height, facts.crop_width, facts.pad,
                facts.mirror ? ", half of them mirrored" : "");
    }
    DROVE_TRY(print_x(data, &facts, stream));
    if (data->storage->y_kind == DROVE_Y_VALUE) {
        for (size_t k = 0; k < drove__storage_n_values(data->storage); k++)
            print_value(data, k, stream);
    } else DROVE_TRY(print_classes(data, stream));
    value_range range = {0};
    if (data->storage->weight != NULL) {
        for (size_t i = 0; i < data->n_rows; i++)
            see(&range, (double)data->storage->weight[drove__data_row(data, i)]);
        fprintf(stream, "weights   %g to %g, mean %.6g, %zu of them 0\n", range.least, range.most,
                range.sum / (double)range.n, range.n_zero);
    }
    if (facts.notes[0] != '\0') {
        char notes[2 * sizeof data->storage->notes];
        fprintf(stream, "notes     %s\n", drove__print_plain(facts.notes, notes, sizeof notes));
    }
    if (data->storage->schema != NULL) {
        putc('\n', stream);
        drove__schema_print(data->storage->schema, stream);
    }
    return ferror(stream) == 0 ? DROVE_OK
                               : drove__fail(DROVE_E_IO, "the description of data: it cannot be "
                                                         "written");
}
