/* A table by the Arrow C data interface trains the model that its file does, and predictions come
 * back by the same interface. */
#include "system/run_support.h"
#include "support/files.h"
#include "support/status.h"

#include <drove/arrow.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 90, COLUMNS = 3 };

static unsigned n_released;

static void release_schema(struct ArrowSchema *schema)
{
    n_released++;
    schema->release = NULL;
}

static void release_array(struct ArrowArray *array)
{
    n_released++;
    array->release = NULL;
}

/* Columns size, town and kind; writes the same as table.csv. */
static drove_arrow_table *make_table(void)
{
    static const char towns[] = "OsloBonnRome", *const kinds[] = {"small", "medium", "large"};
    static double size[N];
    static int32_t town[N + 1];
    static char texts[4 * N];
    static int8_t kind[N];
    static const int32_t kind_offset[] = {0, 5, 11, 16};
    FILE *file = fopen("table.csv", "w");
    assert_non_null(file);
    fprintf(file, "size,town,kind\n");
    for (int i = 0; i < N; i++) {
        const int t = i * i % 3;
        size[i] = (double)(i % 30) / 8;
        kind[i] = (int8_t)(i % 30 / 10);
        memcpy(texts + 4 * i, towns + 4 * t, 4);
        town[i + 1] = 4 * (i + 1);
        fprintf(file, "%g,%.4s,%s\n", size[i], towns + 4 * t, kinds[kind[i]]);
    }
    assert_int_equal(fclose(file), 0);
    const void *buffers[COLUMNS + 1][3] = {
        {NULL, size}, {NULL, town, texts}, {NULL, kind}, {NULL, kind_offset, "smallmediumlarge"}};
    static const char *const names[] = {"size", "town", "kind", ""};
    static const char *const formats[] = {"g", "u", "c", "u"};
    struct ArrowSchema field[COLUMNS + 1], *fields[] = {&field[0], &field[1], &field[2]};
    struct ArrowArray array[COLUMNS + 1], *arrays[] = {&array[0], &array[1], &array[2]};
    const void *no_bitmap = NULL;
    for (int i = 0; i < COLUMNS + 1; i++) {
        field[i] =
            (struct ArrowSchema){.format = formats[i], .name = names[i], .release = release_schema};
        array[i] = (struct ArrowArray){.length = i < COLUMNS ? N : 3,
                                       .n_buffers = *formats[i] == 'u' ? 3 : 2,
                                       .buffers = buffers[i],
                                       .release = release_array};
    }
    field[2].dictionary = &field[3];
    array[2].dictionary = &array[3];
    struct ArrowSchema schema = {
        .format = "+s", .n_children = COLUMNS, .children = fields, .release = release_schema};
    struct ArrowArray batch = {.length = N,
                               .n_buffers = 1,
                               .n_children = COLUMNS,
                               .buffers = &no_bitmap,
                               .children = arrays,
                               .release = release_array};
    drove_arrow_table *table;
    n_released = 0;
    assert_ok(drove_arrow_table_create(&schema, &batch, &table));
    assert_int_equal(n_released, 2);
    return table;
}

static drove_predictor *train(const char *data)
{
    drove_options opt = drove__options_default();
    set(&opt, "data", data);
    set(&opt, "label", "kind");
    set(&opt, "test", "none");
    set(&opt, "model", "mlp:8");
    set(&opt, "strategy", "sequential");
    set(&opt, "threads", "1");
    set(&opt, "until", "epochs=3");
    set(&opt, "lr", "0.05");
    return train_predictor(&opt);
}

TEST(the_model_is_that_of_the_file)
{
    char spec[64];
    const void *bytes[2];
    size_t n_bytes[2], n_rows[2];
    float *values[2];
    drove_arrow_table *table = make_table();
    snprintf(spec, sizeof spec, "table:%s", drove_arrow_table_name(table));
    drove_predictor *of_table = train(spec), *of_file = train("table:table.csv");
    drove_predictor_bytes(of_table, &bytes[0], &n_bytes[0]);
    drove_predictor_bytes(of_file, &bytes[1], &n_bytes[1]);
    assert_int_equal(n_bytes[0], n_bytes[1]);
    assert_memory_equal(bytes[0], bytes[1], n_bytes[0]);
    assert_ok(drove_predictor_apply(of_table, "table:table.csv", 1, &values[0], &n_rows[0]));
    assert_ok(drove_predictor_apply(of_file, spec, 1, &values[1], &n_rows[1]));
    assert_true(n_rows[0] == N && n_rows[1] == N);
    assert_memory_equal(values[0], values[1], (size_t)N * 3 * sizeof(float));
    free(values[0]);
    free(values[1]);
    drove_predictor_destroy(of_table);
    drove_predictor_destroy(of_file);
    drove_arrow_table_destroy(table);
}

/* A column that was moved out of the batch outlives it. */
TEST(predictions_are_a_batch)
{
    char spec[64];
    float *values;
    size_t n_rows;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    drove_arrow_table *table = make_table();
    snprintf(spec, sizeof spec, "table:%s", drove_arrow_table_name(table));
    drove_predictor *predictor = train(spec);
    assert_ok(drove_predictor_apply(predictor, spec, 1, &values, &n_rows));
    assert_ok(drove_predictor_arrow(predictor, spec, 1, &schema, &batch));
    assert_true(schema.n_children == 3 && batch.n_children == 3 && batch.length == N);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(schema.children[i]->name, drove_predictor_class_name(predictor, i));
        assert_string_equal(schema.children[i]->format, "f");
        const float *found = batch.children[i]->buffers[1];
        for (size_t row = 0; row < N; row++) assert_true(found[row] == values[row * 3 + i]);
    }
    struct ArrowArray moved = *batch.children[1];
    struct ArrowSchema moved_field = *schema.children[1];
    batch.children[1]->release = NULL;
    schema.children[1]->release = NULL;
    batch.release(&batch);
    schema.release(&schema);
    assert_true(batch.release == NULL && schema.release == NULL);
    assert_true(((const float *)moved.buffers[1])[N - 1] == values[(N - 1) * 3 + 1]);
    assert_string_equal(moved_field.name, drove_predictor_class_name(predictor, 1));
    moved.release(&moved);
    moved_field.release(&moved_field);

    drove_arrow_table *again; /* what one gives the other takes */
    assert_ok(drove_predictor_arrow(predictor, spec, 1, &schema, &batch));
    assert_ok(drove_arrow_table_create(&schema, &batch, &again));
    assert_int_equal(drove_arrow_table_n_rows(again), N);
    drove_arrow_table_destroy(again);
    assert_int_equal(drove_predictor_arrow(predictor, "nothing.csv", 1, &schema, &batch),
                     DROVE_E_FILE);
    assert_true(batch.release == NULL && schema.release == NULL);
    free(values);
    drove_predictor_destroy(predictor);
    drove_arrow_table_destroy(table);
}

TEST(remarks_are_those_on_the_cells)
{
    char spec[64], *text;
    drove_arrow_table *table = make_table();
    snprintf(spec, sizeof spec, "table:%s", drove_arrow_table_name(table));
    drove_predictor *predictor = train(spec);
    assert_ok(drove_predictor_remarks(predictor, "table:table.csv", &text));
    assert_string_equal(text, "");
    free(text);
    write_text("odd.csv", "size,town,more\nbig,Oslo,1\n1.5,Paris,2\nlarge,Bonn,3\n2,Rome,4\n");
    assert_ok(drove_predictor_remarks(predictor, "table:odd.csv", &text));
    assert_non_null(strstr(text, "column \"size\": 2 cells are no number and count as missing, "
                                 "first in row 1"));
    assert_non_null(strstr(text, "column \"town\": 2 cells with a value that the training data "
                                 "do not have count as missing (\"Paris\")"));
    free(text);
    assert_int_equal(drove_predictor_remarks(predictor, "table:none.csv", &text), DROVE_E_FILE);
    assert_null(text);
    drove_predictor_destroy(predictor);
    drove_arrow_table_destroy(table);
}
