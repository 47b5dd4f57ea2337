/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What both files of this format share. */
#pragma once

#include <otf2/otf2.h>

#include "export/names.h"
#include "export/otf2.h"
#include "export/pending.h"

enum { OTF2_NAME_SIZE = 96 }; /* a command with all of its 15 bytes escaped, and a number */

/* A thread or a disk, or what came of it after its location was closed for others. */
struct otf2_track {
	char name[OTF2_NAME_SIZE];
	uint32_t group;
	uint64_t events;
};

/* Attributes of a Begin. */
enum otf2_attribute { OTF2_ATTRIBUTE_OFFSET, OTF2_ATTRIBUTE_PROCESS, OTF2_ATTRIBUTE_COUNT };

enum otf2_paradigm { OTF2_PARADIGM_FILES, OTF2_PARADIGM_DISKS, OTF2_PARADIGM_COUNT };

struct otf2 {
	struct export_sink sink;
	struct json_object *manifest;
	OTF2_Archive *archive;
	OTF2_AttributeList *attributes;
	/* By what they are of; numbers of handles are those of files, too. */
	struct export_names threads, groups, handles;
	uint8_t *paradigms;   /* of each handle */
	char (*group_names)[OTF2_NAME_SIZE];
	size_t paradigm_room, group_room;
	uint32_t *current; /* of each thread or disk: its track and 1 */
	size_t current_room;
	struct otf2_track *tracks;
	size_t track_count, track_room;
	struct otf2_writer {
		OTF2_EvtWriter *writer;
		uint32_t track, owner;
		uint64_t used; /* number of the operation */
		size_t pending;
	} open[OTF2_OPEN_MAX];
	size_t open_count;
	struct pending_list pending;
	bool begun;
	uint64_t first_ns, reached_ns, first_real_ns;
	uint64_t number;
	uint64_t count[3], bytes[3]; /* by mode */
	uint64_t other, late;
};

/* What the code of the library means: 0, or an error with its message in the sink. */
int otf2_result(struct otf2 *otf2, OTF2_ErrorCode code);

/* After all events: writes what they refer to. */
int otf2_definitions_write(struct otf2 *otf2);
