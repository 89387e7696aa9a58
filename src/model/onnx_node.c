/* model/onnx_node.c - attributes of ONNX's nodes, and errors about them. */
#include "model/onnx_file.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

enum { IS_REAL = 1, IS_INT = 2 }; /* types of attributes */

drove_status drove__onnx_fail(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *format, ...)
{
    char text[DROVE_ERROR_TEXT_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n == NULL || n->node == NULL) return drove__fail(DROVE_E_DATA, "%s: %s", r->file, text);
    const Drove__Onnx__Node *node = n->node;
    const char *name = node->name != NULL && node->name[0] != '\0' ? node->name
                       : node->n_output > 0                        ? node->output[0]
                                                                   : "";
    return drove__fail(DROVE_E_DATA, "%s: node \"%.60s\" (%.40s): %s", r->file, name,
                       node->op_type != NULL ? node->op_type : "", text);
}

const Drove__Onnx__Attribute *drove__onnx_attribute(const drove_onnx_node *n, const char *name)
{
    for (size_t i = 0; i < n->node->n_attribute; i++) {
        const Drove__Onnx__Attribute *a = n->node->attribute[i];
        if (a->name != NULL && strcmp(a->name, name) == 0) return a;
    }
    return NULL;
}

drove_status drove__onnx_int(const drove_onnx_reader *r, const drove_onnx_node *n, const char *name,
                             int64_t least, int64_t most, int64_t *out)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, name);
    if (a == NULL) return DROVE_OK;

    /* Writers of proto3 leave out a number that is 0: its type alone says that it is there. */
    const bool has_int = a->has_i || (a->has_type && a->type == IS_INT);
    if (!has_int || a->i < least || a->i > most) {
        if (least == most)
            return drove__onnx_fail(r, n, "%s: expected %lld, found %lld", name, (long long)least,
                                    (long long)a->i);
        return drove__onnx_fail(r, n, "%s: expected %lld to %lld, found %lld", name,
                                (long long)least, (long long)most, (long long)a->i);
    }
    *out = a->i;
    return DROVE_OK;
}

drove_status drove__onnx_real(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *name, float *out)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, name);
    if (a == NULL) return DROVE_OK;
    const bool has_real = a->has_f || (a->has_type && a->type == IS_REAL); /* as above */
    if (!has_real || !isfinite(a->f))
        return drove__onnx_fail(r, n, "%s: expected a finite number", name);
    *out = a->f;
    return DROVE_OK;
}

drove_status drove__onnx_text(const drove_onnx_reader *r, const drove_onnx_node *n,
                              const char *name, char into[32])
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, name);
    if (a == NULL) return DROVE_OK;
    if (!a->has_s || a->s.len >= 32) return drove__onnx_fail(r, n, "%s: expected a word", name);
    if (a->s.len > 0) memcpy(into, a->s.data, a->s.len);
    into[a->s.len] = '\0';
    return DROVE_OK;
}

drove_status drove__onnx_sizes(const drove_onnx_reader *r, const drove_onnx_node *n,
                               const char *name, size_t n_wanted, size_t least, size_t most,
                               size_t *out)
{
    const Drove__Onnx__Attribute *a = drove__onnx_attribute(n, name);
    if (a == NULL) return DROVE_OK;
    if (a->n_ints != n_wanted)
        return drove__onnx_fail(r, n, "%s: expected %zu numbers, found %zu", name, n_wanted,
                                a->n_ints);
    for (size_t i = 0; i < n_wanted; i++) {
        if (a->ints[i] < (int64_t)least || a->ints[i] > (int64_t)most)
            return drove__onnx_fail(r, n, "%s: expected %zu to %zu, found %lld", name, least, most,
                                    (long long)a->ints[i]);
        out[i] = (size_t)a->ints[i];
    }
    return DROVE_OK;
}
