/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as a whole: configuration, lock, engine, control socket, signals, and the loop they
 * share. Main thread only. What fails is logged here; callers only need to know that it did.
 */
#pragma once

#include <limits.h>

/* From the command line; "" is not given. */
struct manager_options {
	char runtime_dir[PATH_MAX];
	char log_dir[PATH_MAX];
	char state_dir[PATH_MAX];
	char config[PATH_MAX];
	const char *level; /* NULL: auto */
};

struct manager;

/* The options are borrowed for the manager's life. */
int manager_new(const struct manager_options *options, struct manager **ret);
/* Until a signal ends it. */
int manager_run(struct manager *manager);
/* Ends every session, removes the socket. Takes NULL and what is half built. */
void manager_free(struct manager *manager);
