/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as a whole: configuration, lock, engine, control socket, signals, and the loop they
 * share. Main thread only. What fails is logged here; callers only need to know that it did.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

/* From the command line; "": the option was not given. */
struct manager_options {
	char runtime_dir[PATH_MAX];
	char log_dir[PATH_MAX];
	char state_dir[PATH_MAX];
	char config[PATH_MAX];
	const char *level; /* NULL: auto */
};

struct manager;

/* The options must outlive the manager. */
int manager_new(const struct manager_options *options, struct manager **ret);
/* Runs the loop until a signal ends it. */
int manager_run(struct manager *manager);
/*
 * Ends every session, removes the socket. Takes NULL and a partly initialised manager. False: see
 * engine_free().
 */
bool manager_free(struct manager *manager);
