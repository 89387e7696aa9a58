/* A program with a decimal comma uses the library: its files, texts and options are those of a
 * program without one. */
#include "base/file.h"
#include "support/comma.h"
#include "system/run_support.h"
#include "support/status.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_inputs(void)
{
    FILE *table = fopen("table.csv", "w"), *run = fopen("run.yaml", "w");
    assert_true(table != NULL && run != NULL);
    fputs("a,b,kind\n", table);
    for (int i = 0; i < 200; i++)
        fprintf(table, "%d.%d,%d.25,%s\n", i % 7, i % 10, i % 11, i % 3 == 0 ? "x" : "y");
    fputs("defaults: classic\nlr: 0.125\nschedule: cosine:2.5\nfeatures: rff:16?gamma=0.25\n"
          "weight_decay: 1e-3\nuntil: epochs=2.5\n",
          run);
    assert_int_equal(fclose(table) | fclose(run), 0);
}

static char *content(const char *folder, const char *name, size_t *size)
{
    char path[256], *text;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (drove__file_load(path, (size_t)1 << 20, &text, size) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    return text;
}

/* Into the folder: the files of a run of a table, resumed; predictions, the data in two formats,
 * an option and an error. */
static void use_all(const char *folder)
{
    char path[256], to[256], text[256];
    drove_options opt = drove__options_default();
    drove_data *data;
    assert_ok(drove_options_load(&opt, "run.yaml"));
    set(&opt, "data", "table.csv");
    set(&opt, "label", "kind");
    set(&opt, "model", "mlp:4");
    set(&opt, "threads", "1");
    set(&opt, "out", fresh_folder(folder));
    run_to(&opt, DROVE_FINISHED);
    assert_ok(drove_options_resume(&opt, folder));
    set(&opt, "until", "epochs=3.5");
    run_to(&opt, DROVE_FINISHED);

    snprintf(path, sizeof path, "%s/predictions.csv", folder);
    FILE *stream = fopen(path, "w");
    const drove_use_options use = {.model = folder, .data = "table.csv", .proba = 1};
    assert_non_null(stream);
    assert_ok(drove_predict(&use, stream));
    assert_ok(drove_data_open("csv:table.csv?label=kind", NULL, 1, &data, NULL));
    assert_ok(drove_data_print_info(data, stream));
    snprintf(to, sizeof to, "csv:%s/data.csv", folder);
    assert_ok(drove_data_convert(data, to));
    snprintf(to, sizeof to, "libsvm:%s/data.svm", folder);
    assert_ok(drove_data_convert(data, to));
    drove_data_destroy(data);
    set(&opt, "rho", "0.75");
    assert_ok(drove_options_get(&opt, "rho", text, sizeof text));
    fprintf(stream, "%s\n", text);
    assert_int_equal(drove_options_set(&opt, "lr", "0,5"), DROVE_E_ARG);
    fprintf(stream, "%s\n", drove_error_text());
    assert_int_equal(drove_options_set(&opt, "rho", "-1.5"), DROVE_E_ARG);
    fprintf(stream, "%s\n", drove_error_text());
    assert_int_equal(fclose(stream), 0);
}

static void same(const char *name)
{
    size_t a, b;
    char *one = content("point", name, &a), *other = content("comma", name, &b);
    if (a != b || memcmp(one, other, a) != 0) fail_msg("%s: not the same", name);
    free(one);
    free(other);
}

TEST(files_are_the_same)
{
    size_t size;
    write_inputs();
    use_all("point");
    if (drove_test_set_comma_locale() == NULL) {
        print_message("skip: no locale with a decimal comma here, and no localedef\n");
        skip();
    }
    use_all("comma");
    char number[16];
    snprintf(number, sizeof number, "%.1f", 0.5);
    assert_string_equal(number, "0,5"); /* the program's locale is still its own */
    setlocale(LC_ALL, "C");
    same("model.safetensors");
    same("best.safetensors");
    same("data.csv");
    same("data.svm");
    same("predictions.csv");
    char *run = content("comma", "run.json", &size), *point = content("point", "run.json", &size);
    char *at = strstr(run, "comma");
    assert_non_null(at); /* the name of the folder, as --out and --resume */
    for (; at != NULL; at = strstr(at, "comma")) memcpy(at, "point", 5);
    assert_string_equal(run, point);
    free(run);
    free(point);
}
