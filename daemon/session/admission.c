// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/admission.h"

#include <errno.h>
#include <stdio.h>

#include "probes/control_page.h"
#include "schema.h"
#include "session/descriptors.h"
#include "spec/filter_fit.h"

int admission_check_filters(const struct iotr_session_spec *spec, struct engine_error *error)
{
	struct filter_error why;
	int r = filter_fit_sample(spec, error);

	if (r < 0)
		return r;
	r = control_page_check(spec, &why);
	return r < 0 ? engine_fail(error, r, why.parameter, why.message) : 0;
}

static bool stream_possible(const struct probes *probes, enum iotr_stream stream)
{
	const char *reason;

	for (unsigned int i = 0; i < iotr_schemas[stream].operation_count; i++)
		if (probes_hook(probes, stream, i, &reason))
			return true;
	return false;
}

int admission_check_hooks(const struct probes *probes, const struct iotr_session_spec *spec, struct engine_error *error)
{
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		if (spec->streams >> stream & 1 && stream_possible(probes, stream))
			return 0;
	if (probes_lacked_memory(probes))
		return engine_fail(error, -ENOMEM, "",
				   "there was no memory to load the BPF programs of these streams: start the daemon again");
	return engine_fail(error, -EOPNOTSUPP, "streams",
			   probes_kernel(probes)->refusal ?: "the kernel refuses the hooks of these streams");
}

int admission_check(const struct iotr_session_spec *spec, struct engine_error *error)
{
	int r = admission_check_filters(spec, error);

	return r < 0 ? r : descriptors_check(spec->flight_recorder ? 0 : spec->streams, error);
}
