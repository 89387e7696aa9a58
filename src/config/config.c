/* config/config.c - see config.h. */
#include "config/config.h"

#include "base/mem.h"
#include "base/spec.h"
#include "engine/linear/precision.h"
#include "config/options.h"
#include "config/words.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

static const char *given_or_null(const char *text)
{
    return text[0] != '\0' ? text : NULL;
}

/* NULL also where "auto" leaves it to the run. */
static const char *open_or_null(const char *text)
{
    return text[0] != '\0' && strcmp(text, "auto") != 0 ? text : NULL;
}

static unsigned word_of(const drove_options *o, const char *name)
{
    unsigned index;
    return drove__options_word(o, name, &index) == DROVE_OK ? index : 0;
}

/* Sections are filled from the texts of c->said, which stay where they are. */
static void read_all(drove_config *c)
{
    const drove_options *o = c->said;
    char text[DROVE_ERROR_TEXT_SIZE]; /* a value that is read as the default is no failure */
    drove__error_copy(text);
    (void)drove__tuning_take(o->model, c->tuning);
    c->problem = (drove_config_problem){.data = o->data,
                                        .test = DROVE_TEST_SPEC,
                                        .test_spec = o->test,
                                        .label = o->label,
                                        .weights = o->weights,
                                        .class_weight = o->class_weight,
                                        .features = o->features,
                                        .model = strcmp(o->model, "auto") == 0
                                                     ? o->model
                                                     : open_or_null(c->tuning->model),
                                        .tuning = c->tuning,
                                        .compares_model = strcmp(o->model, "auto") == 0,
                                        .most_members = (unsigned)o->max_members,
                                        .activation = o->activation,
                                        .init = o->init,
                                        .loss = o->loss,
                                        .custom = &o->custom};
    if (o->test[0] == '\0') c->problem.test = DROVE_TEST_NONE;
    else if (strcmp(o->test, "split") == 0) c->problem.test = DROVE_TEST_SPLIT;
    if (c->problem.test != DROVE_TEST_SPEC) c->problem.test_spec = NULL;

    c->method = (drove_config_method){.strategy = open_or_null(o->strategy),
                                      .backoff = o->backoff,
                                      .rule = open_or_null(o->rule),
                                      .schedule = open_or_null(o->schedule),
                                      .rule_state = (drove_rule_state)word_of(o, "rule_state"),
                                      .lr = o->lr,
                                      .weight_decay = o->weight_decay,
                                      .label_smoothing = o->label_smoothing,
                                      .clip = o->clip,
                                      .batch = o->batch,
                                      .global_batch = o->global_batch,
                                      .order = (drove_order_choice)word_of(o, "order")};
    c->exchange = (drove_config_exchange){.period = given_or_null(o->period),
                                          .rho = o->rho,
                                          .by_layer = word_of(o, "messages") == 1,
                                          .owns_shard = word_of(o, "shard") == 1,
                                          .timeout = o->timeout};
    c->low = (drove_config_low){.precision = o->precision,
                                .is_low = drove__precision_is_words(o->precision),
                                .rounding = o->rounding,
                                .model_range = o->model_range};

    const bool models_here = strcmp(o->machine, "here") == 0;
    c->machine =
        (drove_config_machine){.workers = given_or_null(o->workers),
                               .has_procs = drove__workers_are_procs(o->workers),
                               .modelled = models_here ? NULL : given_or_null(o->machine),
                               .models_here = models_here,
                               .bind = (drove_bind)word_of(o, "bind"),
                               .isa = open_or_null(o->isa),
                               .hints = drove__prefetch_wants_hints(o->prefetch),
                               .quiets_memory = drove__prefetch_wants_hardware_off(o->prefetch)};
    uint64_t n_groups = DROVE_PARTITION_AUTO;
    if (o->partition[0] == '\0') n_groups = 0;
    else if (strcmp(o->partition, "auto") != 0)
        (void)drove__parse_u64("--partition", o->partition, 1, DROVE_MOST_THREADS, &n_groups);
    c->machine.partition = (unsigned)n_groups;
    if (drove__threads_parse(o->threads, 0, &c->machine.n_threads) != DROVE_OK)
        c->machine.n_threads = 0;
    if (drove__loaders_parse(o->loaders, &c->machine.loaders_are_auto, &c->machine.n_loaders) !=
        DROVE_OK)
        c->machine.loaders_are_auto = true;
    if (o->memory[0] != '\0' &&
        drove__parse_bytes("--memory", o->memory, &c->machine.memory_bytes) != DROVE_OK)
        c->machine.memory_bytes = 0;

    c->length = (drove_config_length){.is_auto = strcmp(o->until, "auto") == 0,
                                      .eval_every = o->eval_every,
                                      .eval_examples = o->eval_examples,
                                      .is_beside = word_of(o, "eval_beside") == 1};
    if (drove__until_parse(o->until, &c->length.until) != DROVE_OK)
        (void)drove__until_parse("auto", &c->length.until);
    if (drove__save_every_parse(o->save_every, &c->length.save_every) != DROVE_OK)
        c->length.save_every = (drove_save_every){.unit = DROVE_SAVE_EVAL};

    const bool goes_on_there = o->resume[0] != '\0' && strcmp(o->out, "auto") == 0;
    c->files = (drove_config_files){.out = goes_on_there ? o->resume : open_or_null(o->out),
                                    .names_out = strcmp(o->out, "auto") == 0 && !goes_on_there,
                                    .resume = given_or_null(o->resume),
                                    .data_may_change = word_of(o, "data_changed") == 1,
                                    .log = given_or_null(o->log),
                                    .timeline = given_or_null(o->timeline),
                                    .record = given_or_null(o->record),
                                    .replay = given_or_null(o->replay),
                                    .replay_steps = given_or_null(o->replay_steps)};
    c->seed = o->seed;
    c->tells_metrics = word_of(o, "metrics") == 0;
    c->asks_classic = word_of(o, "defaults") == 1;
    c->is_classic = c->asks_classic || c->low.is_low;
    c->is_tuned = !c->is_classic && (o->lr <= 0.0 || drove__config_is_own(c, "lr"));
    (void)drove__fail(DROVE_OK, "%s", text);
}

drove_status drove__config_init(const drove_options *options, drove_config *out)
{
    *out = (drove_config){.said = malloc(sizeof *options), .tuning = malloc(sizeof *out->tuning)};
    if (out->said == NULL || out->tuning == NULL) {
        drove__config_fini(out);
        return drove__fail_nomem("options", sizeof *options);
    }
    if (options != NULL) *out->said = *options;
    else *out->said = drove__options_default();
    read_all(out);
    return DROVE_OK;
}

drove_status drove__config_of_saved(const json_t *saved, drove_config *out)
{
    drove_options *options;
    *out = (drove_config){0};
    DROVE_TRY(drove_options_create(&options));
    drove_status status = drove__options_unpack(saved, DROVE_FROM_RECORD, options);
    if (status == DROVE_OK) status = drove__config_init(options, out);
    /* What ends a run is compared: no default may stand for it. */
    drove_until until;
    if (status == DROVE_OK) status = drove__until_parse(options->until, &until);
    drove_options_destroy(options);
    return status;
}

void drove__config_fini(drove_config *config)
{
    free(config->said);
    free(config->tuning);
    *config = (drove_config){0};
}

/* ---- asking ---- */

const char *drove__config_text(const drove_config *config, const char *name,
                               char into[DROVE_TEXT_SIZE])
{
    if (drove_options_get(config->said, name, into, DROVE_TEXT_SIZE) != DROVE_OK) into[0] = '\0';
    return into;
}

const char *drove__config_model(const drove_config *config)
{
    return config->tuning->model;
}

drove_origin drove__config_origin(const drove_config *config, const char *name)
{
    size_t n;
    const drove_option_info *info = drove_options_table(&n);
    for (size_t i = 0; i < n; i++)
        if (strcmp(info[i].name, name) == 0) return (drove_origin)config->said->origin[i];
    return DROVE_FROM_DEFAULT;
}

bool drove__config_is_own(const drove_config *config, const char *name)
{
    return drove__config_origin(config, name) >= DROVE_BY_KIND;
}

drove_plan_wanted drove__config_plan(const drove_config *config)
{
    return (drove_plan_wanted){.strategy = config->method.strategy,
                               .workers = config->machine.workers,
                               .precision = config->low.precision,
                               .n_threads = config->machine.n_threads,
                               .partition = config->machine.partition,
                               .bind = config->machine.bind,
                               .owns_shard = config->exchange.owns_shard,
                               .beside = config->length.is_beside};
}

drove_modelfile_wanted drove__config_of_model(const drove_config *config)
{
    const drove_config_problem *p = &config->problem;
    const bool is_asked = strcmp(p->activation, DROVE_DEFAULT_ACTIVATION) != 0;
    return (drove_modelfile_wanted){.model = p->model,
                                    .loss = p->loss[0] != '\0' ? p->loss : NULL,
                                    .activation = is_asked ? p->activation : NULL,
                                    .init = p->init[0] != '\0' ? p->init : NULL};
}

/* ---- choices ---- */

void drove__choice_add(drove_choice *choice, const char *name, drove_origin origin,
                       const char *format, ...)
{
    va_list arguments;
    assert(choice->n < DROVE_MOST_SETTINGS); /* tables assert it when they are compiled */
    if (choice->n == DROVE_MOST_SETTINGS) return;
    drove_choice_setting *to = &choice->setting[choice->n++];
    to->name = name;
    to->origin = origin;
    va_start(arguments, format);
    vsnprintf(to->value, sizeof to->value, format, arguments);
    va_end(arguments);
}

static drove_status set_all(drove_options *options, const drove_choice *choice)
{
    for (unsigned i = 0; i < choice->n; i++) {
        const drove_choice_setting *s = &choice->setting[i];
        DROVE_TRY(drove__options_set(options, s->name, s->value, s->origin));
    }
    return DROVE_OK;
}

drove_status drove__config_choose(drove_config *config, drove_choice *choice)
{
    drove_options *options;
    DROVE_TRY(drove_options_copy(config->said, &options));
    drove_status status = set_all(options, choice);
    if (status == DROVE_OK) {
        *config->said = *options;
        read_all(config);
        if (choice->lr_each > 0.0) config->chosen.lr = choice->lr_each;
        if (choice->trials != NULL) config->chosen.trials = *choice->trials;
        if (choice->pack != NULL) config->chosen.pack = *choice->pack;
        if (choice->probe != NULL) config->chosen.probe = *choice->probe;
    }
    *choice = (drove_choice){0};
    drove_options_destroy(options);
    return status;
}

drove_status drove__config_derive(const drove_config *config, const drove_choice *choice,
                                  drove_config *out)
{
    drove_options *options;
    *out = (drove_config){0};
    DROVE_TRY(drove_options_copy(config->said, &options));
    memset(options->origin, DROVE_FROM_CALLER, sizeof options->origin);
    if (options->global_batch > 0) options->batch = 0; /* of as many workers as there are here */
    drove_status status = set_all(options, choice);
    if (status == DROVE_OK) status = drove__config_init(options, out);
    drove_options_destroy(options);
    return status;
}
