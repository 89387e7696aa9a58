/* model/loss.c - the table of losses: for `--loss` and `drove list losses`. */
#include "model/loss.h"

#include <stddef.h>

const drove_loss_ops *const drove__losses[] = {
    &drove__loss_softmax, &drove__loss_sigmoid, &drove__loss_logistic,
    &drove__loss_hinge,   &drove__loss_squared, NULL,
};
