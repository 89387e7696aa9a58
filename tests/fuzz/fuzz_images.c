/* tests/fuzz/fuzz_images.c - folders of images: each line of the input is the path of a file, which
 * holds a good image, or, where the path ends in a blank, the path itself.  What is opened has a
 * row for each image of a class, and rows have the names of files.
 */
#include "fuzz_data.h"
#include "fuzz_folder.h"

enum { FILES_MOST = 24, PATH_MOST = 100 };

/* One grey pixel. */
static const uint8_t png[] = {0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00,
                              0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00, 0x00, 0x01,
                              0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x00, 0x00, 0x00, 0x3a,
                              0x7e, 0x9b, 0x55, 0x00, 0x00, 0x00, 0x0a, 0x49, 0x44, 0x41,
                              0x54, 0x78, 0xda, 0x63, 0x60, 0x00, 0x00, 0x00, 0x02, 0x00,
                              0x01, 0xe5, 0x27, 0xde, 0xfc, 0x00, 0x00, 0x00, 0x00, 0x49,
                              0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

/* A path below the folder: no part of it is "", "." or "..". */
static bool is_below(const char *path)
{
    for (const char *part = path; part != NULL; part = strchr(part, '/')) {
        if (*part == '/') part++;
        const size_t n = strcspn(part, "/");
        if (n == 0 || n > PATH_MOST) return false;
        if (strspn(part, ".") == n && n <= 2) return false;
    }
    return true;
}

static void make_file(const char *folder, char *line)
{
    char path[FUZZ_PATH_SIZE];
    const size_t n = strlen(line);
    if (n > PATH_MOST || !is_below(line)) return;
    for (char *slash = strchr(line, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        snprintf(path, sizeof path, "%s/%s", folder, line);
        mkdir(path, 0777);
        *slash = '/';
    }
    snprintf(path, sizeof path, "%s/%s", folder, line);
    FILE *file = access(path, F_OK) != 0 ? fopen(path, "wb") : NULL;
    if (file == NULL) return; /* it is there, or its folder is a file */
    if (line[n - 1] == ' ') fwrite(line, 1, n, file);
    else fwrite(png, 1, sizeof png, file);
    fclose(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
    char folder[FUZZ_PATH_SIZE / 2], spec[FUZZ_PATH_SIZE];
    char *text = malloc(size_bytes + 1), *rest = text;
    if (text == NULL) abort();
    memcpy(text, data, size_bytes);
    text[size_bytes] = '\0';
    snprintf(folder, sizeof folder, "%s/images", fuzz_folder());
    fuzz_folder_clear(folder, false);
    mkdir(folder, 0777);
    for (unsigned i = 0; i < FILES_MOST; i++) {
        char *line = strsep(&rest, "\n");
        if (line == NULL) break;
        make_file(folder, line);
    }
    snprintf(spec, sizeof spec, "images:%s", folder);
    fuzz_open(spec);
    snprintf(spec, sizeof spec, "images:%s?label=none&size=2x3&channels=3&skip=1", folder);
    fuzz_open(spec);
    free(text);
    return 0;
}
