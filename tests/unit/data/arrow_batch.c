/* tests/unit/data/arrow_batch.c - see arrow_batch.h. */
#include "arrow_batch.h"

#include "support.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void release_part_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_part_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static void release_schema(struct ArrowSchema *schema)
{
    batch *b = schema->private_data;
    b->n_released++;
    schema->release = NULL;
}

static void free_buffers(batch_part *part)
{
    for (size_t i = 0; i < BATCH_BUFFERS_MOST; i++) {
        free((void *)(uintptr_t)part->buffer[i]);
        part->buffer[i] = NULL;
    }
}

/* Frees the buffers, so that a later use of them is seen. */
static void release_array(struct ArrowArray *array)
{
    batch *b = array->private_data;
    for (size_t i = 0; i < b->n_columns; i++) {
        free_buffers(&b->column[i]);
        free_buffers(&b->value[i]);
    }
    b->n_released++;
    array->release = NULL;
}

batch *make_batch(size_t n_rows)
{
    batch *b = calloc(1, sizeof *b);
    assert_non_null(b);
    b->schema = (struct ArrowSchema){
        .format = "+s", .children = b->schemas, .release = release_schema, .private_data = b};
    b->array = (struct ArrowArray){.length = (int64_t)n_rows,
                                   .n_buffers = 1,
                                   .buffers = &b->no_bitmap,
                                   .children = b->arrays,
                                   .release = release_array,
                                   .private_data = b};
    return b;
}

void free_batch(batch *b)
{
    if (b->array.release != NULL) b->array.release(&b->array);
    free(b);
}

static void fill_part(batch_part *part, const char *name, const char *format, size_t n_rows,
                      size_t n_buffers)
{
    part->schema = (struct ArrowSchema){.format = format,
                                        .name = name,
                                        .flags = ARROW_FLAG_NULLABLE,
                                        .release = release_part_schema};
    part->array = (struct ArrowArray){.length = (int64_t)n_rows,
                                      .n_buffers = (int64_t)n_buffers,
                                      .buffers = part->buffer,
                                      .release = release_part_array};
}

batch_part *add_column(batch *b, const char *name, const char *format, size_t n_buffers)
{
    const size_t i = b->n_columns++;
    batch_part *part = &b->column[i];
    assert_true(i < BATCH_COLUMNS_MOST && n_buffers <= BATCH_BUFFERS_MOST);
    fill_part(part, name, format, (size_t)b->array.length, n_buffers);
    b->schemas[i] = &part->schema;
    b->arrays[i] = &part->array;
    b->schema.n_children = b->array.n_children = (int64_t)b->n_columns;
    return part;
}

void set_buffer(batch_part *part, size_t i, const void *bytes, size_t n_bytes)
{
    void *copy = malloc(n_bytes > 0 ? n_bytes : 1);
    assert_non_null(copy);
    if (n_bytes > 0) memcpy(copy, bytes, n_bytes);
    free((void *)(uintptr_t)part->buffer[i]);
    part->buffer[i] = copy;
}

void set_valid(batch_part *part, const char *valid)
{
    const size_t n = strlen(valid), n_bytes = (n + 7) / 8;
    uint8_t bits[64] = {0};
    assert_true(n_bytes <= sizeof bits);
    part->array.null_count = 0;
    for (size_t i = 0; i < n; i++) {
        if (valid[i] != '0') bits[i / 8] |= (uint8_t)(1u << i % 8);
        else if ((int64_t)i >= part->array.offset) part->array.null_count++;
    }
    set_buffer(part, 0, bits, n_bytes);
}

batch_part *add_dictionary(batch *b, const char *format, size_t n_values, size_t n_buffers)
{
    const size_t i = b->n_columns - 1;
    fill_part(&b->value[i], "", format, n_values, n_buffers);
    b->column[i].schema.dictionary = &b->value[i].schema;
    b->column[i].array.dictionary = &b->value[i].array;
    return &b->value[i];
}

void set_texts(batch_part *part, const char *const *text, size_t n)
{
    int32_t offset[64] = {0};
    char bytes[2048];
    assert_true(n < 64);
    for (size_t i = 0; i < n; i++) {
        const size_t length = strlen(text[i]);
        assert_true((size_t)offset[i] + length <= sizeof bytes);
        memcpy(bytes + offset[i], text[i], length);
        offset[i + 1] = offset[i] + (int32_t)length;
    }
    set_buffer(part, 1, offset, (n + 1) * sizeof *offset);
    set_buffer(part, 2, bytes, (size_t)offset[n]);
}

batch_part *add_texts(batch *b, const char *name, const char *const *text)
{
    batch_part *part = add_column(b, name, "u", 3);
    set_texts(part, text, (size_t)b->array.length);
    return part;
}

/* ---- streams ---- */

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out)
{
    batch_stream *s = stream->private_data;
    if (s->n == 0) return EIO;
    *out = s->batch[0]->schema;
    s->batch[0]->schema.release = NULL; /* moved */
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out)
{
    batch_stream *s = stream->private_data;
    if (s->next == s->n) {
        out->release = NULL;
        return s->error != NULL ? EINVAL : 0;
    }
    struct ArrowArray *array = &s->batch[s->next++]->array;
    *out = *array;
    array->release = NULL;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    return ((batch_stream *)stream->private_data)->error;
}

static void release_stream(struct ArrowArrayStream *stream)
{
    ((batch_stream *)stream->private_data)->n_released++;
    stream->release = NULL;
}

void make_stream(batch_stream *s, batch **b, size_t n)
{
    *s = (batch_stream){.stream = {.get_schema = get_schema,
                                   .get_next = get_next,
                                   .get_last_error = get_last_error,
                                   .release = release_stream,
                                   .private_data = s},
                        .batch = b,
                        .n = n};
}
