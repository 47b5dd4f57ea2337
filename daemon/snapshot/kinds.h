/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The kinds of snapshots, each in a file of its own. */
#pragma once

#include "job.h"

extern const struct job_kind job_filesystem, job_process, job_system;
extern const struct job_kind *const job_kinds[SNAPSHOT_KIND_COUNT];
