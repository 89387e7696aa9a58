/* Models as C: the written file, compiled and called, predicts what drove does from the numbers
 * that its comment describes; what it cannot have is refused, and then there is no file. */
#include "export/export.h"
#include "support/files.h"
#include "support/test.h"
#include "trained.h"

#include <dlfcn.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const double tolerance = 2e-6; /* of the largest prediction */
enum { MOST_CELLS = 128 };

typedef struct compiled {
    char *text; /* of the source */
    bool is_double, gives_doubles;
    size_t n_in, n_out;
    float *scratch; /* of the size that it asks for, full of NaNs; NULL: none */
    void *library;
    void (*floats)(const float *x, float *y);
    void (*to_doubles)(const float *x, double *y);
    void (*doubles)(const double *x, double *y);
    void (*in_scratch)(const float *x, float *y, float *scratch);
    const char *const *name;
} compiled;

static char said[256];

static void keep_line(void *context, const char *text)
{
    (void)context;
    snprintf(said, sizeof said, "%s", text);
}

/* A function of another type has the address of this one. */
static void find(void *library, const char *name, void *function)
{
    void *found = dlsym(library, name);
    assert_non_null(found);
    memcpy(function, &found, sizeof found);
}

static compiled compile(const char *folder)
{
    static unsigned n;
    char name[32], source[40], library[40], command[256], in[16], out[16];
    compiled c = {0};
    const char *cc = getenv("DROVE_CC") != NULL ? getenv("DROVE_CC") : "cc";
    snprintf(name, sizeof name, "model%u", n++); /* dlopen knows a file by its name */
    snprintf(source, sizeof source, "%s.c", name);
    snprintf(library, sizeof library, "./%s.so", name);
    const drove_export_options opt = {.model = folder, .out = source, .line = keep_line};
    if (drove_export_c(&opt) != DROVE_OK) fail_msg("%s", drove_error_text());
    snprintf(command, sizeof command,
             "%s -std=c99 -pedantic -Wall -Wextra -Werror -O0 -shared -fPIC %s -o %s -lm", cc,
             source, library);
    assert_int_equal(system(command), 0);
    c.text = read_bytes(source, NULL);
    size_t n_scratch = 0;
    const int n_read =
        sscanf(said, "void %*[^(](const %15s x[%zu], %15s y[%zu], float scratch[%zu]);", in,
               &c.n_in, out, &c.n_out, &n_scratch);
    assert_true(n_read == 4 || n_read == 5);
    if (n_read == 5) c.scratch = malloc(n_scratch * sizeof *c.scratch);
    for (size_t i = 0; i < n_scratch; i++) c.scratch[i] = NAN;
    assert_true(c.n_in <= MOST_CELLS && c.n_out <= MOST_CELLS);
    c.is_double = strcmp(in, "double") == 0;
    c.gives_doubles = strcmp(out, "double") == 0;
    c.library = dlopen(library, RTLD_NOW);
    assert_non_null(c.library);
    snprintf(command, sizeof command, "%s_predict", name);
    assert_non_null(strstr(said, command));
    find(c.library, command, &c.floats);
    memcpy(&c.doubles, &c.floats, sizeof c.doubles);
    memcpy(&c.to_doubles, &c.floats, sizeof c.to_doubles);
    memcpy(&c.in_scratch, &c.floats, sizeof c.in_scratch);
    snprintf(command, sizeof command, "%s_name", name);
    c.name = dlsym(c.library, command);
    return c;
}

static void release(compiled *c)
{
    dlclose(c->library);
    free(c->text);
    free(c->scratch);
}

static void call(const compiled *c, const double *x, double *y)
{
    float in[MOST_CELLS], out[MOST_CELLS];
    for (size_t i = 0; i < c->n_in; i++) in[i] = (float)x[i];
    if (c->is_double) c->doubles(x, y);
    else if (c->gives_doubles) c->to_doubles(in, y);
    else if (c->scratch != NULL) c->in_scratch(in, out, c->scratch);
    else c->floats(in, out);
    for (size_t i = 0; i < c->n_out && !c->is_double && !c->gives_doubles; i++) y[i] = out[i];
}

/* Rows as the function takes them, x[n_rows][n_in], against those of the data. */
static void expect_predictions(const compiled *c, const char *folder, const char *data,
                               const double *x, size_t n_rows)
{
    drove_predictor *p;
    double *wanted, y[MOST_CELLS], largest = 0;
    size_t n_wanted;
    assert_int_equal(drove_predictor_open(folder, "ref", &p), DROVE_OK);
    const drove_predictor_facts *facts = drove_predictor_describe(p);
    const size_t n_outputs = facts->n_outputs;
    const bool is_pair = facts->n_classes == 2 && n_outputs == 1 && facts->gives_probability;
    if (drove_predictor_apply_f64(p, data, 1, &wanted, &n_wanted) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(n_wanted, n_rows);
    assert_int_equal(c->n_out, is_pair ? 2 : n_outputs);
    for (size_t i = 0; i < n_rows * n_outputs; i++) largest = fmax(largest, fabs(wanted[i]));
    for (size_t i = 0; i < n_rows; i++) {
        call(c, x + i * c->n_in, y);
        for (size_t k = 0; k < n_outputs; k++)
            if (!(fabs(y[k + is_pair] - wanted[i * n_outputs + k]) <= tolerance * largest))
                fail_msg("%s: row %zu, output %zu: expected %.9g, found %.9g", folder, i, k,
                         wanted[i * n_outputs + k], y[k + is_pair]);
        if (is_pair) assert_true(fabs(y[0] + y[1] - 1) < 1e-6);
    }
    for (size_t k = 0; k < facts->n_classes; k++) {
        const char *name = drove_predictor_class_name(p, k);
        assert_int_equal(name == NULL, c->name == NULL);
        if (name != NULL) assert_string_equal(c->name[k], name);
    }
    free(wanted);
    drove_predictor_destroy(p);
}

/* ---- tables ---- */

/* The cells of row r, by the lines of the file's comment:
 *
 *    3  zone: category, a number of these; others: missing
 *           0  1
 */
static size_t fill_row(const char *text, size_t r, double *x)
{
    size_t n = 0;
    double *category = NULL;
    const char *cell = "";
    for (const char *line = text; strncmp(line, " * y[", 5) != 0; line = strchr(line, '\n') + 1) {
        size_t at;
        int used = 0, value;
        char name[32], words[64];
        if (strncmp(line, " *          ", 12) == 0 && category != NULL &&
            sscanf(line, " * %d  %n", &value, &used) == 1 && used > 0) {
            const size_t length = strcspn(line + used, "\n");
            if (strlen(cell) == length && memcmp(cell, line + used, length) == 0) *category = value;
            continue;
        }
        if (sscanf(line, " *   %zu  %31[^:]: %63[^;\n]", &at, name, words) != 3) continue;
        size_t c = 0;
        while (c < MIXED_COLUMNS && strcmp(mixed_name[c], name) != 0) c++;
        assert_true(c < MIXED_COLUMNS);
        assert_int_equal(at, n); /* where the number stands in x */
        cell = mixed_cell[r][c];
        category = NULL;
        if (strncmp(words, "category", 8) == 0) {
            category = &x[n++];
            *category = -1;
        } else if (strncmp(words, "days", 4) == 0) {
            const double days = days_of(cell);
            x[n++] = floor(days);
            if (strstr(words, "minutes") != NULL) x[n++] = (days - floor(days)) * 1440;
        } else if (strcmp(words, "0 or 1") == 0)
            x[n++] = cell[0] == '\0' ? NAN : cell[0] == 'y' || cell[0] == 'Y';
        else {
            assert_string_equal(words, "number");
            x[n++] = cell[0] == '\0' ? NAN : atof(cell);
        }
    }
    return n;
}

static void compare_table(const char *folder)
{
    static double x[MIXED_ROWS * MOST_CELLS];
    compiled c = compile(folder);
    for (size_t r = 0; r < MIXED_ROWS; r++)
        assert_int_equal(fill_row(c.text, r, x + r * c.n_in), c.n_in);
    expect_predictions(&c, folder, "mixed.csv", x, MIXED_ROWS);
    release(&c);
}

TEST(columns_of_every_kind)
{
    write_mixed("mixed.csv");
    train_into("table", "mixed.csv?types=smokes:boolean", "mlp:9,4", "label", "y", NULL);
    compare_table("table");
    assert_non_null(strstr(said, "; y: values"));
    train_into("bins", "mixed.csv?bins=6", "logistic", "label", "kind", NULL);
    compare_table("bins");
    assert_non_null(strstr(said, "; y: probabilities of the classes"));
    train_into("zone", "mixed.csv", "mlp:6", "label", "zone", "activation", "sigmoid", NULL);
    compare_table("zone");
}

/* ---- numbers ---- */

static double draw(void)
{
    static uint64_t state = 11; /* Knuth's MMIX */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / (double)(1ull << 53);
}

static void compare_numbers(const char *folder, const char *words)
{
    enum { ROWS = 20 };
    static float x[ROWS * MOST_CELLS];
    static double same[ROWS * MOST_CELLS];
    static uint32_t start[ROWS + 1], index[ROWS * MOST_CELLS];
    compiled c = compile(folder);
    drove_arrays *arrays;
    drove_predictor *p;
    if (strstr(said, words) == NULL) fail_msg("expected \"%s\", found \"%s\"", words, said);
    for (size_t i = 0; i < ROWS * c.n_in; i++) same[i] = x[i] = (float)(6 * draw() - 3);
    for (size_t i = 0; i <= ROWS; i++) start[i] = (uint32_t)(i * c.n_in);
    for (size_t i = 0; i < ROWS * c.n_in; i++) index[i] = (uint32_t)(i % c.n_in);
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, ROWS, c.n_in);
    const drove_sparse sparse = {ROWS,           c.n_in, start,          index, DROVE_TYPE_U32,
                                 DROVE_TYPE_U32, x,      DROVE_TYPE_F32, 0};
    assert_int_equal(drove_predictor_open(folder, "ref", &p), DROVE_OK);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    if (drove_predictor_describe(p)->is_sparse)
        assert_int_equal(drove_arrays_set_sparse(arrays, &sparse), DROVE_OK);
    else assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    expect_predictions(&c, folder, drove_arrays_name(arrays), same, ROWS);
    drove_predictor_destroy(p);
    drove_arrays_destroy(arrays);
    release(&c);
}

TEST(numbers_and_losses)
{
    static const char data[] = "synth:logistic?n=100&d=20";
    train_into("logistic", data, "logistic", NULL);
    compare_numbers("logistic", "; y: probabilities of the classes");
    train_into("svm", "synth:logistic?n=100&d=20&scale=unit", "svm", NULL);
    compare_numbers("svm", "; y: score: above 0 the second class");
    train_into("softmax", data, "mlp:7,5", "loss", "softmax", "activation", "tanh", NULL);
    compare_numbers("softmax", "; y: probabilities of the classes");
    train_into("raw", "synth:logistic?n=100&d=20&scale=none", "mlp:7", "loss", "squared", NULL);
    compare_numbers("raw", "; y: ");
}

TEST(sparse_numbers_and_sets_of_labels)
{
    FILE *one = fopen("one.svm", "w"), *labels = fopen("labels.svm", "w");
    assert_true(one != NULL && labels != NULL);
    for (int i = 0; i < 60; i++) {
        fprintf(one, "%d", i % 4);
        fprintf(labels, "%d,%d", i % 4, (i + 1) % 4);
        for (int f = 1; f <= 12; f++) {
            if (f % 4 != i % 4 && draw() > 0.2) continue;
            const double value = 3 * draw();
            fprintf(one, " %d:%.3f", f, value);
            fprintf(labels, " %d:%.3f", f, value);
        }
        fprintf(one, "\n");
        fprintf(labels, "\n");
    }
    assert_int_equal(fclose(one) + fclose(labels), 0);
    train_into("sparse", "libsvm:one.svm?scale=standard", "mlp:6", NULL);
    compare_numbers("sparse", "; y: probabilities of the classes");
    train_into("hinge", "libsvm:one.svm", "svm", NULL);
    compare_numbers("hinge", "; y: scores of the classes: the largest is the class");
    train_into("sets", "libsvm:labels.svm", "mlp:6", NULL);
    compare_numbers("sets", "; y: probabilities of the labels");
}

/* Large beside their spread: doubles, of which a constant is taken off. */
TEST(far_numbers)
{
    enum { ROWS = 60 };
    static double x[ROWS][2], y[ROWS];
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F64, ROWS, 2),
                       values = drove_matrix_dense(y, DROVE_TYPE_F64, ROWS, 1);
    drove_arrays *arrays;
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = 1700000000000 + floor(100000 * draw());
        x[i][1] = draw();
        y[i] = 1e9 + (x[i][0] - 1700000000000) / 1000;
    }
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_values(arrays, &values), DROVE_OK);
    train_into("far", drove_arrays_name(arrays), "mlp:5", NULL);
    compiled c = compile("far");
    assert_true(c.is_double && c.gives_doubles);
    double *wanted, found;
    size_t n_rows;
    drove_predictor *p;
    assert_int_equal(drove_predictor_open("far", "ref", &p), DROVE_OK);
    assert_int_equal(drove_predictor_apply_f64(p, drove_arrays_name(arrays), 1, &wanted, &n_rows),
                     DROVE_OK);
    for (int i = 0; i < ROWS; i++) {
        call(&c, x[i], &found);
        assert_true(fabs(found - wanted[i]) < 1e-3); /* of a spread of 100 */
    }
    free(wanted);
    drove_predictor_destroy(p);
    drove_arrays_destroy(arrays);
    release(&c);
}

/* Names that end a string of C, or mean something in one, are written by their bytes. */
TEST(names_of_classes)
{
    enum { ROWS = 40 };
    static const char *const names[] = {"a\"b", "c\\d\\", "?\?/e", "tab\tand\177", "\303\244 f"};
    static double x[ROWS][3];
    static uint32_t class[ROWS];
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F64, ROWS, 3),
                       classes = drove_matrix_dense(class, DROVE_TYPE_U32, ROWS, 1);
    drove_arrays *arrays;
    for (size_t i = 0; i < ROWS; i++) {
        for (size_t k = 0; k < 3; k++) x[i][k] = draw();
        class[i] = (uint32_t)(i % 5);
    }
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_classes(arrays, &classes, 5, names), DROVE_OK);
    train_into("named", drove_arrays_name(arrays), "linear", NULL);
    compiled c = compile("named");
    assert_non_null(c.name);
    for (size_t i = 0; i < 5; i++) assert_string_equal(c.name[i], names[i]);
    release(&c);
    drove_arrays_destroy(arrays);
}

/* ---- networks ---- */

/* A layer of every kind; batch normalisation in the weights before it and by itself; outputs that
 * are read again later; the data as an image and as a vector. */
static const char all_kinds[] =
    "layers:\n"
    "  - {name: norm0, type: batch_norm}\n"
    "  - {name: conv1, type: convolution, channels: 6, kernel: [3, 2], pad: [1, 2], groups: 2}\n"
    "  - {name: norm1, type: batch_norm, activation: relu}\n"
    "  - {name: depth, type: convolution, channels: 6, groups: 6, kernel: 3, pad: 2, dilation: 2}\n"
    "  - {name: swish, type: activation, activation: hard_swish}\n"
    "  - {name: twice, type: sum, inputs: [swish, norm1, swish], coefficients: [1, -0.5, 2]}\n"
    "  - {name: mean, type: average_pool, kernel: 3, stride: 2, pad: 1, rounds_up: true}\n"
    "  - {name: gates, type: average_pool, inputs: twice, global: true}\n"
    "  - {name: gate, type: activation, activation: hard_sigmoid}\n"
    "  - {name: gated, type: product, inputs: [mean, gate]}\n"
    "  - {name: same, type: lrn, size: 3, alpha: 0.5, beta: 0.6, kappa: 2}\n"
    "  - {name: both, type: concat, inputs: [gated, same, mean]}\n"
    "  - {name: drop, type: dropout}\n"
    "  - {name: most, type: max_pool, kernel: 2, pad: 1}\n"
    "  - {name: soft, type: softmax}\n"
    "  - {name: turned, type: reshape, channels: 6, height: 7, width: 18}\n"
    "  - {name: moved, type: scale, offsets: [0.25], factors: [2, -1, 0.5, 3, 1.5, 1]}\n"
    "  - {name: bounds, type: clip, low: -0.5, high: 0.75}\n"
    "  - {name: length, type: normalize}\n"
    "  - {name: vector, type: flatten}\n"
    "  - {name: pixels, type: dense, inputs: data, units: 5, bias: false, activation: gelu}\n"
    "  - {name: one, type: dense, inputs: data, units: 1}\n"
    "  - {name: some, type: gather, inputs: data, index: [125, 0-7x3, 4]}\n"
    "  - {name: steps, type: scale, offsets: [-1], factors: [0.5]}\n"
    "  - {name: smooth, type: activation, activation: smooth_clip, level: 0.75}\n"
    "  - {name: waves, type: activation, activation: sin, slope: 3}\n"
    "  - {name: levels, type: clip, low: 0, high: 1}\n"
    "  - {name: corners, type: gather, inputs: length, index: [755, 1-3, 1, 128]}\n"
    "  - {name: turns, type: gather, inputs: vector, index: [755, 1-3, 1, 128]}\n"
    "  - {name: end, type: concat, inputs: [vector, pixels, one, levels, corners, turns]}\n"
    "  - {name: out, type: dense}\n";

TEST(networks)
{
    enum { ROWS = 20, CHANNELS = 2, HEIGHT = 9, WIDTH = 7, N = CHANNELS * HEIGHT * WIDTH };
    static float x[ROWS * N];
    static double same[ROWS * N];
    static uint32_t class[ROWS];
    const drove_matrix rows = drove_matrix_dense(x, DROVE_TYPE_F32, ROWS, N),
                       classes = drove_matrix_dense(class, DROVE_TYPE_U32, ROWS, 1);
    drove_arrays *arrays;
    for (size_t i = 0; i < ROWS * N; i++) same[i] = x[i] = (float)(6 * draw() - 3);
    for (size_t i = 0; i < ROWS; i++) class[i] = (uint32_t)(i % 3);
    FILE *graph = fopen("all.yaml", "w");
    assert_non_null(graph);
    assert_true(fputs(all_kinds, graph) >= 0);
    assert_int_equal(fclose(graph), 0);
    assert_int_equal(drove_arrays_create(&arrays), DROVE_OK);
    assert_int_equal(drove_arrays_set_dense(arrays, &rows), DROVE_OK);
    assert_int_equal(drove_arrays_set_images(arrays, CHANNELS, HEIGHT, WIDTH), DROVE_OK);
    assert_int_equal(drove_arrays_set_classes(arrays, &classes, 3, NULL), DROVE_OK);
    train_into("all", drove_arrays_name(arrays), "all.yaml", "loss", "squared", NULL);
    compiled c = compile("all");
    assert_non_null(c.scratch);
    assert_null(strstr(c.text, "f2[")); /* norm1 is in the weights of conv1 */
    expect_predictions(&c, "all", drove_arrays_name(arrays), same, ROWS);
    release(&c);
    drove_arrays_destroy(arrays);
}

/* ---- what is refused ---- */

TEST(what_c_cannot_have)
{
    static const struct {
        const char *data, *model, *name, *value, *words;
    } cases[] = {
        {"synth:logistic?n=20&d=3", "logistic", "features", "rff:8", "no feature maps, found rff"},
        {"synth:digits?n=20", "mlp:4", "precision", "bf16", "products of floats, found bf16"},
        {"mixed.csv?onehot=3", "linear", "label", "y", "texts that are hashed, found hashed"},
    };
    write_mixed("mixed.csv");
    (void)unlink("refused.c");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const drove_export_options opt = {.model = "refused", .out = "refused.c"};
        train_into("refused", cases[i].data, cases[i].model, cases[i].name, cases[i].value, NULL);
        assert_int_equal(drove_export_c(&opt), DROVE_E_UNSUPPORTED);
        if (strstr(drove_error_text(), cases[i].words) == NULL)
            fail_msg("expected \"%s\", found \"%s\"", cases[i].words, drove_error_text());
        assert_true(access("refused.c", F_OK) != 0);
    }
}
