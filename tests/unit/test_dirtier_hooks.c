// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "probes/dirtier_hooks.h"
#include "suite.h"

static struct dirtier_lack lacks[DIRTIER_LACKS];

/* Whether it is one of the programs in a list that ends with NULL. */
static bool is_loaded(const char *program, const void *userdata)
{
	for (const char *const *at = userdata; *at; at++)
		if (!strcmp(*at, program))
			return true;
	return false;
}

START_TEST(either_hook_will_do)
{
	static const char *const old[] = { "dirty_page", "journal_handle", "journal_commit", "xfs_regrant", "xfs_ungrant",
					   "xfs_buffer", "ext4_syncs", "xfs_forces", "bio_remap__4", NULL };
	static const char *const recent[] = { "dirty_folio", "journal_handle", "journal_commit", "xfs_regrant", "xfs_ungrant",
					      "xfs_inode", "ext4_syncs", "xfs_forces", "bio_remap__3", NULL };

	ck_assert_uint_eq(dirtier_lacks(is_loaded, old, true, lacks), 0);
	ck_assert_uint_eq(dirtier_lacks(is_loaded, recent, true, lacks), 0);
}
END_TEST

START_TEST(names_each_that_is_lacking)
{
	static const char *const none[] = { NULL };
	static const char *const hooks[] = { "writeback_dirty_folio", "jbd2_handle_stats", "jbd2_start_commit",
					     "xfs_log_ticket_regrant", "xfs_log_ticket_ungrant", "xfs_buf_item_pin",
					     "ext4_sync_file_enter", "xfs_log_force", "block_bio_remap" };

	ck_assert_uint_eq(dirtier_lacks(is_loaded, none, true, lacks), DIRTIER_LACKS);
	for (size_t i = 0; i < DIRTIER_LACKS; i++) {
		ck_assert_str_eq(lacks[i].hook, hooks[i]);
		ck_assert_ptr_nonnull(strstr(lacks[i].reason, hooks[i]));
	}
}
END_TEST

/* Of what serves block requests alone nothing is said to who counts by layer. */
START_TEST(leaves_out_what_is_not_asked_for)
{
	static const char *const some[] = { "dirty_folio", "journal_commit", "xfs_regrant", "xfs_ungrant", "xfs_buffer", NULL };

	ck_assert_uint_eq(dirtier_lacks(is_loaded, some, false, lacks), 1);
	ck_assert_str_eq(lacks[0].hook, "jbd2_handle_stats");
}
END_TEST

static void add(TCase *tests)
{
	tcase_add_test(tests, either_hook_will_do);
	tcase_add_test(tests, names_each_that_is_lacking);
	tcase_add_test(tests, leaves_out_what_is_not_asked_for);
}

int main(void)
{
	return run_suite("dirtier_hooks", add);
}
