/* base/memfile.c - see memfile.h. */
#include "base/memfile.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

static const char kind[] = "file";

static void destroy(drove_named_object *object)
{
    drove_memfile *file = (drove_memfile *)object;
    free(file->own);
    free(file);
}

drove_status drove__memfile_create(const void *bytes, size_t n_bytes, bool copies,
                                   drove_memfile **out)
{
    drove_memfile *file = calloc(1, sizeof *file);
    *out = NULL;
    if (file == NULL) return drove__fail_nomem("a file in memory", sizeof *file);
    file->bytes = bytes;
    file->n_bytes = n_bytes;
    if (copies && n_bytes > 0) {
        file->own = drove__grow(NULL, n_bytes, 1);
        if (file->own == NULL) {
            free(file);
            return drove__fail_nomem("a file in memory", n_bytes);
        }
        memcpy(file->own, bytes, n_bytes);
        file->bytes = file->own;
    }
    drove__named_add(&file->named, kind, destroy);
    *out = file;
    return DROVE_OK;
}

void drove__memfile_release(drove_memfile *file)
{
    drove__named_release(file != NULL ? &file->named : NULL);
}

drove_memfile *drove__memfile_find(const char *path)
{
    /* Not a bare number: that is a file's name. */
    if (strncmp(path, DROVE_NAMED_WORD ":", sizeof DROVE_NAMED_WORD) != 0) return NULL;
    return (drove_memfile *)drove__named_find(path, kind);
}

void drove__memfile_replace(drove_memfile *file, char *bytes, size_t n_bytes)
{
    free(file->own);
    file->own = bytes;
    file->bytes = bytes;
    file->n_bytes = n_bytes;
}
