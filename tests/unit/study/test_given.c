/* NULL where something has to be given, and sizes that no memory holds: refused by name, in every
 * build. */
#include "support/status.h"
#include "support/test.h"

#include <drove/drove.h>

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Every pointer that these functions need, one NULL at a time. */
#define REFUSES(call, name) assert_fails(call, DROVE_E_ARG, name ": expected a pointer, found NULL")

static char text[256];
static void *none; /* of any type */

TEST(options_and_runs)
{
    drove_options *o, *copy;
    drove_run *run;
    drove_result *result;
    REFUSES(drove_options_create(none), "out");
    assert_ok(drove_options_create(&o));
    REFUSES(drove_options_copy(none, &copy), "from");
    REFUSES(drove_options_copy(o, none), "out");
    REFUSES(drove_options_set(none, "lr", "1"), "options");
    REFUSES(drove_options_set(o, none, "1"), "name");
    REFUSES(drove_options_set(o, "lr", none), "value");
    REFUSES(drove_options_get(none, "lr", text, sizeof text), "options");
    REFUSES(drove_options_get(o, none, text, sizeof text), "name");
    REFUSES(drove_options_get(o, "lr", none, 10), "into");
    REFUSES(drove_options_load(none, "x"), "options");
    REFUSES(drove_options_load(o, none), "path");
    REFUSES(drove_options_resume(none, "x"), "options");
    REFUSES(drove_options_resume(o, none), "folder");
    REFUSES(drove_options_replay(none, "x"), "options");
    REFUSES(drove_options_replay(o, none), "path");
    REFUSES(drove_options_validate(none), "options");
    REFUSES(drove_train(none, NULL, &result), "options");
    REFUSES(drove_train(o, NULL, none), "out");
    REFUSES(drove_run_create(none, &run), "options");
    REFUSES(drove_run_create(o, none), "out");
    assert_ok(drove_run_create(o, &run));
    REFUSES(drove_run_train(none, &result), "run");
    REFUSES(drove_run_train(run, none), "out");
    drove_run_set_callbacks(none, NULL);
    drove_run_keep_model(none);
    drove_run_cancel(none);
    drove_run_destroy(run);
    assert_null(drove_result_model(none));
    assert_null(drove_result_json(none));
    REFUSES(drove_result_print(none, stdout), "result");
    drove_custom_layer layer = {0};
    REFUSES(drove_options_set_loss(none, NULL), "options");
    REFUSES(drove_options_add_layer(none, &layer), "options");
    REFUSES(drove_options_add_layer(o, none), "layer");
    REFUSES(drove_predictor_open_with(none, none), "options");
    REFUSES(drove_trainer_open(none, none), "options");
    REFUSES(drove_describe(none, NULL, 0, stdout), "options");
    REFUSES(drove_describe(o, NULL, 0, none), "stream");
    REFUSES(drove_info(NULL, 0, 0, none), "stream");
    REFUSES(drove_list("rules", 0, none), "stream");
    REFUSES(drove_model_find(none, text, sizeof text), "path");
    REFUSES(drove_model_find("x", none, 1), "into");
    drove_options_destroy(o);
}

TEST(using_models)
{
    drove_score_report report;
    drove_use_options use = {.data = "x.csv"};
    REFUSES(drove_eval(none, &report), "use");
    REFUSES(drove_eval(&use, &report), "use->model");
    use = (drove_use_options){.model = "x", .data = "y"};
    REFUSES(drove_eval(&use, none), "out");
    use.data = NULL;
    REFUSES(drove_eval(&use, &report), "use->data");
    drove_options *o;
    drove_metrics *metrics;
    assert_ok(drove_options_create(&o));
    REFUSES(drove_eval_metrics(&use, &report, &metrics), "use->data");
    REFUSES(drove_eval_with(o, &use, &report, NULL), "use->data");
    REFUSES(drove_eval_with(o, none, &report, NULL), "use");
    REFUSES(drove_eval_with(none, &use, &report, NULL), "options");
    drove_options_destroy(o);
    use.data = "x.csv";
    REFUSES(drove_eval_metrics(&use, &report, NULL), "metrics");
    use.data = NULL;
    REFUSES(drove_predict(none, stdout), "use");
    REFUSES(drove_predict(&use, stdout), "use->data");
    use.data = "x.csv";
    REFUSES(drove_predict(&use, NULL), "stream");
    drove_predictor *p;
    REFUSES(drove_predictor_open(none, NULL, &p), "model");
    REFUSES(drove_predictor_open("x", NULL, none), "out");
    REFUSES(drove_predictor_rows(none, none, none), "predictor");
    REFUSES(drove_predictor_rows_f64(none, none, none), "predictor");
    REFUSES(drove_predictor_apply(none, "x", 1, none, none), "predictor");
    REFUSES(drove_predictor_save(none, "x"), "predictor");
    assert_null(drove_predictor_describe(none));
    assert_null(drove_predictor_class_name(none, 0));
    assert_null(drove_predictor_name(none));
    int is_over;
    double loss;
    REFUSES(drove_trainer_begin(none, none), "trainer");
    REFUSES(drove_trainer_advance(none, 1.0, &is_over, &loss), "trainer");
    REFUSES(drove_trainer_model(none, none), "trainer");
    REFUSES(drove_trainer_set_state(none, none, 0, 0), "trainer");
    REFUSES(drove_metrics_json(NULL, none), "out");
}

TEST(data_and_studies)
{
    drove_data *data, *test;
    char *columns;
    REFUSES(drove_data_open(none, NULL, 1, &data, &test), "spec");
    REFUSES(drove_data_open("x", NULL, 1, none, &test), "train_out");
    REFUSES(drove_data_set_label(none, "y", text, sizeof text), "spec");
    REFUSES(drove_data_set_label("x", "y", none, 1), "into");
    REFUSES(drove_data_list_columns(none, &columns), "spec");
    REFUSES(drove_data_columns_json(none, &columns), "data");
    REFUSES(drove_data_convert(none, "x"), "data");
    REFUSES(drove_data_convert_large(none, "x"), "from");
    assert_int_equal(drove_data_is_named(none), 0);
    assert_int_equal(drove_data_is_large(none, none), 0);
    drove_data_describe(none, none);
    REFUSES(drove_report(none), "options");
    const drove_report_options page = {.n_folders = 1, .html = "x"};
    REFUSES(drove_report(&page), "options->folder");
    drove_sweep_report *report;
    const drove_sweep_options sweep = {.study = "x", .folder = "y"};
    drove_sweep_options set = sweep;
    drove_tune_options search = {.jobs = 1};
    REFUSES(drove_sweep_options_set(none, "jobs", "1"), "options");
    REFUSES(drove_sweep_options_set(&set, none, "1"), "name");
    REFUSES(drove_sweep_options_set(&set, "jobs", none), "value");
    REFUSES(drove_tune_options_set(none, "jobs", "1"), "options");
    REFUSES(drove_tune_options_set(&search, none, "1"), "name");
    REFUSES(drove_tune_options_set(&search, "jobs", none), "value");
    REFUSES(drove_sweep(none, &report), "options");
    REFUSES(drove_sweep(&sweep, &report), "options->program");
    REFUSES(drove_sweep_list(none, &report), "study");
    REFUSES(drove_sweep_best("x", "y", none, "loss", &report), "group");
    REFUSES(drove_sweep_best("x", "y", "lr", none, &report), "figure");
    REFUSES(drove_sweep_pair("x", "y", none, "loss", &report), "pair");
    REFUSES(drove_sweep_pair("x", "y", "1,2", none, &report), "figure");
    const char *const nowhere[1] = {none};
    const drove_report_options unnamed = {.folder = nowhere, .n_folders = 1, .html = "x"};
    REFUSES(drove_report(&unnamed), "options->folder");
    assert_null(drove_sweep_report_json(none));
    drove_tune_result *found;
    const drove_tune_options tune = {.program = "x"};
    REFUSES(drove_tune(&tune, &found), "options->run");
    REFUSES(drove_tune(none, &found), "options");
    assert_null(drove_tune_result_json(none));
    drove_watch_state seen = {0};
    const drove_watch_style style = {.columns = 80};
    REFUSES(drove_watch_print(none, &style, &seen, stdout), "folder");
    REFUSES(drove_watch_print("x", none, &seen, stdout), "style");
    REFUSES(drove_watch_print("x", &style, none, stdout), "state");
    REFUSES(drove_watch_serve(none), "server");
    const drove_batch_source source = {0};
    REFUSES(drove_batches_write(&source, "x", NULL), "source->next");
    drove_dmgc signature;
    REFUSES(drove_dmgc_parse(none, &signature), "text");
    REFUSES(drove_dmgc_parse("D8M8", none), "out");
    assert_null(drove_dmgc_family(none));
    drove_arrow_table *table;
    REFUSES(drove_arrow_table_create(none, none, &table), "schema");
    REFUSES(drove_arrow_table_from_stream(none, &table), "stream");
    assert_null(drove_arrow_table_name(none));
    assert_int_equal(drove_arrow_table_n_rows(none), 0);
}

TEST(arrays_of_no_size_that_there_is)
{
    static const drove_type types[] = {DROVE_TYPE_U8, DROVE_TYPE_F32, DROVE_TYPE_F64};
    static const size_t sizes[][2] = {
        {2, SIZE_MAX}, {SIZE_MAX, 2},         {UINT32_MAX - 1, SIZE_MAX / 2},
        {1, SIZE_MAX}, {1, SIZE_MAX / 8 + 1}, {4, SIZE_MAX / 16 + 1}};
    double few[4] = {1, 2, 3, 4};
    drove_arrays *a;
    assert_ok(drove_arrays_create(&a));
    REFUSES(drove_arrays_create(none), "out");
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const drove_matrix x = drove_matrix_dense(few, types[t], sizes[i][0], sizes[i][1]);
            assert_fails(drove_arrays_set_dense(a, &x), DROVE_E_ARG,
                         "arrays: expected rows that memory can hold");
        }
    }
    const drove_matrix far = {few, DROVE_TYPE_F32, 3, 2, PTRDIFF_MIN, sizeof(float)};
    assert_fails(drove_arrays_set_dense(a, &far), DROVE_E_ARG, "that memory can hold");
    const drove_matrix empty = drove_matrix_dense(NULL, DROVE_TYPE_F32, 2, 2);
    assert_fails(drove_arrays_set_dense(a, &empty), DROVE_E_ARG, "expected numbers, found none");
    REFUSES(drove_arrays_set_dense(none, &empty), "arrays");
    REFUSES(drove_arrays_set_dense(a, none), "x");
    const drove_matrix x = drove_matrix_dense(few, DROVE_TYPE_F64, 2, 2);
    assert_ok(drove_arrays_set_dense(a, &x));
    REFUSES(drove_arrays_set_classes(a, none, 2, NULL), "classes");
    REFUSES(drove_arrays_set_values(a, none), "values");
    REFUSES(drove_arrays_set_labels(a, none, NULL), "labels");
    REFUSES(drove_arrays_set_weights(a, none), "weights");
    const drove_matrix y = drove_matrix_dense(few, DROVE_TYPE_F64, 2, SIZE_MAX);
    assert_fails(drove_arrays_set_values(a, &y), DROVE_E_ARG, "that memory can hold");
    const drove_sparse sparse = {
        .n_rows = 2, .n_columns = 2, .start_type = DROVE_TYPE_I32, .index_type = DROVE_TYPE_I32};
    assert_fails(drove_arrays_set_sparse(a, &sparse), DROVE_E_ARG,
                 "expected starts and indices, found none");
    assert_null(drove_arrays_name(none));
    assert_int_equal(drove_arrays_copied_bytes(none), 0);
    drove_arrays_destroy(a);
    drove_memory_file *file;
    REFUSES(drove_memory_file_create(none, 5, 1, &file), "bytes");
    REFUSES(drove_memory_file_create("abc", 3, 1, none), "out");
    assert_null(drove_memory_file_name(none));
}
