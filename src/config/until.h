/* config/until.h - when a run ends: "loss=5%,epochs=30", comma = whichever comes first; and when it
 * is saved. */
#ifndef DROVE_CONFIG_UNTIL_H
#define DROVE_CONFIG_UNTIL_H

#include "base/status.h"

#include <stdbool.h>
#include <stdint.h>

#define DROVE_UNTIL_CLASSIC "epochs=10"

typedef struct drove_until {
    /* NaN: no target; an absolute loss, or with loss_is_relative a part of the initial one */
    double loss;
    bool   loss_is_relative;
    /* NaN: no target; of the test data, or of the training data without any */
    double accuracy;
    /* validation examples, taken from the training data to judge by, or with validation_is_part a
     * part of them; 0: none */
    double validation;
    bool   validation_is_part;
    /* evaluations without a better validation (else test, else training) loss; 0: not asked */
    uint64_t patience;
    double   epochs, seconds; /* budgets; infinity: none */
    uint64_t updates;         /* UINT64_MAX: none */
} drove_until;

/* "auto" reads as the classic budget, DROVE_UNTIL_CLASSIC.  Errors: DROVE_E_ARG, naming --until. */
drove_status       drove__until_parse(const char *text, drove_until *out);
static inline bool drove__until_has_target(const drove_until *u)
{
    return u->loss == u->loss || u->accuracy == u->accuracy;
}

typedef enum drove_save_unit {
    DROVE_SAVE_EVAL,
    DROVE_SAVE_EPOCHS,
    DROVE_SAVE_UPDATES,
    DROVE_SAVE_SECONDS,
    DROVE_SAVE_NEVER
} drove_save_unit;
typedef struct drove_save_every {
    drove_save_unit unit;
    double   amount; /* of epochs or seconds                                                */
    uint64_t updates;
} drove_save_every;

/* "eval", "epochs=1", "updates=100", "seconds=60", "never".  Errors: DROVE_E_ARG, naming
 * --save-every. */
drove_status drove__save_every_parse(const char *text, drove_save_every *out);

#endif
