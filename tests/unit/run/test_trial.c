/* A trial run: what it comes to, and that a failure before it begins is told. */
#include "config/options.h"
#include "run/trial.h"
#include "support/test.h"

#include <drove/data.h>

#include <math.h>
#include <string.h>

static void make_config(drove_config *config)
{
    static const char *const options[][2] = {{"data", "synth:logistic?n=100&d=6"},
                                             {"model", "logistic"},
                                             {"lr", "0.125"},
                                             {"until", "epochs=3"},
                                             {"threads", "1"},
                                             {"strategy", "sequential"},
                                             {"test", "none"},
                                             {"out", "none"}};
    drove_options o = drove__options_default();
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        assert_int_equal(drove_options_set(&o, options[i][0], options[i][1]), DROVE_OK);
    assert_int_equal(drove__config_init(&o, config), DROVE_OK);
}

TEST(a_trial_has_its_settings)
{
    drove_config config;
    drove_data *data, *test;
    drove_trial_result found = {0};
    drove_choice settings = {0};
    make_config(&config);
    assert_int_equal(drove_data_open(config.problem.data, "", 1, &data, &test), DROVE_OK);
    drove__choice_add(&settings, "lr", DROVE_FROM_CALLER, "0.5");
    if (drove__run_trial(&config, &settings, NULL, data, &found) != DROVE_OK)
        fail_msg("%s", drove_error_text());
    assert_int_equal(found.outcome, DROVE_FINISHED);
    assert_true(found.lr == 0.5);
    assert_true(found.best_loss > 0.0 && found.best_loss < log(2.0)); /* of two even classes */
    assert_true(config.method.lr == 0.125);
    drove_data_destroy(data);
    drove_data_destroy(test);
    drove__config_fini(&config);
}

TEST(a_trial_that_cannot_begin)
{
    drove_config config;
    drove_data *data, *test;
    drove_trial_result found = {.lr = 7};
    drove_choice settings = {0};
    make_config(&config);
    assert_int_equal(drove_data_open(config.problem.data, "", 1, &data, &test), DROVE_OK);
    drove__choice_add(&settings, "model", DROVE_FROM_CALLER, "nowhere.yaml");
    assert_int_equal(drove__run_trial(&config, &settings, NULL, data, &found), DROVE_E_FILE);
    assert_non_null(strstr(drove_error_text(), "nowhere.yaml"));
    assert_true(found.lr == 7); /* untouched */
    drove_data_destroy(data);
    drove_data_destroy(test);
    drove__config_fini(&config);
}
