// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/hooks.h"

#include <stddef.h>

/* Candidates of an operation in order of preference, best first. */
static const struct hook hooks[] = {
	{ IOTR_VFS, HOOKS_ANY, "file_exit", "fentry, fexit of the system call" },
	{ IOTR_VFS, HOOKS_ANY, "sys_exit", "tp_btf/sys_enter, sys_exit" },
	{ IOTR_VFS, HOOKS_ANY, "sys_exit_raw", "tp/raw_syscalls/sys_enter, sys_exit" },
	{ IOTR_BLOCK, HOOKS_ANY, "rq_complete", "tp_btf/block_rq_issue, block_rq_complete" },
	{ IOTR_CACHE, IOTR_CACHE_HIT, "cache_get_pages", "tp_btf/mm_filemap_get_pages, sys_exit" },
	{ IOTR_CACHE, IOTR_CACHE_MISS, "cache_get_pages",
	  "tp_btf/mm_filemap_add_to_page_cache, mm_filemap_get_pages, sys_exit" },
	{ IOTR_CACHE, IOTR_CACHE_MISS, "cache_add",
	  "tp_btf/mm_filemap_add_to_page_cache, sys_exit; readahead included" },
	{ IOTR_CACHE, IOTR_CACHE_READAHEAD, "cache_get_pages",
	  "tp_btf/mm_filemap_add_to_page_cache, mm_filemap_get_pages, sys_exit" },
	{ IOTR_CACHE, IOTR_CACHE_DIRTY, "cache_dirty_folio", "tp_btf/writeback_dirty_folio" },
	{ IOTR_CACHE, IOTR_CACHE_DIRTY, "cache_dirty_page", "tp_btf/writeback_dirty_page" },
	{ IOTR_CACHE, IOTR_CACHE_WRITEBACK_START, "cache_bio_queue__1", "tp_btf/block_bio_queue" },
	{ IOTR_CACHE, IOTR_CACHE_WRITEBACK_START, "cache_bio_queue__2", "tp_btf/block_bio_queue" },
	{ IOTR_CACHE, IOTR_CACHE_WRITEBACK_END, "cache_bio_complete",
	  "tp_btf/block_bio_queue, block_rq_complete, block_bio_complete" },
	{ IOTR_CACHE, IOTR_CACHE_RECLAIM, "cache_reclaim", "tp_btf/mm_vmscan_lru_shrink_inactive" },
	{ IOTR_CACHE, HOOKS_ANY, "cache_delete", "tp_btf/mm_filemap_delete_from_page_cache" },
	{ IOTR_PAGEFAULT, HOOKS_ANY, "fault_minor__1",
	  "tp_btf/page_fault_user, page_fault_kernel; perf page-faults-maj, page-faults-min" },
	{ IOTR_PAGEFAULT, HOOKS_ANY, "fault_minor__0",
	  "tp_btf/page_fault_user, page_fault_kernel; perf page-faults-maj, page-faults-min" },
	{ IOTR_EPOLL, HOOKS_ANY, "epoll_exit", "tp_btf/sys_enter, sys_exit" },
	{ IOTR_EPOLL, HOOKS_ANY, "epoll_exit_raw", "tp/raw_syscalls/sys_enter, sys_exit" },
	{ IOTR_SOCKOPT, HOOKS_ANY, "sockopt_exit", "tp_btf/sys_enter, sys_exit" },
	{ IOTR_SOCKOPT, HOOKS_ANY, "sockopt_exit_raw", "tp/raw_syscalls/sys_enter, sys_exit" },
	{ IOTR_DROP, HOOKS_ANY, "retransmit__2", "tp_btf/tcp_retransmit_skb, tcp_retransmit_synack" },
	{ IOTR_DROP, HOOKS_ANY, "retransmit__3", "tp_btf/tcp_retransmit_skb, tcp_retransmit_synack" },
	{ IOTR_IOURING, HOOKS_ANY, "ring_submit_req__1", "tp_btf/io_uring_submit_req, io_uring_complete" },
	{ IOTR_IOURING, HOOKS_ANY, "ring_submit_sqe__2", "tp_btf/io_uring_submit_sqe, io_uring_complete" },
	{ IOTR_IOURING, HOOKS_ANY, "ring_submit_sqe__7", "tp_btf/io_uring_submit_sqe, io_uring_complete" },
	{ IOTR_NET, HOOKS_ANY, "net_exit", "tp_btf/sys_enter, sys_exit" },
	{ IOTR_NET, HOOKS_ANY, "net_exit_raw", "tp/raw_syscalls/sys_enter, sys_exit" },
	{ IOTR_CONN, HOOKS_ANY, "conn_exit", "tp_btf/sys_enter, sys_exit" },
	{ IOTR_CONN, HOOKS_ANY, "conn_exit_raw", "tp/raw_syscalls/sys_enter, sys_exit" },
};

#define HOOKS (sizeof(hooks) / sizeof(hooks[0]))

const struct hook *hooks_find(enum iotr_stream stream, unsigned int operation,
			      bool (*loaded)(const char *program, const void *userdata),
			      const void *userdata, const char **reason)
{
	bool own = false;

	for (size_t i = 0; i < HOOKS && !own; i++)
		own = hooks[i].stream == stream && hooks[i].operation == operation;
	*reason = NULL;
	for (size_t i = 0; i < HOOKS; i++) {
		if (hooks[i].stream != stream || hooks[i].operation != (own ? operation : HOOKS_ANY))
			continue;
		if (loaded(hooks[i].program, userdata))
			return &hooks[i];
		*reason = "the kernel lacks or refuses the hooks of this operation";
	}
	if (!*reason)
		*reason = "no hook of this kernel shows this operation";
	return NULL;
}
