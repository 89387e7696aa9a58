/* test_options.c - the table of options: every row sets, prints and refuses what it should. */
#include "base/mem.h"
#include "strategy/strategy.h"
#include "config/registry.h"
#include "config/resolve.h"
#include "config/words.h"
#include "support/test.h"

#include "config/options.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const drove_option_info *table;
static size_t n_options;

FIXTURE(load_table)
{
    table = drove_options_table(&n_options);
    return 0;
}

GROUP(load_table, NULL);

/* The call fails with this status, and its text holds every one of the words. */
static void assert_fails(drove_status status, drove_status expected, const char *word)
{
    if (status != expected)
        print_error("found %s: %s\n", drove_status_name(status), drove_error_text());
    assert_int_equal(status, expected);
    if (strstr(drove_error_text(), word) == NULL) {
        print_error("expected \"%s\" in: %s\n", word, drove_error_text());
    }
    assert_non_null(strstr(drove_error_text(), word));
}

static const char *get(const drove_options *options, const char *name)
{
    static char text[DROVE_TEXT_SIZE];
    assert_int_equal(drove_options_get(options, name, text, sizeof text), DROVE_OK);
    return text;
}

/* ---- the table ---- */

TEST(test_rows_are_whole)
{
    assert_true(n_options > 20);
    for (size_t i = 0; i < n_options; i++) {
        assert_non_null(table[i].name);
        assert_non_null(table[i].group);
        assert_non_null(table[i].default_text);
        if (table[i].value_name == NULL) /* a switch */
            assert_string_equal(table[i].words, "no yes");
        assert_non_null(table[i].help);
        assert_null(strchr(table[i].name, '-'));
        assert_null(strchr(table[i].help, '\n'));
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(table[i].name, table[j].name);
            assert_int_not_equal(table[i].own, table[j].own);
        }
        drove_named entry; /* a list that help and completion name exists */
        if (table[i].list != NULL) assert_true(drove__registry_at(table[i].list, 0, &entry));
    }
}

/* Every byte of the struct that is no padding belongs to exactly one row. */
TEST(test_rows_cover_the_struct)
{
    size_t covered = 0;
    for (size_t i = 0; i < n_options; i++) {
        covered += table[i].kind == DROVE_OPTION_TEXT ? (size_t)DROVE_TEXT_SIZE : sizeof(double);
    }
    assert_int_equal(covered, offsetof(drove_options, custom)); /* which has setters of its own */
    assert_int_equal(covered + sizeof(drove_custom), offsetof(drove_options, origin));
    assert_true(n_options <= DROVE_MOST_OPTIONS);
}

TEST(test_defaults_are_what_the_table_says)
{
    drove_options options = drove__options_default(), again = options;
    for (size_t i = 0; i < n_options; i++) {
        assert_string_equal(get(&options, table[i].name), table[i].default_text);
        assert_int_equal(drove_options_set(&again, table[i].name, table[i].default_text), DROVE_OK);
    }
    assert_memory_equal(&options, &again, offsetof(drove_options, origin));
    assert_int_equal(drove_options_validate(&options), DROVE_OK);
}

/* The program's own defaults can be set, and the short help has the twelve that it promises. */
TEST(test_rows_of_the_program)
{
    drove_options options = drove__options_default();
    size_t n_common = 0;
    for (size_t i = 0; i < n_options; i++) {
        n_common += table[i].is_common;
        if (table[i].program_text == NULL) continue;
        assert_string_not_equal(table[i].program_text, table[i].default_text);
        assert_int_equal(drove_options_set(&options, table[i].name, table[i].program_text),
                         DROVE_OK);
        assert_string_equal(get(&options, table[i].name), table[i].program_text);
    }
    assert_int_equal(n_common, 12);
    assert_int_equal(drove_options_validate(&options), DROVE_OK);
}

/* The documented numbers, by hand. */
TEST(test_documented_defaults)
{
    drove_options o = drove__options_default();
    assert_true(o.lr == 0.0 && o.weight_decay == 0.0 && o.clip == 0.0 && o.eval_every == 0.0);
    assert_int_equal(o.batch, 0);
    assert_int_equal(o.eval_examples, 0);
    assert_string_equal(o.metrics, "auto");
    assert_string_equal(o.test, "split");
    assert_string_equal(o.strategy, "auto");
    assert_string_equal(o.init, "");
    assert_string_equal(o.out, "");
}

/* ---- setting and getting ---- */

TEST(test_both_spellings)
{
    drove_options o = drove__options_default();
    assert_int_equal(drove_options_set(&o, "weight-decay", "0.5"), DROVE_OK);
    assert_true(o.weight_decay == 0.5);
    assert_int_equal(drove_options_set(&o, "weight_decay", "0.25"), DROVE_OK);
    assert_string_equal(get(&o, "weight-decay"), "0.25");
}

TEST(test_numbers_read_back)
{
    static const char *const text[] = {"0.1", "0.01", "1e-300", "123456.789",
                                       "0.30000000000000004"};
    drove_options o = drove__options_default(), p = o;
    for (size_t i = 0; i < DROVE_COUNT(text); i++) {
        assert_int_equal(drove_options_set(&o, "lr", text[i]), DROVE_OK);
        assert_true(o.lr == strtod(text[i], NULL));
        assert_int_equal(drove_options_set(&p, "lr", get(&o, "lr")), DROVE_OK);
        assert_true(p.lr == o.lr);
    }
    assert_int_equal(drove_options_set(&o, "lr", "0.1"), DROVE_OK);
    assert_string_equal(get(&o, "lr"), "0.1"); /* the shortest, not 0.10000000000000001 */
}

TEST(test_words_for_nothing)
{
    drove_options o = drove__options_default();
    assert_int_equal(drove_options_set(&o, "test", "none"), DROVE_OK);
    assert_string_equal(o.test, "");
    assert_string_equal(get(&o, "test"), "none");
    assert_int_equal(drove_options_set(&o, "init", "normal:0.01"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "init", "auto"), DROVE_OK);
    assert_string_equal(o.init, "");
    assert_int_equal(drove_options_set(&o, "out", ""), DROVE_OK);
    assert_string_equal(o.out, "");
}

TEST(test_workers_is_threads)
{
    drove_options o = drove__options_default();
    assert_int_equal(drove_options_set(&o, "workers", "threads:3"), DROVE_OK);
    assert_string_equal(o.threads, "3");
    assert_int_equal(drove_options_set(&o, "workers", "cpu:0+fake:?speed=2"), DROVE_OK);
    assert_string_equal(o.workers, "cpu:0+fake:?speed=2");
    assert_int_equal(drove_options_set(&o, "workers", "threads"), DROVE_OK);
    assert_string_equal(o.workers, "");
    assert_fails(drove_options_set(&o, "workers", "threads:0"), DROVE_E_ARG, "--threads");
    /* how many cores there are shows later, on the machine that trains */
    assert_int_equal(drove_options_set(&o, "workers", "host:0+host:1"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "workers", "host:0?parts=2+cpu:40"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "workers", "opencl:0.0+opencl:0.1+fake+fake"), DROVE_OK);
    static const char *const bad[][2] = {
        {"cpu:0-2+cpu:2", "found 2 in cpu:0-2 and cpu:2"},
        {"cpu:0+", "each side of '+'"},
        {"+cpu:0", "each side of '+'"},
        {"cpu:0++cpu:1", "each side of '+'"},
        {"host:2?parts=2", "--workers: host"},
        {"fake:?min=5&max=4", "min of at most max"},
        {"fake:?batch=5&max=4", "batch of at most max"},
        {"cpu:0?batch=5&min=6", "batch of at least min"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_fails(drove_options_set(&o, "workers", bad[i][0]), DROVE_E_ARG, bad[i][1]);
    assert_string_equal(o.threads, "3");
    /* a device may be several workers where each has parameters of its own */
    static const char *const twice[] = {"opencl:1+opencl:01", "opencl+opencl:0.1", "cuda:0+cuda:0"};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        assert_int_equal(drove_options_set(&o, "workers", twice[i]), DROVE_OK);
        assert_int_equal(drove_options_set(&o, "strategy", "hogbatch"), DROVE_OK);
        assert_fails(drove_options_validate(&o), DROVE_E_ARG, "each device once");
        assert_int_equal(drove_options_set(&o, "strategy", "accumulate"), DROVE_OK);
        assert_int_equal(drove_options_validate(&o), DROVE_OK);
    }
}

TEST(test_refused)
{
    static const struct {
        const char *name, *value, *word;
    } bad[] = {
        {"lr", "0", "above 0"},
        {"lr", "-1", "above 0"},
        {"lr", "", "--lr"},
        {"lr", "0.1x", "0.1x"},
        {"lr", "nan", "nan"},
        {"lr", "inf", "inf"},
        {"lr", " 1", "--lr"},
        {"batch", "0", "from 1"},
        {"batch", "1.5", "whole"},
        {"batch", "2000000000", "from"},
        {"threads", "0", "from 1"},
        {"threads", "two", "all"},
        {"threads", "5000", "4096"},
        {"seed", "-3", "whole"},
        {"weight_decay", "-1", "at least 0"},
        {"data", "", "SPEC"},
        {"eval_every", "0", "above"},
        {"lrr", "1", "\"lr\""},
        {"batches", "1", "\"batch\""},
        {"qqqqqq", "1", "unknown"},
        {"wieght-decay", "1", "weight-decay"},
    };
    drove_options o = drove__options_default(), before = o;
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        assert_fails(drove_options_set(&o, bad[i].name, bad[i].value), DROVE_E_ARG, bad[i].word);
    }
    assert_memory_equal(&o, &before, sizeof o);
}

TEST(test_long_text)
{
    drove_options o = drove__options_default();
    char text[DROVE_TEXT_SIZE + 1];
    memset(text, 'a', sizeof text);
    text[DROVE_TEXT_SIZE] = '\0';
    assert_fails(drove_options_set(&o, "data", text), DROVE_E_ARG, "1023");
    text[DROVE_TEXT_SIZE - 1] = '\0';
    assert_int_equal(drove_options_set(&o, "data", text), DROVE_OK);
    assert_string_equal(o.data, text);
    char few[4];
    assert_fails(drove_options_get(&o, "data", few, sizeof few), DROVE_E_ARG, "room");
}

/* ---- validation ---- */

TEST(test_invalid)
{
    static const struct {
        const char *name, *value, *word;
    } bad[] = {
        {"data", "mnits:x", "mnist"},
        {"data", "csv:", "empty"},
        {"test", "csb:x", "csv"},
        {"data", "synth:digits?nn=3", "nn"},
        {"model", "mpl:3", "mlp"},
        {"model", "mlp:0", "mlp"},
        {"model", "mlp:x", "mlp"},
        {"activation", "rel", "relu"},
        {"init", "xaver", "xavier"},
        {"init", "normal:x", "normal"},
        {"loss", "sofmax", "softmax"},
        {"strategy", "hogwld", "hogwild"},
        {"strategy", "hogwild:x", "x"},
        {"strategy", "leashed:-1", "leashed"},
        {"strategy", "mutex:3", "mutex"},
        {"strategy", "rwlock?prefer=me", "readers"},
        {"backoff", "linar", "linear"},
        {"rule", "momentun", "momentum"},
        {"rule", "momentum:1", "momentum"},
        {"rule", "sgd:1", "sgd"},
        {"schedule", "stp:0.1,2", "step"},
        {"schedule", "constant+", "found"},
        {"rule_state", "share", "shared"},
        {"order", "shufle", "shuffle"},
        {"period", "0", "--period"},
        {"period", "often", "--period"},
        {"period", "4", "hogwild"},
        {"rho", "1", "hogwild"},
        {"messages", "layer", "layers"},
        {"messages", "layers", "hogwild"},
        {"shard", "mine", "whole"},
        {"precision", "C8s", "hogwild"},
        {"partition", "0", "--partition"},
        {"bind", "compct", "compact"},
        {"isa", "avx3", "auto"},
        {"prefetch", "hardwre", "hardware"},
        {"until", "epoch=3", "epochs"},
        {"until", "epochs=-1", "epochs"},
        {"save_every", "evl", "eval"},
        {"save_every", "epochs=0", "epochs"},
    };
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        drove_options o = drove__options_default();
        assert_int_equal(drove_options_set(&o, bad[i].name, bad[i].value), DROVE_OK);
        assert_fails(drove_options_validate(&o), DROVE_E_ARG, bad[i].word);
    }
}

TEST(test_values_that_do_not_parse_are_named_as_written)
{
    drove_options o = drove__options_default();
    assert_int_equal(drove_options_set(&o, "strategy", "sync"), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "partition", "2x1"), DROVE_OK);
    assert_fails(drove_options_validate(&o), DROVE_E_ARG, "found \"2x1\"");
}

static drove_config config_with(const char *name, const char *value)
{
    drove_config config;
    drove_choice choice = {0};
    assert_int_equal(drove__config_init(NULL, &config), DROVE_OK);
    drove__choice_add(&choice, name, DROVE_FROM_CALLER, "%s", value);
    assert_int_equal(drove__config_choose(&config, &choice), DROVE_OK);
    return config;
}

/* P + 1 masses of which P are driven: by default the centre is as fast as other parameters. */
TEST(test_step_size_of_a_strategy)
{
    drove_config c = config_with("lr", "auto");
    assert_true(c.method.lr == 0.0);
    assert_true(drove__resolve_lr(&c, DROVE_SYNC_SPREAD, 4) == 0.01);
    assert_true(fabs(drove__resolve_lr(&c, DROVE_SYNC_ELASTIC, 4) - 0.0125) < 1e-15);
    assert_true(fabs(drove__resolve_lr(&c, DROVE_SYNC_ELASTIC, 1) - 0.02) < 1e-15);
    drove__config_fini(&c);
    c = config_with("lr", "0.5");
    assert_true(drove__resolve_lr(&c, DROVE_SYNC_ELASTIC, 4) == 0.5);
    drove__config_fini(&c);
    drove_options o = drove__options_default();
    assert_int_equal(drove_options_set(&o, "lr", "0"), DROVE_E_ARG);
}

TEST(test_struct_written_by_hand)
{
    drove_options o = drove__options_default();
    o.lr = -1.0;
    assert_fails(drove_options_validate(&o), DROVE_E_ARG, "--lr");
    o = drove__options_default();
    o.batch = UINT64_MAX;
    assert_fails(drove_options_validate(&o), DROVE_E_ARG, "--batch");
    o = drove__options_default();
    memset(o.rule, 'x', sizeof o.rule);
    assert_fails(drove_options_validate(&o), DROVE_E_ARG, "rule");
    o = drove__options_default();
    strcpy(o.out, "here");
    strcpy(o.resume, "there");
    assert_fails(drove_options_validate(&o), DROVE_E_ARG, "--resume");
}

/* Everything that is listed is accepted: each strategy in each variant, rule, loss, initialiser. */
TEST(test_all_that_is_listed_is_valid)
{
    for (size_t i = 0; drove__strategies[i] != NULL; i++) {
        const drove_sync_ops *ops = drove__strategies[i];
        for (size_t v = 0; ops->variants[v] != NULL; v++) {
            for (unsigned n_threads = 1; n_threads <= 9; n_threads += 4) {
                drove_options o = drove__options_default();
                snprintf(o.strategy, sizeof o.strategy, "%s", ops->variants[v]);
                snprintf(o.threads, sizeof o.threads, "%u", n_threads);
                assert_int_equal(drove_options_validate(&o), DROVE_OK);
            }
        }
    }
    static const char *const option[] = {"rule", "activation", "init", "loss"};
    for (size_t k = 0; k < DROVE_COUNT(option); k++) {
        const drove_option_info *info = table;
        while (strcmp(info->name, option[k]) != 0) info++;
        drove_named entry;
        for (size_t i = 0; drove__registry_at(info->list, i, &entry); i++) {
            drove_options o = drove__options_default();
            assert_int_equal(drove_options_set(&o, option[k], entry.name), DROVE_OK);
            if (drove_options_validate(&o) != DROVE_OK) {
                print_error("--%s %s: %s\n", option[k], entry.name, drove_error_text());
                fail();
            }
        }
    }
}

/* ---- what auto and all mean ---- */

static void resolve(const char *strategy, unsigned n_threads, unsigned n_pus, drove_plan *out)
{
    const drove_plan_wanted wanted = {.strategy = strategy,
                                      .precision = "",
                                      .n_threads = n_threads};
    const drove_machine machine = {.n_pus = n_pus, .n_ranks = 1, .n_local = 1};
    drove__plan_fini(out);
    assert_int_equal(drove__plan_make(&wanted, &machine, &drove__plan_registry, out), DROVE_OK);
}

TEST(test_resolve)
{
    drove_plan w = {0};
    resolve(NULL, 0, 6, &w);
    assert_string_equal(w.spec, "hogwild");
    assert_int_equal(w.n_workers, 6);
    resolve(NULL, 0, 1, &w);
    assert_string_equal(w.spec, "sequential");
    assert_int_equal(w.n_workers, 1);
    resolve(NULL, 1, 6, &w);
    assert_string_equal(w.spec, "sequential");
    resolve("sequential", 4, 2, &w);
    assert_int_equal(w.n_workers, 1);
    assert_int_equal(w.n_asked, 4);
    resolve("leashed:inf", 8, 2, &w);
    assert_string_equal(w.spec, "leashed:inf");
    assert_string_equal(w.ops->name, "leashed");
    assert_int_equal(w.n_workers, 8);
    drove__plan_fini(&w);
}

/* What a given --lr, --defaults classic and low precision leave to the run. */
TEST(test_what_a_run_chooses)
{
    drove_config c = config_with("lr", "auto");
    assert_true(c.is_tuned);
    assert_string_equal(drove__resolve_rule(&c, 0, "adam"), "adam");
    assert_string_equal(drove__resolve_rule(&c, 0, "adagrad"), "adagrad");
    assert_string_equal(drove__resolve_rule(&c, DROVE_SYNC_LIVE, "adam"), "sgd");
    assert_string_equal(drove__resolve_rule(&c, DROVE_SYNC_MOMENTUM, "adam"), "momentum:0.9");
    drove__config_fini(&c);
    static const char *const usual[][2] = {{"lr", "0.05"},
                                           {"defaults", "classic"},
                                           {"precision", "D8M8"}};
    for (size_t i = 0; i < DROVE_COUNT(usual); i++) {
        char schedule[DROVE_TEXT_SIZE];
        drove_choice lenet = {0};
        c = config_with(usual[i][0], usual[i][1]);
        assert_false(c.is_tuned);
        assert_string_equal(drove__resolve_rule(&c, 0, "adam"), "sgd");
        drove__resolve_schedule(&c, schedule);
        assert_string_equal(schedule, "constant");
        assert_int_equal(drove__resolve_batch(&c), 32);
        assert_true(drove__resolve_eval_every(&c) == 0.25);
        drove__choice_add(&lenet, "model", DROVE_FROM_CALLER, "lenet");
        assert_int_equal(drove__config_choose(&c, &lenet), DROVE_OK);
        if (i < 2) { /* the other is for linear models alone */
            assert_string_equal(drove__resolve_rule(&c, 0, "adam"), "momentum:0.9");
            drove__resolve_schedule(&c, schedule);
            assert_string_equal(schedule, "cosine:10");
        }
        drove__config_fini(&c);
    }
}

/* A value that is read as the default is no failure: the text stays that of the last one. */
TEST(test_reading_leaves_the_text_of_errors)
{
    drove_options o = drove__options_default();
    drove_config c;
    assert_int_equal(drove_options_set(&o, "lr", "-1"), DROVE_E_ARG);
    char before[256];
    snprintf(before, sizeof before, "%s", drove_error_text());
    snprintf(o.until, sizeof o.until, "nothing");
    snprintf(o.threads, sizeof o.threads, "none");
    snprintf(o.partition, sizeof o.partition, "x");
    assert_int_equal(drove__config_init(&o, &c), DROVE_OK);
    assert_true(c.length.until.epochs > 0.0);
    assert_string_equal(drove_error_text(), before);
    drove__config_fini(&c);
}

/* ---- origins and choices ---- */

TEST(test_origins)
{
    static const char *const file = "origins.yaml";
    drove_options o = drove__options_default();
    drove_config c;
    FILE *stream = fopen(file, "w");
    fputs("batch: 8\n", stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(drove_options_load(&o, file), DROVE_OK);
    assert_int_equal(remove(file), 0);
    assert_int_equal(drove_options_set(&o, "workers", "threads:3"), DROVE_OK);
    assert_int_equal(drove__config_init(&o, &c), DROVE_OK);
    assert_int_equal(drove__config_origin(&c, "batch"), DROVE_FROM_FILE);
    assert_int_equal(drove__config_origin(&c, "threads"), DROVE_FROM_CALLER);
    assert_int_equal(c.machine.n_threads, 3);
    assert_int_equal(drove__config_origin(&c, "lr"), DROVE_FROM_DEFAULT);
    assert_false(drove__config_is_own(&c, "batch"));
    drove__config_fini(&c);
}

TEST(test_origin_of_a_resumed_run)
{
    drove_options o = drove__options_default();
    drove_config c;
    char folder[] = "origins.XXXXXX", file[40];
    assert_non_null(mkdtemp(folder));
    snprintf(file, sizeof file, "%s/run.json", folder);
    FILE *stream = fopen(file, "w");
    fputs("{\"options\": {\"lr\": 0.25, \"rule\": \"sgd\"}}", stream);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(drove_options_resume(&o, folder), DROVE_OK);
    assert_int_equal(drove_options_set(&o, "rule", "adam"), DROVE_OK);
    assert_int_equal(remove(file), 0);
    assert_int_equal(remove(folder), 0);
    assert_int_equal(drove__config_init(&o, &c), DROVE_OK);
    assert_int_equal(drove__config_origin(&c, "lr"), DROVE_FROM_RUN);
    assert_int_equal(drove__config_origin(&c, "rule"), DROVE_FROM_CALLER);
    assert_int_equal(drove__config_origin(&c, "batch"), DROVE_FROM_DEFAULT);
    assert_false(c.is_tuned); /* a step size that a run had is given to the one that goes on */
    assert_true(c.method.lr == 0.25);
    drove__config_fini(&c);
}

/* A chosen step size reads back to the last bit, and the run still chooses all else. */
TEST(test_a_choice_is_the_option_as_if_it_had_been_set)
{
    char text[DROVE_TEXT_SIZE];
    const double lr = 1.0 / 3.0;
    drove_config c = config_with("lr", "auto"), other;
    drove_choice choice = {.lr_each = lr};
    drove__choice_add(&choice, "lr", DROVE_BY_TRIALS, "%.17g", lr);
    drove__choice_add(&choice, "until", DROVE_BY_KIND, "epochs=7");
    assert_int_equal(drove__config_choose(&c, &choice), DROVE_OK);
    assert_true(c.method.lr == lr && c.chosen.lr == lr);
    assert_true(c.length.until.epochs == 7.0 && !c.length.is_auto);
    assert_string_equal(drove__config_text(&c, "until", text), "epochs=7");
    assert_true(c.is_tuned && drove__config_is_own(&c, "lr"));
    /* To a run that is derived it is given. */
    assert_int_equal(choice.n, 0); /* it is made */
    drove__choice_add(&choice, "batch", DROVE_FROM_CALLER, "5");
    assert_int_equal(drove__config_derive(&c, &choice, &other), DROVE_OK);
    assert_true(other.method.lr == lr && other.method.batch == 5);
    assert_false(other.is_tuned || drove__config_is_own(&other, "lr"));
    drove__config_fini(&other);
    /* A setting that is refused changes nothing. */
    choice.n = 0;
    drove__choice_add(&choice, "batch", DROVE_BY_KIND, "9");
    drove__choice_add(&choice, "lr", DROVE_BY_KIND, "fast");
    assert_int_equal(drove__config_choose(&c, &choice), DROVE_E_ARG);
    assert_true(c.method.lr == lr && c.method.batch == 0);
    drove__config_fini(&c);
}

TEST(test_save_every)
{
    drove_save_every every;
    assert_int_equal(drove__save_every_parse("eval", &every), DROVE_OK);
    assert_int_equal(every.unit, DROVE_SAVE_EVAL);
    assert_int_equal(drove__save_every_parse("never", &every), DROVE_OK);
    assert_int_equal(every.unit, DROVE_SAVE_NEVER);
    assert_int_equal(drove__save_every_parse("epochs=0.5", &every), DROVE_OK);
    assert_int_equal(every.unit, DROVE_SAVE_EPOCHS);
    assert_true(every.amount == 0.5);
    assert_int_equal(drove__save_every_parse("updates=100", &every), DROVE_OK);
    assert_int_equal(every.unit, DROVE_SAVE_UPDATES);
    assert_int_equal(every.updates, 100);
    assert_int_equal(drove__save_every_parse("seconds=60", &every), DROVE_OK);
    assert_true(every.unit == DROVE_SAVE_SECONDS && every.amount == 60.0);
    assert_fails(drove__save_every_parse("updates=0", &every), DROVE_E_ARG, "--save-every updates");
    assert_fails(drove__save_every_parse("eval=1", &every), DROVE_E_ARG, "--save-every");
    assert_fails(drove__save_every_parse("", &every), DROVE_E_ARG, "--save-every");
}

/* Four words, two questions. */
TEST(test_prefetch_words)
{
    assert_true(drove__prefetch_wants_hints("on") && drove__prefetch_wants_hints("hints"));
    assert_false(drove__prefetch_wants_hints("hardware") || drove__prefetch_wants_hints("off"));
    assert_true(drove__prefetch_wants_hardware_off("hints") &&
                drove__prefetch_wants_hardware_off("off"));
    assert_false(drove__prefetch_wants_hardware_off("on") ||
                 drove__prefetch_wants_hardware_off("hardware"));
}
