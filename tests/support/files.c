#include "support/files.h"

#include "support/test.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void write_bytes(const char *path, const void *bytes, size_t size_bytes)
{
    (void)unlink(path); /* emptying an existing file makes some file systems flush it: slow */
    FILE *file = fopen(path, "wb");
    if (file == NULL) fail_msg("%s: cannot be written", path);
    if (size_bytes > 0) assert_int_equal(fwrite(bytes, 1, size_bytes, file), size_bytes);
    assert_int_equal(fclose(file), 0);
}

void write_text(const char *path, const char *text)
{
    write_bytes(path, text, strlen(text));
}

char *read_bytes(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) fail_msg("%s: cannot be read", path);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    const size_t n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, n, file), n);
    bytes[n] = '\0';
    assert_int_equal(fclose(file), 0);
    if (size_bytes != NULL) *size_bytes = n;
    return bytes;
}

static char *read_source(const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", DROVE_SOURCE_DIR, name);
    return read_bytes(path, NULL);
}

void assert_page_prints(const char *page, const char *file)
{
    char *text = read_source(page), *code = read_source(file);
    char first[256]; /* of the file: by it the page's block is found */
    (void)snprintf(first, sizeof first, "```c\n%.*s", (int)strcspn(code, "\n"), code);
    char *begin = strstr(text, first);
    assert_non_null(begin);
    begin += strlen("```c\n");
    char *end = strstr(begin, "```\n");
    assert_non_null(end);
    *end = '\0';
    assert_string_equal(begin, code);
    free(text);
    free(code);
}
