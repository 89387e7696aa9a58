/* use/tuning.c - see tuning.h. */
#include "use/tuning.h"

#include "model/graph.h"
#include "use/modelfile.h"

#include <stdio.h>
#include <string.h>

static const char *const heads[] = {"kept", "new", NULL};

typedef struct keys {
    bool makes_heads;
    const char *freeze;
} keys;

const drove_spec_key drove__tuning_keys[] = {
    {"head", "kept", DROVE_AS_EITHER(keys, makes_heads, heads),
     .help = "new: the last layer is made anew, with an output for each class of the data"},
    {"freeze", "", DROVE_AS_TEXT(keys, freeze),
     .help = "layers that are not trained: NAME, NAME*, or body (all but the last), with commas"},
    DROVE_SPEC_END,
};

/* Appends an item of a query, n bytes; false: there is no room. */
static bool append(char *to, size_t size, const char *item, size_t n)
{
    const size_t used = strlen(to);
    if (used + n + 2 > size) return false;
    snprintf(to + used, size - used, "%s%.*s", strchr(to, '?') != NULL ? "&" : "?", (int)n, item);
    return true;
}

drove_status drove__tuning_take(const char *model, drove_tuning *out)
{
    const char *query = strrchr(model, '?');
    const size_t n_name = query != NULL ? (size_t)(query - model) : strlen(model);
    char own[DROVE_TUNING_TEXT_SIZE + 8] = "model";
    drove_tuning t = {.makes_heads = false};
    *out = t;
    snprintf(out->model, sizeof out->model, "%s", model);
    if (query == NULL || n_name >= sizeof t.model) return DROVE_OK;
    snprintf(t.model, sizeof t.model, "%.*s", (int)n_name, model);

    /* Keys of a family stay; a file has no others. */
    const bool is_file = drove__graph_is_file(t.model) || drove__names_model_file(t.model);
    bool fits = true;
    for (const char *item = query + 1; fits;) {
        const size_t n = strcspn(item, "&");
        char name[32];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(item, "=&"), item);
        const bool is_own = is_file || drove__spec_knows(drove__tuning_keys, name);
        fits = is_own ? append(own, sizeof own, item, n) : append(t.model, sizeof t.model, item, n);
        if (item[n] == '\0') break;
        item += n + 1;
    }
    if (!fits || strcmp(own, "model") == 0) return DROVE_OK;

    drove_spec spec;
    keys set = {.freeze = ""};
    drove_status status = drove__spec_parse(own, &spec);
    if (status == DROVE_OK) {
        status = drove__spec_read(&spec, drove__tuning_keys, &set);
        if (status == DROVE_OK && strlen(set.freeze) < sizeof t.freeze) {
            t.makes_heads = set.makes_heads;
            snprintf(t.freeze, sizeof t.freeze, "%s", set.freeze);
        }
        drove__spec_fini(&spec);
    }
    if (status != DROVE_OK) return drove__fail_in(status, "--model %s", model);
    *out = t;
    return DROVE_OK;
}
