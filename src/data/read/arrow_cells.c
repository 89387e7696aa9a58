/* data/read/arrow_cells.c - see arrow_cells.h.
 *
 * Source: "Arrow columnar format" for the layout of buffers.  All reads are by memcpy: buffers need
 * not be aligned.
 */
#include "data/read/arrow_cells.h"

#include "base/half.h"
#include "base/mem.h"
#include "table/cell.h"
#include "table/content.h"
#include "table/raw.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MOST (INT64_MAX / 64) /* so that no size in bytes overflows */

typedef struct cells { /* of a checked array */
    const drove_arrow_type *type;
    const uint8_t *valid;      /* bits; NULL: all are */
    const uint8_t *values;     /* bits, numbers, offsets or views */
    const uint8_t *bytes;      /* TEXT; of VIEW the sizes of the buffers */
    const void *const *buffer; /* VIEW: [n_buffers] */
    size_t n_buffers;
    size_t start, n;
} cells;

/* ---- loads ---- */

static bool bit_at(const uint8_t *bits, size_t i)
{
    return (bits[i / 8] >> (i % 8) & 1u) != 0;
}

static uint16_t load_16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint32_t load_32(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint64_t load_64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* Of unsigned integers of 64 bits the same bits. */
static int64_t integer_at(const uint8_t *values, const drove_arrow_type *type, size_t i)
{
    const uint8_t *from = values + i * type->n_bytes;
    const bool is_unsigned = type->is_unsigned;
    switch (type->n_bytes) {
    case 1: return is_unsigned ? *from : (int8_t)*from;
    case 2: return is_unsigned ? load_16(from) : (int16_t)load_16(from);
    case 4: return is_unsigned ? (int64_t)load_32(from) : (int32_t)load_32(from);
    default: return (int64_t)load_64(from);
    }
}

static double float_at(const uint8_t *values, unsigned n_bytes, size_t i)
{
    const uint8_t *from = values + i * n_bytes;
    double value;
    if (n_bytes == 2) return (double)drove__float_of_half(load_16(from));
    if (n_bytes == 4) return (double)drove__raw_float(load_32(from));
    memcpy(&value, from, sizeof value);
    return value;
}

/* Integers in two's complement of up to 256 bits, lowest word first. */
static double decimal_at(const uint8_t *values, const drove_arrow_type *type, size_t i)
{
    uint32_t word[8];
    const size_t n_words = type->n_bytes / sizeof *word;
    double value = 0;
    memcpy(word, values + i * type->n_bytes, type->n_bytes);
    const bool is_negative = word[n_words - 1] >> 31 != 0;
    uint64_t carry = is_negative;
    for (size_t k = 0; k < n_words && is_negative; k++) {
        carry += ~word[k];
        word[k] = (uint32_t)carry;
        carry >>= 32;
    }
    for (size_t k = n_words; k-- > 0;) value = value * 4294967296.0 + word[k];
    if (type->scale > 0) value /= pow(10, type->scale);
    if (type->scale < 0) value *= pow(10, -type->scale);
    return is_negative ? -value : value;
}

/* ---- checks ---- */

static drove_status fail_count(const char *what, long long expected, int64_t found)
{
    return drove__fail(DROVE_E_DATA, "expected %s %lld, found %lld", what, expected,
                       (long long)found);
}

/* The bitmap agrees with null_count, over the whole array. */
static drove_status check_valid(const struct ArrowArray *a)
{
    const uint8_t *valid = a->buffers[0];
    int64_t n = 0;
    if (a->null_count < 0) return DROVE_OK;
    for (int64_t i = a->offset; valid != NULL && i < a->offset + a->length; i++)
        n += !bit_at(valid, (size_t)i);
    if (n == a->null_count) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "expected %lld cells that are null, as null_count says, found "
                       "%lld in the bitmap",
                       (long long)a->null_count, (long long)n);
}

static int64_t offset_at(const cells *c, size_t i)
{
    const uint8_t *from = c->values + i * c->type->n_bytes;
    return c->type->n_bytes == 4 ? (int32_t)load_32(from) : (int64_t)load_64(from);
}

static drove_status check_offsets(const cells *c)
{
    int64_t before = 0;
    for (size_t i = 0; c->n > 0 && i <= c->n; i++) {
        const int64_t offset = offset_at(c, c->start + i);
        if (offset < before)
            return drove__fail(DROVE_E_DATA,
                               "expected offsets of texts that ascend from 0, found %lld behind "
                               "%lld",
                               (long long)offset, (long long)before);
        before = offset;
    }
    if (before == 0 || c->bytes != NULL || c->n == 0) return DROVE_OK;
    if (offset_at(c, c->start) == before) return DROVE_OK; /* all are empty */
    return drove__fail(DROVE_E_DATA, "expected a buffer of texts, found none");
}

static drove_status open_cells(const struct ArrowArray *a, const drove_arrow_type *type,
                               size_t first, size_t n, cells *out)
{
    *out = (cells){.type = type, .n = n};
    if (a->length < 0 || a->length > CELLS_MOST)
        return fail_count("a length from 0 to", (long long)CELLS_MOST, a->length);
    if (a->offset < 0 || a->offset > CELLS_MOST)
        return fail_count("an offset from 0 to", (long long)CELLS_MOST, a->offset);
    if (a->null_count < -1 || a->null_count > a->length)
        return fail_count("a null_count from -1 to", (long long)a->length, a->null_count);
    if (a->n_children != 0) return fail_count("children:", 0, a->n_children);
    /* Arrays of nulls have no buffer; those of some producers, after older versions of the
     * specification, have one of valid cells. */
    const bool is_view = type->kind == DROVE_ARROW_VIEW, is_null = type->kind == DROVE_ARROW_NULL;
    const int64_t expected = is_null ? 0 : is_view || type->kind == DROVE_ARROW_TEXT ? 3 : 2;
    const bool may_be_more = is_view || (is_null && a->n_buffers == 1);
    if (a->n_buffers < expected || (a->n_buffers > expected && !may_be_more))
        return fail_count("buffers:", (long long)expected, a->n_buffers);
    if (!is_null && a->buffers == NULL)
        return drove__fail(DROVE_E_DATA, "expected %lld buffers, found none",
                           (long long)a->n_buffers);
    if (first > (size_t)a->length || n > (size_t)a->length - first)
        return drove__fail(DROVE_E_DATA, "expected %zu cells from %zu on, found a length of %lld",
                           n, first, (long long)a->length);
    out->start = (size_t)a->offset + first;
    if (type->kind == DROVE_ARROW_NULL) return DROVE_OK;
    DROVE_TRY(check_valid(a));
    out->valid = a->buffers[0];
    out->values = a->buffers[1];
    if (out->values == NULL && n > 0)
        return drove__fail(DROVE_E_DATA, "expected a buffer of values, found none");
    if (type->kind == DROVE_ARROW_TEXT) {
        out->bytes = a->buffers[2];
        return check_offsets(out);
    }
    if (type->kind != DROVE_ARROW_VIEW) return DROVE_OK;
    out->buffer = a->buffers + 2;
    out->n_buffers = (size_t)a->n_buffers - 3;
    out->bytes = a->buffers[a->n_buffers - 1];
    if (out->n_buffers > 0 && out->bytes == NULL && n > 0)
        return drove__fail(DROVE_E_DATA, "expected the sizes of %zu buffers of texts, found none",
                           out->n_buffers);
    return DROVE_OK;
}

static bool is_null(const cells *c, size_t i)
{
    if (c->type->kind == DROVE_ARROW_NULL) return true;
    return c->valid != NULL && !bit_at(c->valid, c->start + i);
}

/* ---- texts ---- */

static drove_status view_at(const cells *c, size_t i, const char **text, size_t *n)
{
    enum { INLINE_MOST = 12 };
    const uint8_t *view = c->values + (c->start + i) * c->type->n_bytes;
    const int32_t length = (int32_t)load_32(view);
    *text = (const char *)view + 4;
    *n = (size_t)length;
    if (length >= 0 && length <= INLINE_MOST) return DROVE_OK;
    const int32_t buffer = (int32_t)load_32(view + 8), offset = (int32_t)load_32(view + 12);
    if (length < 0 || buffer < 0 || (size_t)buffer >= c->n_buffers || offset < 0)
        return drove__fail(DROVE_E_DATA,
                           "expected a text in one of %zu buffers, found %d bytes from %d on in "
                           "buffer %d",
                           c->n_buffers, length, offset, buffer);
    const int64_t size = (int64_t)load_64(c->bytes + (size_t)buffer * sizeof(int64_t));
    if (c->buffer[buffer] == NULL || (int64_t)offset + length > size)
        return drove__fail(DROVE_E_DATA,
                           "expected a text within %lld bytes, found %d bytes from %d on",
                           (long long)(c->buffer[buffer] == NULL ? 0 : size), length, offset);
    *text = (const char *)c->buffer[buffer] + offset;
    return DROVE_OK;
}

static drove_status put_text(const cells *c, size_t i, drove_frame_column *column, size_t row)
{
    const char *text = "";
    size_t n;
    if (c->type->kind == DROVE_ARROW_VIEW) {
        DROVE_TRY(view_at(c, i, &text, &n));
    } else {
        const int64_t from = offset_at(c, c->start + i), to = offset_at(c, c->start + i + 1);
        n = (size_t)(to - from);
        if (n > 0) text = (const char *)c->bytes + from;
    }
    if (n > DROVE_CELL_MOST_BYTES) /* before it is looked at */
        return drove__fail(DROVE_E_DATA, "expected a text of at most %zu bytes, found %zu",
                           DROVE_CELL_MOST_BYTES, n);
    return drove__frame_intern(column, text, n, &column->raw[row]);
}

/* ---- cells ---- */

static drove_status put_date(const cells *c, size_t i, drove_frame_column *column, size_t row)
{
    const int64_t per_day = c->type->per_day, seconds_of_day = 86400;
    const int64_t value = integer_at(c->values, c->type, c->start + i);
    const int64_t days_most = (int64_t)DROVE_SECONDS_MOST / seconds_of_day;
    int64_t seconds = 0;
    bool is_near = per_day != 1 || (value >= -days_most && value <= days_most);
    if (per_day == 1 && is_near) seconds = value * seconds_of_day;
    if (per_day != 1) {
        const int64_t per_second = per_day / seconds_of_day, left = value % per_second;
        seconds = value / per_second - (left < 0);
        is_near = fabs((double)seconds) <= DROVE_SECONDS_MOST;
        column->has_time = column->has_time || value % per_day != 0;
    }
    if (!is_near)
        return drove__fail(DROVE_E_DATA,
                           "expected a date between the years -9999 and 9999, found one %s",
                           value < 0 ? "before" : "behind");
    /* 0001-01-01 and dates of the year 9999 stand for none, as in a text (table/cell.h). */
    const bool is_none = (seconds >= -62135596800 && seconds < -62135510400) ||
                         (seconds >= 253370764800 && seconds < 253402300800);
    column->integer[row] = is_none ? DROVE_FRAME_NO_INTEGER : seconds;
    return DROVE_OK;
}

/* A cell that is not null; the column has the type of the cells. */
static drove_status put_cell(const cells *c, size_t i, drove_frame_column *column, size_t row)
{
    const size_t at = c->start + i;
    double value = 0;
    switch (c->type->kind) {
    case DROVE_ARROW_INTEGER: {
        const int64_t integer = integer_at(c->values, c->type, c->start + i);
        column->integer[row] = integer;
        if (integer != DROVE_FRAME_NO_INTEGER || !column->is_unsigned) return DROVE_OK;
        return drove__fail(
            DROVE_E_DATA, "expected an unsigned integer other than 2^63, which marks missing cells "
                          "(as floats the column has it)");
    }
    case DROVE_ARROW_DATE: return put_date(c, i, column, row);
    case DROVE_ARROW_NULL:
    case DROVE_ARROW_TEXT:
    case DROVE_ARROW_VIEW: return put_text(c, i, column, row);
    case DROVE_ARROW_BOOL: value = bit_at(c->values, at) ? 1 : 0; break;
    case DROVE_ARROW_FLOAT: value = float_at(c->values, c->type->n_bytes, at); break;
    case DROVE_ARROW_DECIMAL: value = decimal_at(c->values, c->type, at); break;
    case DROVE_ARROW_SECONDS:
        value = (double)integer_at(c->values, c->type, at) / (double)c->type->per_second;
        break;
    }
    if (column->is_wide) column->number[row] = value;
    else column->raw[row] = drove__raw_of_float((float)value);
    return DROVE_OK;
}

static void put_missing(drove_frame_column *column, size_t row)
{
    switch (column->type) {
    case DROVE_FRAME_INTEGER:
    case DROVE_FRAME_DATE: column->integer[row] = DROVE_FRAME_NO_INTEGER; break;
    case DROVE_FRAME_TEXT:
    case DROVE_FRAME_CATEGORY: column->raw[row] = 0; break;
    default:
        if (column->is_wide) column->number[row] = (double)NAN;
        else column->raw[row] = drove__raw_of_float(NAN);
        break;
    }
}

static drove_status fail_row(drove_status status, const drove_arrow_field *field, size_t row)
{
    return drove__fail_in(status, "arrow: column \"%.80s\": row %zu", field->name, row + 1);
}

/* ---- dictionaries ---- */

typedef struct dictionary {
    cells values;
    uint32_t *word; /* [values.n] of the frame's column, once a cell has it; UNREAD before */
    drove_frame_column one; /* a value that is no text, to be printed */
} dictionary;

#define UNREAD UINT32_MAX

static drove_status read_value(dictionary *d, size_t k, drove_frame_column *column)
{
    const drove_arrow_kind kind = d->values.type->kind;
    char text[DROVE_FRAME_PRINT_SIZE];
    d->word[k] = 0;
    if (is_null(&d->values, k)) return DROVE_OK;
    if (kind == DROVE_ARROW_TEXT || kind == DROVE_ARROW_VIEW) {
        /* put_text writes a word of a column: here that of the dictionary. */
        uint32_t *raw = column->raw;
        column->raw = d->word;
        const drove_status status = put_text(&d->values, k, column, k);
        column->raw = raw;
        return status;
    }
    DROVE_TRY(put_cell(&d->values, k, &d->one, 0));
    return drove__frame_intern(column, text, drove__frame_print(&d->one, 0, text), &d->word[k]);
}

static drove_status put_indices(const drove_arrow_field *field, const cells *c, dictionary *d,
                                drove_frame_column *column, size_t row)
{
    for (size_t i = 0; i < c->n; i++) {
        put_missing(column, row + i);
        if (is_null(c, i)) continue;
        const int64_t index = integer_at(c->values, c->type, c->start + i);
        if (index < 0 || (uint64_t)index >= d->values.n) /* 2^63 and more count as negative */
            return fail_row(drove__fail(DROVE_E_DATA,
                                        "expected an index below %zu, the size of the dictionary, "
                                        "found %lld",
                                        d->values.n, (long long)index),
                            field, row + i);
        if (d->word[index] == UNREAD) {
            const drove_status status = read_value(d, (size_t)index, column);
            if (status != DROVE_OK) return fail_row(status, field, row + i);
        }
        column->raw[row + i] = d->word[index];
    }
    return DROVE_OK;
}

static drove_status read_dictionary(const drove_arrow_field *field, const struct ArrowArray *a,
                                    const cells *c, drove_frame_column *column, size_t row)
{
    dictionary d;
    drove_status status = DROVE_OK;
    const struct ArrowArray *values = a->dictionary;
    d = (dictionary){.one.type = drove__arrow_frame_type(&field->value),
                     .one.is_unsigned = field->value.is_unsigned,
                     .one.is_wide = drove__arrow_is_wide(&field->value)};
    if (values == NULL || values->release == NULL) {
        status = drove__fail(DROVE_E_DATA, "expected a dictionary, found none");
        goto end;
    }
    if (values->dictionary != NULL) {
        status =
            drove__fail(DROVE_E_DATA, "expected a dictionary of values, found one of dictionaries");
        goto end;
    }
    const size_t n = values->length > 0 ? (size_t)values->length : 0;
    if ((status = open_cells(values, &field->value, 0, n, &d.values)) != DROVE_OK) goto end;
    if ((status = drove__frame_reserve(&d.one, 1)) != DROVE_OK) goto end;
    d.word = drove__grow(NULL, n > 0 ? n : 1, sizeof *d.word);
    if (d.word == NULL) {
        status = drove__fail_nomem("a dictionary", n * sizeof *d.word);
        goto end;
    }
    for (size_t k = 0; k < n; k++) d.word[k] = UNREAD;
end:
    if (status != DROVE_OK)
        drove__fail_in(status, "arrow: column \"%.80s\": dictionary", field->name);
    else status = put_indices(field, c, &d, column, row);
    drove__frame_column_fini(&d.one);
    free(d.word);
    return status;
}

drove_status drove__arrow_read(const drove_arrow_field *field, const struct ArrowArray *array,
                               size_t first, size_t n, drove_frame_column *column, size_t row)
{
    cells c;
    if (array == NULL || array->release == NULL)
        return drove__fail(DROVE_E_DATA, "arrow: column \"%.80s\": expected an array, found %s",
                           field->name, array == NULL ? "none" : "one that was released");
    drove_status status = open_cells(array, &field->type, first, n, &c);
    if (status == DROVE_OK && !field->is_dictionary && array->dictionary != NULL)
        status = drove__fail(DROVE_E_DATA, "expected no dictionary, as in the schema, found one");
    if (status != DROVE_OK) return drove__fail_in(status, "arrow: column \"%.80s\"", field->name);
    DROVE_TRY(drove__frame_reserve(column, row + n));
    if (field->is_dictionary) return read_dictionary(field, array, &c, column, row);
    for (size_t i = 0; i < n; i++) {
        if (is_null(&c, i)) {
            put_missing(column, row + i);
            continue;
        }
        status = put_cell(&c, i, column, row + i);
        if (status != DROVE_OK) return fail_row(status, field, row + i);
    }
    return DROVE_OK;
}
