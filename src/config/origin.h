/* config/origin.h - where the value of an option comes from. */
#ifndef DROVE_CONFIG_ORIGIN_H
#define DROVE_CONFIG_ORIGIN_H

typedef enum drove_origin {
    DROVE_FROM_DEFAULT,
    DROVE_FROM_CALLER, /* a flag, or a call of drove_options_set */
    DROVE_FROM_FILE,   /* a run file */
    DROVE_FROM_RUN,    /* run.json of --resume */
    DROVE_FROM_RECORD, /* of --replay */
    /* ---- the run's own choices ---- */
    DROVE_BY_KIND,   /* of data, model, strategy or machine: no run decides it */
    DROVE_BY_MARGIN, /* step size, from the length of the rows */
    DROVE_BY_TRIALS, /* step size */
    DROVE_BY_PROBE   /* strategy and threads */
} drove_origin;

#endif
