/* use/opened.h - what opens a saved model with settings that options have: config/opened.c reads
 * them.
 */
#ifndef DROVE_USE_OPENED_H
#define DROVE_USE_OPENED_H

#include <drove/custom.h>
#include <drove/predictor.h>
#include <drove/trainer.h>
#include <drove/train.h>

#include "base/options.h"
#include "use/modelfile.h"

typedef struct drove_trainer_settings {
    drove_modelfile_wanted file;
    const char            *freeze; /* names (model/freeze.h); "": none */
    const drove_custom    *custom;
    const char            *isa; /* NULL: the best */
    const char            *rule;
    double                 lr, weight_decay, clip;
    size_t                 batch;
    uint64_t               seed;
} drove_trainer_settings;

/* As drove_trainer_open, whose errors come but for those of options. */
drove_status drove__trainer_open(const drove_trainer_settings *settings, drove_trainer **out);

/* custom NULL: none.  As drove_predictor_open_with and drove_eval_with. */
drove_status drove__predictor_open(const char *model, const char *isa, const drove_custom *custom,
                                   drove_predictor **out);
drove_status drove__eval(const drove_use_options *use, const drove_custom *custom,
                         drove_score_report *out, drove_metrics **metrics);

#endif
