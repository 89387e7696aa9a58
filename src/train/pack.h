/* train/pack.h - --model auto: a pack of small models becomes the model of a run (pack/pack.h).
 *
 * The pack is trained before the run's workers are made; its network is the run's model, its
 * parameters are the result.  The run then evaluates, saves and reports as any other; going on from
 * it trains the network as it is.  Test data are never read for it.
 */
#ifndef DROVE_TRAIN_PACK_H
#define DROVE_TRAIN_PACK_H

#include "values/values.h"

/* --model default: "auto" where a pack can be had, else the usual model.  With --model auto: how
 * the data are read for it.  Before the data are opened.  Errors: those of a data spec, DROVE_E_ARG
 * (--model auto beside what no pack takes). */
drove_status drove__pack_choose(const drove_config *config, bool has_ranks,
                                const drove_callbacks *cb, drove_choice *choice);
/* With --model auto, once the data are there: the problem's model and first parameters become those
 * of a pack.  Says what is in it; the choice points to *record.  Errors: those of
 * drove__pack_train. */
drove_status drove__pack_make(const drove_config *config, drove_problem *problem,
                              const drove_workers *workers, const drove_interrupt *interrupt,
                              const drove_callbacks *cb, drove_pack_record *record,
                              drove_choice *choice);

#endif
