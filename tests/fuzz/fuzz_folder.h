/* tests/fuzz/fuzz_folder.h - a folder of this process for targets whose input is more than one
 * file.  In memory where there is /dev/shm; removed with the process.
 */
#ifndef DROVE_TESTS_FUZZ_FOLDER_H
#define DROVE_TESTS_FUZZ_FOLDER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FUZZ_PATH_SIZE = 512 };

static char fuzz_folder_path[128]; /* "": not made yet */

/* Removes what is in a folder; is_all: the folder, too. */
static void fuzz_folder_clear(const char *path, bool is_all)
{
    DIR *folder = opendir(path);
    if (folder == NULL) return;
    for (struct dirent *e; (e = readdir(folder)) != NULL;) {
        char        file[FUZZ_PATH_SIZE];
        struct stat about;
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
        int n = snprintf(file, sizeof file, "%s/%s", path, e->d_name);
        if (n < 0 || (size_t)n >= sizeof file) continue;
        if (lstat(file, &about) == 0 && S_ISDIR(about.st_mode)) fuzz_folder_clear(file, true);
        else unlink(file);
    }
    closedir(folder);
    if (is_all) rmdir(path);
}

static void fuzz_folder_end(void)
{
    fuzz_folder_clear(fuzz_folder_path, true);
}

static const char *fuzz_folder(void)
{
    if (fuzz_folder_path[0] != '\0') return fuzz_folder_path;
    const char *base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(fuzz_folder_path, sizeof fuzz_folder_path, "%s/drove-fuzz-XXXXXX", base);
    if (mkdtemp(fuzz_folder_path) == NULL || atexit(fuzz_folder_end) != 0) abort();
    return fuzz_folder_path;
}

static inline void fuzz_write(const char *path, const void *bytes, size_t size_bytes)
{
    FILE *file = fopen(path, "wb");
    if (file == NULL) abort();
    if (size_bytes > 0 && fwrite(bytes, 1, size_bytes, file) != size_bytes) abort();
    if (fclose(file) != 0) abort();
}

/* From malloc, with a NUL behind; NULL: there is no such file. */
static inline char *fuzz_read(const char *path, size_t *size_bytes)
{
    FILE *file = fopen(path, "rb");
    *size_bytes = 0;
    if (file == NULL) return NULL;
    fseek(file, 0, SEEK_END);
    const long n = ftell(file);
    rewind(file);
    char *bytes = malloc((size_t)n + 1);
    if (bytes == NULL || fread(bytes, 1, (size_t)n, file) != (size_t)n) abort();
    bytes[n] = '\0';
    fclose(file);
    *size_bytes = (size_t)n;
    return bytes;
}

#endif
