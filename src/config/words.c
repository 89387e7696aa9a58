/* config/words.c - see words.h. */
#include "config/words.h"

#include <string.h>

static bool is(const char *text, const char *word)
{
    return strcmp(text, word) == 0;
}

drove_words drove__words_of(const drove_options *o)
{
    drove_test_kind test = DROVE_TEST_SPEC;
    if (o->test[0] == '\0') test = DROVE_TEST_NONE;
    else if (is(o->test, "split")) test = DROVE_TEST_SPLIT;
    return (drove_words){.strategy_is_auto = is(o->strategy, "auto"),
                         .rule_is_auto = is(o->rule, "auto"),
                         .rule_state_is_auto = is(o->rule_state, "auto"),
                         .schedule_is_auto = is(o->schedule, "auto"),
                         .lr_is_auto = o->lr <= 0.0,
                         .until_is_auto = is(o->until, "auto"),
                         .order_is_auto = is(o->order, "auto"),
                         .out_is_auto = is(o->out, "auto"),
                         .model_is_auto = is(o->model, "auto"),
                         .is_classic = is(o->defaults, "classic"),
                         .uses_all_threads = is(o->threads, "all"),
                         .owns_shard = is(o->shard, "own"),
                         .sends_layers = is(o->messages, "layers"),
                         .machine_is_here = is(o->machine, "here"),
                         .tells_metrics = !is(o->metrics, "none"),
                         .data_may_change = is(o->data_changed, "yes"),
                         .test = test};
}

bool drove__words_rule_is_sgd(const drove_options *options)
{
    return is(options->rule, "sgd");
}

bool drove__words_state_is_worker(const drove_options *options)
{
    return is(options->rule_state, "worker");
}
