/* JSON values are whole or NULL, whichever allocation fails: each in turn does here. */
#include "base/json.h"
#include "support/test.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Longer than the scanner's first buffer, so that it grows in the middle. */
static const char whole[] =
    "{\"a name of some length\": [1, 2.5, null, \"a text that is longer than a buffer\"], "
    "\"second\": {\"inner name, also long\": true}, \"third\": \"x\"}";

static unsigned n_calls, failing;    /* the failing-th call fails; 0: none */
static size_t most_bytes = SIZE_MAX; /* larger blocks there are none */
static bool and_later;

static bool has_failed(void)
{
    n_calls++;
    if (failing == 0 || n_calls < failing || (n_calls > failing && !and_later)) return false;
    errno = ENOMEM;
    return true;
}

static void *allocate(size_t size)
{
    return has_failed() ? NULL : malloc(size);
}

enum { GUARD = 16 }; /* bytes on both sides of a block; those behind it must stay as they are */

static void *allocate_guarded(size_t size)
{
    if (size > most_bytes) errno = ENOMEM;
    char *block = has_failed() || size > most_bytes ? NULL : malloc(size + 2 * GUARD);
    if (block == NULL) return NULL;
    memcpy(block, &size, sizeof size);
    memset(block + GUARD + size, 0x5a, GUARD);
    return block + GUARD;
}

static void free_guarded(void *memory)
{
    if (memory == NULL) return;
    char *block = (char *)memory - GUARD;
    size_t size;
    memcpy(&size, block, sizeof size);
    for (size_t i = 0; i < GUARD; i++) assert_int_equal(block[GUARD + size + i], 0x5a);
    free(block);
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

FIXTURE(replace_allocation)
{
    json_set_alloc_funcs(allocate, free);
    return 0;
}

GROUP(replace_allocation, NULL);

TEST(a_value_is_whole_or_null)
{
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

TEST(a_text_is_parsed_whole_or_memory_is_named)
{
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

/* A string ends where the scanner needs more memory: of each length, and each allocation fails. */
TEST(no_memory_is_overwritten)
{
    static const char rest[] = "\", \"another string, longer than both\"]";
    char text[160];
    json_set_alloc_funcs(allocate_guarded, free_guarded);
    for (size_t n = 8; n < 80; n++) {
        memset(text, 'a', sizeof text);
        memcpy(text, "[\"", 2);
        memcpy(text + 2 + n, rest, sizeof rest);
        for (int later = 0; later < 2; later++) {
            bool is_over = false;
            for (unsigned k = 1; !is_over; k++) {
                json_error_t error;
                json_t *found = NULL;
                fail_at(k, later != 0);
                drove_status status = drove__json_parse(text, strlen(text), 0, &error, &found);
                is_over = n_calls < k;
                fail_at(0, false);
                assert_int_equal(status, found != NULL ? DROVE_OK : DROVE_E_NOMEM);
                assert_true(found == NULL || json_array_size(found) == 2);
                json_decref(found);
            }
        }
    }
    json_set_alloc_funcs(allocate, free);
}

/* Small blocks are to be had, large ones are not. */
TEST(a_token_that_is_too_long_overwrites_nothing)
{
    static char text[10000];
    json_set_alloc_funcs(allocate_guarded, free_guarded);
    most_bytes = 4096;
    for (size_t n = 4000; n < 9000; n += 7) {
        json_error_t error;
        json_t *found;
        memset(text, 'a', sizeof text);
        memcpy(text, "[\"", 2);
        memcpy(text + 2 + n, "\"]", 3);
        drove_status status = drove__json_parse(text, n + 4, 0, &error, &found);
        assert_int_equal(status, found != NULL ? DROVE_OK : DROVE_E_NOMEM);
        json_decref(found);
    }
    most_bytes = SIZE_MAX;
    json_set_alloc_funcs(allocate, free);
}

TEST(bad_texts_are_data_errors)
{
    static const char *const bad[] = {"",         "{",    "[1, 2",  "{\"a\": }", "{\"a\": 1} x",
                                      "\"text\"", "1",    "1, [2]", "{}, {}",    "1], [2",
                                      "[1]]",     "[\"a]"};
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

TEST(containers_may_be_as_deep_as_jansson_has_them)
{
    enum { MOST = JSON_PARSER_MAX_DEPTH };
    static char text[2 * MOST + 3];
    json_error_t error;
    json_t *found;
    memset(text, '[', MOST);
    memset(text + MOST, ']', MOST);
    assert_int_equal(drove__json_parse(text, 2 * MOST, 0, &error, &found), DROVE_OK);
    json_decref(found);
    memset(text, '[', MOST + 1);
    memset(text + MOST + 1, ']', MOST + 1);
    assert_int_equal(drove__json_parse(text, 2 * MOST + 2, 0, &error, &found), DROVE_E_DATA);
    assert_null(found);
}
