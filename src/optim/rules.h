/* optim/rules.h - rows of optim/rules.c that are files of their own; used inside optim/ only. */
#ifndef DROVE_OPTIM_RULES_H
#define DROVE_OPTIM_RULES_H

#include "optim/optim.h"

extern const drove_rule_ops drove__rule_cocob;

#endif
