/* config/words.h - the words of options, parsed once: a run asks these, not the texts. */
#ifndef DROVE_CONFIG_WORDS_H
#define DROVE_CONFIG_WORDS_H

#include "base/options.h"

typedef enum drove_test_kind { DROVE_TEST_NONE, DROVE_TEST_SPLIT, DROVE_TEST_SPEC } drove_test_kind;

typedef struct drove_words {
    /* not given, so that the run chooses or takes the usual */
    bool strategy_is_auto, rule_is_auto, rule_state_is_auto, schedule_is_auto, lr_is_auto;
    bool until_is_auto, order_is_auto, out_is_auto, model_is_auto;
    bool is_classic;       /* --defaults */
    bool uses_all_threads; /* --threads all */
    bool owns_shard;       /* --shard own */
    bool sends_layers;     /* --messages layers */
    bool machine_is_here;  /* --machine here */
    bool tells_metrics;    /* not --metrics none */
    bool data_may_change;  /* --data-changed */
    drove_test_kind test;
} drove_words;

drove_words drove__words_of(const drove_options *options);

/* ---- of options whose "auto" has been replaced ---- */

bool drove__words_rule_is_sgd(const drove_options *options);
bool drove__words_state_is_worker(const drove_options *options); /* --rule-state */

#endif
