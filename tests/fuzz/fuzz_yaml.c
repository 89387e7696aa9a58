/* tests/fuzz/fuzz_yaml.c - YAML as a sequence of items: what opens is closed in order, and every
 * item says where it stands.
 */
#include "base/yaml.h"

#include "fuzz_text.h"

enum { DEPTH_MOST = 4096 };

/* The kinds that are open. */
typedef struct nest {
    drove_yaml_kind kind[DEPTH_MOST];
    size_t depth;
} nest;

static void open_one(nest *n, drove_yaml_kind kind)
{
    if (n->depth < DEPTH_MOST) n->kind[n->depth] = kind;
    n->depth++;
}

static void close_one(nest *n, drove_yaml_kind kind)
{
    if (n->depth == 0) abort();
    n->depth--;
    if (n->depth < DEPTH_MOST && n->kind[n->depth] != kind) abort();
}

static void take(nest *n, const drove_yaml_item *item)
{
    switch (item->kind) {
    case DROVE_YAML_VALUE:
        if (item->text == NULL) abort();
        (void)strlen(item->text);
        return;
    case DROVE_YAML_MAPPING:
    case DROVE_YAML_LIST:
    case DROVE_YAML_DOCUMENT: open_one(n, item->kind); return;
    case DROVE_YAML_MAPPING_END: close_one(n, DROVE_YAML_MAPPING); return;
    case DROVE_YAML_LIST_END: close_one(n, DROVE_YAML_LIST); return;
    case DROVE_YAML_DOCUMENT_END: close_one(n, DROVE_YAML_DOCUMENT); return;
    case DROVE_YAML_END:
        if (n->depth != 0) abort();
        return;
    case DROVE_YAML_ALIAS:
    case DROVE_YAML_OTHER: return;
    }
    abort();
}

static void walk(drove_yaml *y, size_t size_bytes)
{
    static nest n;
    drove_yaml_item item = {0};
    n.depth = 0;
    for (size_t i = 0; item.kind != DROVE_YAML_END; i++) {
        if (i > 8 * size_bytes + 64) abort(); /* it does not end */
        if (!fuzz_is_ok(drove__yaml_next(y, &item))) return;
        if (item.line < 1 || item.column < 1) abort();
        take(&n, &item);
    }
}

/* As a reader of options begins and ends. */
static void walk_mapping(drove_yaml *y)
{
    int is_empty;
    drove_yaml_item item = {0};
    if (!fuzz_is_ok(drove__yaml_begin(y, "a mapping", &is_empty)) || is_empty) return;
    while (fuzz_is_ok(drove__yaml_next(y, &item))) {
        if (item.kind == DROVE_YAML_MAPPING_END) {
            fuzz_is_ok(drove__yaml_finish(y));
            return;
        }
        if (item.kind != DROVE_YAML_VALUE) {
            fuzz_is_ok(drove__yaml_unexpected(y, &item, "a key"));
            return;
        }
        if (!fuzz_is_ok(drove__yaml_expect(y, DROVE_YAML_VALUE, "a value", &item))) return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    drove_yaml *y;
    char *text = fuzz_text(data, size_bytes);
    for (int pass = 0; pass < 2; pass++) {
        if (!fuzz_is_ok(drove__yaml_open(text, size_bytes, "fuzz", DROVE_E_DATA, "a: b", &y)))
            break;
        if (pass == 0) walk(y, size_bytes);
        else walk_mapping(y);
        drove__yaml_close(y);
    }
    free(text);
    return 0;
}
