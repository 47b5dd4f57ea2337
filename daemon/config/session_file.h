/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NAME.session, the declaration of a session: a section [Session], whose keys are the options of `iotracectl start`
 * without dashes. See session_words.h. Main thread only.
 */
#pragma once

#include <stdbool.h>

#include "config/config.h"
#include "session_spec.h"

enum { SESSION_FILES_MAX = 256 }; /* in one folder */

/* Path of the folder with them: beside the configuration. */
void session_files_folder(const char *config, char folder[PATH_MAX]);

/*
 * Calls `found` for each file of the folder that is called NAME.session, in the order of their names: with its definition,
 * which it may take over and is released otherwise, or NULL where the file cannot be used. What is wrong goes to `critic`: a
 * sentence with file, line and key. A folder that is not there has none. Returns whether all files were found: what is not among
 * those that were may be declared otherwise.
 */
typedef void (*session_file_handler)(const char *name, struct iotr_session_spec *spec, void *userdata);
bool session_files_read(const char *folder, config_critic critic, session_file_handler found, void *userdata);

/* Whether the file at the path has a section [Session], and so is one of these. */
bool session_file_is(const char *path);

/*
 * Only looks at one such file, whatever it is called, as if a session of it were started. One that lies in a folder as the daemon
 * reads it must be as that demands of its owner and mode; any other may be anybody's.
 */
void session_file_check(const char *path, config_critic critic, void *userdata);
