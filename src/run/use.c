/* run/use.c - using a saved model: loss and accuracy on data, and predictions.
 *
 * The data are read as test data of the data that the model was trained on: its scaling, its
 * number of features and its classes stand in the model file.
 */
#include "base/cpu.h"
#include "model/loss.h"
#include "run/run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct user { /* a model at work */
    drove_modelfile file;
    drovek_table kernels;
    drove_data *data;
    drove_engine *engine;
    size_t batch;
    uint32_t *row; /* [batch] */
} user;

/* The descriptive part of the training data, for drove__data_open_like. */
static void describe(const drove_modelfile *file, drove_storage *storage, drove_data *like)
{
    *storage = (drove_storage){
        .n_features = file->n_inputs,
        .x_kind = file->x_kind,
        .y_kind = file->io.is_multi_label  ? DROVE_Y_LABELS
                  : file->io.n_classes > 0 ? DROVE_Y_CLASS
                                           : DROVE_Y_VALUE,
        .n_classes = file->io.n_classes,
        .class_name = file->class_name,
        .index_base = file->index_base,
        .schema = file->schema,
        .n_views = 1,
    };
    *like = (drove_data){.storage = storage,
                         .scaling = file->scaling,
                         .shift = file->shift,
                         .factor = file->factor,
                         .augment = file->augment,
                         .target_shift = file->target_shift,
                         .target_factor = file->target_factor};
    storage->channels = file->augment.channels;
    storage->height = file->augment.height;
    storage->width = file->augment.width;
}

/* The model's features of the data, by all processors. */
static drove_status map_features(user *u)
{
    drove_topo *topo;
    drove_topo_facts facts;
    drove_features *map;
    drove_data *mapped = NULL;
    if (u->file.features.ops == NULL) return DROVE_OK;
    DROVE_TRY(drove__topo_create(NULL, &topo));
    drove__topo_facts(topo, &facts);
    drove__topo_destroy(topo);
    DROVE_TRY(drove__features_create(&u->file.features, u->file.n_inputs, &u->kernels, facts.n_pus,
                                     &map));
    drove_status status = drove__features_apply(map, u->data, facts.n_pus, &mapped);
    drove__features_destroy(map);
    DROVE_TRY(status);
    drove_data_destroy(u->data);
    u->data = mapped;
    return DROVE_OK;
}

static drove_status start(user *u, const drove_use_options *use, bool use_labels)
{
    const char *cap = use->isa != NULL && use->isa[0] != '\0' ? use->isa : NULL;
    drove_storage storage;
    drove_data like;
    drovek_thread_init();
    DROVE_TRY(drovek_select(&u->kernels, drove__cpu_features(), cap));
    DROVE_TRY(drove__modelfile_load(use->model, &u->file));
    describe(&u->file, &storage, &like);
    DROVE_TRY(drove__data_open_like(use->data, &like, use_labels, &u->data));
    if (use->message != NULL && u->data->storage->notes[0] != '\0')
        use->message(use->context, u->data->storage->notes);
    drove__data_scale_target(u->data);
    DROVE_TRY(map_features(u));
    u->batch = use->batch != 0 ? use->batch : drove__score_rows(u->file.model, 1);
    if (u->batch > u->data->n_rows) u->batch = u->data->n_rows;
    u->row = drove__alloc(u->batch, sizeof *u->row);
    if (u->row == NULL) return drove__fail_nomem("a batch", u->batch * sizeof *u->row);
    drove_engine_options opt = {.model = u->file.model,
                                .kernels = &u->kernels,
                                .data = u->data,
                                .max_rows = u->batch,
                                .infers_only = true};
    return drove__engine_host.create(&opt, &u->engine);
}

static void end(user *u)
{
    if (u->engine != NULL) drove__engine_host.destroy(u->engine);
    drove__free(u->row);
    drove_data_destroy(u->data);
    drove__modelfile_fini(&u->file);
}

static drove_batch batch_at(user *u, size_t first)
{
    size_t n = u->data->n_rows - first < u->batch ? u->data->n_rows - first : u->batch;
    for (size_t i = 0; i < n; i++) u->row[i] = (uint32_t)(first + i);
    return (drove_batch){.data = u->data, .row = u->row, .n_rows = n};
}

static drove_status score_all(user *u, drove_score_report *out)
{
    drove_work_done done = {0};
    for (size_t first = 0; first < u->data->n_rows; first += u->batch) {
        drove_batch batch = batch_at(u, first);
        const drove_work work = {.batch = &batch, .theta = u->file.theta};
        DROVE_TRY(drove__engine_do(&drove__engine_host, u->engine, &work, UINT64_MAX, &done));
    }
    const drove_score *score = &done.score;
    *out = (drove_score_report){.n_rows = score->n_rows,
                                .loss = score->loss / (double)score->n_rows,
                                .accuracy = drove__score_accuracy(u->data, score),
                                .is_multi_label = u->file.io.is_multi_label};
    snprintf(out->model, sizeof out->model, "%s", u->file.model->spec);
    snprintf(out->loss_name, sizeof out->loss_name, "%s", u->file.model->loss->name);
    return DROVE_OK;
}

drove_status drove_eval(const drove_use_options *use, drove_score_report *out)
{
    user u = {0};
    drove_score_report report;
    drove_status status = start(&u, use, true);
    if (status == DROVE_OK) status = score_all(&u, &report);
    if (status == DROVE_OK) *out = report;
    end(&u);
    return status;
}

/* ---- predictions ---- */

static void print_label(FILE *stream, const drove_modelfile *file, size_t class)
{
    if (file->class_name != NULL) {
        fputs(file->class_name[class], stream);
    } else {
        fprintf(stream, "%zu", class);
    }
}

static size_t largest(const float *prob, size_t n)
{
    size_t best = 0;
    for (size_t i = 1; i < n; i++) {
        if (prob[i] > prob[best]) best = i;
    }
    return best;
}

/* Class of an example: the largest output, or, of the losses with one output for two classes, its
 * side.  A hinge output is a margin, so its sides meet at 0; a probability's at one half. */
static size_t class_of(const user *u, const float *prob)
{
    if (u->file.model->n_outputs > 1) return largest(prob, u->file.model->n_outputs);
    float middle = strcmp(u->file.model->loss->name, "logistic") == 0 ? 0.5f : 0.0f;
    return prob[0] > middle ? 1 : 0;
}

static void print_labels(FILE *stream, const user *u, const float *prob)
{
    const char *comma = "";
    for (size_t i = 0; i < u->file.model->n_outputs; i++) {
        if (!(prob[i] > 0.5f)) continue;
        fputs(comma, stream);
        print_label(stream, &u->file, i);
        comma = ",";
    }
}

/* An output in the unit of the targets. */
static double value_of(const drove_modelfile *file, float output)
{
    double factor = file->target_factor;
    return factor == 0 ? (double)output : (double)output / factor + file->target_shift;
}

static void print_prediction(FILE *stream, const user *u, const float *prob, int proba)
{
    size_t n = u->file.model->n_outputs;
    if (proba || u->file.io.n_classes == 0) {
        for (size_t i = 0; i < n; i++)
            fprintf(stream, "%s%.9g", i == 0 ? "" : ",", value_of(&u->file, prob[i]));
    } else if (u->file.io.is_multi_label) {
        print_labels(stream, u, prob);
    } else {
        print_label(stream, &u->file, class_of(u, prob));
    }
    fputc('\n', stream);
}

static drove_status predict_all(user *u, int proba, FILE *stream)
{
    size_t n_outputs = u->file.model->n_outputs;
    float *prob = drove__alloc(u->batch * n_outputs, sizeof *prob);
    drove_status status =
        prob != NULL ? DROVE_OK : drove__fail_nomem("predictions", u->batch * n_outputs);
    for (size_t first = 0; status == DROVE_OK && first < u->data->n_rows; first += u->batch) {
        drove_batch batch = batch_at(u, first);
        status = drove__engine_host.predict(u->engine, u->file.theta, &batch, prob);
        for (size_t i = 0; status == DROVE_OK && i < batch.n_rows; i++) {
            print_prediction(stream, u, prob + i * n_outputs, proba);
        }
        if (ferror(stream)) status = drove__fail(DROVE_E_IO, "cannot write the predictions");
    }
    drove__free(prob);
    return status;
}

drove_status drove_predict(const drove_use_options *use, FILE *stream)
{
    user u = {0};
    drove_status status = start(&u, use, false);
    if (status == DROVE_OK) status = predict_all(&u, use->proba, stream);
    end(&u);
    return status;
}
