/* data/read/elements.c - reads the numbers of binary files. */
#include "data/read/elements.h"

#include "base/available.h"
#include "base/digits.h"
#include "base/half.h"
#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 }; /* elements converted at a time */

static const double CHECKED_BYTES = 64 << 20; /* less is not compared with the free memory */

static const uint8_t element_bytes[] = {
    [DROVE_ELEMENT_U8] = 1,  [DROVE_ELEMENT_I8] = 1,  [DROVE_ELEMENT_I16] = 2,
    [DROVE_ELEMENT_I32] = 4, [DROVE_ELEMENT_I64] = 8, [DROVE_ELEMENT_F32] = 4,
    [DROVE_ELEMENT_F64] = 8, [DROVE_ELEMENT_U16] = 2, [DROVE_ELEMENT_U32] = 4,
    [DROVE_ELEMENT_U64] = 8, [DROVE_ELEMENT_F16] = 2,
};

size_t drove__element_bytes(drove_element_type type)
{
    return element_bytes[type];
}

drove_status drove__elements_check(const drove_reader *r, drove_elements elements, uint64_t rows,
                                   uint64_t columns, size_t *n_elements)
{
    uint64_t n, n_bytes, most = drove__reader_most_bytes(r), used = drove__reader_offset(r);
    bool fits = !__builtin_mul_overflow(rows, columns, &n) &&
                !__builtin_mul_overflow(n, (uint64_t)element_bytes[elements.type], &n_bytes) &&
                most >= used && n_bytes <= most - used;
    if (!fits) {
        return drove__fail(DROVE_E_DATA,
                           "%s: its header declares %llu x %llu numbers of %u bytes, more than the "
                           "file can hold (%llu bytes)",
                           drove__reader_path(r), (unsigned long long)rows,
                           (unsigned long long)columns, (unsigned)element_bytes[elements.type],
                           (unsigned long long)most);
    }
    DROVE_TRY(drove__reader_check_unpacked(r, used + n_bytes));
    *n_elements = (size_t)n;
    return DROVE_OK;
}

/* The bits of one element as an unsigned number in the machine's order. */
static uint64_t load_bits(const uint8_t *bytes, unsigned n_bytes, bool big_endian)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < n_bytes; i++) {
        unsigned shift = 8 * (big_endian ? n_bytes - 1 - i : i);
        bits |= (uint64_t)bytes[i] << shift;
    }
    return bits;
}

static double decode(const uint8_t *bytes, drove_elements elements)
{
    uint64_t bits = load_bits(bytes, element_bytes[elements.type], elements.big_endian);
    uint32_t low = (uint32_t)bits;
    float f32;
    double f64;
    switch (elements.type) {
    case DROVE_ELEMENT_U8: return (double)(uint8_t)bits;
    case DROVE_ELEMENT_I8: return (double)(int8_t)bits;
    case DROVE_ELEMENT_I16: return (double)(int16_t)bits;
    case DROVE_ELEMENT_I32: return (double)(int32_t)bits;
    case DROVE_ELEMENT_I64: return (double)(int64_t)bits;
    case DROVE_ELEMENT_U16: return (double)(uint16_t)bits;
    case DROVE_ELEMENT_U32: return (double)low;
    case DROVE_ELEMENT_U64: return (double)bits;
    case DROVE_ELEMENT_F16: return (double)drove__float_of_half((uint16_t)bits);
    case DROVE_ELEMENT_F32: memcpy(&f32, &low, sizeof f32); return (double)f32;
    case DROVE_ELEMENT_F64: memcpy(&f64, &bits, sizeof f64); return f64;
    }
    return 0;
}

static drove_status fail_not_finite(const drove_reader *r, drove_elements elements, uint64_t offset,
                                    double value)
{
    if (elements.columns > 0) {
        const uint64_t at = (offset - elements.begin) / element_bytes[elements.type];
        return drove__fail(DROVE_E_DATA,
                           "%s: row %llu, column %llu: expected a finite number, found %g",
                           drove__reader_path(r), (unsigned long long)(at / elements.columns + 1),
                           (unsigned long long)(at % elements.columns + 1), value);
    }
    return drove__fail(DROVE_E_DATA, "%s: byte %llu: expected a finite number, found %g",
                       drove__reader_path(r), (unsigned long long)offset, value);
}

/* Next n <= CHUNK elements, finite as doubles. */
static drove_status read_chunk(drove_reader *r, drove_elements elements, size_t n, double *into)
{
    uint8_t bytes[CHUNK * 8];
    size_t n_bytes = element_bytes[elements.type];
    uint64_t offset = drove__reader_offset(r);
    DROVE_TRY(drove__reader_read(r, bytes, n * n_bytes));
    for (size_t i = 0; i < n; i++) {
        into[i] = decode(bytes + i * n_bytes, elements);
        if (!isfinite(into[i])) return fail_not_finite(r, elements, offset + i * n_bytes, into[i]);
    }
    return DROVE_OK;
}

drove_status drove__elements_read_double(drove_reader *r, drove_elements elements, size_t n,
                                         double *into)
{
    for (size_t done = 0; done < n;) {
        size_t chunk = n - done < CHUNK ? n - done : CHUNK;
        DROVE_TRY(read_chunk(r, elements, chunk, into + done));
        done += chunk;
    }
    return DROVE_OK;
}

/* Of examples: do floats hold the digits of each column? */
typedef struct columns {
    drove_digits *digits; /* [n]; NULL: not asked */
    size_t n, at;         /* at: that of the next element */
    size_t n_rows;        /* that are whole */
    bool are_near;        /* all of them: no more is asked */
    size_t n_run, at_run; /* elements of a column that follow each other; those that did */
} columns;

/* Whether no column can be far from zero any more: their spreads grow as fast as they do. */
static bool are_near(const columns *c)
{
    size_t j = 0;
    while (j < c->n && !drove__digits_may_be_far(&c->digits[j])) j++;
    return j == c->n;
}

static drove_status read_floats(drove_reader *r, drove_elements elements, size_t n, float *into,
                                columns *c)
{
    double chunk_values[CHUNK];
    for (size_t done = 0; done < n;) {
        size_t chunk = n - done < CHUNK ? n - done : CHUNK;
        uint64_t offset = drove__reader_offset(r);
        DROVE_TRY(read_chunk(r, elements, chunk, chunk_values));
        if (c->digits != NULL) {
            enum { ROWS_BETWEEN = 16 };
            for (size_t i = 0; i < chunk && !c->are_near; i++) {
                drove__digits_add(&c->digits[c->at], chunk_values[i]);
                if (++c->at_run < c->n_run) continue;
                c->at_run = 0;
                if (++c->at < c->n) continue;
                c->at = 0;
                c->are_near = ++c->n_rows % ROWS_BETWEEN == 0 && are_near(c);
            }
        }
        for (size_t i = 0; i < chunk; i++) {
            into[done + i] = (float)chunk_values[i];
            if (isfinite(into[done + i])) continue; /* a double too large for a float */
            return fail_not_finite(r, elements, offset + i * element_bytes[elements.type],
                                   chunk_values[i]);
        }
        done += chunk;
    }
    return DROVE_OK;
}

/* Reads the numbers of the next row, or rows, to index `at` of the storage. */
static drove_status read_numbers(drove_reader *r, drove_elements elements, size_t n,
                                 drove_storage *s, size_t at, columns *c)
{
    if (s->x_kind == DROVE_X_U8) return drove__reader_read(r, s->x_u8 + at, n);
    return read_floats(r, elements, n, s->x_f32 + at, c);
}

static drove_status read_shard(drove_reader *r, drove_elements elements, const drove_shard *shard,
                               drove_storage *s, columns *c)
{
    size_t n = drove__shard_size(shard, s->n_rows), width = s->n_features;
    uint64_t row_bytes = (uint64_t)width * element_bytes[elements.type], at = 0;
    if (!drove__shard_is_part(shard)) return read_numbers(r, elements, n * width, s, 0, c);
    for (size_t i = 0; i < n; i++) {
        uint64_t row = drove__shard_row(shard, i);
        DROVE_TRY(drove__reader_skip(r, (row - at) * row_bytes));
        DROVE_TRY(read_numbers(r, elements, width, s, i * width, c));
        at = row + 1;
    }
    return drove__reader_skip(r, (s->n_rows - at) * row_bytes);
}

/* Refuses n numbers of the storage's kind that would take more than three quarters of the memory
 * that is free, twice as much while they are brought from columns into rows. */
static drove_status check_memory(const drove_reader *r, drove_elements elements, size_t n,
                                 const drove_storage *s)
{
    const double number_bytes = s->x_kind == DROVE_X_U8 ? 1 : sizeof *s->x_f32;
    const double needed = (double)n * number_bytes * (elements.is_by_columns ? 2 : 1);
    if (needed <= CHECKED_BYTES) return DROVE_OK;
    const double available = (double)drove__memory_available();
    if (available <= 0 || needed <= available / 4 * 3) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: expected examples that fit in memory, found %zu x %zu numbers, which "
                       "would take %.3g GB (of %.3g GB free at most three quarters)",
                       drove__reader_path(r), n / s->n_features, s->n_features, needed * 1e-9,
                       available * 1e-9);
}

drove_status drove__elements_read_examples(drove_reader *r, drove_elements elements,
                                           uint64_t n_rows, uint64_t n_features,
                                           const drove_shard *shard, drove_storage *s)
{
    size_t n;
    DROVE_TRY(drove__elements_check(r, elements, n_rows, n_features, &n));
    DROVE_TRY(drove__storage_check_shard(shard, (size_t)n_rows, drove__reader_path(r)));
    s->n_rows = (size_t)n_rows;
    s->n_features = (size_t)n_features;
    n = drove__shard_size(shard, s->n_rows) * s->n_features;
    s->x_kind = elements.type == DROVE_ELEMENT_U8 ? DROVE_X_U8 : DROVE_X_F32;
    DROVE_TRY(check_memory(r, elements, n, s));
    if (s->x_kind == DROVE_X_U8) s->x_u8 = drove__alloc(n, sizeof *s->x_u8);
    else s->x_f32 = drove__alloc(n, sizeof *s->x_f32);
    if (s->x_u8 == NULL && s->x_f32 == NULL)
        return drove__fail_nomem("data set", n * (s->x_kind == DROVE_X_U8 ? 1 : sizeof *s->x_f32));
    columns c = {.n = s->n_features, .n_run = elements.is_by_columns ? s->n_rows : 1};
    const drove_element_type type = elements.type;
    const bool is_wide = type == DROVE_ELEMENT_F64 || type == DROVE_ELEMENT_I64 ||
                         type == DROVE_ELEMENT_U64 || type == DROVE_ELEMENT_I32 ||
                         type == DROVE_ELEMENT_U32; /* a float rounds some of its numbers */
    if (is_wide && n > 0) {
        c.digits = calloc(c.n, sizeof *c.digits);
        if (c.digits == NULL) return drove__fail_nomem("columns", c.n * sizeof *c.digits);
    }
    drove_status status = read_shard(r, elements, shard, s, &c);
    if (status == DROVE_OK && c.digits != NULL) {
        size_t n_far = 0, first = 0;
        for (size_t j = c.n; j-- > 0;) {
            if (!drove__digits_are_far(&c.digits[j])) continue;
            first = j;
            n_far++;
        }
        if (n_far != 0)
            drove__storage_note(
                s,
                "%zu column%s, first %zu, %s digits as floats: subtract what the numbers of "
                "a column have in common first (of an array in Python, that is done)",
                n_far, n_far == 1 ? "" : "s", first + 1, n_far == 1 ? "loses" : "lose");
    }
    free(c.digits);
    DROVE_TRY(status);
    return drove__elements_end(r);
}

drove_status drove__elements_end(drove_reader *r)
{
    uint8_t byte;
    size_t n;
    uint64_t offset = drove__reader_offset(r);
    DROVE_TRY(drove__reader_read_some(r, &byte, 1, &n));
    if (n == 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA, "%s: expected the end of the file at byte %llu, found more",
                       drove__reader_path(r), (unsigned long long)offset);
}
