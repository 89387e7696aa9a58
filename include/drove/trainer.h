/* drove/trainer.h - training in pieces: rows come when the program has them, and the model and the
 * state of the update rule stay in memory from one call to the next.
 *
 * A trainer goes on from a saved model.  It makes plain steps in the calling thread: no evaluation,
 * no files, no other workers.  A drove_run (drove/train.h) does the rest.
 *
 * Threads: a trainer belongs to one thread at a time; any number of them train at once.  A child of
 * fork may go on with one that no other thread was using.
 */
#ifndef DROVE_TRAINER_H
#define DROVE_TRAINER_H

#include <drove/arrays.h>
#include <drove/options.h>
#include <drove/status.h>

#pragma GCC visibility push(default) /* exported by the shared library */
#ifdef __cplusplus
extern "C" {
#endif

/* A model in training; opaque. */
typedef struct drove_trainer drove_trainer;

/* Of the options these count: model, a saved model (a file, the folder of a run, or a name in
 * memory); rule, lr and batch, not auto; weight_decay, clip, seed, isa.  The step size is constant.
 * Errors: DROVE_E_ARG (an option that is auto or has another range), DROVE_E_UNSUPPORTED (a model
 * of tables, mapped features, parts of images or batch normalisation; a schedule; a low precision),
 * those of drove_predictor_open. */
drove_status drove_trainer_open(const drove_options *options, drove_trainer **out);
void         drove_trainer_destroy(drove_trainer *trainer); /* NULL accepted */

/* Of a model of values with the squared loss: steps are then computed for the targets
 * (y - shift[k]) / scale[k], whose size a step size is usually meant for.  The models that
 * drove_trainer_model gives have the targets' own units all the same.  shift, scale: [n_values],
 * copied.  Once, before the first pass.  Errors: DROVE_E_SHAPE (n_values), DROVE_E_ARG (a scale
 * that is not above 0, a second call), DROVE_E_UNSUPPORTED (another loss, or a last layer that is
 * not affine), DROVE_E_NOMEM. */
drove_status drove_trainer_scale_targets(drove_trainer *trainer, const double *shift,
                                         const double *scale, size_t n_values);

/* Begins a pass over rows with targets such as the model was trained on; a pass that is under way
 * is given up.  The rows must stay as they are until the pass is over, given up, or the trainer
 * destroyed.  Errors: DROVE_E_SHAPE, DROVE_E_DATA (numbers that are not finite, other classes, no
 * weight above 0), DROVE_E_NOMEM. */
drove_status drove_trainer_begin(drove_trainer *trainer, const drove_arrays *rows);
/* Goes on with the pass for about most_seconds, at least one step: batches of the option batch, in
 * an order drawn by the seed and the number of steps before the pass.  *is_over: 1 after the last
 * batch, 0 before.
 * *loss: mean loss of the rows of this pass so far, each before its own step; of several values
 * with scales (drove_trainer_scale_targets) the sum of the scaled ones.  A step that is not
 * finite is not made.  Errors: DROVE_E_ARG (no pass is under way), DROVE_E_NONFINITE,
 * DROVE_E_NOMEM, those of a loss or layer of the program's own.  After a failure the pass is given
 * up, and the parameters are those after the last step; a program that wants those of before the
 * pass keeps drove_trainer_model and drove_trainer_state, and opens a trainer with them. */
drove_status drove_trainer_advance(drove_trainer *trainer, double most_seconds, int *is_over,
                                   double *loss);

/* The model as it is now: a file in memory, the caller's; its name with ".safetensors" at the end
 * is a model's.  Errors: DROVE_E_NONFINITE, DROVE_E_NOMEM. */
drove_status drove_trainer_model(const drove_trainer *trainer, drove_memory_file **out);

/* The rule's own numbers, such as momentum: state[*n_numbers], the trainer's, valid until its next
 * call; NULL for a rule without any.  *n_updates: steps made. */
const float *drove_trainer_state(const drove_trainer *trainer, size_t *n_numbers,
                                 uint64_t *n_updates);
/* Sets what another trainer of this model and rule had.  Errors: DROVE_E_SHAPE (n_numbers),
 * DROVE_E_NONFINITE. */
drove_status drove_trainer_set_state(drove_trainer *trainer, const float *state, size_t n_numbers,
                                     uint64_t n_updates);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
