// SPDX-License-Identifier: GPL-2.0-or-later
#include "segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"
#include "inside.h"

static int write_header(struct segment *segment, const char *header, size_t size)
{
	int error;

	if (segment_write(segment, header, size, 0, &error) != size)
		return error;
	segment_accept(segment, header, size);
	return 0;
}

static void part_name(const struct segment *segment, char part[SEGMENT_FILE_MAX])
{
	snprintf(part, SEGMENT_FILE_MAX, "%s%s", segment->name, segment_endings[SEGMENT_PART]);
}

static int create(struct segment *segment, int folder_fd, const struct segment_kind *kind)
{
	char part[SEGMENT_FILE_MAX];
	int error;

	part_name(segment, part);
	segment->fd = inside_create(folder_fd, part, O_WRONLY);
	if (segment->fd < 0)
		return segment->fd;
	error = write_header(segment, kind->header, kind->header_size);
	if (error < 0)
		unlinkat(folder_fd, part, 0);
	return error;
}

int segment_new(int folder_fd, const struct segment_kind *kind, unsigned int number,
		struct segment **ret)
{
	struct segment *segment = calloc(1, sizeof(*segment));
	int error;

	if (!segment)
		return -ENOMEM;
	segment->fd = -1;
	segment->number = number;
	segment->first_ns = segment->first_realtime_ns = UINT64_MAX;
	segment_name_format(segment->name, kind->folder, number, kind->format);
	segment->checksum = XXH3_createState();
	error = segment->checksum && !XXH3_128bits_reset(segment->checksum) ? create(segment, folder_fd, kind) : -ENOMEM;
	if (error < 0) {
		segment_free(segment);
		return error;
	}
	*ret = segment;
	return 0;
}

void segment_free(struct segment *segment)
{
	if (!segment)
		return;
	if (segment->fd >= 0)
		close(segment->fd);
	XXH3_freeState(segment->checksum);
	free(segment->text);
	free(segment);
}

void segment_changed(struct segment *segment)
{
	free(segment->text);
	segment->text = NULL;
}

void segment_lost(struct segment *segment, enum iotr_removal limit)
{
	segment->removed = true;
	segment->limit = limit;
	segment_changed(segment);
}

void segment_remove(const struct segment *segment, int folder_fd)
{
	char part[SEGMENT_FILE_MAX];

	part_name(segment, part);
	unlinkat(folder_fd, segment->closed ? segment->name : part, 0);
}

size_t segment_write(struct segment *segment, const char *data, size_t size, uint64_t offset, int *error)
{
	return write_behind_put(&segment->behind, segment->fd, data, size, offset, error);
}

size_t segment_write_blocks(struct segment *segment, const char *data, size_t size, uint64_t offset,
			    int *error)
{
	return write_behind_put_blocks(&segment->behind, segment->fd, data, size, offset, error);
}

void segment_accept(struct segment *segment, const char *data, size_t size)
{
	XXH3_128bits_update(segment->checksum, data, size);
	segment->bytes += size;
}

/* The result does not matter: the next write begins at the same place, and closing cuts again. */
void segment_trim(struct segment *segment)
{
	if (ftruncate(segment->fd, (off_t)segment->bytes) < 0)
		return;
}

int segment_close(struct segment *segment, int folder_fd)
{
	char part[SEGMENT_FILE_MAX];
	int error;

	part_name(segment, part);
	if (ftruncate(segment->fd, (off_t)segment->bytes) < 0)
		return -errno;
	error = write_behind_end(&segment->behind, segment->fd);
	if (error < 0)
		return error;
	if (renameat(folder_fd, part, folder_fd, segment->name) < 0)
		return -errno;
	close(segment->fd);
	segment->fd = -1;
	xxh128_hex(segment->checksum, segment->xxh128);
	XXH3_freeState(segment->checksum);
	segment->checksum = NULL;
	segment->closed = true;
	segment_changed(segment);
	return 0;
}
