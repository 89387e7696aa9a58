/* use/use.c - using a saved model: loss, accuracy and metrics on data, and predictions.
 *
 * The data are read as test data of the data that the model was trained on: its scaling, its
 * number of features and its classes stand in the model file.
 */
#include "base/alive.h"
#include "base/available.h"
#include "base/cpu.h"
#include "base/file.h"
#include "base/given.h"
#include "base/locale.h"
#include "base/print.h"
#include "data/open/overwrite.h"
#include "model/loss.h"
#include "use/measure.h"
#include "use/predictions.h"
#include "use/infer.h"
#include "use/modelfile.h"
#include "use/opened.h"

#include <string.h>

typedef struct user { /* a model at work */
    drove_modelfile file;
    drovek_table kernels;
    drove_data *data;
    drove_data *files; /* data before a feature map, if its rows are files; else NULL */
    drove_infer infer;
} user;

static drove_status start(user *u, const drove_use_options *use, const drove_custom *custom,
                          bool use_labels)
{
    const char *cap = use->isa != NULL && use->isa[0] != '\0' ? use->isa : NULL;
    drove_storage storage;
    drove_data like;
    char notes[2048];
    DROVE_TRY(drovek_select(&u->kernels, drove__cpu_features(), cap));
    DROVE_TRY(drove__modelfile_load_with(use->model, custom, &u->file));
    drove__modelfile_describe(&u->file, &storage, &like);
    DROVE_TRY(drove__data_open_like(use->data, &like, use_labels, &u->data));
    if (use->message != NULL && u->data->storage->notes[0] != '\0')
        use->message(use->context,
                     drove__print_plain(u->data->storage->notes, notes, sizeof notes));
    /* The model's features of the data, by all processors. */
    drove_data *mapped;
    DROVE_TRY(drove__modelfile_map(&u->file, &u->kernels, drove__processors_available(), u->data,
                                   &mapped));
    if (mapped != NULL) {
        if (u->data->storage->row_names != NULL) u->files = u->data;
        else drove_data_destroy(u->data);
        u->data = mapped;
    }
    size_t rows = use->batch != 0 ? (size_t)use->batch : drove__score_rows(u->file.model, 1);
    unsigned n_threads = use->threads < UINT32_MAX ? (unsigned)use->threads : UINT32_MAX;
    if (n_threads == 0) n_threads = drove__processors_available();
    u->infer = (drove_infer){.model = u->file.model,
                             .kernels = &u->kernels,
                             .data = u->data,
                             .theta = u->file.theta,
                             .chunk_rows = rows < u->data->n_rows ? rows : u->data->n_rows,
                             .n_threads = n_threads};
    return DROVE_OK;
}

static void end(user *u)
{
    drove_data_destroy(u->data);
    drove_data_destroy(u->files);
    drove__modelfile_fini(&u->file);
}

static drove_status check_threshold(const user *u, const drove_threshold *t)
{
    const drove_model *m = u->file.model;
    return drove__threshold_check(t, u->file.io.n_classes, u->file.io.is_multi_label,
                                  m->loss->gives_probability, m->loss->name);
}

/* ---- evaluation ---- */

/* metrics may be NULL. */
drove_status drove__eval(const drove_use_options *use, const drove_custom *custom,
                         drove_score_report *out, drove_metrics **metrics)
{
    user u = {0};
    drove_score score;
    drove_threshold threshold;
    drove_metrics *own = NULL; /* a threshold's accuracy is theirs */
    DROVE_TRY(drove__threshold_parse(use->threshold, &threshold));
    drove_status status;
    if (metrics == NULL && threshold.by != DROVE_THRESHOLD_USUAL) metrics = &own;
    if ((status = start(&u, use, custom, true)) != DROVE_OK) goto fail;
    if ((status = check_threshold(&u, &threshold)) != DROVE_OK) goto fail;
    if ((status = drove__metrics_measure(&u.infer, u.file.target_mean, &threshold, &score,
                                         metrics)) != DROVE_OK)
        goto fail;
    *out = (drove_score_report){.n_rows = score.n_rows,
                                .loss = drove__score_mean_loss(&score),
                                .accuracy = drove__score_accuracy(u.data, &score),
                                .is_multi_label = u.file.io.is_multi_label};
    if (threshold.by != DROVE_THRESHOLD_USUAL) out->accuracy = (*metrics)->model.accuracy;
    snprintf(out->model, sizeof out->model, "%s", u.file.model->spec);
    snprintf(out->loss_name, sizeof out->loss_name, "%s", u.file.model->loss->name);
fail:
    drove_metrics_destroy(own);
    end(&u);
    return status;
}

drove_status drove_eval(const drove_use_options *use, drove_score_report *out)
{
    DROVE_GIVEN(use);
    DROVE_GIVEN_AS(use->model, "use->model");
    DROVE_GIVEN_AS(use->data, "use->data");
    DROVE_GIVEN(out);
    DROVE_IN_C_LOCALE;
    return drove__eval(use, NULL, out, NULL);
}

drove_status drove_eval_metrics(const drove_use_options *use, drove_score_report *out,
                                drove_metrics **metrics)
{
    DROVE_GIVEN(use);
    DROVE_GIVEN_AS(use->model, "use->model");
    DROVE_GIVEN_AS(use->data, "use->data");
    DROVE_GIVEN(out);
    DROVE_GIVEN(metrics);
    DROVE_IN_C_LOCALE;
    *metrics = NULL;
    return drove__eval(use, NULL, out, metrics);
}

/* ---- predictions ---- */

static drove_status predict_to(const user *u, const drove_use_options *use,
                               const drove_threshold *threshold, FILE *stream)
{
    const drove_data *files = u->files != NULL ? u->files : u->data;
    const drove_predictions predictions = {.infer = u->infer,
                                           .io = u->file.io,
                                           .class_name = (const char *const *)u->file.class_name,
                                           .y_origin = u->file.y_origin,
                                           .files =
                                               files->storage->row_names != NULL ? files : NULL,
                                           .format = use->format,
                                           .all_outputs = use->proba != 0,
                                           .threshold = *threshold,
                                           .stream = stream};
    return drove__predictions_write(&predictions);
}

drove_status drove_predict(const drove_use_options *use, FILE *stream)
{
    DROVE_GIVEN(use);
    DROVE_GIVEN_AS(use->model, "use->model");
    DROVE_GIVEN_AS(use->data, "use->data");
    if (use->out == NULL) DROVE_GIVEN(stream);
    DROVE_IN_C_LOCALE;
    user u = {0};
    drove_threshold threshold;
    DROVE_TRY(drove__threshold_parse_number(use->threshold, &threshold));
    if (threshold.by != DROVE_THRESHOLD_USUAL && (use->format == DROVE_PREDICT_NPY || use->proba))
        return drove__fail(DROVE_E_ARG,
                           "--threshold: expected predictions with a label, found %s without",
                           use->proba ? "--proba" : "--format npy");
    if (use->out != NULL) {
        DROVE_TRY(drove__overwrite_check("--out", use->out, use->model));
        DROVE_TRY(drove__overwrite_check_data("--out", use->out, use->data));
    }
    drove_status status = start(&u, use, NULL, false);
    if (status == DROVE_OK) status = check_threshold(&u, &threshold);
    if (status == DROVE_OK && use->out == NULL) {
        status = predict_to(&u, use, &threshold, stream);
    } else if (status == DROVE_OK) {
        drove_writer *w;
        if ((status = drove__writer_create(use->out, &w)) != DROVE_OK) goto end;
        if ((status = predict_to(&u, use, &threshold, drove__writer_stream(w))) == DROVE_OK) {
            status = drove__writer_commit(w);
            goto end;
        }
        drove__writer_abort(w);
        if (status == DROVE_E_IO) status = drove__fail_in(status, "%s", use->out);
    }
end:
    end(&u);
    return status;
}
