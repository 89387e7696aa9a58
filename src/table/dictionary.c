/* table/dictionary.c - see dictionary.h: open addressing, at most half full. */
#include "table/dictionary.h"

#include "base/mem.h"
#include "table/murmur.h"

#include <stdlib.h>

uint32_t drove__text_hash(const char *text, size_t length)
{
    uint32_t hash = drove__murmur32(text, length, 0);
    return hash != 0 ? hash : 1;
}

/* The slot of the hash, or the free one for it. */
static drove_slot *find(const drove_dictionary *d, uint32_t hash)
{
    const size_t mask = d->n_slots - 1;
    size_t at = hash & mask;
    while (d->slot[at].hash != 0 && d->slot[at].hash != hash) at = (at + 1) & mask;
    return &d->slot[at];
}

/* Room for one more: slots at most half of which are taken. */
static drove_status grow(drove_dictionary *d)
{
    const size_t n_slots = d->n_slots > 0 ? 4 * d->n_slots : 32;
    drove_entry *entry = drove__grow(d->entry, n_slots / 2, sizeof *entry);
    if (entry == NULL) return drove__fail_nomem("texts of a column", n_slots / 2 * sizeof *entry);
    d->entry = entry;
    uint64_t *n_cells = drove__grow(d->n_cells, n_slots / 2, sizeof *n_cells);
    if (n_cells == NULL)
        return drove__fail_nomem("texts of a column", n_slots / 2 * sizeof *n_cells);
    d->n_cells = n_cells;
    drove_slot *slot = calloc(n_slots, sizeof *slot);
    if (slot == NULL) return drove__fail_nomem("texts of a column", n_slots * sizeof *slot);
    free(d->slot);
    d->slot = slot;
    d->n_slots = n_slots;
    for (size_t i = 0; i < d->n; i++)
        *find(d, entry[i].hash) = (drove_slot){entry[i].hash, (uint32_t)i};
    return DROVE_OK;
}

/* The text's place, that of a new entry of no cells if need be; d->n: the dictionary is full. */
static drove_status place_of(drove_dictionary *d, const drove_cell *cell, uint32_t hash,
                             size_t *place)
{
    *place = d->n;
    if (d->is_full) return DROVE_OK;
    drove_slot *slot = d->n_slots > 0 ? find(d, hash) : NULL;
    if (slot != NULL && slot->hash != 0) {
        *place = slot->place;
        return DROVE_OK;
    }
    if (d->n == DROVE_DICTIONARY_MOST) {
        d->is_full = true;
        return DROVE_OK;
    }
    if (2 * (d->n + 1) > d->n_slots) {
        DROVE_TRY(grow(d));
        slot = find(d, hash);
    }
    *slot = (drove_slot){hash, (uint32_t)d->n};
    d->n_cells[d->n] = 0;
    d->entry[d->n++] = (drove_entry){*cell, hash};
    return DROVE_OK;
}

drove_status drove__dictionary_add(drove_dictionary *d, const drove_cell *cell, uint32_t hash)
{
    size_t place;
    DROVE_TRY(place_of(d, cell, hash, &place));
    if (place < d->n) d->n_cells[place]++;
    return DROVE_OK;
}

drove_status drove__dictionary_merge(drove_dictionary *d, const drove_dictionary *other)
{
    for (size_t i = 0; i < other->n; i++) {
        const drove_entry *e = &other->entry[i];
        size_t place;
        DROVE_TRY(place_of(d, &e->cell, e->hash, &place));
        if (place == d->n) break;
        d->n_cells[place] += other->n_cells[i];
        drove_cell *first = &d->entry[place].cell;
        if (e->cell.text < first->text) *first = e->cell; /* whoever found it */
    }
    d->is_full = d->is_full || other->is_full;
    return DROVE_OK;
}

void drove__dictionary_fini(drove_dictionary *d)
{
    free(d->entry);
    free(d->n_cells);
    free(d->slot);
    *d = (drove_dictionary){0};
}
