/* train/search.h - --model auto: the best of several models, by validation examples.
 *
 * Each candidate, a row of the table in search.c, is a model, an encoding of the table's columns
 * and a weight decay.  It is trained by a run of its own on a part of the training data, with the
 * rule, the step size and the end that auto gives any run, and judged by the best loss on the rest.
 * Small data are divided in several ways.  Test data are never read for it.
 *
 * All lengths are counts, and trial runs have one worker: the same seed gives the same choice.
 */
#ifndef DROVE_TRAIN_SEARCH_H
#define DROVE_TRAIN_SEARCH_H

#include "values/values.h"

/* The choice: the first candidate, simplest first, whose loss is within `tolerance` of the best's
 * progress from the constant guess, or within a standard error of the best's: the deviation of
 * their differences over at least three divisions, by the root of the number of divisions (Breiman
 * et al., Classification and Regression Trees, 1984, section 3.4.3).  Only those tried on most
 * divisions count. */
unsigned drove__search_choose(const drove_search *search, double tolerance);

/* --model default: the usual model, or "auto" where models are compared.  Before the data are
 * opened.  Errors: those of a data spec. */
drove_status drove__search_default(const drove_config *config, bool has_ranks,
                                   const drove_callbacks *cb, drove_choice *choice);
/* --model auto: chooses by trial runs, which also give the data's encoding, the weight decay and,
 * of a small table, the length.  Says what was chosen; the choice points to *out.  Before the data
 * are opened.  Errors: those of the data and of runs, DROVE_E_ARG (--model auto beside ranks, or of
 * data that cannot be read twice). */
drove_status drove__search_model(const drove_config *config, const drove_workers *workers,
                                 const drove_interrupt *interrupt, const drove_callbacks *cb,
                                 drove_search *out, drove_choice *choice);

/* With --resume: the record of the search that chose the model, from run.json; unreadable, it is
 * left out, which is said.  The choice points to *out.  Errors: DROVE_E_NOMEM. */
drove_status drove__search_load(const drove_config *config, const drove_callbacks *cb,
                                drove_search *out, drove_choice *choice);

#endif
