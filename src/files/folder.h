/* files/folder.h - the folder of --out: who owns it, and what earlier runs left in it.
 *
 * A run owns its folder by a lock on the folder itself (flock), which ends with its last process,
 * however that ends; there is no lock file to be left behind.  Over NFS the lock holds between
 * machines where the server has locks for folders; where a file system has none, the run says so.
 *
 * A folder with a state is a run that --resume goes on with.  One without is new, or was left by a
 * run that ended before its first save: it can be used again, by the same command or by --resume.
 *
 * Threads: the caller's of drove_train, rank 0 alone.
 */
#ifndef DROVE_FILES_FOLDER_H
#define DROVE_FILES_FOLDER_H

#include "values/values.h"

#define DROVE_STATE_NAME          "state.safetensors"
#define DROVE_STATE_PREVIOUS_NAME "state.previous.safetensors"

/* Is path the name of a file that a run writes into its folder? */
bool drove__folder_writes(const char *folder, const char *path);
/* Checks that --out could be used, before anything is computed.  Errors: DROVE_E_EXISTS (a file,
 * another run's folder, or other files in it). */
drove_status drove__folder_check(const drove_config *config);
/* Locks a folder that exists, for as long as *lock - 1, a descriptor, is open; errors name the
 * option that it comes from.  *lock 0 with DROVE_OK: the file system has no locks, and *error is
 * the system's reason.  Errors: DROVE_E_EXISTS (in use), DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__folder_lock(const char *option, const char *folder, int *lock, int *error);
/* --resume of a run that ended before its first save: becomes a new run into the same folder.
 * Errors: DROVE_E_FILE, DROVE_E_IO (a folder that cannot be read). */
drove_status drove__folder_begin_again(const drove_config *config, drove_output *output,
                                       drove_choice *choice);
/* Locks a folder for this run; NULL: there is none.  Of --resume before anything of it is read.
 * Errors: DROVE_E_EXISTS (another run is using it), DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__folder_claim(const char *option, const char *folder, drove_output *output);
/* Makes the folder; chooses another number where that of --out auto is taken by now.  Errors:
 * DROVE_E_EXISTS, DROVE_E_FILE, DROVE_E_IO. */
drove_status drove__folder_make(const drove_config *config, drove_choice *choice);
/* Locks the folder that was made, and takes away what a killed run left.  Errors: as of both. */
drove_status drove__folder_open(const drove_config *config, drove_output *output);
/* The last state becomes the previous one; both names have a state until the next is written.
 * Errors: DROVE_E_IO. */
drove_status drove__folder_keep_state(const drove_config *config);
/* Gives the folder free. */
void drove__folder_close(drove_output *output);

/* A folder may come from somebody else: a file in it that is a link would be written outside it.
 * fd: the folder, open.  Errors: DROVE_E_EXISTS. */
drove_status drove__folder_refuse_link(const char *folder, int fd, const char *name);
/* A file or folder that was just made keeps its name after a power cut: syncs the folder that it is
 * in, where the file system can. */
void drove__folder_keep_name(const char *path);

#endif
