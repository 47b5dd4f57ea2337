// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/dirtier_hooks.h"

/* Two names in one row: either program will do, as kernels have the one hook or the other, or the same with other arguments. */
static const struct {
	const char *program, *or_program;
	bool blocks;
	struct dirtier_lack lack;
} hooks[DIRTIER_LACKS] = {
	{ "dirty_folio", "dirty_page", false,
	  { "writeback_dirty_folio", "the kernel lacks or refuses writeback_dirty_folio, so who made pages dirty is not known, and what is "
				     "written back is of unknown processes" } },
	{ "journal_handle", NULL, false,
	  { "jbd2_handle_stats", "the kernel refuses jbd2_handle_stats, so for whom a journal writes is not known" } },
	{ "journal_commit", NULL, false,
	  { "jbd2_start_commit", "the kernel refuses jbd2_start_commit, so for whom a journal writes is not known" } },
	{ "xfs_regrant", NULL, false,
	  { "xfs_log_ticket_regrant", "the kernel refuses xfs_log_ticket_regrant, so for whom XFS writes its log is not known" } },
	{ "xfs_ungrant", NULL, false,
	  { "xfs_log_ticket_ungrant", "the kernel refuses xfs_log_ticket_ungrant, so for whom XFS writes its log is not known" } },
	{ "xfs_buffer", "xfs_inode", false,
	  { "xfs_buf_item_pin", "the kernel refuses xfs_buf_item_pin and xfs_inode_pin, so for whom XFS writes metadata is not known" } },
	{ "ext4_syncs", NULL, true,
	  { "ext4_sync_file_enter", "the kernel refuses ext4_sync_file_enter, so which call a journal writes for is not known" } },
	{ "xfs_forces", NULL, true,
	  { "xfs_log_force", "the kernel refuses xfs_log_force, so which call XFS writes its log for is not known" } },
	{ "bio_remap__3", "bio_remap__4", true,
	  { "block_bio_remap", "the kernel lacks or refuses block_bio_remap, so what its threads pass on for stacked devices is of unknown "
			       "processes" } },
};

size_t dirtier_lacks(bool (*loaded)(const char *program, const void *userdata), const void *userdata, bool blocks,
		     struct dirtier_lack lacks[DIRTIER_LACKS])
{
	size_t count = 0;

	for (size_t i = 0; i < DIRTIER_LACKS; i++)
		if ((blocks || !hooks[i].blocks) && !loaded(hooks[i].program, userdata) &&
		    !(hooks[i].or_program && loaded(hooks[i].or_program, userdata)))
			lacks[count++] = hooks[i].lack;
	return count;
}
