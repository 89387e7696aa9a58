/* tests/fuzz/fuzz_arrow.c - a record batch of the Arrow C data interface.
 *
 * The input chooses columns: format, counts, which buffers there are and what they hold; these
 * are as large as the specification asks for, which a consumer has to trust.  A batch is refused
 * with one line that begins with "arrow: ", or becomes a table that can be used as data; either way
 * all of it is released once.
 */
#include "fuzz_data.h"

#include <drove/arrow.h>

enum { COLUMNS_MOST = 6, BUFFERS_MOST = 6, ROWS_MOST = 16, TEXT_BYTES = 128, WIDEST = 32 };

typedef struct part {
    struct ArrowSchema schema;
    struct ArrowArray array;
    void *buffer[BUFFERS_MOST];
    char format[12];
    unsigned n_released;
} part;

typedef struct input {
    const uint8_t *at, *end;
    part top, column[COLUMNS_MOST], value[COLUMNS_MOST];
    struct ArrowSchema *schemas[COLUMNS_MOST];
    struct ArrowArray *arrays[COLUMNS_MOST];
} input;

static const struct {
    const char *text;
    size_t n_bytes; /* of a value; 0: bits */
} formats[] = {{"g", 8},      {"f", 4},         {"l", 8},           {"i", 4},    {"u", 4},
               {"vu", 16},    {"b", 0},         {"tdD", 4},         {"tss:", 8}, {"tsn:UTC", 8},
               {"U", 8},      {"c", 1},         {"C", 1},           {"s", 2},    {"S", 2},
               {"I", 4},      {"L", 8},         {"e", 2},           {"tdm", 8},  {"tsm:", 8},
               {"tsu:", 8},   {"ttm", 4},       {"ttu", 8},         {"tDn", 8},  {"n", 0},
               {"d:9,2", 16}, {"d:9,-2,32", 4}, {"d:70,3,256", 32}, {"z", 4},    {"+l", 4}};

static uint8_t next_byte(input *in)
{
    return in->at < in->end ? *in->at++ : 0;
}

static void release_schema(struct ArrowSchema *schema)
{
    ((part *)schema->private_data)->n_released++;
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    ((part *)array->private_data)->n_released++;
    array->release = NULL;
}

/* How many bytes a value of the format has. */
static size_t choose_format(input *in, part *p)
{
    enum { N = sizeof formats / sizeof *formats };
    const uint8_t choice = next_byte(in);
    if (choice != 255) {
        strcpy(p->format, formats[choice % N].text);
        return formats[choice % N].n_bytes;
    }
    for (size_t i = 0; i + 1 < sizeof p->format; i++) p->format[i] = (char)next_byte(in);
    for (size_t i = 0; i < N; i++) {
        if (strcmp(p->format, formats[i].text) == 0) return formats[i].n_bytes;
    }
    return WIDEST;
}

/* Bytes of the input, in memory of exactly this size. */
static void fill_buffer(input *in, part *p, size_t i, size_t n_bytes)
{
    uint8_t *bytes = malloc(n_bytes + (n_bytes == 0));
    if (bytes == NULL) abort();
    for (size_t k = 0; k < n_bytes; k++) bytes[k] = next_byte(in);
    p->buffer[i] = bytes;
}

/* Numbers from -128 to 127, of 4 or 8 bytes. */
static void fill_offsets(input *in, part *p, size_t n, size_t n_bytes)
{
    fill_buffer(in, p, 1, 0);
    free(p->buffer[1]);
    p->buffer[1] = malloc(n * n_bytes);
    if (p->buffer[1] == NULL) abort();
    for (size_t k = 0; k < n; k++) {
        const int64_t offset = (int8_t)next_byte(in);
        const int32_t narrow = (int32_t)offset;
        memcpy((char *)p->buffer[1] + k * n_bytes, n_bytes == 8 ? (const void *)&offset : &narrow,
               n_bytes);
    }
    fill_buffer(in, p, 2, TEXT_BYTES);
}

/* Views into one buffer, whose size is told, or one that is smaller. */
static void fill_views(input *in, part *p, size_t n)
{
    int64_t size = (int64_t)TEXT_BYTES - next_byte(in);
    fill_buffer(in, p, 1, 16 * n);
    fill_buffer(in, p, 2, TEXT_BYTES);
    for (size_t k = 0; k < n; k++) { /* small numbers are more likely right */
        int32_t view[4];
        memcpy(view, (char *)p->buffer[1] + 16 * k, sizeof view);
        if ((view[0] & 1) != 0) view[0] = (int8_t)(view[0] >> 8);
        if ((view[2] & 1) != 0) view[2] = (int8_t)(view[2] >> 8);
        if ((view[3] & 1) != 0) view[3] = (int8_t)(view[3] >> 8);
        memcpy((char *)p->buffer[1] + 16 * k, view, sizeof view);
    }
    p->buffer[3] = malloc(sizeof size);
    if (p->buffer[3] == NULL) abort();
    memcpy(p->buffer[3], &size, sizeof size);
}

/* The true number of cells that are null, of a bitmap. */
static int64_t count_nulls(const part *p, size_t first, size_t n)
{
    const uint8_t *bits = p->buffer[0];
    int64_t n_nulls = 0;
    for (size_t i = first; bits != NULL && i < first + n; i++)
        n_nulls += (bits[i / 8] >> (i % 8) & 1) == 0;
    return n_nulls;
}

static void make_part(input *in, part *p, size_t n_rows)
{
    const size_t n_bytes = choose_format(in, p);
    const uint8_t wrong = next_byte(in); /* a bit for each count that is any byte */
    const bool is_text = strcmp(p->format, "u") == 0 || strcmp(p->format, "U") == 0;
    const bool is_view = strcmp(p->format, "vu") == 0;
    const size_t offset = next_byte(in) % 4, n = (wrong & 1) != 0 ? next_byte(in) % 32 : n_rows;
    const size_t n_all = offset + n;
    p->schema =
        (struct ArrowSchema){.format = p->format, .release = release_schema, .private_data = p};
    p->array = (struct ArrowArray){.length = (int64_t)n,
                                   .offset = (int64_t)offset,
                                   .buffers = (const void **)p->buffer,
                                   .release = release_array,
                                   .private_data = p};
    if (next_byte(in) % 2 != 0) fill_buffer(in, p, 0, (n_all + 7) / 8);
    if (is_text) fill_offsets(in, p, n_all + 1, n_bytes);
    else if (is_view) fill_views(in, p, n_all);
    else fill_buffer(in, p, 1, n_bytes == 0 ? (n_all + 7) / 8 : n_all * n_bytes);
    p->array.n_buffers = strcmp(p->format, "n") == 0 ? 0 : is_view ? 4 : is_text ? 3 : 2;
    p->array.null_count = count_nulls(p, offset, n);
    if ((wrong & 2) != 0) p->array.n_buffers = (int8_t)next_byte(in) % BUFFERS_MOST;
    if ((wrong & 4) != 0) p->array.null_count = (int8_t)next_byte(in);
    if ((wrong & 8) != 0) p->array.n_children = (int8_t)next_byte(in);
    if ((wrong & 16) != 0) p->schema.n_children = (int8_t)next_byte(in);
    if ((wrong & 32) != 0) {
        const size_t i = next_byte(in) % BUFFERS_MOST;
        free(p->buffer[i]);
        p->buffer[i] = NULL;
    }
    if ((wrong & 64) != 0) p->array.length = -p->array.length;
    if ((wrong & 128) != 0) p->array.offset = (int64_t)((uint64_t)next_byte(in) << 56);
    /* One that might be right is the producer's to know. */
    if ((wrong & 128) != 0 && p->array.offset >= 0) p->array.offset |= INT64_C(1) << 60;
}

/* How many there are. */
static int64_t make_columns(input *in, size_t n_rows)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "zip", "", "\xff"};
    const size_t n = next_byte(in) % (COLUMNS_MOST + 1);
    for (size_t i = 0; i < n; i++) {
        part *p = &in->column[i];
        const uint8_t choice = next_byte(in);
        make_part(in, p, n_rows);
        p->schema.name = names[(i + choice % 2 * (choice / 2)) % (sizeof names / sizeof *names)];
        in->schemas[i] = &p->schema;
        in->arrays[i] = &p->array;
        if (choice < 192) continue;
        make_part(in, &in->value[i], next_byte(in) % 8);
        if (choice != 193) p->schema.dictionary = &in->value[i].schema;
        if (choice != 194) p->array.dictionary = &in->value[i].array;
    }
    return (int64_t)n;
}

static void free_buffers(part *p)
{
    for (size_t i = 0; i < BUFFERS_MOST; i++) free(p->buffer[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    input *in = calloc(1, sizeof *in);
    if (in == NULL) abort();
    in->at = data;
    in->end = data + size_bytes;
    part *top = &in->top;
    const size_t n_rows = next_byte(in) % ROWS_MOST, offset = next_byte(in) % 4;
    const int64_t n_columns = make_columns(in, n_rows + offset);
    top->schema = (struct ArrowSchema){.format = "+s",
                                       .n_children = n_columns,
                                       .children = in->schemas,
                                       .release = release_schema,
                                       .private_data = top};
    top->array = (struct ArrowArray){.length = (int64_t)n_rows,
                                     .offset = (int64_t)offset,
                                     .n_buffers = 1,
                                     .n_children = n_columns,
                                     .buffers = (const void **)top->buffer,
                                     .children = in->arrays,
                                     .release = release_array,
                                     .private_data = top};
    drove_arrow_table *table = (drove_arrow_table *)in;
    const drove_status status = drove_arrow_table_create(&top->schema, &top->array, &table);
    if (top->n_released != 2) abort();
    for (size_t i = 0; i < COLUMNS_MOST; i++) {
        free_buffers(&in->column[i]); /* the table has its own copy */
        free_buffers(&in->value[i]);
    }
    if (status == DROVE_OK) {
        char spec[64];
        if (drove_arrow_table_n_rows(table) != n_rows) abort();
        snprintf(spec, sizeof spec, "table:%s", drove_arrow_table_name(table));
        fuzz_open(spec);
        snprintf(spec, sizeof spec, "table:%s?label=first&bins=3&text=2",
                 drove_arrow_table_name(table));
        fuzz_open(spec);
        drove_arrow_table_destroy(table);
    } else if (table != NULL || strncmp(drove_error_text(), "arrow: ", 7) != 0 ||
               !fuzz_is_one_line(drove_error_text())) {
        abort();
    }
    free(in);
    return 0;
}
