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
