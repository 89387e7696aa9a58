/* kernel/conv/file.h - the file of measured convolutions in the user's cache folder.
 *
 * Text, one case per line after a heading: its key, a tab, and the choices, fastest first,
 * separated by tabs, each "way in out seconds".  Malformed lines are ignored, and so is a last line
 * without its line break; a file that cannot be read or written counts as missing.
 */
#ifndef DROVEK_CONV_FILE_H
#define DROVEK_CONV_FILE_H

#include "kernel/conv/conv.h"

enum { DROVEK_CONV_KEY = 320, DROVEK_CONV_CHOICES = 8 };

typedef struct drovek_conv_record {
    char                       key[DROVEK_CONV_KEY];        /* no tab, no line break */
    drovek_conv_choice         choice[DROVEK_CONV_CHOICES]; /* step_s: of one image */
    size_t                     n_choices;
    struct drovek_conv_record *next;
} drovek_conv_record;

/* Fills r->choice; false: there is no valid record. */
bool drovek_conv_file_find(const char *key, drovek_conv_record *r);

/* Adds r to the file; it replaces a record with the same key. */
void drovek_conv_file_add(const drovek_conv_record *r);

/* Drops the records of the process (for tests: the file is then read again). */
void drovek_conv_forget(void);

#endif
