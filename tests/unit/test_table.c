// SPDX-License-Identifier: GPL-2.0-or-later
#include "table.h"

#include <stdbool.h>

#include "suite.h"

enum {
	KEYS = 4096,
};

static uint64_t random_of(uint64_t *state)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return *state >> 33;
}

/* Keys in clusters and far apart, which a table with wrong probing would lose. */
static uint64_t key_of(unsigned int number)
{
	return number % 2 ? number : (uint64_t)number << 45;
}

START_TEST(holds_what_a_plain_array_holds)
{
	static char present[KEYS];
	struct table table;
	uint64_t state = 1;

	ck_assert_int_eq(table_init(&table), 0);
	for (int step = 0; step < 200000; step++) {
		unsigned int number = (unsigned int)(random_of(&state) % KEYS);

		if (random_of(&state) % 2) {
			ck_assert_int_eq(table_set(&table, key_of(number), &present[number]), 0);
			present[number] = 1;
		} else {
			table_remove(&table, key_of(number));
			present[number] = 0;
		}
	}
	for (unsigned int number = 0; number < KEYS; number++) {
		void *value = table_get(&table, key_of(number));

		ck_assert_ptr_eq(value, present[number] ? &present[number] : NULL);
	}
	table_done(&table);
}
END_TEST

START_TEST(replaces_a_value)
{
	struct table table;
	int first, second;

	ck_assert_int_eq(table_init(&table), 0);
	table_set(&table, 0, &first);
	table_set(&table, 0, &second);
	ck_assert_ptr_eq(table_get(&table, 0), &second);
	ck_assert_uint_eq(table.count, 1);
	table_remove(&table, 7);
	ck_assert_uint_eq(table.count, 1);
	table_done(&table);
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, holds_what_a_plain_array_holds);
	tcase_add_test(tests, replaces_a_value);
}

int main(void)
{
	return run_suite("table", add);
}
