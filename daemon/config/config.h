/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * iotracerd.conf and its drop-ins, FILE.d/NAME.conf in the order of their names: INI as systemd reads it. What
 * cannot be understood is logged with file and line and ignored. Main thread only.
 *
 * Only a regular file of at most 64 KiB is read that belongs to root or to the daemon's user and that nobody
 * else may write. For any other main file the result is -EPERM, and the log says why. A drop-in that is
 * refused is skipped; the others apply.
 */
#pragma once

#include <limits.h>
#include <netinet/in.h>
#include <stdbool.h>

#include "anonymize_key.h"
#include "config/config_file.h"
#include "protocol.h"
#include "session_spec.h"
#include "system_rules.h"
#include "units.h"

#define CONFIG_PATH	 "/etc/iotracer/iotracerd.conf"
#define CONFIG_LOG_DIR	 IOTR_LOG_DIR
#define CONFIG_STATE_DIR IOTR_STATE_DIR

/* Where numbers for Prometheus are told. */
struct config_metrics {
	struct sockaddr_in listen; /* of this machine alone; port 0: nothing listens */
	char text_file[PATH_MAX];  /* "": no file */
	uint64_t interval_ns;	   /* between two writings of the file */
};

struct config {
	int log_level; /* LOG_ERR ... LOG_DEBUG */
	char runtime_dir[PATH_MAX];
	char log_dir[PATH_MAX];
	char state_dir[PATH_MAX];
	struct iotr_snapshots snapshots; /* for sessions that do not specify their own */
	char country[3];		 /* two letters; "": derived from the time zone */
	bool resume; /* sessions continue after a restart of the daemon */
	struct iotr_share max_use;   /* limit for all traces in the log folder together, of its file system */
	struct iotr_share keep_free; /* bytes that stay free on that file system */
	uint64_t ring_size;  /* bytes of each row ring, a power of two; 0: by the number of CPUs */
	uint64_t queue_size; /* bytes of the rows of a session that wait for its disk */
	bool counting; /* layers are counted all the time, not only while somebody asks for amplification */
	struct config_metrics metrics;
	struct system_rules systems; /* storage systems that are recognised besides those that are built in */
};

/* Sets the defaults, then applies the files. A missing file is an error (-ENOENT) only if `required`. */
int config_load(const char *path, bool required, struct config *config);

/*
 * The same of a main file that decides or is only looked at, but what cannot be understood goes to `critic` instead of the log: one
 * sentence for each finding, with file and line.
 */
enum config_finding {
	CONFIG_UNKNOWN, /* an unknown section or key */
	CONFIG_WRONG,	/* a value or a drop-in that cannot be used and is ignored */
	CONFIG_REFUSED, /* the main file is refused and not read, which is also an error */
	CONFIG_LATER,	/* a value that the daemon takes up when it starts next */
};
typedef void (*config_critic)(enum config_finding finding, const char *sentence, void *userdata);
int config_examine(const char *path, bool required, enum config_use use, struct config *config, config_critic critic,
		   void *userdata);

/*
 * The same, and each assignment that was understood goes to `listener`, in the order in which they apply: of a
 * setting the last one holds, and an empty value stands for the default; rules of a storage system add up. The
 * texts are the reader's, and valid during the call.
 */
typedef void (*config_listener)(const char *section, const char *key, const char *value, const char *path,
				unsigned line, void *userdata);
int config_follow(const char *path, bool required, struct config *config, config_critic critic,
		  config_listener listener, void *userdata);

/* Tells of each setting of `fresh` that differs from what is in force and is taken up by a start alone. */
void config_tell_later(const struct config *in_force, const struct config *fresh, config_critic critic, void *userdata);
