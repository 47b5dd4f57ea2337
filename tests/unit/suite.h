/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The end of every test program: runs its cases. */
#pragma once

#include <check.h>
#include <stdlib.h>

/*
 * Check notes where each assertion stands that held, so as to tell it after a crash, and writes to a file for that: a million
 * times in tests of very many rows. A crash is told by the name of its test alone, and by sanitizers with its stack.
 */
#define _mark_point(file, line) ((void)0)

/*
 * How often something is tried that is tried very often. Sanitizers look at memory, and a tenth shows that; what else there is
 * to see the programs without them show.
 */
#ifdef __SANITIZE_ADDRESS__
#define OFTEN(count) ((count) / 10)
#else
#define OFTEN(count) (count)
#endif

static inline int run_suite(const char *name, void (*add)(TCase *tests))
{
	Suite *suite = suite_create(name);
	TCase *tests = tcase_create(name);
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 300); /* until a wait counts as failed; a busy machine is slow */
	add(tests);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
