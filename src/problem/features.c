/* problem/features.c - the feature map: settled, applied to training and held-out data, and told.
 *
 * What the model saw when it was trained must be what it sees now: a model file to go on from
 * settles the map, and --features may then only repeat what stands there.
 */
#include "problem/problem.h"
#include "values/ranks.h"
#include "values/say.h"

#include "base/clock.h"

#include <stdio.h>
#include <string.h>

/* *data becomes its features. */
static drove_status replace(const drove_features *map, unsigned n_threads, drove_data **data)
{
    drove_data *mapped;
    if (*data == NULL) return DROVE_OK;
    DROVE_TRY(drove__features_apply(map, *data, n_threads, &mapped));
    drove_data_destroy(*data);
    *data = mapped;
    return DROVE_OK;
}

drove_status drove__run_features(const drove_config *config, drove_problem *problem,
                                 const drove_workers *workers, const drove_callbacks *cb)
{
    char text[DROVE_FEATURES_TEXT_SIZE], message[2 * DROVE_FEATURES_TEXT_SIZE];
    drove_status status = drove__features_parse(config->problem.features, &problem->features);
    if (status != DROVE_OK) return drove__fail_in(status, "--features");
    if (drove__names_model_file(config->problem.model)) {
        drove_features_options of_file;
        DROVE_TRY(drove__modelfile_features(config->problem.model, &of_file));
        if (problem->features.ops != NULL && !drove__features_agree(&problem->features, &of_file)) {
            drove__features_print(&of_file, text);
            return drove__fail(DROVE_E_ARG,
                               "%s: --features: expected %s, as in this model file, found %s",
                               config->problem.model, text[0] != '\0' ? text : "none",
                               config->problem.features);
        }
        problem->features = of_file;
    }
    if (problem->features.ops != NULL && problem->features.gamma == 0.0 &&
        drove__ranks_hold_shards(config, workers))
        return drove__fail(DROVE_E_ARG,
                           "--features %s: expected ?gamma= beside --shard own, as the default "
                           "follows from all examples, of which a rank has a part",
                           config->problem.features);
    status =
        drove__features_settle(&problem->features, &workers->kernels, problem->train, config->seed);
    if (status != DROVE_OK) return drove__fail_in(status, "--features");
    if (problem->features.ops == NULL) return DROVE_OK;
    if (drove__augment_is_on(&problem->train->augment))
        return drove__fail(DROVE_E_ARG,
                           "--features: expected data without augmentation (crop, mirror ...)");
    const unsigned n_pus = workers->machine.n_pus;
    unsigned n_threads = workers->plan.n_workers < n_pus ? workers->plan.n_workers : n_pus;
    uint64_t begin = drove__now_ns();
    drove__topo_spread_memory(workers->topo, workers->place,
                              workers->plan.n_workers); /* the threads inherit it */
    const bool is_split =
        problem->test != NULL && problem->test->storage == problem->train->storage;
    const size_t n_in = problem->train->storage->n_features;
    drove_features *map = NULL;
    status = drove__data_outline(problem->train, &problem->input);
    if (status != DROVE_OK) goto fail;
    status = drove__features_create(&problem->features, n_in, &workers->kernels, n_threads, &map);
    if (status != DROVE_OK) goto fail;
    if ((status = replace(map, n_threads, &problem->train)) != DROVE_OK) goto fail;
    if ((status = replace(map, n_threads, &problem->test)) != DROVE_OK) goto fail;
    if (is_split) problem->test->storage->notes[0] = '\0'; /* said once */
fail:
    if (map != NULL) drove__features_destroy(map);
    drove__topo_spread_memory(workers->topo, NULL, 0);
    if (status != DROVE_OK) return drove__fail_in(status, "--features");
    drove__features_print(&problem->features, text);
    snprintf(message, sizeof message, "features: %s of %zu inputs, in %.2f s", text,
             problem->input->storage->n_features, (double)(drove__now_ns() - begin) * 1e-9);
    drove__run_say(cb, "%s", message);
    return DROVE_OK;
}
