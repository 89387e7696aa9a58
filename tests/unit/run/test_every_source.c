/* Every source of the registry keeps the rules of sources, with a strategy that names it. */
#include "config/registry.h"
#include "source_cases.h"
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

static bool is_from(const char *name, const drove_source_ops *source)
{
    const drove_source_ops *const *named = drove__sources;
    if (name == NULL) name = "claimed";
    while (strcmp((*named)->name, name) != 0) named++;
    const char *instead = (*named)->ranks != NULL ? (*named)->ranks->instead : NULL;
    return *named == source || (instead != NULL && strcmp(instead, source->name) == 0);
}

/* The first spec of the first strategy whose batches come from there, over ranks perhaps. */
static const char *spec_of(const drove_source_ops *source)
{
    for (size_t i = 0; drove__strategies[i] != NULL; i++)
        if (is_from(drove__strategies[i]->batches, source))
            return drove__strategies[i]->variants[0];
    fail_msg("source %s: expected a strategy that names it", source->name);
    return NULL;
}

TEST(every_source_keeps_the_rules)
{
    for (size_t i = 0; drove__sources[i] != NULL; i++)
        for (unsigned n = 2; n <= 8; n *= 2)
            source_check_all(&(source_setup){.ops = drove__sources[i],
                                             .spec = spec_of(drove__sources[i]),
                                             .n_workers = n,
                                             .most_lost = SOURCE_MOST_LOST});
}

/* What has no defined meaning when it is missing, and what stands or falls together. */
TEST(every_row_is_whole)
{
    for (size_t i = 0; drove__sources[i] != NULL; i++) {
        const drove_source_ops *s = drove__sources[i];
        assert_true(s->name != NULL && s->help != NULL && s->source != NULL);
        assert_true(s->init != NULL && s->fini != NULL && s->open != NULL && s->halt != NULL &&
                    s->next != NULL);
        const drove_source_coordinator_ops *c = s->coordinator;
        assert_true(c == NULL || c->wants_probe != NULL);
        assert_true(c == NULL || c->publish == NULL || c->serve != NULL);
        assert_true((s->tensors == NULL) == (s->restore == NULL));
        for (size_t k = 0; k < i; k++) assert_string_not_equal(drove__sources[k]->name, s->name);
    }
}
