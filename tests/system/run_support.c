/* See run_support.h. */
#include "system/run_support.h"
#include "support/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void set(drove_options *opt, const char *name, const char *value)
{
    if (drove_options_set(opt, name, value) != DROVE_OK) fail_msg("%s", drove_error_text());
}

drove_options small_run(void)
{
    drove_options opt = drove__options_default();
    set(&opt, "defaults", "classic");
    set(&opt, "data", "synth:digits?n=600&n_test=300&seed=3");
    set(&opt, "test", "");
    set(&opt, "model", "mlp:24");
    set(&opt, "threads", "1");
    set(&opt, "strategy", "sequential");
    set(&opt, "batch", "16");
    set(&opt, "lr", "0.05");
    set(&opt, "eval-every", "1");
    set(&opt, "until", "epochs=2");
    set(&opt, "seed", "11");
    return opt;
}

void run_to(const drove_options *opt, drove_outcome outcome)
{
    drove_result *result;
    if (drove_train(opt, NULL, &result) != DROVE_OK) fail_msg("%s", drove_error_text());
    if (drove_result_outcome(result) != outcome) {
        fail_msg("outcome %s, expected %s: %s", drove_outcome_name(drove_result_outcome(result)),
                 drove_outcome_name(outcome), drove_result_json(result));
    }
    drove_result_destroy(result);
}

drove_predictor *train_predictor(const drove_options *opt)
{
    drove_run *run;
    drove_result *result;
    drove_predictor *predictor;
    assert_ok(drove_run_create(opt, &run));
    drove_run_keep_model(run);
    assert_ok(drove_run_train(run, &result));
    assert_ok(drove_predictor_open(drove_result_model(result), NULL, &predictor));
    drove_result_destroy(result);
    drove_run_destroy(run);
    return predictor;
}

const char *fresh_folder(const char *name)
{
    char command[256];
    snprintf(command, sizeof command, "rm -rf './%s'", name);
    assert_int_equal(system(command), 0);
    return name;
}

void load_model(const char *folder, const char *file, drove_modelfile *out)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    if (drove__modelfile_load(path, out) != DROVE_OK) fail_msg("%s", drove_error_text());
}

void assert_same_model(const char *folder_a, const char *folder_b)
{
    drove_modelfile a, b;
    load_model(folder_a, "model.safetensors", &a);
    load_model(folder_b, "model.safetensors", &b);
    assert_int_equal(a.model->n_params, b.model->n_params);
    if (memcmp(a.theta, b.theta, a.model->n_params * sizeof(float)) != 0) {
        fail_msg("%s and %s hold different parameters", folder_a, folder_b);
    }
    drove__modelfile_fini(&a);
    drove__modelfile_fini(&b);
}
