// SPDX-License-Identifier: GPL-2.0-or-later
/* Filters of sessions: checks whether they are valid. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cleanup.h"
#include "engine_internal.h"
#include "engine_resume.h"
#include "log.h"
#include "probes/control_page.h"
#include "schema.h"
#include "spec/definition.h"

int filters_fail(struct engine_error *error, int r, const struct filter_error *why)
{
	return engine_fail(error, r, why->parameter, why->message);
}

static int check_sample(const struct iotr_session_spec *spec, struct engine_error *error)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->sample[stream] && !(spec->streams >> stream & 1)) {
			snprintf(error->message, sizeof(error->message), "the session has no stream '%s'",
				 iotr_schemas[stream].flag);
			return engine_fail(error, -EINVAL, "sample", NULL);
		}
	return 0;
}

int filters_check(const struct iotr_session_spec *spec, struct engine_error *error)
{
	struct filter_error why;
	int r = check_sample(spec, error);

	if (r < 0)
		return r;
	r = control_page_check(spec, &why);
	return r < 0 ? filters_fail(error, r, &why) : 0;
}
