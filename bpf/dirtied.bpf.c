// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who makes pages dirty, and who changes metadata that a journal writes: noted for block and for the counts by layer, and
 * attached while either is on.
 */
#include "asked.bpf.h"
#include "backing.bpf.h"
#include "btrfs.bpf.h"
#include "dirtied.bpf.h"
#include "flow.bpf.h"
#include "folio.bpf.h"
#include "xfs.bpf.h"

#define FOLIO_PAGES 512 /* maximum of pages of one folio that are noted */

/* ---- the current task ---- */

/* The last task that made a page dirty on this CPU, which mostly is the next one, too. */
struct dirtier_last {
	__u64 task; /* address */
	__u64 cgroup;
	__u64 open; /* that of the control page, as begun_ns is its begun_last_ns: since then, no session has begun */
	__u64 begun_ns;
	struct iotr_command command;
	__u32 tid, uid;
	__u32 number;
	__u32 works_for_others; /* it is a kernel thread */
};

ARRAY_PER_CPU(dirtier_last, struct dirtier_last, 1);

/* Notes the current task as a dirtier; 0: there is no table. A global function. */
__noinline __u32 dirtier_note(void)
{
	__u32 zero = 0, number;
	struct dirtier_last *last = bpf_map_lookup_elem(&dirtier_last, &zero);
	void *table = bpf_map_lookup_elem(&dirtiers, &zero);
	struct task_struct *task = current_task();
	struct iotr_control *page = control_page();
	struct dirtier dirtier = {};

	if (!last || !table || !page)
		return 0;
	last->begun_ns = page->begun_last_ns; /* both are read before the filters are */
	last->open = dirtier.judged = page->open;
	dirtier.judged_ns = bpf_ktime_get_ns();
	actor_judged(page, &dirtier.actor);
	last->task = (__u64)task;
	last->cgroup = dirtier.actor.cgroup_id;
	last->command = dirtier.actor.command;
	last->tid = dirtier.actor.tid;
	last->uid = dirtier.actor.uid;
	last->works_for_others = !dirtier.actor.known;
	dirtier.own = is_own(page, dirtier.actor.pid);
	if (dirtier.actor.known)
		dirtier.start_ns = FOLLOW(FOLLOW(task, group_leader), start_boottime);
	last->number = number = dirtier_number(&dirtier.actor, FOLLOW(task, start_time));
	bpf_map_update_elem(table, &number, &dirtier, BPF_ANY);
	return number;
}

/* The current task as a dirtier, noted if it was not before; NULL: it cannot be noted. */
static __always_inline const struct dirtier_last *dirtier_current(struct iotr_control *page)
{
	__u32 zero = 0;
	struct dirtier_last *last = bpf_map_lookup_elem(&dirtier_last, &zero);
	struct task_struct *task = current_task();
	const __u64 *was, *is;
	struct iotr_command command;

	if (!last)
		return NULL;
	if (last->task != (__u64)task || last->tid != task_tid(task) || last->uid != task_uid(task) ||
	    last->cgroup != task_cgroup(task) || last->open != page->open || last->begun_ns != page->begun_last_ns)
		return dirtier_note() ? last : NULL;
	task_command(task, &command);
	was = (const __u64 *)last->command.text;
	is = (const __u64 *)command.text;
	return (was[0] == is[0] && was[1] == is[1]) || dirtier_note() ? last : NULL;
}

/* ---- transactions ---- */

/* Adds what a process changed; if there is no room, it takes the place and the sum of who changed least. */
static __always_inline void transaction_add(struct transaction *transaction, __u32 dirtier, __u32 pid, __u32 amount)
{
	__u32 least = 0, at;

	for (at = 0; at < TRANSACTION_TASKS; at++) {
		if (transaction->of[at].pid == pid)
			break;
		if (transaction->of[at].amount < transaction->of[least & (TRANSACTION_TASKS - 1)].amount)
			least = at;
	}
	at = (at < TRANSACTION_TASKS ? at : least) & (TRANSACTION_TASKS - 1);
	transaction->of[at].dirtier = dirtier;
	transaction->of[at].pid = pid;
	transaction->of[at].amount += amount;
}

/* The current task, which has the number of a dirtier, changes something in a transaction. A global function. */
__noinline int transaction_note(__u64 key, __u64 number, __u32 dirtier, __u32 amount)
{
	struct transaction *transaction = bpf_map_lookup_elem(&transactions, &key), fresh = {};

	if (!transaction || transaction->number != number) {
		fresh.number = number;
		bpf_map_update_elem(&transactions, &key, &fresh, BPF_ANY);
		transaction = bpf_map_lookup_elem(&transactions, &key);
	}
	if (transaction)
		transaction_add(transaction, dirtier, task_tgid(current_task()), amount);
	return 0;
}

/* An argument of a raw tracepoint. */
#define RAW_ARGUMENT(ctx, index) (((const __u64 *)(ctx))[index])

/* ---- calls that ask for a log to be written ---- */

/* The current task, in whose call `thread` is, asks for a number of a log. A global function. */
__noinline int asked_note(__u64 log, __u64 number, __u64 thread)
{
	struct iotr_control *page = control_page();
	const struct dirtier_last *by = page ? dirtier_current(page) : NULL;
	struct asked fresh = { .number = number };
	__u64 key = asked_key(log, number);

	if (!by || by->works_for_others || asked_find(log, number))
		return 0;
	fresh.dirtier = by->number;
	fresh.flow = flow_of(page, thread, bpf_ktime_get_ns());
	bpf_map_update_elem(&asked, &key, &fresh, BPF_ANY);
	return 0;
}

/* ---- those of jbd2 ---- */

/* By tid: threads that synchronise a file of ext4. What they change meanwhile has to be committed, too. */
HASH_OF(synchronising, LRU_HASH, __u32, __u64, TRANSACTIONS);

static __always_inline bool is_synchronising(void)
{
	__u32 tid = task_tid(current_task());

	return bpf_map_lookup_elem(&synchronising, &tid);
}

/* The current task asks for a transaction of a journal, unless that has been committed. A global function. */
__noinline int commit_asked(__u64 journal, __u32 number, __u64 thread)
{
	struct iotr_control *page = control_page();

	if (!ext4_is_known(page) || !journal || (__s32)(number - (__u32)address_at(journal + page->jbd2.committed)) <= 0)
		return 0;
	return asked_note(journal, number, thread);
}

/* The current task asks for all that a journal has. A global function. */
__noinline int commit_asked_latest(__u64 journal, __u64 thread)
{
	struct iotr_control *page = control_page();
	__u64 transaction;

	if (!ext4_is_known(page) || !journal)
		return 0;
	transaction = address_at(journal + page->jbd2.running) ?: address_at(journal + page->jbd2.committing);
	return transaction ? commit_asked(journal, transaction_number(number_of(transaction)), thread) : 0;
}

static __always_inline __u64 ext4_journal(const struct iotr_control *page, __u64 sb)
{
	__u64 system = ADDRESS(struct super_block, sb, s_fs_info);

	return system ? number_of(address_at(system + page->ext4.journal)) : 0;
}

/* The current task begins to synchronise a file of ext4. A global function. */
__noinline int ext4_file_syncs(__u64 inode, __u32 data_only, __u64 thread)
{
	struct iotr_control *page = control_page();
	__u32 tid = task_tid(current_task());
	__u64 journal, since = 1, number;

	if (!ext4_is_known(page) || !inode)
		return 0;
	journal = ext4_journal(page, ADDRESS(struct inode, inode, i_sb));
	if (!journal)
		return 0;
	bpf_map_update_elem(&synchronising, &tid, &since, BPF_ANY);
	if ((READ(struct inode, inode, i_mode) & S_IFMT) != S_IFREG)
		return commit_asked_latest(journal, thread);
	number = address_at(inode - page->ext4.inode + (data_only ? page->ext4.datasync_tid : page->ext4.sync_tid));
	return commit_asked(journal, number, thread);
}

SEC("raw_tp/ext4_sync_file_enter")
int ext4_syncs(void *ctx)
{
	return ext4_file_syncs(number_of(ADDRESS(struct file, RAW_ARGUMENT(ctx, 0), f_inode)), RAW_ARGUMENT(ctx, 1), thread_at(ctx));
}

SEC("raw_tp/ext4_sync_file_exit")
int ext4_synced(void *ctx)
{
	__u32 tid = task_tid(current_task());

	bpf_map_delete_elem(&synchronising, &tid);
	return 0;
}

/* A file system as a whole is synchronised. */
SEC("raw_tp/ext4_sync_fs")
int ext4_system_syncs(void *ctx)
{
	struct iotr_control *page = control_page();

	if (!ext4_is_known(page))
		return 0;
	return commit_asked_latest(ext4_journal(page, RAW_ARGUMENT(ctx, 0)), thread_at(ctx));
}

/* The current task ends a handle; `waits`: until what it is part of is committed. A global function. */
__noinline int handle_ends(__u32 number, __u32 blocks, bool waits, __u64 thread)
{
	struct iotr_control *page = control_page();
	const struct dirtier_last *by = page ? dirtier_current(page) : NULL;
	struct task_struct *task = current_task();
	__u64 handle, address;

	if (!by || by->works_for_others || (!blocks && !waits))
		return 0;
	handle = ADDRESS(struct task_struct, task, journal_info);
	address = handle ? address_at(handle) : 0;
	if (!address || transaction_number(address) != number)
		return 0;
	if (blocks)
		transaction_note(number_of(address), number, by->number, blocks);
	return waits || is_synchronising() ? commit_asked(number_of(address_at(address)), number, thread) : 0;
}

SEC("raw_tp/jbd2_handle_stats")
int journal_handle(void *ctx)
{
	return handle_ends(RAW_ARGUMENT(ctx, 1), RAW_ARGUMENT(ctx, 7), (__u32)RAW_ARGUMENT(ctx, 5), thread_at(ctx));
}

/* A journal's thread begins to commit a transaction, of which some handles may not have ended. */
SEC("raw_tp/jbd2_start_commit")
int journal_commit(void *ctx)
{
	__u64 address = RAW_ARGUMENT(ctx, 1);
	struct committed committed = { .address = address, .journal = RAW_ARGUMENT(ctx, 0), .number = transaction_number(address) };
	__u32 tid = task_tid(current_task());

	bpf_map_update_elem(&commits, &tid, &committed, BPF_ANY);
	return 0;
}

/* It has been committed. Another one may have the same address, and even the number, of another journal. */
SEC("raw_tp/jbd2_end_commit")
int journal_committed(void *ctx)
{
	__u64 address = RAW_ARGUMENT(ctx, 1), key = asked_key(RAW_ARGUMENT(ctx, 0), transaction_number(address));

	bpf_map_delete_elem(&transactions, &address);
	bpf_map_delete_elem(&asked, &key);
	return 0;
}

/* ---- those of XFS ---- */

/* The current task ends a transaction of a log, as far as a reservation goes; the next one has another. A global function. */
__noinline int reservation_ends(__u64 log, __u64 ticket)
{
	struct iotr_control *page = control_page();
	const struct dirtier_last *by = page ? dirtier_current(page) : NULL;
	__u64 sequence;
	__s32 used;

	if (!by || by->works_for_others || !xfs_is_known(page))
		return 0;
	used = (__s32)address_at(ticket + page->xfs.ticket_whole) - (__s32)address_at(ticket + page->xfs.ticket_left);
	sequence = xfs_sequence(page, log);
	if (used > 0 && sequence)
		transaction_note(xfs_key(log, sequence), sequence, by->number, used);
	return 0;
}

SEC("raw_tp/xfs_log_ticket_regrant")
int xfs_regrant(void *ctx)
{
	return reservation_ends(number_of(RAW_ARGUMENT(ctx, 0)), number_of(RAW_ARGUMENT(ctx, 1)));
}

SEC("raw_tp/xfs_log_ticket_ungrant")
int xfs_ungrant(void *ctx)
{
	return reservation_ends(number_of(RAW_ARGUMENT(ctx, 0)), number_of(RAW_ARGUMENT(ctx, 1)));
}

/* XFS begins to work, mostly as it was mounted: checkpoints of an earlier log at the same address are not its own. */
SEC("raw_tp/xfs_inodegc_start")
int xfs_begins(void *ctx)
{
	struct iotr_control *page = control_page();
	__u64 log, key;

	if (!xfs_is_known(page))
		return 0;
	log = address_at(RAW_ARGUMENT(ctx, 0) + page->xfs.mount_log);
	for (__u32 i = 0; i < XFS_CHECKPOINTS; i++) {
		key = xfs_key(log, i);
		bpf_map_delete_elem(&transactions, &key);
	}
	asked_forget(log);
	return 0;
}

/* The current task asks for a checkpoint of a log, or for all that there is. */
SEC("raw_tp/xfs_log_force")
int xfs_forces(void *ctx)
{
	struct iotr_control *page = control_page();
	__u64 log, number = RAW_ARGUMENT(ctx, 1), latest; /* 0: all */

	if (!xfs_is_known(page))
		return 0;
	log = number_of(address_at(RAW_ARGUMENT(ctx, 0) + page->xfs.mount_log));
	latest = xfs_sequence(page, log);
	number = number ?: latest;
	return latest && latest - number < ASKED_OF_LOG ? asked_note(log, number, thread_at(ctx)) : 0;
}

/* The current task is the first one that changes something in a buffer for a checkpoint. A global function. */
__noinline int buffer_changes(__u64 buffer)
{
	struct iotr_control *page = control_page();
	const struct dirtier_last *by = page ? dirtier_current(page) : NULL;

	if (by && !by->works_for_others && buffer)
		spilled_put(buffer, number_of(xfs_block(page, buffer)), by->number, true);
	return 0;
}

SEC("raw_tp/xfs_buf_item_pin")
int xfs_buffer(void *ctx)
{
	struct iotr_control *page = control_page();

	if (!xfs_is_known(page))
		return 0;
	return buffer_changes(number_of(address_at(RAW_ARGUMENT(ctx, 0) + page->xfs.buffer_item_buffer)));
}

SEC("raw_tp/xfs_inode_pin")
int xfs_inode(void *ctx)
{
	struct iotr_control *page = control_page();
	__u64 item;

	if (!xfs_is_known(page))
		return 0;
	item = address_at(RAW_ARGUMENT(ctx, 0) + page->xfs.inode_item);
	return item ? buffer_changes(number_of(address_at(item + page->xfs.item_buffer))) : 0;
}

/* ---- pages ---- */

/* Whether a page is noted that was not seen written since. A global function. */
__noinline int dirtied_is_noted(__u64 mapping, __u64 index)
{
	struct iotr_control *page = control_page();

	return page && dirtied_waits(page, mapping, index);
}

/* Notes those pages that are not noted, or were written since. A global function. */
__noinline int dirtied_note_rest(__u64 mapping, __u64 index, __u32 number, __u32 pages)
{
	for (__u32 i = 0; i < FOLIO_PAGES && i < pages; i++, index++)
		if (!dirtied_is_noted(mapping, index))
			dirtied_put(mapping, index >> DIRTIED_GROUP_SHIFT, number, dirtied_bit(index));
	return 0;
}

/*
 * The number of the process for which a kernel thread makes a page of metadata dirty; 0: it is not metadata, or that is not
 * known. The thread of a journal hands over what it has written to its log. A global function.
 */
__noinline __u32 dirtied_for(__u64 mapping)
{
	__u64 inode = ADDRESS(struct address_space, mapping, host);
	struct iotr_control *page = control_page();

	if (!page)
		return 0;
	if (is_btrfs_metadata(number_of(inode)))
		return transaction_cause(mapping, btrfs_transaction(page, inode));
	return disk_is_held(inode) ? journal_cause() : 0;
}

/* A process that changes metadata of btrfs does something for the transaction. A global function. */
__noinline int dirtied_metadata(__u64 mapping, __u32 number, __u32 pages)
{
	struct iotr_control *page = control_page();
	__u64 inode, transaction;

	if (!page || !page->btrfs.generation) /* there is no btrfs */
		return 0;
	inode = ADDRESS(struct address_space, mapping, host);
	transaction = is_btrfs_metadata(number_of(inode)) ? btrfs_transaction(page, inode) : 0;
	return transaction ? transaction_note(mapping, transaction, number, pages) : 0;
}

/*
 * Notes who sees the file whose page the current task made dirty, as it may be written by a thread that does not know. A file that
 * nobody sees as another one is looked at once. A global function.
 */
__noinline int dirtied_seen_as(__u64 mapping)
{
	__u64 inode = ADDRESS(struct address_space, mapping, host);
	struct backed *entry = inode ? backed_entry(inode) : NULL, own = {};

	if (!entry || (entry->real == inode && entry->real_number == READ(struct inode, inode, i_ino)))
		return 0;
	if (backed_find(inode) || entry->number)
		return 0;
	own.real = inode;
	own.real_number = READ(struct inode, inode, i_ino);
	own.check = backed_check(&own);
	*entry = own;
	return 0;
}

/*
 * Notes pages that the current task made dirty. What another kernel thread than that of a journal makes dirty again before it is
 * written, as it cannot be written yet, stays that of who made it dirty. A global function.
 */
__noinline int dirtied_note(__u64 mapping, __u64 index, __u32 pages)
{
	struct iotr_control *page = control_page();
	const struct dirtier_last *by = page ? dirtier_current(page) : NULL;
	__u32 number, self;

	if (!page || !by)
		return 0;
	self = number = by->number;
	if (!by->works_for_others && is_stacking(page))
		dirtied_seen_as(mapping);
	if (!by->works_for_others)
		dirtied_metadata(mapping, number, pages);
	else
		number = dirtied_for(mapping);
	if (!number)
		return dirtied_note_rest(mapping, index, self, pages);
	if (pages > FOLIO_PAGES)
		pages = FOLIO_PAGES;
	return dirtied_put_all(mapping, index, number, pages);
}

static __always_inline int dirtied_seen(__u64 folio, __u64 mapping)
{
	if (mapping)
		dirtied_note(number_of(mapping), folio_index(folio), folio_pages(folio));
	return 0;
}

SEC("tp_btf/writeback_dirty_folio")
int BPF_PROG(dirty_folio, void *folio, void *mapping)
{
	return dirtied_seen((__u64)folio, (__u64)mapping);
}

SEC("tp_btf/writeback_dirty_page")
int BPF_PROG(dirty_page, void *page, void *mapping)
{
	return dirtied_seen((__u64)page, (__u64)mapping);
}

char LICENSE[] SEC("license") = "GPL";
