/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An error with a sentence for the user, beside the negative errno that a function returns. Any thread. */
#pragma once

/* What failed: `parameter` is the name of the Start parameter at fault, or "". */
struct engine_error {
	char parameter[64];
	char message[512];
};

/* Fills in the error and returns `r`; a NULL message leaves the present one as it is. */
int engine_fail(struct engine_error *error, int r, const char *parameter, const char *message);
