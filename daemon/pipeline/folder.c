// SPDX-License-Identifier: GPL-2.0-or-later
#include "folder.h"

#include <string.h>
#include <unistd.h>

#include "tree.h"

int folder_open(const struct folder_request *request, char path[PATH_MAX], struct engine_error *error)
{
	const struct rights *own = rights_use(request->rights);
	int fd;

	if (request->named[0]) {
		memmove(path, request->named, strlen(request->named) + 1);
		fd = output_create(path, request->maker, error->message, sizeof(error->message));
	} else {
		fd = output_create_default(request->log_dir, request->name, request->time, path, request->maker,
					   error->message, sizeof(error->message));
	}
	rights_use(own);
	return fd < 0 ? engine_fail(error, fd, "output", NULL) : fd;
}

void folder_remove(const char *path, const struct rights *rights)
{
	const struct rights *own = rights_use(rights);

	tree_rmdir(path);
	rights_use(own);
}

int folder_trace(struct storage *storage, const struct trace_config *config, struct trace **ret,
		 struct engine_error *error)
{
	int r = storage_add(storage, config, ret);

	return r < 0 ? engine_fail(error, r, "", "out of memory") : 0;
}
