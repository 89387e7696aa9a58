/* table/dictionary.c - see dictionary.h: open addressing, at most half full. */
#include "table/dictionary.h"

#include "table/murmur.h"

#include <stdlib.h>

uint32_t drove__text_hash(const char *text, size_t length)
{
    uint32_t hash = drove__murmur32(text, length, 0);
    return hash != 0 ? hash : 1;
}

/* The entry of the hash, or the free one for it. */
static drove_entry *find(const drove_dictionary *d, uint32_t hash)
{
    size_t mask = d->n_slots - 1, at = hash & mask;
    while (d->entry[at].hash != 0 && d->entry[at].hash != hash) at = (at + 1) & mask;
    return &d->entry[at];
}

drove_status drove__dictionary_add(drove_dictionary *d, const drove_cell *cell, uint32_t hash,
                                   uint64_t n)
{
    if (2 * (d->n + 1) > d->n_slots) {
        drove_dictionary larger = {.n = d->n, .n_slots = d->n_slots > 0 ? 4 * d->n_slots : 32};
        larger.entry = calloc(larger.n_slots, sizeof *larger.entry);
        if (larger.entry == NULL)
            return drove__fail_nomem("texts of a column", larger.n_slots * sizeof *larger.entry);
        for (size_t i = 0; i < d->n_slots; i++) {
            if (d->entry[i].hash != 0) *find(&larger, d->entry[i].hash) = d->entry[i];
        }
        free(d->entry);
        larger.is_full = d->is_full;
        *d = larger;
    }
    drove_entry *entry = find(d, hash);
    if (entry->hash != 0) {
        entry->n += n;
        if (cell->text < entry->cell.text) entry->cell = *cell; /* the first, whoever found it */
    } else if (d->n < DROVE_DICTIONARY_MOST) {
        *entry = (drove_entry){*cell, n, hash};
        d->n++;
    } else {
        d->is_full = true;
    }
    return DROVE_OK;
}

drove_status drove__dictionary_merge(drove_dictionary *d, const drove_dictionary *other)
{
    d->is_full = d->is_full || other->is_full;
    for (size_t i = 0; i < other->n_slots; i++) {
        const drove_entry *e = &other->entry[i];
        if (e->hash != 0) DROVE_TRY(drove__dictionary_add(d, &e->cell, e->hash, e->n));
    }
    return DROVE_OK;
}

void drove__dictionary_fini(drove_dictionary *d)
{
    free(d->entry);
    *d = (drove_dictionary){0};
}
