/* The C library leaves ENOMEM behind also where it found memory in another way, here since the heap
 * cannot grow where it is: then a text is not said to have lacked memory.  That it is, where memory
 * was lacking: scripts/faults, and test_json.c. */
#include "support.h"

#include "base/json.h"
#include "base/available.h"
#include "base/yaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { LENGTH = 100000 };

static void *kept; /* blocks, each with the address of the one before: never freed */

static void keep_a_block(size_t size_bytes)
{
    void **block = malloc(size_bytes);
    assert_non_null(block);
    *block = kept;
    kept = block;
}

enum { BLOCK = 4096, REGION = 1 << 20, MOST = 1 << 14 }; /* glibc maps regions for a blocked heap */

/* Until a block was found that left an error behind; false: another C library, or AddressSanitizer,
 * leaves none. */
static bool find_an_error(void)
{
    for (unsigned n = 0; n < MOST; n++) {
        errno = 0;
        keep_a_block(BLOCK);
        if (errno == ENOMEM) return true;
    }
    return false;
}

static bool leaves_errors;

/* Fills what the heap has: a larger block than 32 KiB must be had in another way. */
static void fill_the_heap(void)
{
    assert_true(find_an_error());
    for (unsigned n = 0; n < (REGION - 32768) / (BLOCK + 16); n++) keep_a_block(BLOCK);
}

/* A page stands behind the heap. */
FIXTURE(block_the_heap)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t end = ((uintptr_t)sbrk(0) + page - 1) / page * page;
    void *found = mmap((void *)end, page, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    leaves_errors = find_an_error();
    return found == MAP_FAILED ? -1 : 0;
}

GROUP(block_the_heap, NULL);

/* A list with one long word: its characters are put together in a buffer that grows. */
static char *long_word(char *word, const char *behind)
{
    char *text = malloc(4 * LENGTH), *at = text;
    assert_non_null(text);
    at += sprintf(at, "- \"");
    for (unsigned i = 0; i < LENGTH; i++) {
        word[i] = (char)(i % 10 == 9 ? '\t' : 'a' + i % 26);
        if (word[i] == '\t') at += sprintf(at, "\\t");
        else *at++ = word[i];
    }
    word[LENGTH] = '\0';
    sprintf(at, "\"\n%s", behind);
    return text;
}

TEST(a_long_yaml_text_is_whole)
{
    static char word[LENGTH + 1];
    if (!leaves_errors) skip();
    char *text = long_word(word, "");
    drove_yaml *y;
    drove_yaml_item item = {0};
    assert_ok(drove__yaml_open(text, strlen(text), "x.yaml", DROVE_E_DATA, "words", &y));
    for (unsigned i = 0; i < 3; i++) assert_ok(drove__yaml_next(y, &item));
    assert_int_equal(item.kind, DROVE_YAML_LIST);
    fill_the_heap();
    assert_ok(drove__yaml_next(y, &item));
    assert_string_equal(item.text, word);
    drove__yaml_close(y);
    free(text);
}

/* A word without an end is a mistake, and where it begins is said. */
TEST(a_mistake_is_a_mistake)
{
    static char word[LENGTH + 1];
    if (!leaves_errors) skip();
    char *text = long_word(word, "- [1\n");
    drove_yaml *y;
    drove_yaml_item item = {0};
    drove_status status = DROVE_OK;
    *strrchr(text, '"') = ' ';
    assert_ok(drove__yaml_open(text, strlen(text), "x.yaml", DROVE_E_DATA, "words", &y));
    for (unsigned i = 0; i < 3; i++) assert_ok(drove__yaml_next(y, &item));
    fill_the_heap();
    status = drove__yaml_next(y, &item);
    assert_fails(status, DROVE_E_DATA, "x.yaml:");
    drove__yaml_close(y);
    free(text);
}

TEST(a_long_json_text_is_made_and_read)
{
    static char word[LENGTH + 1];
    if (!leaves_errors) skip();
    memset(word, 'a', LENGTH);
    json_t *list = json_array();
    drove__json_add(&list, json_string(word));
    fill_the_heap();
    char *text = drove__json_dump(list, JSON_COMPACT);
    assert_non_null(text);
    assert_int_equal(strlen(text), LENGTH + 4);
    json_decref(list);
    json_error_t error;
    fill_the_heap();
    assert_ok(drove__json_parse(text, LENGTH + 4, 0, &error, &list));
    assert_int_equal(json_string_length(json_array_get(list, 0)), LENGTH);
    json_decref(list);
    free(text);
}

TEST(there_is_not_any_memory)
{
    assert_true(drove__memory_is_there(1000));
    assert_false(drove__memory_is_there(SIZE_MAX / 100));
    assert_false(drove__memory_is_there(SIZE_MAX));
}
