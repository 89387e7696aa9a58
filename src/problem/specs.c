/* problem/specs.c - see specs.h. */
#include "problem/specs.h"

#include "base/spec.h"
#include "data/common.h"

#include <stdio.h>
#include <string.h>

drove_status drove__problem_specs(const drove_config *config, char data[DROVE_SPEC_SIZE],
                                  char test[DROVE_SPEC_WITH_LABEL_SIZE])
{
    const drove_config_problem *p = &config->problem;
    static const char *const words[] = {[DROVE_TEST_NONE] = "", [DROVE_TEST_SPLIT] = "split"};
    bool is_named = false;
    if (p->test == DROVE_TEST_SPEC) DROVE_TRY(drove__data_takes_label(p->test_spec, &is_named));
    /* The spec of the training data, with the scaling that is chosen where none is given. */
    drove_spec spec;
    DROVE_TRY(
        drove__data_set_columns(p->data, p->label, p->weights, data, DROVE_SPEC_WITH_LABEL_SIZE));
    if (!config->is_classic) {
        DROVE_TRY(drove__spec_parse(data, &spec));
        drove_common_options common;
        drove_status status = drove__common_read(&spec, &common);
        bool is_open = status == DROVE_OK && common.scale == DROVE_N_SCALINGS &&
                       spec.n_keys < DROVE_SPEC_MAX_KEYS && strcmp(spec.name, "quant") != 0;
        drove__spec_fini(&spec);
        DROVE_TRY(status);
        size_t n = strlen(data);
        if (is_open)
            snprintf(data + n, DROVE_SPEC_SIZE - n, "%sscale=auto",
                     strchr(data, '?') != NULL ? "&" : "?");
    }
    return drove_data_set_label(p->test == DROVE_TEST_SPEC ? p->test_spec : words[p->test],
                                is_named ? p->label : "", test, DROVE_SPEC_WITH_LABEL_SIZE);
}
