/* tests/fuzz/fuzz_json.c - JSON as it stands in headers, records and summaries: what is accepted is
 * written as a text that reads back as the same value.
 */
#include "base/json.h"
#include "table/content.h"

#include "fuzz_text.h"

static void check(const char *text, size_t n, size_t flags)
{
    json_error_t error;
    json_t *value, *again;
    if (!fuzz_is_ok(drove__json_parse(text, n, flags, &error, &value))) {
        if (value != NULL || error.line < -1) abort();
        return;
    }
    char *printed = drove__json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);
    if (printed == NULL) abort();
    if (drove__json_parse(printed, strlen(printed), flags, &error, &again) != DROVE_OK) abort();
    if (!json_equal(value, again)) abort();
    json_decref(again);
    json_decref(value);
    free(printed);
}

/* What is UTF-8: the same by both implementations. */
static void check_utf8(const char *text, size_t n)
{
    json_t *value = json_stringn(text, n);
    if (drove__is_utf8(text, n) != (value != NULL)) abort();
    json_decref(value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char *text = fuzz_text(data, size_bytes);
    check(text, size_bytes, 0);
    check(text, size_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY);
    check_utf8(text, size_bytes);
    free(text);
    return 0;
}
