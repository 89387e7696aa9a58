/* kernel/conv_file.h - the file of the user's cache folder that keeps what was measured about
 * convolutions.
 *
 * Text, one case a line after a heading: its key, a tab, and the choices, fastest first, each
 * "way in out seconds" and a tab between them.  Any other line is passed over, and so is a last
 * line without its line break; a file that cannot be read or written is as good as none.
 */
#ifndef DROVEK_CONV_FILE_H
#define DROVEK_CONV_FILE_H

#include "kernel/conv.h"

enum { DROVEK_CONV_KEY = 320, DROVEK_CONV_CHOICES = 8 };

typedef struct drovek_conv_record {
    char                       key[DROVEK_CONV_KEY];        /* no tab, no line break */
    drovek_conv_choice         choice[DROVEK_CONV_CHOICES]; /* step_s: of one image */
    size_t                     n_choices;
    struct drovek_conv_record *next;
} drovek_conv_record;

/* Fills r->choice; false: nothing (valid) is there. */
bool drovek_conv_file_find(const char *key, drovek_conv_record *r);

/* Adds it to what is there, in place of what has the same key. */
void drovek_conv_file_add(const drovek_conv_record *r);

/* Forgets what the process knows (for tests: the file is then asked again). */
void drovek_conv_forget(void);

#endif
