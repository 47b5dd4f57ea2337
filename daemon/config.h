/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * iotracerd.conf and its drop-ins, FILE.d/NAME.conf in the order of their names: INI as systemd
 * reads it. What cannot be understood is logged with file and line and ignored. Main thread only.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>

#include "anonymize_key.h"
#include "units.h"
#include "session.h"

#define CONFIG_PATH	 "/etc/iotracer/iotracerd.conf"
#define CONFIG_LOG_DIR	 "/var/log/iotracer"
#define CONFIG_STATE_DIR IOTR_STATE_DIR

struct config {
	int log_level; /* LOG_ERR ... LOG_DEBUG */
	char runtime_dir[PATH_MAX];
	char log_dir[PATH_MAX];
	char state_dir[PATH_MAX];
	struct iotr_snapshots snapshots; /* of sessions that do not say */
	char country[3];		 /* two letters; "": from the time zone */
	bool resume; /* sessions go on after the daemon's end */
	struct iotr_share max_use;   /* of the log folder's file system, by all traces in it */
	struct iotr_share keep_free; /* of it, by whatever */
};

/* The defaults, then what the files say. A file that is not there is -ENOENT only if `required`. */
int config_load(const char *path, bool required, struct config *config);
