// SPDX-License-Identifier: GPL-2.0-or-later
/* The files of one stream's segments that a killed daemon left. */
#include "recover_private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"

DEFINE_CLEANUP(DIR *, closedir);

int recover_compare(const char *one, const char *other)
{
	size_t length = strlen(one), size = strlen(other);

	return length == size ? strcmp(one, other) : length < size ? -1 : 1;
}

static int compare(const void *a, const void *b)
{
	const struct recover_files *one = a, *other = b;

	return recover_compare(one->name, other->name);
}

static int add_file(struct recover_listing *listing, const struct segment_name *segment)
{
	struct recover_files *file;

	if (listing->count == listing->capacity) {
		size_t capacity = listing->capacity ? 2 * listing->capacity : 64;
		struct recover_files *files = reallocarray(listing->files, capacity, sizeof(*files));

		if (!files)
			return -ENOMEM;
		listing->files = files;
		listing->capacity = capacity;
	}
	file = &listing->files[listing->count++];
	strcpy(file->name, segment->name);
	file->endings = 1U << segment->ending;
	return 0;
}

static int add_mark(struct recover_listing *listing, const struct segment_mark *mark)
{
	struct segment_mark *marks = reallocarray(listing->marks, listing->mark_count + 1, sizeof(*marks));

	if (!marks)
		return -ENOMEM;
	listing->marks = marks;
	listing->marks[listing->mark_count++] = *mark;
	return 0;
}

const struct segment_mark *recover_find_mark(const struct recover_listing *listing, unsigned int number)
{
	for (size_t i = 0; i < listing->mark_count; i++)
		if (listing->marks[i].segment.number == number)
			return &listing->marks[i];
	return NULL;
}

void recover_forget_marks(int folder_fd, const char *name)
{
	int fd = inside_folder(folder_fd, name);
	_cleanup_(closedirp) DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!folder && fd >= 0)
		close(fd);
	while (folder && (entry = readdir(folder))) {
		struct segment_mark mark;

		if (segment_mark_parse(name, entry->d_name, &mark))
			unlinkat(dirfd(folder), entry->d_name, 0);
	}
}

/* Several files of one segment become one entry. */
static void join(struct recover_listing *listing)
{
	size_t kept = 0;

	if (!listing->count)
		return;
	qsort(listing->files, listing->count, sizeof(*listing->files), compare);
	for (size_t i = 1; i < listing->count; i++) {
		struct recover_files *last = &listing->files[kept], *file = &listing->files[i];

		if (strcmp(last->name, file->name)) {
			listing->files[++kept] = *file;
			continue;
		}
		last->endings |= file->endings;
	}
	listing->count = kept + 1;
}

int recover_list(const struct recover_stream *stream, struct recover_listing *ret)
{
	_cleanup_close_ int fd = openat(stream->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *folder = NULL;
	const struct dirent *entry;
	int r = 0;

	folder = fd < 0 ? NULL : fdopendir(fd);
	if (!folder)
		return -errno;
	take_fd(&fd);
	while (r >= 0 && (entry = readdir(folder))) {
		struct segment_name segment;
		struct segment_mark mark;

		if (segment_mark_parse(stream->folder, entry->d_name, &mark))
			r = add_mark(ret, &mark);
		else if (!segment_name_parse(stream->folder, entry->d_name, &segment))
			continue;
		else if (segment.ending == SEGMENT_PACKED_PART)
			unlinkat(stream->fd, entry->d_name, 0);
		else
			r = add_file(ret, &segment);
	}
	join(ret);
	return r;
}

bool recover_is_listed(const struct recover_listing *listing, const char *name)
{
	struct recover_files key;

	strcpy(key.name, name);
	return listing->count && bsearch(&key, listing->files, listing->count, sizeof(key), compare);
}
