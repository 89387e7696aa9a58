/* test_runfile.c - run files: what is read, and where each mistake is found. */
#include "base/mem.h"
#include "support/files.h"
#include "support/test.h"

#include "config/options.h"

#include <stdio.h>
#include <string.h>

static const char path[] = "run.yaml";

static drove_status load(const char *text, drove_options *options)
{
    write_text(path, text);
    *options = drove__options_default();
    return drove_options_load(options, path);
}

TEST(test_reads_options)
{
    drove_options o;
    assert_int_equal(load("# a comment\n"
                          "data: mnist:../data?scale=none   # the thesis's pixels\n"
                          "model: 'mlp:128,128,128'\n"
                          "lr: 0.009\n"
                          "batch: \"64\"\n"
                          "weight-decay: 1e-4\n"
                          "eval_every: 0.5\n"
                          "until: loss=5%,epochs=30\n"
                          "test: ~\n"
                          "init: |-\n"
                          "  normal:0.01\n"
                          "out:\n",
                          &o),
                     DROVE_OK);
    assert_string_equal(o.data, "mnist:../data?scale=none");
    assert_string_equal(o.model, "mlp:128,128,128");
    assert_string_equal(o.until, "loss=5%,epochs=30");
    assert_string_equal(o.init, "normal:0.01");
    assert_string_equal(o.test, "");
    assert_string_equal(o.out, "");
    assert_true(o.lr == 0.009 && o.weight_decay == 1e-4 && o.eval_every == 0.5);
    assert_int_equal(o.batch, 64);
}

TEST(test_other_forms)
{
    drove_options o;
    assert_int_equal(load("{lr: 0.5, batch: 3}", &o), DROVE_OK);
    assert_true(o.lr == 0.5 && o.batch == 3);
    assert_int_equal(load("{\"lr\": 0.25, \"batch\": 4}\n", &o), DROVE_OK); /* JSON is YAML */
    assert_true(o.lr == 0.25 && o.batch == 4);
    assert_int_equal(load("---\r\nlr: 0.125\r\n...\r\n", &o), DROVE_OK);
    assert_true(o.lr == 0.125);
    assert_int_equal(load("workers: threads:5\n", &o), DROVE_OK);
    assert_string_equal(o.threads, "5");
    assert_int_equal(load("", &o), DROVE_OK);
    assert_int_equal(load("# nothing\n", &o), DROVE_OK);
}

/* place: "line:column", or "line" where the column is not ours to decide. */
TEST(test_mistakes)
{
    static const struct {
        const char *text, *place, *word;
    } bad[] = {
        {"lr: 1\nlrr: 1\n", "2:1", "\"lr\""},
        {"lr: 1\nbatch: x\n", "2:8", "whole number"},
        {"  lr: 0\n", "1:7", "above 0"},
        {"lr: 1\nbatch: 1\nlr: 2\n", "3:1", "line 1"},
        {"weight_decay: 1\nweight-decay: 1\n", "2:1", "line 1"},
        {"threads: 1\nworkers: threads:1\n", "2:1", "line 1"},
        {"workers: gpu:0\n", "1:10", "kind of worker"},
        {"lr: [1]\n", "1:5", "a list"},
        {"lr: {a: 1}\n", "1:5", "a mapping"},
        {"lr:\n  x: 1\n", "2", "a mapping"},
        {"- lr: 1\n", "1:1", "a list"},
        {"lr 1\n", "1:1", "a value"},
        {"lr: &a 1\nbatch: *a\n", "2:", "an alias"},
        {"? [a]\n: 1\n", "1:3", "a list"},
        {"lr: 1\n---\nlr: 2\n", "2:1", "a second document"},
        {"lr: \"x\n", "1:", "YAML"},
        {"lr: 1\n\tbatch: 2\n", "", "YAML"},
        {"lr: 1\n  batch: 2\n", "", "YAML"},
        {"{lr: 1, batch: 2\n", "", "YAML"},
        {"lr: \"1\\0\"\n", "1:5", "NUL"},
        {"%YAML 1.2\n---\nlr: 0.1\n", "1:1", "directive"},
        {"# r\xc3\xa9sultats\nout: r\xc3\xa9s\xe9\n", "2:9", "UTF-8"},
        {"out: \xed\xa0\x80\n", "1:6", "UTF-8"},
        {"out: \xc0\xaf\n", "1:6", "UTF-8"},
        {"lr:\n", "1:1", "--lr"},
        {"seed: 1\xff\n", "1:8", "UTF-8"},
    };
    for (size_t i = 0; i < DROVE_COUNT(bad); i++) {
        char expected[64];
        drove_options o, before = drove__options_default();
        drove_status status = load(bad[i].text, &o);
        snprintf(expected, sizeof expected, "%s:%s", path, bad[i].place);
        if (status != DROVE_E_ARG && status != DROVE_E_UNSUPPORTED)
            print_error("%s\n", bad[i].text);
        assert_true(status == DROVE_E_ARG || status == DROVE_E_UNSUPPORTED);
        if (strncmp(drove_error_text(), expected, strlen(expected)) != 0 ||
            strstr(drove_error_text(), bad[i].word) == NULL) {
            print_error("for: %s\nexpected %s and \"%s\"\nfound %s\n", bad[i].text, expected,
                        bad[i].word, drove_error_text());
            fail();
        }
        assert_memory_equal(&o, &before, sizeof o); /* a file with a mistake changes nothing */
    }
}

TEST(test_bytes_that_are_no_text)
{
    static const char nul[] = "lr: 1\n\0batch: 3\n";
    drove_options o = drove__options_default();
    write_bytes(path, nul, sizeof nul - 1);
    assert_int_equal(drove_options_load(&o, path), DROVE_E_ARG);
    assert_non_null(strstr(drove_error_text(), "run.yaml:2:1: "));
    assert_non_null(strstr(drove_error_text(), "NUL"));
}

TEST(test_files_that_cannot_be_read)
{
    drove_options o = drove__options_default();
    assert_int_equal(drove_options_load(&o, "absent.yaml"), DROVE_E_FILE);
    assert_non_null(strstr(drove_error_text(), "absent.yaml"));
    assert_int_equal(drove_options_load(&o, "."), DROVE_E_FILE);
}

/* Nesting is refused at its first level: no stack, no memory for the rest. */
TEST(test_deep_and_large)
{
    enum { SIZE = 900000 };
    static char text[SIZE + 1];
    drove_options o = drove__options_default();
    memset(text, '[', SIZE);
    write_bytes(path, text, SIZE);
    assert_int_equal(drove_options_load(&o, path), DROVE_E_ARG);
    memset(text, ' ', SIZE);
    memcpy(text, "lr: ", 4);
    memset(text + 4, '{', SIZE - 4);
    write_bytes(path, text, SIZE);
    assert_int_equal(drove_options_load(&o, path), DROVE_E_ARG);
    memset(text, '#', SIZE);
    write_bytes(path, text, SIZE);
    assert_int_equal(drove_options_load(&o, path), DROVE_OK);
    FILE *file = fopen(path, "ab");
    assert_non_null(file);
    fwrite(text, 1, SIZE, file);
    fclose(file);
    assert_int_equal(drove_options_load(&o, path), DROVE_E_DATA);
    assert_non_null(strstr(drove_error_text(), "1048576"));
}
