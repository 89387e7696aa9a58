/* data/export.c - functions shared by the writers of all formats. */
#include "data/export.h"

#include "base/mem.h"
#include "base/print.h"
#include "data/origin.h"
#include "data/quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const drove_spec_key drove__export_keys[] = {
    {"scaled", "0", DROVE_AS_BIT(drove_export_options, scaled),
     .help = "of a file that is written: values as a model sees them"},
    DROVE_SPEC_END,
};

drove_status drove__export_begin(const drove_spec *to, bool *scaled)
{
    for (unsigned i = 0; i < to->n_args; i++) {
        const char *path = to->arg[i];
        size_t length = strlen(path);
        if (length > 3 && strcmp(path + length - 3, ".gz") == 0) {
            return drove__fail(DROVE_E_UNSUPPORTED,
                               "%s: files are written uncompressed; expected a name without .gz",
                               path);
        }
        struct stat about; /* a device or a pipe may be written to */
        if (stat(path, &about) == 0 && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode))) {
            return drove__fail(DROVE_E_EXISTS, "%s: exists already and is not overwritten", path);
        }
        for (unsigned j = 0; j < i; j++) {
            if (strcmp(path, to->arg[j]) != 0) continue;
            return drove__fail(DROVE_E_ARG, "%s: expected two different files", path);
        }
    }
    drove_export_options options;
    DROVE_TRY(drove__spec_take(to, drove__export_keys, &options));
    *scaled = options.scaled;
    return DROVE_OK;
}

void drove__export_row(const drove_data *data, size_t i, bool scaled, float *into)
{
    const drove_storage *s = data->storage;
    size_t row = drove__data_row(data, i), n = s->n_features;
    if (s->x_kind == DROVE_X_QUANT) {
        drove__quant_unpack(s->quant, row, n, into);
    } else if (s->x_kind == DROVE_X_U8) {
        for (size_t j = 0; j < n; j++) into[j] = (float)s->x_u8[row * n + j];
    } else if (s->x_kind == DROVE_X_F32) {
        memcpy(into, s->x_f32 + row * n, n * sizeof *into);
    } else {
        memset(into, 0, n * sizeof *into);
        for (uint64_t k = s->row_start[row]; k < s->row_start[row + 1]; k++) {
            into[s->index[k]] = s->value != NULL ? s->value[k] : 1.0f;
        }
    }
    if (!scaled || data->factor == NULL) return;
    for (size_t j = 0; j < n; j++) into[j] = (into[j] - data->shift[j]) * data->factor[j];
}

drove_status drove__export_bytes(const drove_data *data, size_t n, drove_writer *to)
{
    for (size_t i = 0; i < data->n_rows; i++)
        DROVE_TRY(drove__writer_write(to, data->storage->x_u8 + drove__data_row(data, i) * n, n));
    return DROVE_OK;
}

drove_status drove__export_check_origin(const drove_data *data, const char *format)
{
    double *origin;
    DROVE_TRY(drove__origin_all(data->storage, &origin));
    const bool has_origin = origin != NULL || data->storage->y_origin != NULL;
    free(origin);
    if (!has_origin) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s: holds floats, which lose digits in which these data differ; expected "
                       "csv or rows",
                       format);
}

void drove__export_number(FILE *stream, float value, double origin)
{
    char text[40];
    if (origin != 0) {
        fwrite(text, 1, drove__print_far(value, origin, text), stream);
        return;
    }
    if (floorf(value) == value && fabsf(value) < 1e7f) {
        fprintf(stream, "%d", (int)value);
        return;
    }
    for (int precision = 6; precision <= 9; precision++) {
        const char *next;
        float back;
        int n = snprintf(text, sizeof text, "%.*g", precision, (double)value);
        for (char *c = text; *c != '\0'; c++) {
            if (strchr("+-0123456789e", *c) == NULL) *c = '.'; /* a locale's decimal point */
        }
        if (drove__scan_float(text, text + n, &next, &back) && next == text + n && back == value)
            break;
    }
    fputs(text, stream);
}

bool drove__export_names_are_numbers(const drove_storage *storage)
{
    float unused;
    for (size_t i = 0; storage->class_name != NULL && i < storage->n_classes; i++) {
        const char *name = storage->class_name[i], *next;
        if (!drove__scan_float(name, name + strlen(name), &next, &unused) || *next != '\0')
            return false;
    }
    return storage->class_name != NULL;
}
