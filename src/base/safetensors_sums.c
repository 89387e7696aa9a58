/* base/safetensors_sums.c - see safetensors_sums.h. */
#include "base/safetensors_sums.h"

#include "base/checksum.h"

#include <stdlib.h>
#include <string.h>

static const char tensors_key[] = "checksums", header_key[] = "header_checksum";

/* Of the header as it is now, which does not have header_key. */
static drove_status sum_header(const json_t *header, const char *path,
                               char sum[DROVE_CHECKSUM_TEXT_SIZE])
{
    char *text = drove__json_dump(header, JSON_COMPACT | JSON_SORT_KEYS);
    if (text == NULL) return drove__fail_nomem(path, 0);
    drove__checksum_print(drove__checksum(text, strlen(text)), sum);
    free(text);
    return DROVE_OK;
}

drove_status drove__sums_add(json_t *header, const char *path, const drove_tensor *tensor,
                             size_t n_tensors)
{
    char sum[DROVE_CHECKSUM_TEXT_SIZE];
    json_t *pairs = json_object_get(header, DROVE_METADATA_NAME);
    if (json_object_get(pairs, tensors_key) != NULL || json_object_get(pairs, header_key) != NULL)
        return drove__fail(DROVE_E_ARG, "%s: metadata \"%s\" and \"%s\" are reserved", path,
                           tensors_key, header_key);
    if (pairs == NULL) {
        pairs = json_object();
        if (json_object_set_new(header, DROVE_METADATA_NAME, pairs) != 0)
            return drove__fail_nomem(path, 0);
    }
    json_t *sums = json_object();
    bool is_whole = sums != NULL;
    for (size_t i = 0; i < n_tensors && is_whole; i++) {
        drove__checksum_print(drove__checksum(tensor[i].bytes, drove__tensor_bytes(&tensor[i])),
                              sum);
        is_whole = json_object_set_new(sums, tensor[i].name, json_string(sum)) == 0;
    }
    char *text = is_whole ? drove__json_dump(sums, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
    json_decref(sums);
    bool is_set = text != NULL && json_object_set_new(pairs, tensors_key, json_string(text)) == 0;
    free(text);
    if (!is_set) return drove__fail_nomem(path, 0);
    DROVE_TRY(sum_header(header, path, sum));
    is_whole = json_object_set_new(pairs, header_key, json_string(sum)) == 0;
    return is_whole ? DROVE_OK : drove__fail_nomem(path, 0);
}

drove_status drove__sums_take(json_t *header, const char *path, json_t **sums)
{
    json_t *pairs = json_object_get(header, DROVE_METADATA_NAME);
    *sums = NULL;
    if (json_object_get(pairs, tensors_key) == NULL && json_object_get(pairs, header_key) == NULL)
        return DROVE_OK;
    /* the header's own */
    char expected[DROVE_CHECKSUM_TEXT_SIZE], found[DROVE_CHECKSUM_TEXT_SIZE];
    const char *said = json_string_value(json_object_get(pairs, header_key));
    if (said == NULL || strlen(said) >= sizeof expected)
        return drove__fail(DROVE_E_DATA, "%s: header: expected a \"%s\" of %d digits, found %s",
                           path, header_key, DROVE_CHECKSUM_TEXT_SIZE - 1,
                           said == NULL ? "none" : "more");
    strcpy(expected, said);
    (void)json_object_del(pairs, header_key);
    DROVE_TRY(sum_header(header, path, found));
    if (strcmp(expected, found) != 0)
        return drove__fail(DROVE_E_DATA,
                           "%s: header: expected checksum %.16s, found %s: the file is damaged",
                           path, expected, found);

    /* those of the tensors */
    const char *text = json_string_value(json_object_get(pairs, tensors_key));
    json_error_t error;
    drove_status status =
        text == NULL ? DROVE_E_DATA
                     : drove__json_parse(text, strlen(text), JSON_REJECT_DUPLICATES, &error, sums);
    bool is_object = json_is_object(*sums);
    (void)json_object_del(pairs, tensors_key);
    if (is_object) return DROVE_OK;
    json_decref(*sums);
    *sums = NULL;
    if (status == DROVE_E_NOMEM) return drove__fail_in(status, "%s", path);
    return drove__fail(DROVE_E_DATA, "%s: header: expected a JSON object as \"%s\"", path,
                       tensors_key);
}

drove_status drove__sums_check(const json_t *sums, const char *path, const char *name,
                               uint64_t value)
{
    char found[DROVE_CHECKSUM_TEXT_SIZE];
    const char *expected = json_string_value(json_object_get(sums, name));
    drove__checksum_print(value, found);
    if (expected != NULL && strcmp(expected, found) == 0) return DROVE_OK;
    return drove__fail(DROVE_E_DATA,
                       "%s: tensor \"%s\": expected checksum %.16s, found %s: the file is damaged",
                       path, name, expected != NULL ? expected : "none", found);
}
