/* config/opened.c - the functions of the public headers that open a saved model with options. */
#include "use/opened.h"

#include "base/alive.h"
#include "base/given.h"
#include "base/locale.h"
#include "config/config.h"
#include "config/options.h"

#include <string.h>

static drove_status fail_option(const char *name, const char *expected, const char *found)
{
    return drove__fail(DROVE_E_ARG, "trainer: %s: expected %s, found %s", name, expected, found);
}

static drove_status check_trainer(const drove_config *c)
{
    char text[DROVE_TEXT_SIZE];
    const drove_config_method *m = &c->method;
    if (c->problem.model == NULL || !drove__names_model_file(c->problem.model))
        return fail_option("model", "a saved model",
                           c->problem.model != NULL ? c->problem.model : "auto");
    if (c->problem.tuning->makes_heads)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "trainer: model: expected the head that %s has, found ?head=new",
                           c->problem.model);
    if (m->rule == NULL) return fail_option("rule", "the name of a rule", "auto");
    if (!(m->lr > 0.0)) return fail_option("lr", "a step size above 0", "auto");
    if (m->batch == 0) return fail_option("batch", "a number of examples", "auto");
    if (c->low.precision[0] != '\0')
        return drove__fail(DROVE_E_UNSUPPORTED, "trainer: precision: expected none, found %s",
                           c->low.precision);
    if (m->schedule == NULL || strcmp(m->schedule, "constant") == 0) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED, "trainer: schedule: expected constant, found %s",
                       drove__config_text(c, "schedule", text));
}

drove_status drove_trainer_open(const drove_options *options, drove_trainer **out)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_config c;
    *out = NULL;
    DROVE_TRY(drove__config_init(options, &c));
    drove_status status = check_trainer(&c);
    const drove_trainer_settings settings = {.file = drove__config_of_model(&c),
                                             .freeze = c.problem.tuning->freeze,
                                             .custom = c.problem.custom,
                                             .isa = c.machine.isa,
                                             .rule = c.method.rule,
                                             .lr = c.method.lr,
                                             .weight_decay = c.method.weight_decay,
                                             .clip = c.method.clip,
                                             .batch = (size_t)c.method.batch,
                                             .seed = c.seed};
    if (status == DROVE_OK) status = drove__trainer_open(&settings, out);
    drove__config_fini(&c);
    return status;
}

drove_status drove_predictor_open_with(const drove_options *options, drove_predictor **out)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_config c;
    *out = NULL;
    DROVE_TRY(drove__config_init(options, &c));
    drove_status status =
        drove__predictor_open(c.said->model, c.machine.isa, c.problem.custom, out);
    drove__config_fini(&c);
    return status;
}

drove_status drove_eval_with(const drove_options *options, const drove_use_options *use,
                             drove_score_report *out, drove_metrics **metrics)
{
    DROVE_ALIVE(options, "options");
    DROVE_GIVEN(options);
    DROVE_GIVEN(use);
    DROVE_GIVEN_AS(use->model, "use->model");
    DROVE_GIVEN_AS(use->data, "use->data");
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    drove_config c;
    if (metrics != NULL) *metrics = NULL;
    DROVE_TRY(drove__config_init(options, &c));
    drove_status status = drove__eval(use, c.problem.custom, out, metrics);
    drove__config_fini(&c);
    return status;
}
