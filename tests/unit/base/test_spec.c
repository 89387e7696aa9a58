/* Specs: parts, escapes, checked values, refusals with their words; the nearest word. */
#include "support.h"

#include "base/mem.h"
#include "base/spec_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

TEST(test_unknown_words)
{
    static const char *const names[] = {"sgd", "momentum", "adam"};
    assert_fails(drove__fail_unknown("rule", "adm", names, 3), DROVE_E_ARG,
                 "unknown rule \"adm\"; did you mean \"adam\"?");
    assert_fails(drove__fail_unknown("rule", "zzzzzzzz", names, 3), DROVE_E_ARG,
                 "unknown rule \"zzzzzzzz\"; expected one of sgd, momentum, adam");
    const char *many[200]; /* a list longer than its room is cut, not written past */
    for (size_t i = 0; i < 200; i++) many[i] = "another name";
    assert_fails(drove__fail_unknown("rule", "zzzzzzzz", many, 200), DROVE_E_ARG, "another name");
}

TEST(test_parts)
{
    drove_spec spec;
    assert_ok(drove__spec_parse("synth:digits,7?n=60000&seed=1", &spec));
    assert_string_equal(spec.name, "synth");
    assert_int_equal(spec.n_args, 2);
    assert_string_equal(spec.arg[0], "digits");
    assert_string_equal(spec.arg[1], "7");
    assert_int_equal(spec.n_keys, 2);
    assert_string_equal(spec.key[0], "n");
    assert_string_equal(spec.value[0], "60000");
    assert_string_equal(drove__spec_get(&spec, "seed", "x"), "1");
    assert_string_equal(drove__spec_get(&spec, "density", "x"), "x");
    assert_null(drove__spec_get(&spec, "density", NULL));
    drove__spec_fini(&spec);
    drove__spec_fini(&spec);
    drove__spec_fini(NULL);

    assert_ok(drove__spec_parse("sync", &spec));
    assert_string_equal(spec.name, "sync");
    assert_int_equal(spec.n_args + spec.n_keys, 0);
    drove__spec_fini(&spec);

    assert_ok(drove__spec_parse("rwlock?prefer=", &spec));
    assert_int_equal(spec.n_args, 0);
    assert_string_equal(spec.value[0], "");
    drove__spec_fini(&spec);

    assert_ok(drove__spec_parse("fake:?speed=250", &spec));
    assert_string_equal(spec.name, "fake");
    assert_int_equal(spec.n_args, 0);
    assert_string_equal(spec.value[0], "250");
    drove__spec_fini(&spec);
}

TEST(test_paths)
{
    drove_spec spec;
    assert_ok(drove__spec_parse("csv:C:/data=1/a&b.csv?label=last", &spec));
    assert_string_equal(spec.arg[0], "C:/data=1/a&b.csv");
    assert_string_equal(spec.value[0], "last");
    drove__spec_fini(&spec);

    assert_ok(drove__spec_parse("csv:a%3Fb%2cc%25%2B.csv?label=%26%3D%3f&k%3d=v", &spec));
    assert_string_equal(spec.arg[0], "a?b,c%+.csv");
    assert_string_equal(spec.value[0], "&=?");
    assert_string_equal(spec.key[1], "k=");
    drove__spec_fini(&spec);

    assert_ok(
        drove__spec_parse("csv?x=a:b?c=d", &spec)); /* '?' and ':' after the first '?' are text */
    assert_string_equal(spec.name, "csv");
    assert_int_equal(spec.n_args, 0);
    assert_string_equal(spec.value[0], "a:b?c=d");
    drove__spec_fini(&spec);
}

TEST(test_refusals)
{
    static const struct {
        const char *text, *part;
    } wrong[] = {
        {"", "expected name"},
        {":a", "expected name"},
        {"?a=1", "expected name"},
        {"mlp:", "argument 1 is empty"},
        {"mlp:128,,3", "argument 2 is empty"},
        {"mlp:128,", "argument 2 is empty"},
        {"a?", "expected key=value after '?', found \"\""},
        {"a?b", "expected key=value after '?', found \"b\""},
        {"a?b=1&c", "expected key=value after '&', found \"c\" (write %26 for '&' in a value)"},
        {"a?=1", "expected key=value"},
        {"a?b=1&", "expected key=value"},
        {"a?b=1&b=2", "\"b\" is given twice"},
        {"a?b=1&%62=2", "\"b\" is given twice"},
        {"csv:100%", "%25"},
        {"csv:100%4", "%25"},
        {"csv:100%g0", "found \"g0\""},
        {"csv:a%00b", "found \"00\""},
    };
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++) {
        drove_spec spec = {.n_args = 99};
        assert_fails(drove__spec_parse(wrong[i].text, &spec), DROVE_E_ARG, wrong[i].part);
        assert_error_has(wrong[i].text);
        assert_int_equal(spec.n_args, 99); /* untouched */
    }
}

TEST(test_too_many_parts)
{
    char text[1000];
    drove_spec spec;
    for (int extra = 0; extra < 2; extra++) {
        int n = snprintf(text, sizeof text, "a:0");
        for (int i = 1; i < DROVE_SPEC_MAX_ARGS + extra; i++) {
            n += snprintf(text + n, sizeof text - (size_t)n, ",%d", i);
        }
        if (extra == 0) {
            assert_ok(drove__spec_parse(text, &spec));
            assert_string_equal(spec.arg[DROVE_SPEC_MAX_ARGS - 1], "63");
            drove__spec_fini(&spec);
        } else assert_fails(drove__spec_parse(text, &spec), DROVE_E_ARG, "at most 64 arguments");

        n = snprintf(text, sizeof text, "a?k0=");
        for (int i = 1; i < DROVE_SPEC_MAX_KEYS + extra; i++) {
            n += snprintf(text + n, sizeof text - (size_t)n, "&k%d=", i);
        }
        if (extra == 0) {
            assert_ok(drove__spec_parse(text, &spec));
            drove__spec_fini(&spec);
        } else assert_fails(drove__spec_parse(text, &spec), DROVE_E_ARG, "at most 16 key=value");
    }
}

TEST(test_long_texts_do_not_overflow)
{
    enum { SIZE = 20000 };
    char *text = malloc(SIZE);
    assert_non_null(text);
    memset(text, 'x', SIZE);
    memcpy(text + SIZE - 4, "?y=", 4);
    text[9000] = '?';
    text[15000] = '=';
    drove_spec spec;
    assert_ok(drove__spec_parse(text, &spec));
    assert_fails(drove__spec_accept(&spec, NULL), DROVE_E_ARG, "xxx");
    struct number {
        uint64_t n;
    } number;
    const drove_spec_key keys[] = {
        {spec.key[0], NULL, DROVE_AS_COUNT(struct number, n, 0, 1), .help = "a long name"},
        DROVE_SPEC_END,
    };
    assert_fails(drove__spec_read(&spec, keys, &number), DROVE_E_ARG, "expected a whole number");
    drove__spec_fini(&spec);
    free(text);
}

TEST(test_nearest)
{
    static const char *const names[] = {"sequential", "sync",    "ssp",     "mutex",
                                        "rwlock",     "hogwild", "leashed", "x"};
    static const struct {
        const char *word, *nearest; /* NULL: nothing near */
    } expected[] = {
        {"hogwld", "hogwild"}, {"hogwidl", "hogwild"}, {"HogWild", "hogwild"},
        {"leash", "leashed"},  {"synch", "sync"},      {"snyc", "sync"},
        {"mutx", "mutex"},     {"rw-lock", "rwlock"},  {"sequntial", "sequential"},
        {"sps", "ssp"},        {"adam", NULL},         {"", NULL},
        {"q", NULL},           {"zzzzzz", NULL},       {"x", "x"},
    };
    for (size_t i = 0; i < DROVE_COUNT(expected); i++) {
        const char *near = drove__nearest(expected[i].word, names, DROVE_COUNT(names));
        if (expected[i].nearest == NULL) {
            if (near != NULL) fail_msg("\"%s\" suggests \"%s\"", expected[i].word, near);
        } else {
            assert_non_null(near);
            assert_string_equal(near, expected[i].nearest);
        }
    }
    char long_word[1000];
    memset(long_word, 'a', sizeof long_word);
    long_word[sizeof long_word - 1] = '\0';
    assert_null(drove__nearest(long_word, names, DROVE_COUNT(names)));
    assert_null(drove__nearest("sync", names, 0));
}

/* Whatever a path or a value holds, the spec that is made of it has it back. */
TEST(test_made_of_texts)
{
    static const char *const texts[] = {"plain", "a?b,c&d%e+f", "%3F",
                                        "a=b",   "/a b/c:d",    "\xc3\xa4%"};
    char into[96], value[64];
    drove_spec spec;
    for (size_t i = 0; i < DROVE_COUNT(texts); i++) {
        drove__spec_of_path("csv", texts[i], into, sizeof into);
        assert_ok(drove__spec_parse(into, &spec));
        assert_string_equal(spec.name, "csv");
        assert_int_equal(spec.n_args, 1);
        assert_int_equal(spec.n_keys, 0);
        assert_string_equal(spec.arg[0], texts[i]);
        drove__spec_fini(&spec);
        assert_ptr_equal(drove__spec_escape(texts[i], value, sizeof value), value);
        snprintf(into, sizeof into, "csv:x?from=%s&n=1", value);
        assert_ok(drove__spec_parse(into, &spec));
        assert_int_equal(spec.n_keys, 2);
        assert_string_equal(spec.value[0], texts[i]);
        drove__spec_fini(&spec);
    }
    for (size_t size = 1; size < 12; size++) { /* cut, but not within %26 */
        memset(value, 'x', sizeof value);
        drove__spec_escape("a&b&c", value, size);
        assert_true(strlen(value) < size);
        assert_int_equal(value[size], 'x');
        assert_int_equal(strncmp("a%26b%26c", value, strlen(value)), 0);
        const char *percent = strrchr(value, '%');
        if (percent != NULL) assert_true(strlen(percent) >= 3);
    }
    for (size_t size = 8; size < 20; size++) {
        memset(into, 'x', sizeof into);
        drove__spec_of_path("csv", "a&b&c", into, size);
        assert_true(strlen(into) < size);
        assert_int_equal(into[size], 'x');
        assert_int_equal(strncmp("csv:a%26b%26c", into, strlen(into)), 0);
    }
}
