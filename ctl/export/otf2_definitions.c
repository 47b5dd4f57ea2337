// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "export/otf2_internal.h"
#include "export/text.h"
#include "output/json.h"

#define TICKS_PER_SECOND 1000000000

/* Strings are numbered in the order in which they are written, each just before what refers to it. */
struct writer {
	struct otf2 *otf2;
	OTF2_GlobalDefWriter *to;
	uint32_t strings;
	int result; /* the first error */
};

static void take(struct writer *writer, OTF2_ErrorCode code)
{
	if (!writer->result)
		writer->result = otf2_result(writer->otf2, code);
}

static OTF2_StringRef put_string(struct writer *writer, const char *text)
{
	take(writer, OTF2_GlobalDefWriter_WriteString(writer->to, writer->strings, text));
	return writer->strings++;
}

static void put_machine(struct writer *writer)
{
	const struct otf2 *otf2 = writer->otf2;
	const char *host = text_of(member_of(otf2->manifest, "host"), "name", "machine");
	char valid[EXPORT_TEXT_MAX + 1];
	OTF2_StringRef name, class;

	export_text((struct trace_text){ host, strlen(host) }, valid);
	name = put_string(writer, valid);
	class = put_string(writer, "machine");
	take(writer, OTF2_GlobalDefWriter_WriteClockProperties(writer->to, TICKS_PER_SECOND, otf2->first_ns,
							       otf2->reached_ns - otf2->first_ns + 1, otf2->first_real_ns));
	take(writer, OTF2_GlobalDefWriter_WriteSystemTreeNode(writer->to, 0, name, class, OTF2_UNDEFINED_SYSTEM_TREE_NODE));
	take(writer, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer->to, 0, OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
	take(writer, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(writer->to, 0, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
}

static void put_attributes(struct writer *writer)
{
	static const struct {
		const char *name, *doc;
	} attributes[OTF2_ATTRIBUTE_COUNT] = {
		[OTF2_ATTRIBUTE_OFFSET] = { "offset", "bytes from the start of the file or disk" },
		[OTF2_ATTRIBUTE_PROCESS] = { "process", "PID of the process that caused the request" },
	};

	for (uint32_t i = 0; i < OTF2_ATTRIBUTE_COUNT; i++) {
		OTF2_StringRef name = put_string(writer, attributes[i].name), doc = put_string(writer, attributes[i].doc);

		take(writer, OTF2_GlobalDefWriter_WriteAttribute(writer->to, i, name, doc, OTF2_TYPE_UINT64));
	}
}

static void put_locations(struct writer *writer)
{
	const struct otf2 *otf2 = writer->otf2;

	for (size_t i = 0; i < otf2->groups.count && !writer->result; i++) {
		OTF2_StringRef name = put_string(writer, otf2->group_names[i]);

		take(writer, OTF2_GlobalDefWriter_WriteLocationGroup(writer->to, (uint32_t)i, name,
								     OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
								     OTF2_UNDEFINED_LOCATION_GROUP));
	}
	for (size_t i = 0; i < otf2->track_count && !writer->result; i++) {
		const struct otf2_track *track = &otf2->tracks[i];
		OTF2_StringRef name = put_string(writer, track->name);

		take(writer, OTF2_GlobalDefWriter_WriteLocation(writer->to, i, name, OTF2_LOCATION_TYPE_CPU_THREAD, track->events,
								track->group));
	}
}

static void put_files(struct writer *writer)
{
	static const char *const paradigms[OTF2_PARADIGM_COUNT][2] = {
		[OTF2_PARADIGM_FILES] = { "POSIX", "POSIX I/O" },
		[OTF2_PARADIGM_DISKS] = { "BLOCK", "block I/O" },
	};
	const struct otf2 *otf2 = writer->otf2;

	for (uint8_t i = 0; i < OTF2_PARADIGM_COUNT; i++) {
		OTF2_StringRef word = put_string(writer, paradigms[i][0]), name = put_string(writer, paradigms[i][1]);

		take(writer, OTF2_GlobalDefWriter_WriteIoParadigm(writer->to, i, word, name, OTF2_IO_PARADIGM_CLASS_SERIAL,
								  OTF2_IO_PARADIGM_FLAG_OS, 0, NULL, NULL, NULL));
	}
	for (uint32_t i = 0; i < otf2->handles.count && !writer->result; i++) {
		OTF2_StringRef name = put_string(writer, otf2->handles.texts[i] + 1); /* behind the kind */

		take(writer, OTF2_GlobalDefWriter_WriteIoRegularFile(writer->to, i, name, 0));
		/* Open since before the first event, as many a file is: its handle stands for all descriptors of the file. */
		take(writer, OTF2_GlobalDefWriter_WriteIoHandle(writer->to, i, name, i, otf2->paradigms[i],
								OTF2_IO_HANDLE_FLAG_PRE_CREATED, OTF2_UNDEFINED_COMM,
								OTF2_UNDEFINED_IO_HANDLE));
		take(writer, OTF2_GlobalDefWriter_WriteIoPreCreatedHandleState(writer->to, i, OTF2_IO_ACCESS_MODE_READ_WRITE,
									       OTF2_IO_STATUS_FLAG_NONE));
	}
}

/* Readers look for a file of definitions for each location, though what it could have is in the one for all. */
static int write_local(struct otf2 *otf2)
{
	int r = otf2_result(otf2, OTF2_Archive_OpenDefFiles(otf2->archive));

	for (size_t i = 0; i < otf2->track_count && !r; i++) {
		OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(otf2->archive, i);

		r = otf2_result(otf2, writer ? OTF2_Archive_CloseDefWriter(otf2->archive, writer) : OTF2_ERROR_MEM_ALLOC_FAILED);
	}
	return r ? r : otf2_result(otf2, OTF2_Archive_CloseDefFiles(otf2->archive));
}

int otf2_definitions_write(struct otf2 *otf2)
{
	struct writer writer = { .otf2 = otf2, .to = OTF2_Archive_GetGlobalDefWriter(otf2->archive) };

	if (!writer.to)
		return otf2_result(otf2, OTF2_ERROR_MEM_ALLOC_FAILED);
	put_string(&writer, "");
	put_machine(&writer);
	put_attributes(&writer);
	put_locations(&writer);
	put_files(&writer);
	take(&writer, OTF2_Archive_CloseGlobalDefWriter(otf2->archive, writer.to));
	return writer.result ? writer.result : write_local(otf2);
}
