/* tests/unit/table/test_dictionary.c - texts and their counts against a plain list. */
#include "support/status.h"
#include "support/test.h"
#include "table/dictionary.h"

#include <stdio.h>
#include <string.h>

enum { WORDS = 5000, WIDTH = 8 };
static char content[WORDS][WIDTH]; /* where the texts of the file lie, in its order */

static drove_cell cell_at(size_t i)
{
    snprintf(content[i], WIDTH, "w%zu", i);
    return (drove_cell){.text = content[i], .length = strlen(content[i])};
}

static void add(drove_dictionary *d, size_t word)
{
    const drove_cell cell = cell_at(word);
    assert_ok(drove__dictionary_add(d, &cell, drove__text_hash(cell.text, cell.length)));
}

/* How often a word was counted; 0: it is not there. */
static uint64_t count_of(const drove_dictionary *d, size_t word)
{
    const drove_cell cell = cell_at(word);
    uint64_t n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const drove_cell *own = &d->entry[i].cell;
        if (own->length != cell.length || memcmp(own->text, cell.text, cell.length) != 0) continue;
        assert_int_equal(n, 0); /* once alone */
        n = d->n_cells[i];
    }
    return n;
}

TEST(test_counts)
{
    drove_dictionary d = {0};
    for (size_t times = 0; times < 3; times++) {
        for (size_t i = 0; i < 1000; i++) {
            for (size_t k = 0; k <= i % 3; k++) add(&d, i);
        }
    }
    assert_int_equal(d.n, 1000);
    assert_false(d.is_full);
    for (size_t i = 0; i < 1000; i++) assert_int_equal(count_of(&d, i), 3 * (1 + i % 3));
    for (size_t i = 0; i < 1000; i++) assert_ptr_equal(d.entry[i].cell.text, content[i]);
    drove__dictionary_fini(&d);
}

/* What two threads found: counts are added, and a text is where it occurred first. */
TEST(test_merge)
{
    drove_dictionary d = {0}, later = {0}, earlier = {0};
    const uint32_t hash = drove__text_hash("same", 4);
    const drove_cell first = {.text = "same, and same again", .length = 4},
                     second = {.text = first.text + 10, .length = 4};
    assert_ok(drove__dictionary_add(&later, &second, hash));
    assert_ok(drove__dictionary_add(&earlier, &first, hash));
    assert_ok(drove__dictionary_add(&earlier, &second, hash));
    add(&earlier, 7);
    assert_ok(drove__dictionary_merge(&d, &later));
    assert_ok(drove__dictionary_merge(&d, &earlier));
    assert_int_equal(d.n, 2);
    assert_int_equal(d.n_cells[0], 3);
    assert_ptr_equal(d.entry[0].cell.text, first.text);
    assert_int_equal(count_of(&d, 7), 1);
    drove__dictionary_fini(&earlier);
    drove__dictionary_fini(&later);
    drove__dictionary_fini(&d);
}

TEST(test_full)
{
    drove_dictionary d = {0}, other = {0};
    for (size_t i = 0; i < DROVE_DICTIONARY_MOST; i++) add(&d, i);
    assert_false(d.is_full);
    add(&d, 0);
    assert_int_equal(count_of(&d, 0), 2);
    add(&d, WORDS - 1);
    assert_true(d.is_full);
    add(&d, 0); /* counts nothing further */
    assert_int_equal(count_of(&d, 0), 2);
    assert_int_equal(count_of(&d, WORDS - 1), 0);
    assert_int_equal(d.n, DROVE_DICTIONARY_MOST);

    add(&other, 1);
    assert_ok(drove__dictionary_merge(&other, &d));
    assert_true(other.is_full);
    assert_int_equal(other.n, DROVE_DICTIONARY_MOST);
    drove__dictionary_fini(&other);
    drove__dictionary_fini(&d);
}
