/* base/other_words.h - words of other programs, and what drove has instead: the only table.
 *
 * Who comes from PyTorch, Keras, scikit-learn, LightGBM, XGBoost, Vowpal Wabbit, Caffe or darknet
 * types what is right there.  Messages about unknown words ask here before they look for the
 * nearest word of ours, which is often a wrong one ("--num-workers": "--workers").
 */
#ifndef DROVE_BASE_OTHER_WORDS_H
#define DROVE_BASE_OTHER_WORDS_H

#include <stdbool.h>
#include <stddef.h>

enum { DROVE_OTHER_SIZE = 320 }; /* bytes of the longest answer, with the NUL */

/* what: the kind of word, as in the message "unknown WHAT": "option" of a run, "option of tune" or
 * another command, "command", "model", "rule", "loss", "schedule", "activation",
 * "initialisation", "strategy", "kind of worker", "format", "key of a spec", "condition", "field of
 * a network file".  value: what was given with the word, or NULL.  Upper and lower case are the
 * same, and '-', '_', '.', ':' and blanks do not count.  The answer stands behind "; " in a
 * message.  false: no such word; into[size] is then "". */
bool drove__other_word(const char *what, const char *word, const char *value, char *into,
                       size_t size);

/* The i-th row, for tests: its words, separated by blanks.  false: there are no more. */
bool drove__other_word_at(size_t i, const char **what, const char **words, const char **answer);

#endif
