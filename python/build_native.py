"""Writes the C source of the extension module drove._native: build_native.py OUTPUT."""
import os
import sys

import cffi

HERE = os.path.dirname(os.path.abspath(__file__))

# A stream that leaves Python in a capsule, which frees it, also where nobody has read it.
SOURCE = """
#include <drove/drove.h>

#include <stdlib.h>

static struct ArrowArrayStream *drove_py_new_stream(void)
{
    return calloc(1, sizeof(struct ArrowArrayStream));
}

static void free_stream(PyObject *capsule)
{
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream == NULL) return;
    if (stream->release != NULL) stream->release(stream);
    free(stream);
}

static void release_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    array->release = NULL;
}

/* A table of numbers: column[n_columns][n_rows], NaN where a cell is missing, copied.  The Arrow structs are of
 * this call alone, so to release them is to mark them. */
static drove_status drove_py_numbers(const double *column, size_t n_rows, size_t n_columns, char **name,
                                     drove_arrow_table **out)
{
    struct part {
        struct ArrowSchema schema;
        struct ArrowArray array;
        const void *buffer[2];
    } *part = calloc(n_columns + 1, sizeof *part);
    struct ArrowSchema **schema = calloc(n_columns + 1, sizeof *schema);
    struct ArrowArray **array = calloc(n_columns + 1, sizeof *array);
    drove_status status = DROVE_E_NOMEM;
    if (part != NULL && schema != NULL && array != NULL) {
        static const void *no_bits = NULL;
        for (size_t i = 0; i < n_columns; i++) {
            part[i].buffer[1] = column + i * n_rows;
            part[i].schema = (struct ArrowSchema){.format = "g", .name = name[i], .release = release_schema};
            part[i].array = (struct ArrowArray){
                .length = (int64_t)n_rows, .n_buffers = 2, .buffers = part[i].buffer, .release = release_array};
            schema[i] = &part[i].schema;
            array[i] = &part[i].array;
        }
        struct ArrowSchema whole = {
            .format = "+s", .n_children = (int64_t)n_columns, .children = schema, .release = release_schema};
        struct ArrowArray rows = {.length = (int64_t)n_rows, .n_buffers = 1, .n_children = (int64_t)n_columns,
                                  .buffers = &no_bits, .children = array, .release = release_array};
        status = drove_arrow_table_create(&whole, &rows, out);
    }
    free(part);
    free(schema);
    free(array);
    return status;
}

/* For PyCapsule_New. */
static void *drove_py_stream_destructor(void)
{
    return (void *)free_stream;
}
"""


def main(output):
    builder = cffi.FFI()
    with open(os.path.join(HERE, "declarations.h"), encoding="utf-8") as file:
        builder.cdef(file.read())
    builder.set_source("drove._native", SOURCE)
    builder.emit_c_code(output)


if __name__ == "__main__":
    main(sys.argv[1])
