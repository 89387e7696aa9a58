/* test_registry.c - the registries as one list: whole entries, and drove_list prints all. */
#include "base/mem.h"
#include "config/options.h"
#include "config/registry.h"
#include "support/test.h"

#include <drove/train.h>

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What drove_list prints; free(). */
static char *list(const char *kind, int as_json)
{
    char *text = NULL;
    size_t size_bytes = 0;
    FILE *stream = open_memstream(&text, &size_bytes);
    assert_non_null(stream);
    assert_int_equal(drove_list(kind, as_json, stream), DROVE_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

TEST(test_entries_are_whole)
{
    drove_named kind;
    for (size_t k = 0; drove__registry_kind(k, &kind); k++) {
        drove_named a, b;
        size_t n = 0;
        for (; drove__registry_at(kind.name, n, &a); n++) {
            assert_true(a.name[0] != '\0' && a.help[0] != '\0' && a.source[0] != '\0');
            assert_null(strpbrk(a.name, " \n\t"));
            assert_null(strchr(a.help, '\n'));
            assert_null(strchr(a.source, '\n'));
            for (size_t i = 0; i < n; i++) {
                assert_true(drove__registry_at(kind.name, i, &b));
                assert_string_not_equal(a.name, b.name);
            }
            assert_int_equal(drove__registry_check(kind.name, "entry", a.name), DROVE_OK);
        }
        assert_true(n > 0);
    }
    drove_named unused;
    assert_false(drove__registry_at("no such kind", 0, &unused));
}

/* A list begins with the first row of its table. */
TEST(test_first_entries)
{
    static const char *const first[][2] = {
        {"strategies", "sequential"},
        {"sources", "claimed"},
        {"hosts", "threads"},
        {"transports", "threads"},
        {"rules", "sgd"},
        {"schedules", "constant"},
        {"models", "mlp"},
        {"layers", "dense"},
        {"activations", "relu"},
        {"inits", "xavier"},
        {"losses", "softmax"},
        {"data", "mnist"},
        {"features", "rff"},
        {"backoffs", "none"},
        {"engines", "host"},
        {"devices", "opencl"},
        {"roundings", "nearest"},
        {"tiers", "ref"},
    };
    drove_named entry;
    for (size_t k = 0; k < DROVE_COUNT(first); k++) {
        assert_true(drove__registry_at(first[k][0], 0, &entry));
        assert_string_equal(entry.name, first[k][1]);
    }
}

TEST(test_strategies)
{
    for (const drove_sync_ops *const *row = drove__strategies; *row != NULL; row++) {
        const drove_sync_ops *found = NULL;
        assert_int_equal(drove__plan_strategy(&drove__plan_registry, (*row)->name, &found),
                         DROVE_OK);
        assert_ptr_equal(found, *row);
    }
    const drove_sync_ops *ops = NULL;
    assert_int_equal(drove__plan_strategy(&drove__plan_registry, "leased", &ops), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "\"leashed\""));
    assert_null(ops);
}

TEST(test_unknown_names)
{
    assert_int_equal(drove__registry_check("rules", "rule", "adm"), DROVE_E_ARG);
    assert_string_equal(drove_error_text(), "unknown rule \"adm\"; did you mean \"adam\"?");
    assert_int_equal(drove__registry_check("rules", "rule", "zzzzzzzzz"), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "sgd, momentum"));
    assert_int_equal(drove_list("strategy", 0, stdout), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "\"strategies\""));
}

/* The list of strategies ends with auto, which is no entry of the registry. */
static bool has_auto(const char *kind)
{
    return strcmp(kind, "strategies") == 0;
}

TEST(test_list_as_text)
{
    drove_named kind;
    for (size_t k = 0; drove__registry_kind(k, &kind); k++) {
        char *text = list(kind.name, 0), *line = text;
        drove_named entry;
        for (size_t i = 0; drove__registry_at(kind.name, i, &entry); i++) {
            size_t n = strlen(entry.name);
            assert_non_null(line);
            assert_int_equal(strncmp(line, entry.name, n), 0);
            assert_int_equal(line[n], ' ');
            line = strchr(line, '\n');
            assert_non_null(line);
            line++;
        }
        if (has_auto(kind.name)) {
            assert_int_equal(strncmp(line, "auto ", 5), 0);
            line = strchr(line, '\n') + 1;
        }
        assert_string_equal(line, "");
        free(text);
    }
}

static void check_key(const drove_spec_key *key, void *context)
{
    if (key->help == NULL || key->help[0] == '\0')
        fail_msg("%s: %s has no help", (const char *)context, key->name);
}

/* Each default is a value that its key allows, each key has help. */
TEST(test_keys_of_every_row)
{
    drove_named kind, entry;
    for (size_t k = 0; drove__registry_kind(k, &kind); k++) {
        for (size_t i = 0; drove__registry_at(kind.name, i, &entry); i++) {
            _Alignas(64) char settings[8192] = {0};
            const drove_spec bare = {.name = entry.name};
            drove__spec_walk(entry.keys, check_key, (void *)entry.name);
            if (drove__spec_take(&bare, entry.keys, settings) != DROVE_OK)
                fail_msg("%s", drove_error_text());
        }
    }
}

TEST(test_list_as_json)
{
    drove_named kind;
    for (size_t k = 0; drove__registry_kind(k, &kind); k++) {
        char *text = list(kind.name, 1);
        json_t *array = json_loads(text, 0, NULL);
        assert_true(json_is_array(array));
        drove_named entry;
        size_t i = 0;
        for (; drove__registry_at(kind.name, i, &entry); i++) {
            const json_t *object = json_array_get(array, i);
            assert_int_equal(json_object_size(object), 4);
            assert_true(json_is_array(json_object_get(object, "keys")));
            assert_string_equal(json_string_value(json_object_get(object, "name")), entry.name);
            assert_string_equal(json_string_value(json_object_get(object, "help")), entry.help);
            assert_string_equal(json_string_value(json_object_get(object, "source")), entry.source);
        }
        assert_int_equal(json_array_size(array), i + has_auto(kind.name));
        json_decref(array);
        free(text);
    }
}

TEST(test_list_of_kinds)
{
    char *text = list(NULL, 0), *line = text;
    drove_named kind;
    for (size_t k = 0; drove__registry_kind(k, &kind); k++) {
        assert_int_equal(strncmp(line, kind.name, strlen(kind.name)), 0);
        line = strchr(line, '\n') + 1;
    }
    assert_int_equal(strncmp(line, "combinations", 12), 0);
    assert_string_equal(strchr(line, '\n') + 1, "");
    free(text);
}

/* What drove_info prints of three bound threads in plain C; free(). */
static char *info(int as_json)
{
    char *text = NULL;
    size_t size_bytes = 0;
    drove_options options = drove__options_default();
    assert_int_equal(drove_options_set(&options, "threads", "3"), DROVE_OK);
    assert_int_equal(drove_options_set(&options, "bind", "compact"), DROVE_OK);
    assert_int_equal(drove_options_set(&options, "isa", "ref"), DROVE_OK);
    FILE *stream = open_memstream(&text, &size_bytes);
    assert_non_null(stream);
    assert_int_equal(drove_info(&options, as_json, 0, stream), DROVE_OK);
    assert_int_equal(fclose(stream), 0);
    return text;
}

/* Every heading once, in this order. */
TEST(test_info_as_text)
{
    static const char *const heading[] = {"drove  ",   "processor  ", "caches  ",
                                          "memory  ",  "kernels  ",   "products  ",
                                          "engines  ", "devices  ",   "workers  "};
    char *text = info(0);
    size_t n = 0;
    for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
        if (line[0] == ' ') continue;
        assert_true(n < DROVE_COUNT(heading));
        assert_int_equal(strncmp(line, heading[n], strlen(heading[n])), 0);
        n++;
    }
    assert_int_equal(n, DROVE_COUNT(heading));
    assert_non_null(strstr(text, "\nkernels     ref, of ref"));
    assert_non_null(strstr(text, "\nproducts    plain C\n"));
    assert_non_null(strstr(text, "\nworkers     3, strategy hogwild, bind compact\n"));
    free(text);
}

TEST(test_info_as_json)
{
    char *text = info(1);
    json_t *object = json_loads(text, 0, NULL);
    assert_true(json_is_object(object));
    assert_string_equal(json_string_value(json_object_get(object, "isa")), "ref");
    assert_string_equal(json_string_value(json_object_get(object, "gemm_source")), "plain C");
    assert_true(json_integer_value(json_object_get(object, "n_processors")) >= 1);
    assert_true(json_integer_value(json_object_get(object, "memory_bytes")) > 0);
    const json_t *workers = json_object_get(object, "workers");
    assert_string_equal(json_string_value(json_object_get(workers, "strategy")), "hogwild");
    const json_t *places = json_object_get(workers, "places");
    assert_int_equal(json_array_size(places), 3);
    for (size_t i = 0; i < 3; i++) { /* bound: every worker has a processor */
        assert_true(json_is_integer(json_object_get(json_array_get(places, i), "processor")));
    }
    json_decref(object);
    free(text);
    drove_options options = drove__options_default();
    assert_int_equal(drove_options_set(&options, "isa", "avx9"), DROVE_OK);
    assert_int_equal(drove_info(&options, 0, 0, stdout), DROVE_E_ARG);
}
