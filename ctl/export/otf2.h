/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An archive of the Open Trace Format 2: reads, writes and what was synchronised as IoOperationBegin and IoOperationComplete,
 * of files by the thread that did them, of disks by disk, whichever CPU they ended on. The bytes of a Begin are those asked
 * for, of a Complete those done; what failed has done none. One thread.
 */
#pragma once

#include <json-c/json.h>

#include "export/sink.h"

enum {
	OTF2_TRACKS_MAX = 1 << 14, /* locations, each of which is a file */
	OTF2_FILES_MAX = 1 << 18,
	OTF2_OPEN_MAX = 1024, /* locations that are written to at once, each with 256 KiB at most */
};

/*
 * Into this folder, which is empty. `manifest`: of the trace. Both are borrowed. NULL: out of memory, or the library cannot
 * begin an archive there.
 */
struct export_sink *otf2_new(const char *folder, struct json_object *manifest);
