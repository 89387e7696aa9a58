/* JSON values are whole or NULL, whichever allocation fails: each in turn does here. */
#include "base/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Longer than the scanner's first buffer, so that it grows in the middle. */
static const char whole[] =
    "{\"a name of some length\": [1, 2.5, null, \"a text that is longer than a buffer\"], "
    "\"second\": {\"inner name, also long\": true}, \"third\": \"x\"}";

static unsigned n_calls, failing; /* the failing-th call fails; 0: none */
static bool and_later;

static void *allocate(size_t size)
{
    n_calls++;
    if (failing == 0 || n_calls < failing || (n_calls > failing && !and_later)) return malloc(size);
    errno = ENOMEM;
    return NULL;
}

static void fail_at(unsigned n, bool later)
{
    n_calls = 0;
    failing = n;
    and_later = later;
}

static json_t *build(void)
{
    json_t *object = json_object(), *list = json_array(), *inner = json_object();
    drove__json_add(&list, json_integer(1));
    drove__json_add(&list, json_real(2.5));
    drove__json_add(&list, json_null());
    drove__json_add(&list, json_string("a text that is longer than a buffer"));
    drove__json_set(&object, "a name of some length", list);
    drove__json_set(&inner, "inner name, also long", json_true());
    drove__json_set(&object, "second", inner);
    drove__json_set(&object, "third", json_string("x"));
    return object;
}

static void a_value_is_whole_or_null(void **state)
{
    (void)state;
    unsigned n_whole = 0, n_null = 0;
    for (int later = 0; later < 2; later++) {
        for (unsigned n = 1;; n++) {
            fail_at(n, later != 0);
            json_t *value = build();
            char *text = drove__json_dump(value, 0);
            bool is_over = n_calls < n;
            if (text != NULL) assert_string_equal(text, whole);
            *(text != NULL ? &n_whole : &n_null) += 1;
            fail_at(0, false);
            free(text);
            json_decref(value);
            if (!is_over) continue;
            assert_non_null(text);
            break;
        }
    }
    assert_int_equal(n_whole, 2);
    assert_true(n_null > 40);
}

static void a_text_is_parsed_whole_or_memory_is_named(void **state)
{
    (void)state;
    json_error_t error;
    json_t *expected = json_loads(whole, 0, NULL);
    unsigned n_failed = 0;
    for (int later = 0; later < 2; later++) {
        for (unsigned n = 1;; n++) {
            json_t *found = expected;
            fail_at(n, later != 0);
            drove_status status = drove__json_parse(whole, sizeof whole - 1, 0, &error, &found);
            bool is_over = n_calls < n;
            fail_at(0, false);
            if (status != DROVE_OK) assert_int_equal(status, DROVE_E_NOMEM);
            if (status != DROVE_OK) assert_null(found);
            else assert_true(json_equal(found, expected));
            n_failed += status != DROVE_OK;
            json_decref(found);
            if (is_over) break;
        }
    }
    assert_true(n_failed > 40);
    json_decref(expected);
}

static void bad_texts_are_data_errors(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "{", "[1, 2", "{\"a\": }", "{\"a\": 1} x", "\"text\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        json_error_t error;
        json_t *found;
        assert_int_equal(drove__json_parse(bad[i], strlen(bad[i]), 0, &error, &found),
                         DROVE_E_DATA);
        assert_null(found);
        assert_string_equal(drove_error_text(), error.text);
    }
    json_error_t error;
    json_t *found;
    const char twice[] = "{\"a\": 1, \"a\": 2}";
    assert_int_equal(drove__json_parse(twice, strlen(twice), JSON_REJECT_DUPLICATES, &error,
                                       &found),
                     DROVE_E_DATA);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_whole_or_null),
        cmocka_unit_test(a_text_is_parsed_whole_or_memory_is_named),
        cmocka_unit_test(bad_texts_are_data_errors),
    };
    json_set_alloc_funcs(allocate, free);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
