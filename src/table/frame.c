/* table/frame.c - see frame.h. */
#include "table/frame.h"

#include "base/mem.h"
#include "table/cell.h"
#include "table/compose.h"
#include "table/content.h"
#include "table/dictionary.h"
#include "table/raw.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char kind[] = "table";

void drove__frame_column_fini(drove_frame_column *c)
{
    free(c->name);
    free(c->raw);
    free(c->integer);
    free(c->number);
    free(c->bytes);
    free(c->text);
    free(c->slot);
    *c = (drove_frame_column){0};
}

static void destroy(drove_named_object *object)
{
    drove_frame *frame = (drove_frame *)object;
    for (size_t i = 0; i < frame->n_columns; i++) drove__frame_column_fini(&frame->column[i]);
    free(frame->column);
    free(frame);
}

drove_status drove__frame_create(size_t n_columns, drove_frame **out)
{
    *out = NULL;
    drove_frame *frame = calloc(1, sizeof *frame);
    drove_frame_column *column = calloc(n_columns > 0 ? n_columns : 1, sizeof *column);
    if (frame == NULL || column == NULL) {
        free(frame);
        free(column);
        return drove__fail_nomem("a table", n_columns * sizeof *column);
    }
    frame->column = column;
    frame->n_columns = n_columns;
    drove__named_add(&frame->named, kind, destroy);
    drove__named_print(&frame->named, frame->name);
    *out = frame;
    return DROVE_OK;
}

void drove__frame_release(drove_frame *frame)
{
    drove__named_release(frame != NULL ? &frame->named : NULL);
}

drove_frame *drove__frame_find(const char *path)
{
    /* Not a bare number: that is a file's name. */
    if (strncmp(path, DROVE_NAMED_WORD ":", sizeof DROVE_NAMED_WORD) != 0) return NULL;
    return (drove_frame *)drove__named_find(path, kind);
}

static bool is_integer(const drove_frame_column *c)
{
    return c->type == DROVE_FRAME_INTEGER || c->type == DROVE_FRAME_DATE;
}

size_t drove__frame_bytes(const drove_frame *frame)
{
    size_t n = 0;
    for (size_t i = 0; i < frame->n_columns; i++) {
        const drove_frame_column *c = &frame->column[i];
        n += c->capacity * (is_integer(c) || c->is_wide ? sizeof *c->integer : sizeof *c->raw);
        n += c->bytes_capacity + c->texts_capacity * sizeof *c->text + c->n_slots * sizeof *c->slot;
    }
    return n;
}

/* ---- making a column ---- */

drove_status drove__frame_reserve(drove_frame_column *c, size_t n_rows)
{
    if (n_rows <= c->capacity) return DROVE_OK;
    size_t wanted = c->capacity + c->capacity / 2;
    if (wanted < n_rows) wanted = n_rows;
    void *grown = is_integer(c) ? drove__grow(c->integer, wanted, sizeof *c->integer)
                  : c->is_wide  ? (void *)drove__grow(c->number, wanted, sizeof *c->number)
                                : (void *)drove__grow(c->raw, wanted, sizeof *c->raw);
    if (grown == NULL) return drove__fail_nomem("cells of a table", wanted * sizeof *c->raw);
    if (is_integer(c)) c->integer = grown;
    else if (c->is_wide) c->number = grown;
    else c->raw = grown;
    c->capacity = wanted;
    return DROVE_OK;
}

drove_status drove__frame_settle(drove_frame_column *c, size_t n_rows)
{
    drove_digits digits = {0};
    if (c->type != DROVE_FRAME_NUMBER || !c->is_wide) return DROVE_OK;
    for (size_t row = 0; row < n_rows; row++) {
        if (isfinite(c->number[row])) drove__digits_add(&digits, c->number[row]);
    }
    if (digits.is_whole_rounded || drove__digits_are_far(&digits)) return DROVE_OK;
    c->raw = drove__grow(NULL, n_rows > 0 ? n_rows : 1, sizeof *c->raw);
    if (c->raw == NULL) return drove__fail_nomem("cells of a table", n_rows * sizeof *c->raw);
    for (size_t row = 0; row < n_rows; row++) {
        const double value = c->number[row];
        c->raw[row] = drove__raw_of_float(value > (double)FLT_MAX    ? INFINITY
                                          : value < -(double)FLT_MAX ? -INFINITY
                                                                     : (float)value);
    }
    free(c->number);
    c->number = NULL;
    c->is_wide = false;
    c->capacity = n_rows;
    return DROVE_OK;
}

static drove_status add_text(drove_frame_column *c, const char *text, size_t length, uint32_t hash)
{
    if (length > DROVE_CELL_MOST_BYTES)
        return drove__fail(DROVE_E_DATA, "expected a text of at most %zu bytes, found %zu",
                           DROVE_CELL_MOST_BYTES, length);
    if (memchr(text, '\0', length) != NULL || !drove__is_utf8(text, length))
        return drove__fail(DROVE_E_DATA, "expected a text in UTF-8 without NUL, found other bytes");
    if (c->n_bytes + length > c->bytes_capacity) {
        const size_t wanted = 2 * c->bytes_capacity + length + 1024;
        char *bytes = drove__grow(c->bytes, wanted, 1);
        if (bytes == NULL) return drove__fail_nomem("texts of a table", wanted);
        c->bytes = bytes;
        c->bytes_capacity = wanted;
    }
    if (c->n_texts == c->texts_capacity) {
        const size_t wanted = 2 * c->texts_capacity + 64;
        drove_frame_text *grown = drove__grow(c->text, wanted, sizeof *grown);
        if (grown == NULL) return drove__fail_nomem("texts of a table", wanted * sizeof *grown);
        c->text = grown;
        c->texts_capacity = wanted;
    }
    memcpy(c->bytes + c->n_bytes, text, length);
    c->text[c->n_texts++] = (drove_frame_text){c->n_bytes, (uint32_t)length, hash};
    c->n_bytes += length;
    return DROVE_OK;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static drove_status intern(drove_frame_column *c, const char *text, size_t length, uint32_t *out)
{
    *out = 0;
    while (length > 0 && is_blank(text[length - 1])) length--;
    for (; length > 0 && is_blank(*text); length--) text++;
    if (length == 0) return DROVE_OK;
    const uint32_t hash = drove__text_hash(text, length);
    if (2 * (c->n_texts + 1) > c->n_slots) {
        const size_t n_slots = c->n_slots > 0 ? 2 * c->n_slots : 64;
        uint32_t *slot = calloc(n_slots, sizeof *slot);
        if (slot == NULL) return drove__fail_nomem("texts of a table", n_slots * sizeof *slot);
        for (size_t i = 0; i < c->n_texts; i++) {
            size_t to = c->text[i].hash & (n_slots - 1);
            while (slot[to] != 0) to = (to + 1) & (n_slots - 1);
            slot[to] = (uint32_t)i + 1;
        }
        free(c->slot);
        c->slot = slot;
        c->n_slots = n_slots;
    }
    /* The slot of the text, or the free one for it. */
    const size_t mask = c->n_slots - 1;
    size_t at = hash & mask;
    for (; c->slot[at] != 0; at = (at + 1) & mask) {
        const drove_frame_text *t = &c->text[c->slot[at] - 1];
        if (t->hash == hash && t->length == length && memcmp(c->bytes + t->at, text, length) == 0)
            break;
    }
    if (c->slot[at] == 0) {
        DROVE_TRY(add_text(c, text, length, hash));
        c->slot[at] = (uint32_t)c->n_texts;
    }
    *out = c->slot[at];
    return DROVE_OK;
}

drove_status drove__frame_intern(drove_frame_column *c, const char *text, size_t length,
                                 uint32_t *out)
{
    if (!drove__has_marks(text, length) || length > DROVE_CELL_MOST_BYTES ||
        !drove__is_utf8(text, length)) /* which is refused */
        return intern(c, text, length, out);
    char *composed = malloc(length);
    if (composed == NULL) return drove__fail_nomem("texts of a table", length);
    memcpy(composed, text, length);
    const drove_status status = intern(c, composed, drove__compose(composed, length), out);
    free(composed);
    return status;
}

/* ---- reading ---- */

bool drove__frame_is_text(const drove_frame_column *c)
{
    return c->type == DROVE_FRAME_TEXT || c->type == DROVE_FRAME_CATEGORY;
}

bool drove__frame_is_missing(const drove_frame_column *c, size_t row)
{
    switch (c->type) {
    case DROVE_FRAME_INTEGER:
    case DROVE_FRAME_DATE: return c->integer[row] == DROVE_FRAME_NO_INTEGER;
    case DROVE_FRAME_TEXT:
    case DROVE_FRAME_CATEGORY: return c->raw[row] == 0;
    default: return isnan(drove__frame_number(c, row));
    }
}

double drove__frame_number(const drove_frame_column *c, size_t row)
{
    if (c->is_wide) return c->number[row];
    if (c->type != DROVE_FRAME_INTEGER) return (double)drove__raw_float(c->raw[row]);
    const int64_t value = c->integer[row];
    if (value == DROVE_FRAME_NO_INTEGER) return (double)NAN;
    return c->is_unsigned ? (double)(uint64_t)value : (double)value;
}

drove_cell drove__frame_cell(const drove_frame_column *c, size_t row)
{
    if (c->raw[row] == 0) return (drove_cell){.text = ""};
    const drove_frame_text *t = &c->text[c->raw[row] - 1];
    return (drove_cell){.text = c->bytes + t->at, .length = t->length};
}

/* The fewest digits that give the same double, or float. */
static int print_number(double value, bool is_wide, char into[DROVE_FRAME_PRINT_SIZE])
{
    int n = 0;
    const bool is_whole = is_wide && fabs(value) < 1e15 && floor(value) == value;
    if (is_whole) return snprintf(into, DROVE_FRAME_PRINT_SIZE, "%" PRId64, (int64_t)value);
    for (int digits = 6; digits <= (is_wide ? 17 : 9); digits++) {
        n = snprintf(into, DROVE_FRAME_PRINT_SIZE, "%.*g", digits, value);
        if (is_wide ? strtod(into, NULL) == value : strtof(into, NULL) == (float)value) break;
    }
    for (char *c = into; *c != '\0'; c++) {
        if (*c == ',') *c = '.'; /* a locale's decimal point */
    }
    return n;
}

size_t drove__frame_print(const drove_frame_column *c, size_t row,
                          char into[DROVE_FRAME_PRINT_SIZE])
{
    into[0] = '\0';
    if (drove__frame_is_missing(c, row)) return 0;
    switch (c->type) {
    case DROVE_FRAME_INTEGER:
        return (size_t)(c->is_unsigned
                            ? snprintf(into, DROVE_FRAME_PRINT_SIZE, "%" PRIu64,
                                       (uint64_t)c->integer[row])
                            : snprintf(into, DROVE_FRAME_PRINT_SIZE, "%" PRId64, c->integer[row]));
    case DROVE_FRAME_BOOLEAN:
        return (size_t)snprintf(into, DROVE_FRAME_PRINT_SIZE, "%s",
                                drove__raw_float(c->raw[row]) != 0 ? "True" : "False");
    case DROVE_FRAME_DATE: {
        const drove_date date = drove__date_of(c->integer[row]);
        int n = snprintf(into, DROVE_FRAME_PRINT_SIZE, "%04d-%02u-%02u", date.year, date.month,
                         date.day);
        if (c->has_time)
            n += snprintf(into + n, DROVE_FRAME_PRINT_SIZE - (size_t)n, " %02u:%02u:%02u",
                          date.hour, date.minute, date.second);
        return (size_t)n;
    }
    default: return (size_t)print_number(drove__frame_number(c, row), c->is_wide, into);
    }
}

drove_status drove__frame_as_text(const drove_frame_column *c, size_t n_rows,
                                  drove_frame_column *out)
{
    char text[DROVE_FRAME_PRINT_SIZE];
    *out = (drove_frame_column){.type = DROVE_FRAME_TEXT};
    drove_status status = drove__frame_reserve(out, n_rows);
    for (size_t row = 0; row < n_rows && status == DROVE_OK; row++)
        status = drove__frame_intern(out, text, drove__frame_print(c, row, text), &out->raw[row]);
    if (status != DROVE_OK) drove__frame_column_fini(out);
    return status;
}
