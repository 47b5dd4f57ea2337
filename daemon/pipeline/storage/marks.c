// SPDX-License-Identifier: GPL-2.0-or-later
/* Marks of removals, which are there before the segment goes and until the manifest tells of it: see segment_mark.h. */
#include "storage_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inside.h"
#include "schema.h"

/* Where there is no room for a mark, or no memory, the segment goes all the same, as it makes some. */
void mark_make(struct trace *trace, int folder, const struct kept *kept)
{
	struct mark *mark = kept->limit == IOTR_REMOVAL_UNRECORDED ? NULL : calloc(1, sizeof(*mark));
	int fd;

	if (!mark)
		return;
	mark->stream = kept->stream;
	mark->number = kept->number;
	segment_mark_format(mark->name, kept->name, kept->rows, kept->text, kept->limit);
	fd = inside_create(folder, mark->name, O_WRONLY);
	if (fd < 0) {
		free(mark);
		return;
	}
	close(fd);
	pthread_mutex_lock(&trace->storage->lock);
	SLIST_INSERT_HEAD(&trace->marks, mark, entry);
	pthread_mutex_unlock(&trace->storage->lock);
}

int mark_add(struct trace *trace, const char *file, const struct segment_mark *found, enum iotr_stream stream)
{
	struct kept *kept = calloc(1, sizeof(*kept));
	struct mark *mark = calloc(1, sizeof(*mark));

	if (!kept || !mark) {
		free(kept);
		free(mark);
		return -ENOMEM;
	}
	*mark = (struct mark){ .stream = stream, .number = found->segment.number };
	strcpy(mark->name, file);
	SLIST_INSERT_HEAD(&trace->marks, mark, entry);
	kept->state = KEPT_REMOVED;
	kept->stream = stream;
	kept->number = found->segment.number;
	kept->limit = found->limit;
	kept_note(trace, kept);
	return 0;
}

void marks_move(struct trace *to, struct trace *from)
{
	struct mark *mark;

	while ((mark = SLIST_FIRST(&from->marks))) {
		SLIST_REMOVE_HEAD(&from->marks, entry);
		SLIST_INSERT_HEAD(&to->marks, mark, entry);
	}
}

/* Takes those that were told out of the list, or all. */
static void take_told(struct trace *trace, bool all, struct mark_list *ret)
{
	struct mark *mark, *next;
	struct mark_list rest = SLIST_HEAD_INITIALIZER(rest);

	SLIST_INIT(ret);
	pthread_mutex_lock(&trace->storage->lock);
	for (mark = SLIST_FIRST(&trace->marks); mark; mark = next) {
		next = SLIST_NEXT(mark, entry);
		if (all || mark->told)
			SLIST_INSERT_HEAD(ret, mark, entry);
		else
			SLIST_INSERT_HEAD(&rest, mark, entry);
	}
	trace->marks = rest;
	pthread_mutex_unlock(&trace->storage->lock);
}

static void remove_file(const struct trace *trace, const struct mark *mark)
{
	int folder = trace_open_stream(trace, mark->stream);

	if (folder < 0)
		return;
	unlinkat(folder, mark->name, 0);
	close(folder);
}

void marks_remove(struct trace *trace, bool all)
{
	const struct rights *before;
	struct mark_list told;
	struct mark *mark;

	take_told(trace, all, &told);
	if (SLIST_EMPTY(&told))
		return;
	before = rights_use(trace_rights(trace));
	while ((mark = SLIST_FIRST(&told))) {
		SLIST_REMOVE_HEAD(&told, entry);
		remove_file(trace, mark);
		free(mark);
	}
	rights_use(before);
}

void trace_told(struct trace *trace)
{
	if (trace)
		marks_remove(trace, false);
}
