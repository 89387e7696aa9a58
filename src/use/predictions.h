/* use/predictions.h - predictions as text or as an array. */
#ifndef DROVE_USE_PREDICTIONS_H
#define DROVE_USE_PREDICTIONS_H

#include <drove/train.h>

#include "metrics/threshold.h"
#include "use/infer.h"

typedef struct drove_predictions {
    drove_infer        infer;      /* prepare, take, context and with_score are set here */
    drove_model_io     io;         /* as the model sees the data */
    const char *const *class_name; /* [io.n_classes], or [io.n_values]; NULL: numbers */
    const double      *y_origin;   /* [io.n_values] added to values, in double; NULL: zeros */
    /* as many rows, with the names or the cells that a row of CSV begins with; or NULL */
    const drove_data    *files;
    drove_predict_format format;
    bool                 all_outputs; /* lines: every output instead of the label */
    drove_threshold      threshold;   /* a number, or the usual one */
    FILE                *stream;
} drove_predictions;

/* Writes a prediction for every row, in order, and flushes the stream.  If the reader of a pipe has
 * gone, the rest is left out without an error.  Errors: those of drove__infer_run; DROVE_E_IO. */
drove_status drove__predictions_write(const drove_predictions *what);

#endif
