/* tests/fuzz/safetensors_repair.h - puts the length of the header and the checksums of a
 * safetensors file right, so that what was changed in it is seen by whoever reads the tensors.
 *
 * The checksums are computed here, by libxxhash and jansson, from the format's description
 * (base/safetensors_sums.h), not by the code that is tested.
 */
#ifndef DROVE_TESTS_FUZZ_SAFETENSORS_REPAIR_H
#define DROVE_TESTS_FUZZ_SAFETENSORS_REPAIR_H

#include "base/checksum.h"
#include "base/json.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A file taken apart.  header: an object; body[n_body] borrowed. */
typedef struct repair_parts {
    json_t        *header;
    const uint8_t *body;
    size_t         n_body;
} repair_parts;

/* The object that a text begins with, and its length; a length before it that is wrong does not
 * matter.  False: there is none. */
static inline bool repair_open(const uint8_t *bytes, size_t n, repair_parts *out)
{
    json_error_t error;
    if (n < 10 || bytes[8] != '{') return false;
    out->header = json_loadb((const char *)bytes + 8, n - 8, JSON_DISABLE_EOF_CHECK, &error);
    if (!json_is_object(out->header)) {
        json_decref(out->header);
        return false;
    }
    size_t   end = 8 + (size_t)error.position; /* of what was read */
    uint64_t said;
    memcpy(&said, bytes, sizeof said);
    if (said <= n - 8 && 8 + said >= end) end = 8 + (size_t)said; /* with its padding */
    out->body = bytes + end;
    out->n_body = n - end;
    return true;
}

static inline json_t *repair_sum(const void *bytes, size_t n)
{
    char text[DROVE_CHECKSUM_TEXT_SIZE];
    drove__checksum_print(drove__checksum(bytes, n), text);
    return json_string(text);
}

/* Sums of the tensors that lie in the body, as text; from malloc. */
static inline char *repair_tensors(const repair_parts *p)
{
    const char *name;
    json_t     *tensor, *sums = json_object();
    json_object_foreach(p->header, name, tensor)
    {
        const json_t    *at = json_object_get(tensor, "data_offsets");
        const json_int_t begin = json_integer_value(json_array_get(at, 0)),
                         end = json_integer_value(json_array_get(at, 1));
        if (strcmp(name, "__metadata__") == 0) continue;
        const bool is_inside = begin >= 0 && begin <= end && (uint64_t)end <= p->n_body;
        json_object_set_new(sums, name,
                            is_inside ? repair_sum(p->body + begin, (size_t)(end - begin))
                                      : json_string(""));
    }
    char *text = json_dumps(sums, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(sums);
    return text;
}

/* The metadata lose or get their two sums. */
static inline void repair_sums(const repair_parts *p)
{
    json_t *meta = json_object_get(p->header, "__metadata__");
    if (!json_is_object(meta)) return;
    char *text = repair_tensors(p);
    json_object_set_new(meta, "checksums", json_string(text));
    free(text);
    json_object_del(meta, "header_checksum");
    text = json_dumps(p->header, JSON_COMPACT | JSON_SORT_KEYS);
    json_object_set_new(meta, "header_checksum", repair_sum(text, strlen(text)));
    free(text);
}

/* Writes the file into into[most], where body may be part of it; its bytes, or 0: no room. */
static inline size_t repair_write(const repair_parts *p, uint8_t *into, size_t most)
{
    char          *text = json_dumps(p->header, JSON_COMPACT);
    const size_t   n_text = strlen(text), n_padded = (n_text + 7) / 8 * 8;
    const uint64_t length = n_padded;
    const size_t   n = 8 + n_padded + p->n_body;
    if (n <= most) {
        memmove(into + 8 + n_padded, p->body, p->n_body);
        memcpy(into, &length, sizeof length);
        memset(into + 8, ' ', n_padded);
        memcpy(into + 8, text, n_text);
    }
    free(text);
    return n <= most ? n : 0;
}

/* The whole file put right in place; n: it has no header that can be read, or no room. */
static inline size_t repair_file(uint8_t *bytes, size_t n, size_t most)
{
    repair_parts p;
    if (!repair_open(bytes, n, &p)) return n;
    repair_sums(&p);
    const size_t written = repair_write(&p, bytes, most);
    json_decref(p.header);
    return written > 0 ? written : n;
}

#endif
