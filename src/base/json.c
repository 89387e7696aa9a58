/* base/json.c - see json.h. */
#include "base/json.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void drove__json_set(json_t **object, const char *key, json_t *value)
{
    if (json_object_set_new(*object, key, value) == 0) return;
    json_decref(*object);
    *object = NULL;
}

void drove__json_add(json_t **list, json_t *value)
{
    if (json_array_append_new(*list, value) == 0) return;
    json_decref(*list);
    *list = NULL;
}

char *drove__json_dump(const json_t *value, size_t flags)
{
    errno = 0;
    char *text = json_dumps(value, flags);
    if (errno != ENOMEM) return text;
    free(text);
    return NULL;
}

/* Of two failures to parse one text: they differ, or say nothing, where memory ran out. */
static bool is_memory(const json_error_t *first, const json_error_t *second)
{
    return json_error_code(first) == json_error_out_of_memory || first->text[0] == '\0' ||
           first->position != second->position || strcmp(first->text, second->text) != 0;
}

drove_status drove__json_parse(const char *text, size_t n_bytes, size_t flags, json_error_t *error,
                               json_t **out)
{
    json_error_t again;
    json_t *first = json_loadb(text, n_bytes, flags, error);
    json_t *second = json_loadb(text, n_bytes, flags, &again);
    const bool is_same = first != NULL && json_equal(first, second);
    const bool is_bad = first == NULL && second == NULL && !is_memory(error, &again);
    json_decref(second);
    *out = is_same ? first : NULL;
    if (is_same) return DROVE_OK;
    json_decref(first);
    return is_bad ? drove__fail(DROVE_E_DATA, "%s", error->text)
                  : drove__fail_nomem("JSON", n_bytes);
}
