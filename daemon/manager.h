/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon as a whole: configuration, lock, engine, control socket, signals, and the loop they
 * share. Main thread only. What fails is logged here; callers only need to know that it did.
 */
#pragma once

/* From the command line; NULL: not given. */
struct manager_options {
	const char *runtime_dir;
	const char *log_dir;
	const char *state_dir;
	const char *config;
	const char *level;
};

struct manager;

/* The options are borrowed for the manager's life. */
int manager_new(const struct manager_options *options, struct manager **ret);
/* Until a signal ends it. */
int manager_run(struct manager *manager);
/* Ends every session, removes the socket. Takes NULL and what is half built. */
void manager_free(struct manager *manager);
