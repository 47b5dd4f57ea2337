/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and writes of calls and of disks, by command, as computed from rows of vfs and block. One thread. */
#pragma once

#include "report/gather.h"

struct json_object;

/* `most`: so many commands, those with the most bytes; the others are one. The caller owns it; NULL: out of memory. */
struct json_object *groups_object(const struct gathered *gathered, const struct summary *summary, size_t most);
