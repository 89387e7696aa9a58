/* The table of a spec's arguments and keys: what is accepted, defaults, kinds, refusals. */
#include "support.h"

#include "base/mem.h"
#include "base/spec_keys.h"

#include <stdio.h>
#include <string.h>

typedef struct inner {
    float share;
} inner;

typedef enum order { TREE, PAIRS, FIRST } order;

typedef struct settings {
    uint64_t n, bytes;
    double x;
    inner in;
    order order;
    bool flag, bit;
    const char *text;
    drove_sides size;
} settings;

static const char *const orders[] = {"tree", "pairs", "first-come", NULL};
static const drove_spec_key inner_keys[] = {
    {"share", "0.9", DROVE_AS_FLOAT(inner, share, 0.0, 1.0), .help = "of the old mean"},
    DROVE_SPEC_END,
};
static const drove_spec_key keys[] = {
    {"N", "inf", DROVE_AS_COUNT(settings, n, 1, 12), .is_argument = true, .word = "inf"},
    {"X", NULL, DROVE_AS_REAL(settings, x, 0.0, 1.0), .is_argument = true},
    {"order", "pairs", DROVE_AS_WORD(settings, order, orders), .help = "of sums"},
    {"memory", NULL, DROVE_AS_BYTES(settings, bytes), .help = "of a device"},
    {"flag", "no", DROVE_AS_FLAG(settings, flag), .help = "no or yes"},
    {"bit", "1", DROVE_AS_BIT(settings, bit), .help = "0 or 1"},
    {"text", "none", DROVE_AS_TEXT(settings, text), .help = "any text"},
    {"size", NULL, DROVE_AS_SIDES(settings, size, 2, 64), .help = "of images"},
    DROVE_SPEC_KEYS_OF(settings, in, inner, inner_keys),
    DROVE_SPEC_END,
};

/* *out begins as what a caller has set before. */
static drove_status read(const char *text, const drove_spec_key *table, void *out)
{
    drove_spec spec;
    assert_ok(drove__spec_parse(text, &spec));
    drove_status status = drove__spec_read(&spec, table, out);
    drove__spec_fini(&spec);
    return status;
}

TEST(test_defaults)
{
    settings set = {.n = 99, .x = 0.25, .bytes = 3, .bit = false, .size = {5, 6}};
    assert_ok(read("row", keys, &set));
    assert_int_equal(set.n, 99); /* its default is a word: as it was */
    assert_true(set.x == 0.25);  /* no default: the same */
    assert_int_equal(set.bytes, 3);
    assert_int_equal(set.order, PAIRS);
    assert_false(set.flag);
    assert_true(set.bit);
    assert_string_equal(set.text, "none");
    assert_int_equal(set.size.width, 6);
    assert_true(set.in.share == 0.9f);
}

TEST(test_every_kind)
{
    settings set = {0};
    drove_spec spec;
    assert_ok(drove__spec_parse("row:12,0.5?order=first-come&memory=2KiB&flag=yes&bit=0&text=a b&"
                                "size=24x32&share=0.5",
                                &spec));
    assert_ok(drove__spec_read(&spec, keys, &set));
    assert_int_equal(set.n, 12);
    assert_true(set.x == 0.5);
    assert_int_equal(set.order, FIRST);
    assert_int_equal(set.bytes, 2048);
    assert_true(set.flag);
    assert_false(set.bit);
    assert_ptr_equal(set.text, drove__spec_get(&spec, "text", NULL));
    assert_int_equal(set.size.height, 24);
    assert_int_equal(set.size.width, 32);
    assert_true(set.in.share == 0.5f);
    drove__spec_fini(&spec);
    assert_ok(read("row?size=8", keys, &set));
    assert_int_equal(set.size.width, 8);
    assert_ok(read("row:inf", keys, &set));
    assert_int_equal(set.n, 12);
}

TEST(test_refused)
{
    static const struct {
        const char *text, *error;
    } wrong[] = {
        {"row:13", "row, argument 1: expected a whole number from 1 to 12, found \"13\""},
        {"row:1,2", "row, argument 2: expected a number from 0 to 1, found \"2\""},
        {"row:1,1,1", "row: expected at most 2 arguments, found 3"},
        {"row?order=tre", "row?order: expected tree, pairs or first-come, found \"tre\""},
        {"row?memory=x", "row?memory: expected a whole number with an optional KiB"},
        {"row?flag=1", "row?flag: expected no or yes, found \"1\""},
        {"row?bit=2", "row?bit: expected a whole number from 0 to 1, found \"2\""},
        {"row?size=1x9", "row?size: expected a side, or HEIGHTxWIDTH, of 2 to 64, found \"1x9\""},
        {"row?size=9x", "row?size: expected a side"},
        {"row?size=9x9x", "row?size: expected a side"},
        {"row?share=1.5", "row?share: expected a number from 0 to 1, found \"1.5\""},
        {"row?shar=1", "row: unknown key \"shar\"; did you mean \"share\"?"},
        {"row?N=1", "row: unknown key \"N\""}, /* arguments are no keys */
        {"row?qqqqqq=1", "expected order, memory, flag, bit, text, size or share"},
    };
    settings set = {.n = 3};
    for (size_t i = 0; i < DROVE_COUNT(wrong); i++)
        assert_fails(read(wrong[i].text, keys, &set), DROVE_E_ARG, wrong[i].error);
    assert_fails(read("row?a=1", NULL, NULL), DROVE_E_ARG,
                 "row: unknown key \"a\"; row has no keys");
    assert_fails(read("row:1", NULL, NULL), DROVE_E_ARG, "row: expected 0 arguments, found 1");
    assert_ok(read("row", NULL, NULL));
}

/* Those of other tables are left alone, and nothing is refused for them. */
TEST(test_take)
{
    inner in = {0};
    drove_spec spec;
    assert_ok(drove__spec_parse("row:1?share=0.25&order=tree", &spec));
    assert_ok(drove__spec_take(&spec, inner_keys, &in));
    assert_true(in.share == 0.25f);
    drove__spec_fini(&spec);
}

TEST(test_arguments)
{
    static const char *const modes[] = {"", "copy", "live", NULL};
    struct mode {
        unsigned mode;
    } mode;
    static const drove_spec_key of_mode[] = {
        {"MODE", "", DROVE_AS_WORD(struct mode, mode, modes), .is_argument = true},
        DROVE_SPEC_END,
    };
    assert_ok(read("hogwild", of_mode, &mode));
    assert_int_equal(mode.mode, 0);
    assert_ok(read("hogwild:live", of_mode, &mode));
    assert_int_equal(mode.mode, 2);
    assert_fails(read("hogwild:liv", of_mode, &mode), DROVE_E_ARG,
                 "hogwild: expected hogwild, hogwild:copy or hogwild:live, found \"liv\"; did you "
                 "mean live?");

    struct step {
        double factor;
        uint64_t epochs;
    } step;
    static const drove_spec_key of_step[] = {
        {"FACTOR", NULL, DROVE_AS_REAL(struct step, factor, 0, 1), .is_argument = true,
         .is_needed = true},
        {"EPOCHS", NULL, DROVE_AS_COUNT(struct step, epochs, 1, 9), .is_argument = true,
         .is_needed = true},
        DROVE_SPEC_END,
    };
    assert_fails(read("step", of_step, &step), DROVE_E_ARG,
                 "step: expected step:FACTOR,EPOCHS, found 0 arguments");
    assert_fails(read("step:1", of_step, &step), DROVE_E_ARG, "found 1 argument");
    assert_ok(read("step:0.5,2", of_step, &step));
    assert_true(step.factor == 0.5 && step.epochs == 2);

    struct units {
        drove_counts units;
    } units;
    static const drove_spec_key of_units[] = {
        {"UNITS", NULL, DROVE_AS_COUNTS(struct units, units, 1, 99), .is_argument = true},
        DROVE_SPEC_END,
    };
    assert_ok(read("mlp:3,2,1", of_units, &units));
    assert_int_equal(units.units.n, 3);
    assert_int_equal(units.units.of[2], 1);
    assert_ok(read("mlp", of_units, &units));
    assert_int_equal(units.units.n, 0);
    assert_fails(read("mlp:3,0", of_units, &units), DROVE_E_ARG,
                 "mlp, argument 2: expected a whole number from 1 to 99, found \"0\"");
}

static void join_values(const drove_spec_key *key, void *context)
{
    char values[DROVE_SPEC_VALUES_SIZE], *all = context;
    drove__spec_name_values(key, values);
    strcat(strcat(strcat(all, key->name), " "), strcat(values, "\n"));
}

TEST(test_what_a_table_says)
{
    char all[1024] = "";
    drove__spec_walk(keys, join_values, all);
    assert_string_equal(all, "N a whole number from 1 to 12\n"
                             "X a number from 0 to 1\n"
                             "order tree, pairs or first-come\n"
                             "memory bytes, also with KiB, MiB or GiB\n"
                             "flag no or yes\n"
                             "bit 0 or 1\n"
                             "text \n"
                             "size a side or HEIGHTxWIDTH, from 2 to 64\n"
                             "share a number from 0 to 1\n");
    assert_true(drove__spec_knows(keys, "share") && drove__spec_knows(keys, "bit"));
    assert_false(drove__spec_knows(keys, "N") || drove__spec_knows(NULL, "share"));
}

TEST(test_specs_that_are_changed)
{
    static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                        "i", "j", "k", "l", "m", "n", "o"};
    drove_spec spec = {.name = "row"};
    drove__spec_add(&spec, keys, "unknown", "1");
    drove__spec_add(&spec, keys, "share", "0.5");
    drove__spec_add(&spec, keys, "share", "0.25");
    assert_int_equal(spec.n_keys, 1);
    assert_string_equal(spec.value[0], "0.5");
    assert_ok(drove__spec_set(&spec, "share", "0.75"));
    assert_int_equal(spec.n_keys, 1);
    assert_string_equal(spec.value[0], "0.75");
    for (size_t i = 0; i < DROVE_COUNT(names); i++)
        assert_ok(drove__spec_set(&spec, names[i], "1"));
    assert_fails(drove__spec_set(&spec, "order", "tree"), DROVE_E_ARG,
                 "expected fewer than 16 keys");
    drove__spec_add(&spec, keys, "order", "tree");
    assert_int_equal(spec.n_keys, DROVE_SPEC_MAX_KEYS);
}
