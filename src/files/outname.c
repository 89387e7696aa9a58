/* files/outname.c - see outname.h. */
#include "files/outname.h"

#include "base/file.h"
#include "base/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MOST_NUMBERED = 1000000 };

/* Bytes of UTF-8 beyond ASCII stay as they are. */
static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
           (unsigned char)c >= 0x80;
}

/* text up to its first dot, with '_' for what is not plain; false: nothing is left. */
static bool take_word(const char *text, char into[DROVE_OUTNAME_SIZE])
{
    size_t n = 0, n_text = strcspn(text, ".");
    bool has_plain = false;
    for (size_t i = 0; i < n_text && n + 1 < DROVE_OUTNAME_SIZE; i++) {
        bool keeps = is_plain(text[i]) || (text[i] == '-' && n > 0);
        has_plain = has_plain || is_plain(text[i]);
        into[n++] = keeps ? text[i] : '_';
    }
    /* no half character: a byte 10xxxxxx goes on with the one before */
    if (n + 1 == DROVE_OUTNAME_SIZE && n < n_text && ((unsigned char)text[n] & 0xc0) == 0x80) {
        while (n > 0 && ((unsigned char)into[n - 1] & 0xc0) == 0x80) n--;
        if (n > 0) n--;
    }
    into[n] = '\0';
    return has_plain && n > 0;
}

/* The last part of a path; a folder names no data. */
static bool take_file(const char *path, char into[DROVE_OUTNAME_SIZE])
{
    const char *slash = strrchr(path, '/');
    if (drove__is_folder(path)) return false;
    return take_word(slash != NULL ? slash + 1 : path, into);
}

drove_status drove__outname_base(const char *data, char into[DROVE_OUTNAME_SIZE])
{
    drove_spec spec;
    DROVE_TRY(drove__data_parse(data, &spec));
    if ((spec.n_args == 0 || !take_file(spec.arg[0], into)) && !take_word(spec.name, into))
        snprintf(into, DROVE_OUTNAME_SIZE, "run");
    drove__spec_fini(&spec);
    return DROVE_OK;
}

drove_status drove__outname_next(const drove_config *config, drove_choice *choice)
{
    char base[DROVE_OUTNAME_SIZE], folder[DROVE_OUTNAME_SIZE + 16];
    struct stat about;
    DROVE_TRY(drove__outname_base(config->problem.data, base));
    for (unsigned i = 1; i < MOST_NUMBERED; i++) {
        snprintf(folder, sizeof folder, "%s-%u", base, i);
        if (lstat(folder, &about) == 0) continue;
        drove__choice_add(choice, "out", DROVE_BY_KIND, "%s", folder);
        return DROVE_OK;
    }
    return drove__fail(DROVE_E_EXISTS, "--out auto: expected a free number, found %s-1 to %s", base,
                       folder);
}

drove_status drove__outname_choose(const drove_config *config, drove_choice *choice)
{
    if (!config->files.names_out) return DROVE_OK;
    if (config->asks_classic) drove__choice_add(choice, "out", DROVE_FROM_DEFAULT, "none");
    else return drove__outname_next(config, choice);
    return DROVE_OK;
}
