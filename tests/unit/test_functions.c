// SPDX-License-Identifier: GPL-2.0-or-later
/* Hooks on functions where the kernel refuses the programs. */
#include "probes/functions.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "probes/kernel.h"
#include "suite.h"

/* They would be waited for else. */
START_TEST(refused_copies_are_a_failure)
{
	const struct kernel kernel = { 0 };
	int notice = eventfd(0, EFD_CLOEXEC);
	struct functions *functions;
	eventfd_t done;

	ck_assert_int_eq(functions_new(NULL, NULL, notice, &functions), 0);
	ck_assert_int_eq(functions_load(functions, &kernel, NULL), -EOPNOTSUPP);
	functions_want(functions, FUNCTIONS_ALL);
	eventfd_read(notice, &done);
	ck_assert_int_eq(functions_state(functions), FUNCTIONS_FAILED);
	ck_assert_uint_eq(functions_attached(functions), 0);
	functions_free(functions);
	close(notice);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, refused_copies_are_a_failure);
}

int main(void)
{
	return run_suite("functions", add);
}
