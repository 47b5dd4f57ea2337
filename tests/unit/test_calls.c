// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/calls.h"

#include "suite.h"

/*
 * The programs of plain calls have what the table says of them as constants, and would record another call wrongly that is
 * marked so.
 */
START_TEST(plain_calls_are_alike)
{
	unsigned int plain = 0;

	for (size_t i = 0; i < call_count; i++) {
		const struct iotr_call *row = &calls[i].row;
		struct iotr_call due = IOTR_PLAIN_CALL(row->traits, row->operation);

		if (!(row->traits & IOTR_CALL_PLAIN))
			continue;
		plain++;
		due.stream = row->stream;
		ck_assert_mem_eq(row, &due, sizeof(due));
	}
	ck_assert_uint_gt(plain, 0);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, plain_calls_are_alike);
}

int main(void)
{
	return run_suite("calls", add);
}
