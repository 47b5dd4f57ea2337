// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs that do nothing: what it costs to be called at all. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("tp_btf/sys_enter")
int tracepoint_enter(void *arguments)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int tracepoint_exit(void *arguments)
{
	return 0;
}

SEC("fentry/__x64_sys_pread64")
int function_enter(void *arguments)
{
	return 0;
}

SEC("fexit/__x64_sys_pread64")
int function_exit(void *arguments)
{
	return 0;
}

SEC("tp/raw_syscalls/sys_enter")
int classic_enter(void *arguments)
{
	return 0;
}

SEC("tp/raw_syscalls/sys_exit")
int classic_exit(void *arguments)
{
	return 0;
}

/* ---- what the page cache, page faults and io_uring are seen at ---- */

SEC("tp_btf/mm_filemap_get_pages")
int cache_pages(void *arguments)
{
	return 0;
}

SEC("tp_btf/sys_exit")
int cache_exit(void *arguments)
{
	return 0;
}

SEC("tp_btf/page_fault_user")
int pagefault_begins(void *arguments)
{
	return 0;
}

SEC("perf_event")
int pagefault_counted(void *arguments)
{
	return 0;
}

SEC("tp_btf/io_uring_submit_req")
int iouring_begins(void *arguments)
{
	return 0;
}

SEC("tp_btf/io_uring_complete")
int iouring_ends(void *arguments)
{
	return 0;
}

/* ---- what a direct read by io_uring meets while everything is recorded ---- */

#define ON_THE_WAY(name, hook)                                                                  \
	SEC("tp_btf/" #hook)                                                                    \
	int all_##name(void *arguments)                                                         \
	{                                                                                       \
		return 0;                                                                       \
	}

ON_THE_WAY(sys_enter, sys_enter)
ON_THE_WAY(sys_exit, sys_exit)
ON_THE_WAY(submit, io_uring_submit_req)
ON_THE_WAY(file, io_uring_file_get)
ON_THE_WAY(bio, block_bio_queue)
ON_THE_WAY(start, block_io_start)
ON_THE_WAY(insert, block_rq_insert)
ON_THE_WAY(issue, block_rq_issue)
ON_THE_WAY(end, block_rq_complete)
ON_THE_WAY(complete, io_uring_complete)

char LICENSE[] SEC("license") = "GPL";
