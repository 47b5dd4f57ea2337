/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Single values of filters from their words: for who starts a session, and for who looks for rows in a trace. Each
 * returns 0, or -EINVAL and a sentence for the user in `message`. One thread, as the database of users is not for more.
 */
#pragma once

#include <stdint.h>

#include "session_spec.h"

enum { FILTER_MESSAGE_SIZE = 512 };

/* The name of a command: at most so long as the kernel keeps it. */
int filter_value_command(const char *name, char message[FILTER_MESSAGE_SIZE]);

/* A user by name, or by number, which no database needs to contain. */
int filter_value_user(const char *name, uint32_t *uid, char message[FILTER_MESSAGE_SIZE]);

/* MAJOR:MINOR, which is used as it is, or the path of a block device; as major << 20 | minor. */
int filter_value_device(const char *text, uint32_t *device, char message[FILTER_MESSAGE_SIZE]);

/* A path relative to the mount point of cgroup v2, or as in /proc/PID/cgroup. */
int filter_value_cgroup(const char *path, char message[FILTER_MESSAGE_SIZE]);

/* The name of a unit; one without an ending is a service. */
int filter_value_unit(const char *name, char unit[IOTR_UNIT_MAX + 1], char message[FILTER_MESSAGE_SIZE]);

/* An absolute path. */
int filter_value_path(const char *path, char message[FILTER_MESSAGE_SIZE]);
