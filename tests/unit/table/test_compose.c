/* Letters and marks become one character, and names typed either way are the same category. */
#include "support.h"

#include "base/mem.h"
#include "table/compose.h"

#include <stdio.h>
#include <string.h>

static void expect_composed(const char *text, const char *expected)
{
    char found[64];
    snprintf(found, sizeof found, "%s", text);
    found[drove__compose(found, strlen(found))] = '\0';
    assert_string_equal(found, expected);
}

TEST(letters_with_marks)
{
    expect_composed("Ko\xcc\x88ln", "K\xc3\xb6ln");
    expect_composed("e\xcc\x81", "\xc3\xa9");
    expect_composed("u\xcc\x88\xcc\x84", "\xc7\x96"); /* two marks: U+01D6 */
    expect_composed("\xce\xb1\xcc\x81", "\xce\xac");  /* Greek */
    expect_composed("\xd0\xb8\xcc\x86", "\xd0\xb9");  /* Cyrillic */
    expect_composed("x\xcc\x81", "x\xcc\x81");        /* there is no such letter */
    expect_composed("\xcc\x81"
                    "a",
                    "\xcc\x81"
                    "a"); /* behind nothing */
    expect_composed("\xf0\x9f\x98\x80\xcc\x81", "\xf0\x9f\x98\x80\xcc\x81");
    expect_composed("plain", "plain");
    assert_true(drove__has_marks("Ko\xcc\x88ln", 6) && !drove__has_marks("K\xc3\xb6ln", 6));
}

TEST(names_are_the_same_category)
{
    drove_known_table known, more;
    drove_table_options opt = options_of("towns", "y");
    write_text("towns", "town,k,y\nBonn,1,a\nK\xc3\xb6ln,2,b\nBonn,3,a\nKo\xcc\x88ln,4,b\n");
    learn(&opt, &known);
    assert_int_equal(column_of(&known, "town")->n_distinct, 2);
    write_text("towns", "town,k\nKo\xcc\x88ln,1\n");
    opt = options_of("towns", NULL);
    assert_int_equal(drove__table_match(&opt, known.schema, false, &more), DROVE_OK);
    assert_string_equal(more.notes, "");
    drove__known_table_fini(&more);
    drove__known_table_fini(&known);
    assert_int_equal(remove("towns"), 0);
}
