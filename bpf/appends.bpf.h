/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a file is open, as far as it changes what an operation on it does. */
#pragma once

#include "iotracer.bpf.h"

#define O_APPEND     02000
#define RWF_APPEND   0x10
#define RWF_NOAPPEND 0x20

/* Whether a write goes to the end of its file whatever its offset is. `flags` are RWF_*. */
static __always_inline bool appends(const struct iotr_file *file, __u32 flags)
{
	return flags & RWF_APPEND || (file->flags & O_APPEND && !(flags & RWF_NOAPPEND));
}
