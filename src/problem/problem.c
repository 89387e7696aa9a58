/* problem/problem.c - the data and the model of a run.  See problem.h. */
#include "problem/problem.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/named.h"
#include "base/spec.h"
#include "data/common.h"
#include "data/fingerprint.h"
#include "data/origin.h"
#include "data/scale.h"
#include "data/weights.h"
#include "engine/linear/precision.h"
#include "model/graph.h"
#include "model/loss.h"
#include "use/measure.h"
#include "use/pytorch.h"
#include "config/registry.h"
#include "problem/disk.h"
#include "values/ranks.h"
#include "values/say.h"
#include "problem/size.h"
#include "problem/tuned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A target that can never be met would let the run go on for ever. */
drove_status drove__problem_check_target(const drove_config *config, const drove_problem *problem)
{
    if (isnan(config->length.until.accuracy) || problem->train->storage->y_kind != DROVE_Y_VALUE)
        return DROVE_OK;
    return drove__fail(DROVE_E_ARG,
                       "--until accuracy: expected data with classes or labels, found values (%s)",
                       config->problem.data);
}

/* A single value in all rows: of a file a wrong column, most likely; what a program has in memory
 * it means, and several values to an example are left alone.  A single class: its name helps, where
 * a loss would speak of itself. */
static drove_status check_labels(const char *spec, const drove_data *train, bool is_part)
{
    const drove_storage *s = train->storage;
    const char *argument = strchr(spec, ':');
    const bool is_of_program =
        s->arrays != NULL || (argument != NULL && strncmp(argument + 1, DROVE_NAMED_WORD ":",
                                                          strlen(DROVE_NAMED_WORD ":")) == 0);
    char class[DROVE_CLASS_TEXT_SIZE];
    const int n_name = (int)strcspn(spec, "?"); /* a pack adds a key that nobody wrote */
    if (s->y_kind == DROVE_Y_CLASS && s->n_classes == 1)
        return drove__fail(
            DROVE_E_SHAPE,
            "--data %.*s: expected labels of at least two classes, found %.60s in all "
            "%zu rows (--label names another column)",
            n_name, spec, drove__class_text(s, 0, class), s->n_rows);
    if (s->y_kind != DROVE_Y_VALUE || drove__storage_n_values(s) > 1 || s->n_rows < 2 ||
        is_of_program || is_part) /* another part may have other values */
        return DROVE_OK;
    for (size_t i = 1; i < s->n_rows; i++)
        if (s->y_value[i] != s->y_value[0]) return DROVE_OK;
    return drove__fail(DROVE_E_SHAPE,
                       "--data %.*s: expected labels of at least two values, found %g in all %zu "
                       "rows (--label names another column)",
                       n_name, spec, (double)s->y_value[0] + drove__origin_y(s, 0), s->n_rows);
}

drove_status drove__problem_read(const drove_config *config, const drove_shard *shard,
                                 const drove_storage *like, drove_data **train,
                                 drove_data **test_out, size_t *n_rows_whole)
{
    char data[DROVE_SPEC_SIZE], test[DROVE_SPEC_WITH_LABEL_SIZE];
    DROVE_TRY(drove__problem_specs(config, data, test));
    DROVE_TRY(drove__data_open_shard(data, test, config->seed, shard, like, train, test_out,
                                     n_rows_whole));
    return check_labels(config->problem.data, *train, drove__shard_is_part(shard));
}

/* The constant guess: for the metrics, and for those of the saved model.  A rank with a
 * part of the data cannot know it, and a run over ranks saves the same file as one over threads. */
static drove_status find_target_mean(const drove_config *config, drove_problem *problem)
{
    if (config->exchange.owns_shard) return DROVE_OK;
    const size_t n = drove__target_mean_size(problem->train);
    problem->target_mean = drove__alloc(n, sizeof *problem->target_mean);
    if (problem->target_mean == NULL)
        return drove__fail_nomem("means of the targets", n * sizeof *problem->target_mean);
    drove__target_mean(problem->train, problem->target_mean);
    return DROVE_OK;
}

/* The inputs of a model to go on from are scaled as they were when it was trained, whatever rows
 * there are now.  A scaling that is asked for counts. */
static bool takes_scaling(const drove_config *config, const drove_problem *problem,
                          const char *spec)
{
    drove_spec parsed;
    if (problem->train->storage->x_kind == DROVE_X_QUANT || config->is_classic ||
        drove__data_parse(config->problem.data, &parsed) != DROVE_OK)
        return false;
    drove_common_options common;
    const bool is_open =
        drove__common_read(&parsed, &common) == DROVE_OK && common.scale == DROVE_N_SCALINGS;
    drove__spec_fini(&parsed);
    return is_open && strstr(spec, "scale=auto") != NULL;
}

static drove_status set_scaling(const drove_data *like, drove_data *data)
{
    if (data == NULL) return DROVE_OK;
    drove__free(data->shift);
    drove__free(data->factor);
    data->shift = data->factor = NULL;
    return drove__scale_copy(like, data);
}

/* A model that training goes on from has origins (data/origin.h) of its own.  What a scaling
 * subtracts is theirs then, too. */
static drove_status match_origin(const drove_storage *like, drove_data *data)
{
    if (data == NULL || like->n_features != data->storage->n_features) return DROVE_OK;
    drove_storage *s = data->storage;
    for (size_t f = 0; data->shift != NULL && f < s->n_features; f++) {
        const double step = drove__origin_x(s, f) - drove__origin_x(like, f);
        if (step != 0.0) data->shift[f] = (float)((double)data->shift[f] + step);
    }
    const bool is_value =
        s->y_kind == DROVE_Y_VALUE && drove__storage_n_values(s) == drove__storage_n_values(like);
    return drove__origin_match(like, s, is_value && like->y_kind == DROVE_Y_VALUE);
}

/* Views of one storage have their shifts changed before it is. */
static drove_status match_origins(const drove_problem *problem, const drove_storage *like)
{
    drove_data *const all[] = {problem->train, problem->test, problem->kept};
    if (problem->stream != NULL) return DROVE_OK; /* on disk they stay as they were written */
    for (size_t i = 0; i < DROVE_COUNT(all); i++) {
        bool is_done = false;
        for (size_t k = 0; k < i && all[i] != NULL; k++)
            is_done = is_done || (all[k] != NULL && all[k]->storage == all[i]->storage);
        if (!is_done) DROVE_TRY(match_origin(like, all[i]));
        else if (all[i]->shift != NULL && all[0]->shift != NULL)
            memcpy(all[i]->shift, all[0]->shift, like->n_features * sizeof *all[i]->shift);
    }
    return DROVE_OK;
}

/* Data on disk, a sample of which is problem->train then, or all of them in memory.  like: of
 * the model to go on from; NULL: there is none. */
static drove_status read_data(const drove_config *config, drove_problem *problem,
                              const drove_workers *workers, const drove_data *like,
                              const drove_callbacks *cb)
{
    char data[DROVE_SPEC_SIZE], from[DROVE_SPEC_SIZE], test[DROVE_SPEC_WITH_LABEL_SIZE];
    const drove_shard shard = drove__ranks_shard(config, workers);
    const bool is_table = like != NULL && like->storage->schema != NULL;
    const drove_storage *of_table = is_table ? like->storage : NULL;
    DROVE_TRY(drove__problem_specs(config, data, test));
    memcpy(from, data, sizeof from);
    DROVE_TRY(drove__disk_open(config, problem, workers, of_table, from, sizeof from, test, cb));
    drove_status status = problem->stream != NULL
                              ? check_labels(config->problem.data, problem->train, true)
                              : drove__problem_read(config, &shard, of_table, &problem->train,
                                                    &problem->test, &problem->n_train_whole);
    if (status != DROVE_OK || like == NULL) return status;
    DROVE_TRY(match_origins(problem, like->storage));
    if (takes_scaling(config, problem, data)) {
        if (like->storage->n_features == problem->train->storage->n_features) {
            DROVE_TRY(set_scaling(like, problem->train));
            DROVE_TRY(set_scaling(like, problem->kept));
            DROVE_TRY(set_scaling(like, problem->test));
        }
    }
    return DROVE_OK;
}

/* --model may name another model by now; a resumed run's own folder has the one that it read. */
static const char *model_to_go_on_from(const drove_config *config)
{
    const char *own = config->files.resume;
    return own != NULL && drove__modelpath_is_run(own) ? own : config->problem.model;
}

/* All workers read all data, in no order: its pages lie on all the nodes where workers run. */
drove_status drove__problem_open(const drove_config *config, drove_problem *problem,
                                 const drove_workers *workers, const drove_callbacks *cb)
{
    if (problem->given != NULL) {
        DROVE_TRY(drove__data_view(problem->given, &problem->train));
        problem->n_train_whole = problem->train->n_rows;
        return find_target_mean(config, problem);
    }
    drove_modelfile file = {0};
    drove_storage storage;
    drove_data like;
    const bool goes_on = drove__names_model_file(config->problem.model);
    drove_status status = DROVE_OK;
    drove__topo_spread_memory(workers->topo, workers->place, workers->plan.n_workers);
    if (goes_on)
        status =
            drove__modelfile_load_with(model_to_go_on_from(config), config->problem.custom, &file);
    if (goes_on && status == DROVE_OK) drove__modelfile_describe(&file, &storage, &like);
    if (status == DROVE_OK)
        status = read_data(config, problem, workers, goes_on ? &like : NULL, cb);
    drove__modelfile_fini(&file);
    drove__topo_spread_memory(workers->topo, NULL, 0);
    DROVE_TRY(status);
    problem->n_read = problem->train->storage->n_rows;
    /* --class-weight.  Test data keep the weights of their rows alone: drove eval gives them the
     * same loss. */
    const char *text = config->problem.class_weight;
    if (*text != '\0' && drove__ranks_hold_shards(config, workers))
        return drove__fail(DROVE_E_ARG,
                           "--class-weight %.80s: expected --shard whole, as a rank with a part of "
                           "the data cannot count the classes of all",
                           text);
    DROVE_TRY(drove__weights_of_classes(problem->train, text));
    return find_target_mean(config, problem);
}

/* problem->model: the file's network for these data, its last layer new, all others as there. */
static drove_status renew_heads(const drove_config *config, const drove_modelfile *file,
                                const drove_model_io *io, drove_problem *problem, float **theta)
{
    const drove_model *old = file->model;
    const drove_config_problem *p = &config->problem;
    drove_model_io wanted = *io;
    wanted.makes_heads = true;
    if (file->schema != NULL)
        return drove__fail(DROVE_E_UNSUPPORTED,
                           "%s: head=new: expected a model of images or of numbers as they are, "
                           "found one of a table",
                           p->model);
    if (old->graph_text != NULL)
        DROVE_TRY(drove__model_create_text(old->graph_text, old->spec, p->loss, &wanted,
                                           &problem->model));
    else
        DROVE_TRY(
            drove__model_create(old->spec, old->activation, p->loss, &wanted, &problem->model));
    const drove_model *m = problem->model;
    *theta = drove__alloc(m->n_params, sizeof **theta);
    if (*theta == NULL)
        return drove__fail_nomem("the model's parameters", m->n_params * sizeof **theta);
    drove__part_take(old, 0, m, file->theta, *theta);
    return drove__model_init_heads(m, config->seed, *theta);
}

static void say_heads(const drove_model *m, const drove_callbacks *cb)
{
    for (unsigned h = 0; h < m->n_heads; h++) {
        const size_t l = drove__head_layer(m, h);
        if (l < m->n_layers)
            drove__run_say(cb, "model: layer \"%s\" is made anew, with %zu output%s",
                           m->layer[l].name, m->layer[l].out.c, m->layer[l].out.c == 1 ? "" : "s");
    }
}

static drove_status load_start(const drove_config *config, drove_problem *problem,
                               const drove_model_io *io, float **theta, const drove_callbacks *cb)
{
    drove_modelfile file;
    char path[DROVE_TEXT_SIZE + 32];
    const char *model = model_to_go_on_from(config);
    DROVE_TRY(drove_model_find(model, path, sizeof path));
    if (strcmp(path, model) != 0) drove__run_say(cb, "model: %s", path);
    DROVE_TRY(drove__modelfile_load_with(path, config->problem.custom, &file));
    drove_modelfile_wanted wanted = drove__config_of_model(config);
    const bool makes_heads = config->problem.tuning->makes_heads;
    if (makes_heads) wanted.loss = NULL; /* the new head may have another */
    drove_status status = drove__modelfile_check(&wanted, file.model);
    if (status != DROVE_OK) {
        drove__modelfile_fini(&file);
        return status;
    }
    const drove_schema *schema =
        (problem->input != NULL ? problem->input : problem->train)->storage->schema;
    if ((schema == NULL) != (file.schema == NULL) ||
        (schema != NULL && !drove__schema_equal(schema, file.schema))) {
        drove__modelfile_fini(&file);
        return drove__fail(
            DROVE_E_SHAPE,
            "%s: expected the table that this model was trained on: the same columns, "
            "categories and fill values",
            config->problem.model);
    }
    bool is_mapped = problem->input != NULL; /* else what counts is what is left of an image */
    size_t n_inputs = is_mapped ? problem->input->storage->n_features : io->n_features;
    size_t n_wanted = is_mapped ? file.n_inputs : file.io.n_features;
    size_t n_values = io->n_values > 0 ? io->n_values : 1;
    size_t n_values_wanted = file.io.n_values > 0 ? file.io.n_values : 1;
    if (n_values != n_values_wanted) {
        status = drove__fail(DROVE_E_SHAPE, "%s: expected data of %zu values, found %zu",
                             config->problem.model, n_values_wanted, n_values);
    } else if (n_wanted != n_inputs) {
        status = drove__fail(DROVE_E_SHAPE,
                             "%s: expected data of %zu features and %zu classes, found %zu and %zu",
                             config->problem.model, n_wanted, file.io.n_classes, n_inputs,
                             io->n_classes);
    } else if (makes_heads) {
        status = renew_heads(config, &file, io, problem, theta);
    } else if (file.io.n_classes != io->n_classes ||
               !file.io.is_multi_label != !io->is_multi_label) {
        status = drove__fail(DROVE_E_SHAPE,
                             "%s: expected data of %zu classes, found %zu (?head=new makes the "
                             "last layer anew)",
                             config->problem.model, file.io.n_classes, io->n_classes);
    } else {
        problem->model = file.model;
        *theta = file.theta;
        file.model = NULL;
        file.theta = NULL;
    }
    drove__modelfile_fini(&file);
    return status;
}

/* The parts of the model's file that are not done, a message for each line. */
static void say_model_notes(const drove_problem *problem, const drove_callbacks *cb)
{
    const char *line = problem->model->notes;
    while (line != NULL && *line != '\0') {
        int n = (int)strcspn(line, "\n");
        drove__run_say(cb, "model: %.*s", n, line);
        line += n + (line[n] == '\n');
    }
    /* classes that other tools, which sort folders as texts, number otherwise */
    const drove_storage *s = problem->train->storage;
    if (problem->model->initial == NULL || s->class_name == NULL || s->row_names == NULL) return;
    for (size_t c = 1; c < s->n_classes; c++) {
        if (strcmp(s->class_name[c - 1], s->class_name[c]) < 0) continue;
        drove__run_say(
            cb,
            "model: its outputs are taken for the classes in the order of their numbers, "
            "%s before %s: ?order=text has that of their names as texts, as torchvision's "
            "ImageFolder numbers them",
            s->class_name[c - 1], s->class_name[c]);
        return;
    }
}

/* Targets between 0 and 1 are a cross-entropy's; labels, which are no classes, are not mixed. */
static drove_status set_targets(const drove_config *config, const drove_problem *problem)
{
    drove_model *m = problem->model;
    const bool is_mixed = problem->train->augment.mixup > 0.0f;
    const bool is_smoothed = config->method.label_smoothing > 0.0;
    if (!is_mixed && !is_smoothed) return DROVE_OK;
    if (!m->loss->is_cross_entropy || (is_mixed && m->loss == &drove__loss_sigmoid))
        return drove__fail(DROVE_E_ARG, "%s: expected the loss %s, found %s",
                           is_mixed ? "?mixup" : "--label-smoothing",
                           is_mixed ? "softmax or logistic" : "softmax, sigmoid or logistic",
                           m->loss->name);
    m->label_smoothing = (float)config->method.label_smoothing;
    return DROVE_OK;
}

/* The program's own functions compute with floats, on cores. */
static drove_status check_custom(const drove_config *config, const drove_problem *problem)
{
    const drove_model *m = problem->model;
    const char *what = m->loss->custom != NULL ? "loss" : NULL, *name = m->loss->name;
    for (size_t l = 0; l < m->n_layers && what == NULL; l++) {
        if (m->layer[l].ops->custom == NULL) continue;
        what = "layer";
        name = m->layer[l].ops->name;
    }
    if (what == NULL || !config->low.is_low) return DROVE_OK;
    return drove__fail(DROVE_E_UNSUPPORTED,
                       "%s %s: it is the program's own and computes with floats: expected no low "
                       "--precision, found %s",
                       what, name, config->low.precision);
}

/* problem->model and its first parameters, as the whole network has them. */
static drove_status make_model(const drove_config *config, drove_problem *problem,
                               const drove_workers *workers, const drove_callbacks *cb)
{
    const drove_config_problem *p = &config->problem;
    drove_model_io io = drove__data_io(problem->train);
    io.custom = p->custom;
    io.makes_heads = p->tuning->makes_heads;
    if (drove__names_model_file(p->model)) {
        DROVE_TRY(load_start(config, problem, &io, &problem->first, cb));
        problem->is_given = true;
        problem->model->factors = drove__precision_factors(config->low.precision);
        DROVE_TRY(check_custom(config, problem));
        return set_targets(config, problem);
    }
    /* A pack (train/pack.h) takes the place of a model of its loss. */
    const bool has_values = problem->train->storage->y_kind == DROVE_Y_VALUE;
    const char *model = !p->compares_model ? p->model : has_values ? "linear" : "mlp:1";
    DROVE_TRY(drove__model_create(model, p->activation, p->loss, &io, &problem->model));
    problem->model->factors = drove__precision_factors(config->low.precision);
    DROVE_TRY(check_custom(config, problem));
    DROVE_TRY(set_targets(config, problem));
    say_model_notes(problem, cb);
    if (p->tuning->freeze[0] == '\0') DROVE_TRY(drove__run_check_memory(config, problem, workers));
    float *theta = problem->first = drove__alloc(problem->model->n_params, sizeof *theta);
    if (theta == NULL)
        return drove__fail_nomem("the model's parameters",
                                 problem->model->n_params * sizeof *theta);
    const char *file = drove__pytorch_file(p->init), *init = file == NULL ? p->init : "";
    problem->is_given = file != NULL || (init[0] == '\0' && problem->model->initial != NULL);
    if (io.makes_heads && !problem->is_given)
        return drove__fail(DROVE_E_ARG,
                           "--model %s?head=new: expected a network with parameters to begin with "
                           "(.onnx, a saved model, --init pytorch:FILE), found none",
                           p->model);
    DROVE_TRY(drove__model_init(problem->model, init, config->seed, theta));
    if (file == NULL) return DROVE_OK;
    if (config->files.resume != NULL) return drove__pytorch_resume(theta, problem->model);
    DROVE_TRY(drove__pytorch_load(file, problem->train, theta, problem->model));
    return drove__model_init(problem->model, "", config->seed, theta);
}

drove_status drove__problem_model(const drove_config *config, drove_problem *problem,
                                  const drove_workers *workers, const drove_callbacks *cb)
{
    if (problem->given_tuned != NULL) return drove__tuned_again(problem->given_tuned, problem);
    DROVE_TRY(make_model(config, problem, workers, cb));
    if (config->problem.tuning->makes_heads && config->files.resume == NULL)
        say_heads(problem->model, cb);
    DROVE_TRY(drove__tuned_choose(config, problem));
    if (problem->tuned != NULL) {
        DROVE_TRY(drove__problem_describe(problem, problem->tuned->data));
        DROVE_TRY(drove__tuned_make(config, problem, workers, cb));
    }
    return drove__run_check_memory(config, problem, workers);
}

drove_status drove__problem_hold_out(const drove_config *config, drove_problem *problem,
                                     const drove_workers *workers)
{
    const drove_until *u = &config->length.until;
    const size_t n = problem->stream != NULL ? problem->n_train_whole : problem->train->n_rows;
    double wanted = u->validation_is_part ? round(u->validation * (double)n) : u->validation;
    if (u->validation == 0.0) return DROVE_OK;
    if (drove__ranks_hold_shards(config, workers))
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected --shard whole, as ranks with parts of "
                           "their own have no examples in common to hold out");
    if (wanted < 1.0) wanted = 1.0;
    if (wanted >= (double)n)
        return drove__fail(DROVE_E_ARG,
                           "--until validation: expected fewer than the %zu training examples, "
                           "found %.0f",
                           n, wanted);
    if (problem->stream != NULL) {
        /* Data on disk: a part of the examples that are held out already, or all of them. */
        const size_t n_kept = drove__disk_held_rows(problem);
        if (n_kept < 2)
            return drove__fail(
                DROVE_E_ARG, "--until validation: expected more --memory, which holds no examples "
                             "besides those that are trained on");
        if (wanted >= (double)n_kept) {
            problem->validation = problem->kept;
            problem->kept = NULL;
            return DROVE_OK;
        }
        return drove__data_hold_out(problem->kept, wanted < 1.0 ? 1 : (size_t)wanted, config->seed,
                                    &problem->validation);
    }
    DROVE_TRY(
        drove__data_hold_out(problem->train, (size_t)wanted, config->seed, &problem->validation));
    problem->n_train_whole = problem->train->n_rows;
    return DROVE_OK;
}

drove_status drove__problem_describe(const drove_problem *problem,
                                     char text[DROVE_PROBLEM_TEXT_SIZE])
{
    if (problem->tuned != NULL && problem->tuned->data[0] != '\0') {
        strcpy(text, problem->tuned->data);
        return DROVE_OK;
    }
    const drove_storage *s = problem->train->storage;
    uint64_t sum;
    int n = snprintf(text, DROVE_PROBLEM_TEXT_SIZE, "%zu features, %zu classes", s->n_features,
                     s->n_classes);
    if (problem->stream != NULL) return DROVE_OK;
    DROVE_TRY(drove__data_fingerprint(s, &sum));
    snprintf(text + n, DROVE_PROBLEM_TEXT_SIZE - (size_t)n, ", %zu rows, checksum %016llx",
             s->n_rows, (unsigned long long)sum);
    return DROVE_OK;
}
