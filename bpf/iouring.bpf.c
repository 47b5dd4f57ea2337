// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Requests of io_uring, from submission to completion, for all streams that have rows of them: one program where a
 * request begins and one where it ends. IOURING has a row for each completion that is posted to the ring, of which a
 * multishot request has several; VFS, NET and CONN have the operations that they know. What was asked for is read while
 * the kernel takes the submission queue entry. On the oldest kernels a completion has only the ring and user_data: of
 * several requests with the same user_data, the oldest is assumed to end first.
 */
#include "remembered.bpf.h"
#include "uring_any.bpf.h"
#include "uring_conn.bpf.h"
#include "uring_ends.bpf.h"
#include "uring_net.bpf.h"
#include "uring_vfs.bpf.h"

/* ---- submission ---- */

/* Whether streams other than IOURING, which most requests have no row of, are recorded. */
static __always_inline bool others_recorded(const struct iotr_control *page)
{
	return page->wanted[IOTR_VFS] | page->wanted[IOTR_NET] | page->wanted[IOTR_CONN];
}

static __always_inline __u64 sessions_all(const struct stream_sessions *sessions)
{
	return sessions->iouring | sessions->vfs | sessions->net | sessions->conn;
}

/* Sets the sessions of each stream that accept the request by opcode, draw and task; false: there are none. */
static __always_inline bool accepted(struct iotr_control *page, __u8 opcode, struct stream_sessions *ret)
{
	struct task_struct *task = current_task();
	bool others = others_recorded(page);
	__u32 tgid;
	__u64 open;

	*ret = (struct stream_sessions){ .iouring = iouring_wanted(page, opcode) };
	if (others) {
		ret->vfs = page->wanted[IOTR_VFS] ? vfs_wanted(page, opcode) : 0;
		ret->net = page->wanted[IOTR_NET] ? net_wanted(page, opcode) : 0;
		ret->conn = page->wanted[IOTR_CONN] ? conn_wanted(page, opcode) : 0;
	}
	if (!sessions_all(ret))
		return false;
	tgid = task_tgid(task);
	if (is_own(page, tgid))
		return false;
	ret->iouring = sample(page, IOTR_IOURING, ret->iouring);
	if (others) {
		ret->vfs = sample(page, IOTR_VFS, ret->vfs);
		ret->net = sample(page, IOTR_NET, ret->net);
		ret->conn = sample(page, IOTR_CONN, ret->conn);
	}
	open = filter_task(page, task, sessions_all(ret), tgid);
	ret->iouring &= open;
	if (others) {
		ret->vfs &= open;
		ret->net &= open;
		ret->conn &= open;
	}
	return open;
}

/* The open file of an entry; 0: none, or in the ring's own table, which is read when the request ends. */
static __always_inline __u64 entry_file(struct io_kiocb *kernel, const struct uring_entry *entry)
{
	__u64 file = 0;

	if (!(traits_of(entry->opcode) & FD))
		return 0;
	if (!HAS_REQUEST_CQE && kernel)
		file = (__u64)READ(struct io_kiocb, kernel, file);
	if (file)
		return file;
	if (entry->flags & IOSQE_FIXED_FILE || closes_own(entry))
		return 0;
	if (TYPES_ARE_FOLLOWED)
		file = number_of((__u64)file_followed(current_task(), entry->fd));
	return file ?: file_of_fd(current_task(), entry->fd);
}

/*
 * The same as file_fill(), with the name, too, if it is remembered. Only in a thread's context, which requests begin in. `fd`: a
 * descriptor that may be the file's.
 */
static __noinline bool opened_fill(const struct iotr_control *page, __u64 file, __s32 fd, struct iotr_file *ret,
				   struct opened *opened)
{
	struct place *place = &opened->place;
	__u64 hashed, inode, followed = 0;

	if (TYPES_ARE_FOLLOWED)
		followed = opened_followed(current_task(), fd, ret, place, &inode, &hashed);
	if (!followed || followed != file)
		inode = file_place(file, ret, place, &hashed);
	inode = number_of(inode);
	place->dentry = number_of(place->dentry);
	place->mount = number_of(place->mount);
	if (REMEMBERS && remembered_held(page, *place, inode, hashed, ret, &opened->then))
		return false;
	ret->name = 0;
	return inode_fill(inode, ret);
}

/* Fills in the name of the open file of a request. */
static __always_inline void request_name(struct uring_request *request, const struct opened *opened, bool pseudo, bool begins)
{
	struct place place = opened->place;

	if (request->file.name && (!begins || name_known(request->file.name)))
		return;
	if (!begins) {
		request->file.name = name_of_place(place);
		return;
	}
	request->file.name = name_of(place);
	if (REMEMBERS && !pseudo)
		remember_held(place, &request->file, &opened->then);
}

/*
 * Fills in the open file of a request, 0: none, and applies the filters by it. VFS's row of a request whose file is
 * never known is decided when it ends: see vfs_ends(). `begins`: the request does.
 */
static __always_inline void request_file(struct iotr_control *page, struct uring_request *request, __u64 file, bool begins)
{
	__u64 sessions = request->iouring_sessions | (file ? request->vfs_sessions : 0);
	struct opened opened = {};
	bool pseudo = false;

	if (file && begins)
		pseudo = opened_fill(page, file, request->fd, &request->file, &opened);
	else if (file)
		pseudo = file_fill_apart(file, &request->file, &opened.place);
	if (pseudo)
		request->vfs_sessions &= page->pseudo_fs;
	sessions = filter_device(page, sessions, request->file.device);
	if (traits_of(request->opcode) & FD)
		sessions = filter_file(page, sessions, file);
	request->iouring_sessions &= sessions;
	if (!file)
		return;
	request->vfs_sessions &= sessions;
	if (request->vfs_sessions)
		vfs_file(page, request);
	if (request->iouring_sessions || request->vfs_sessions)
		request_name(request, &opened, pseudo, begins);
}

/*
 * Fills in all that is known of a request when it begins. `file`: the open file, 0: none, or not known yet. `ready`: what
 * VFS and NET are to read, as for submitted().
 */
static __always_inline void request_fill(struct iotr_control *page, struct uring_request *request, void *ring,
					 __u64 file, const struct uring_entry *entry,
					 const struct uring_entry *ready, bool repeats)
{
	actor_current(&request->actor);
	request->file = (struct iotr_file){ .inode = IOTR_UNKNOWN };
	request->fd = entry->fd;
	request->opcode = entry->opcode;
	request->sqe_flags = entry->flags;
	request->flow = 0;
	request->repeats = request->named = 0;
	if (request->iouring_sessions)
		iouring_begin(request, ring, entry, file);
	if (request->vfs_sessions)
		vfs_begin(&request->vfs, ready, file);
	if (request->net_sessions && !net_begin(request, ready, repeats))
		request->net_sessions = 0;
	if (request->conn_sessions && !conn_begin(request, entry, number_of(file)))
		request->conn_sessions = 0;
	if (file && (request->iouring_sessions || request->vfs_sessions))
		request_file(page, request, file, true);
	else if (request->iouring_sessions)
		iouring_named(page, request, entry);
}

/* Puts a request that may have several completions into uring_repeats. */
static __always_inline void request_repeats(struct uring_request *request, struct io_kiocb *kernel)
{
	request->repeats = 1;
	if (repeat_note(kernel))
		return;
	request_lost(request);
	request->iouring_sessions = request->vfs_sessions = 0; /* the others have the last one */
}

/*
 * Fills in a request of which accepted() was true, and puts it into the table, unless it is there already (`placed`, a constant).
 * `kernel` may be NULL. `entry` is as user space wrote it, and `ready` as the kernel has prepared it or, if that refused it, as
 * user space wrote it.
 */
static __always_inline int submitted(struct iotr_control *page, struct uring_request *request, bool placed, __u64 key,
				     void *ring, struct io_kiocb *kernel, __u64 file, const struct uring_entry *entry,
				     const struct uring_entry *ready, bool repeats)
{
	request_fill(page, request, ring, file, entry, ready, repeats);
	if (HAS_REQUEST_CQE && kernel && (repeats || may_repeat(entry)) && sessions_of(request))
		request_repeats(request, kernel);
	request->start_ns = bpf_ktime_get_ns();
	if ((placed ? request_begun(key, request) : request_keep(page, key, request)) && request->named)
		conn_note_names(key, request->noted.sock);
	return 0;
}

/* Finds the open file of a request of which accepted() was true; false: then no stream has a row of it. */
static __always_inline bool file_at_start(struct uring_request *request, struct io_kiocb *kernel,
					  const struct uring_entry *entry, __u64 *ret)
{
	*ret = entry_file(kernel, entry);
	if (!request->net_sessions || net_note_socket(request, entry, *ret))
		return true;
	request->net_sessions = 0;
	return sessions_of(request);
}

/* Reads what a request asks for after the kernel has prepared it: it begins with struct io_rw, io_sr_msg or io_sync. */
static __always_inline void entry_of_ready(struct io_kiocb *kernel, __u8 opcode, struct uring_entry *ready)
{
	__builtin_memset(ready, 0, sizeof(*ready));
	ready->opcode = opcode;
	if (opcode == IOTR_IOURING_FSYNC) {
		ready->operation_flags = READ(struct io_sync, kernel, flags);
	} else if (opcode == IOTR_IOURING_FALLOCATE) {
		ready->length = READ(struct io_sync, kernel, mode);
		ready->offset = READ(struct io_sync, kernel, off);
		ready->address = READ(struct io_sync, kernel, len);
	} else if (uring_set(opcode) & FLAGGED) {
		ready->length = READ(struct io_sr_msg, kernel, len);
		ready->address = ADDRESS(struct io_sr_msg, kernel, umsg);
		ready->operation_flags = READ(struct io_sr_msg, kernel, msg_flags);
	} else {
		if (HAS_RW_FLAGS)
			ready->operation_flags = READ(struct io_rw, kernel, flags);
		ready->offset = READ(struct io_rw, kernel, kiocb.ki_pos);
		ready->address = READ(struct io_rw, kernel, addr);
		ready->length = READ(struct io_rw, kernel, len);
	}
}

/* A request that the kernel has prepared, and that accepted() was true of; `head`: cached_sq_head of the ring. */
static __always_inline int prepared(struct iotr_control *page, struct uring_work *work, struct uring_request *request,
				    bool placed, __u64 key, struct io_ring_ctx *ring, __u32 head, struct io_kiocb *kernel,
				    __u8 opcode, __u64 user_data)
{
	bool repeats = false;
	__u64 file;

	if (!HAS_REQUEST_CQE || request->iouring_sessions || request->conn_sessions)
		entry_find(ring, head, kernel, user_data, &work->entry);
	else
		entry_of_request(kernel, &work->entry);
	if (!file_at_start(request, kernel, &work->entry, &file)) {
		if (placed)
			request_release(key, request);
		else
			request_unended(page, key);
		return 0;
	}
	if (request->vfs_sessions || request->net_sessions)
		entry_of_ready(kernel, opcode, &work->ready);
	if (request->net_sessions)
		repeats = net_repeats((__u64)kernel, opcode);
	return submitted(page, request, placed, key, ring, kernel, file, &work->entry, &work->ready, repeats);
}

static __always_inline int taken(struct io_kiocb *kernel)
{
	struct uring_work *work = work_scratch(SCRATCH_SUBMIT);
	__u8 opcode = FOLLOW(kernel, opcode);
	struct iotr_control *page = control_page();
	__u64 key = request_key(kernel);
	struct uring_request *request;
	struct io_ring_ctx *ring;

	if (!page || !work)
		return 0;
	if (!accepted(page, opcode, &work->sessions)) {
		request_unended(page, key);
		return 0;
	}
	request = request_place(key, &work->sessions);
	if (!request)
		return 0;
	ring = FOLLOW(kernel, ctx);
	request->tag = FOLLOW(ring, cached_sq_head);
	return prepared(page, work, request, true, key, ring, request->tag, kernel, opcode, FOLLOW(kernel, cqe.user_data));
}

SEC("tp_btf/io_uring_submit_req")
int BPF_PROG(uring_submit_req__1, struct io_kiocb *kernel)
{
	return taken(kernel);
}

SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(uring_submit_sqe__2, struct io_kiocb *kernel)
{
	return taken(kernel);
}

/* On the oldest kernels, where the end of a request of a polled ring is not seen: it gets no key. */
SEC("tp_btf/io_uring_submit_sqe")
int BPF_PROG(uring_submit_sqe__7, struct io_ring_ctx *ring, struct io_kiocb *kernel, __u8 opcode, __u64 user_data)
{
	bool polled = FOLLOW(ring, flags) & IORING_SETUP_IOPOLL;
	struct uring_work *work = work_scratch(SCRATCH_SUBMIT);
	struct iotr_control *page = control_page();
	__u64 key;

	if (!page || !work || !accepted(page, opcode, &work->sessions))
		return 0;
	sessions_set(&work->request, &work->sessions);
	key = polled ? 0 : request_key_free(ring, user_data);
	work->request.tag = low_half((__u64)kernel);
	return prepared(page, work, &work->request, false, key, ring, FOLLOW(ring, cached_sq_head), kernel, opcode, user_data);
}

/* Requests that the kernel refuses before their submission, or while it prepares them. */
SEC("tp_btf/io_uring_req_failed")
int BPF_PROG(uring_req_failed__3, const void *sqe, struct io_kiocb *kernel)
{
	struct uring_request *known = request_find(request_key(kernel));
	struct uring_work *work = work_scratch(SCRATCH_FAILED);
	struct io_ring_ctx *ring = FOLLOW(kernel, ctx);
	__u32 head = FOLLOW(ring, cached_sq_head);
	struct iotr_control *page = control_page();
	__u64 key = request_key(kernel), file;

	if (!page || !work || (known && known->tag == head)) /* one of a chain, refused after submission */
		return 0;
	if (bpf_probe_read_kernel(&work->entry, sizeof(work->entry), sqe) ||
	    !accepted(page, work->entry.opcode, &work->sessions)) {
		request_unended(page, key);
		return 0;
	}
	sessions_set(&work->request, &work->sessions);
	work->request.tag = head;
	file_at_start(&work->request, kernel, &work->entry, &file);
	return submitted(page, &work->request, false, key, ring, kernel, file, &work->entry, &work->entry, false);
}

/* ---- workers ---- */

/* Whether a request went to a worker is told by IOURING alone: sessions of other streams do not pay for that. */
static __always_inline bool queued_wanted(void)
{
	struct iotr_control *page = control_page();

	return page && page->wanted[IOTR_IOURING];
}

static __always_inline int queued(__u64 key)
{
	struct uring_request *request = request_find(key);

	if (request)
		request->iouring.async = 1;
	return 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(uring_async__2, struct io_kiocb *kernel)
{
	return queued_wanted() ? queued(request_key(kernel)) : 0;
}

SEC("tp_btf/io_uring_queue_async_work")
int BPF_PROG(uring_async__5, void *ring, int rw, struct io_kiocb *kernel)
{
	if (!queued_wanted())
		return 0;
	return queued(request_key_tagged(ring, READ(struct io_kiocb___510, kernel, user_data),
					 low_half((__u64)kernel)));
}

/* ---- completion ---- */

/* The open file of a request whose file was not known at the start; 0: none. */
static __always_inline __u64 file_at_end(__u64 kernel, const struct uring_request *request, __s32 result)
{
	if (request->iouring_sessions && request->iouring.opens)
		return result < 0 ? 0 : file_of_fd(current_task(), result);
	if (!kernel || !(traits_of(request->opcode) & FD))
		return 0;
	return (__u64)READ(struct io_kiocb, kernel, file);
}

/* Rows of IOURING and VFS of one completion, which are one record of the ring. */
struct file_rows {
	struct iotr_iouring_record iouring;
	struct iotr_vfs_record vfs;
};

/* Writes both rows, as most requests of files have: to reserve and commit one record costs less than two. */
static __always_inline void rows_both(const struct uring_request *request, __u64 kernel, __s32 result, __u64 now, __u64 iouring,
				      __u64 vfs)
{
	__u32 cpu = bpf_get_smp_processor_id();
	struct file_rows *rows;

	count_emitted(IOTR_IOURING, iouring);
	count_emitted(IOTR_VFS, vfs);
	rows = row_room(cpu, sizeof(*rows), true);
	if (!rows) {
		count_sessions(IOTR_IOURING, COUNT_RING, iouring);
		count_sessions(IOTR_VFS, COUNT_RING, vfs);
		return;
	}
	head_begin(&rows->iouring.head, IOTR_IOURING, request->opcode, sizeof(rows->iouring), cpu);
	head_begin(&rows->vfs.head, IOTR_VFS, request->vfs.operation, sizeof(rows->vfs), cpu);
	iouring_row(&rows->iouring, request, iouring, result, now);
	vfs_row(&rows->vfs, request, kernel, vfs, result, now);
	row_commit(rows);
}

/* Writes the rows of IOURING and VFS. A function of its own, as all rows of a request together would take more stack than there is. */
static __noinline int files_end(const struct uring_request *request, __u64 kernel, __s32 result, __u64 now)
{
	struct iotr_control *page = control_page();
	struct iotr_iouring_record *iouring;
	__u64 iouring_for, vfs_for;
	struct iotr_vfs_record *vfs;

	if (!page)
		return 0;
	iouring_for = iouring_ends_for(page, request, result, now);
	vfs_for = vfs_ends_for(page, request, result, now);
	if (iouring_for && vfs_for) {
		rows_both(request, kernel, result, now, iouring_for, vfs_for);
	} else if (iouring_for) {
		iouring = row_begin(IOTR_IOURING, request->opcode, sizeof(*iouring), iouring_for);
		if (!iouring)
			return 0;
		iouring_row(iouring, request, iouring_for, result, now);
		row_commit(iouring);
	} else if (vfs_for) {
		vfs = row_begin(IOTR_VFS, request->vfs.operation, sizeof(*vfs), vfs_for);
		if (!vfs)
			return 0;
		vfs_row(vfs, request, kernel, vfs_for, result, now);
		row_commit(vfs);
	}
	return 0;
}

static __always_inline int completed(__u64 kernel, __u64 key, __s32 result, bool last)
{
	struct uring_request *request = request_ending(key);
	struct iotr_control *page = control_page();
	__u64 now;

	if (!page || !request)
		return 0;
	now = bpf_ktime_get_ns();
	if (request->file.inode == IOTR_UNKNOWN && (request->iouring_sessions || request->vfs_sessions))
		request_file(page, request, file_at_end(kernel, request, result), false);
	if (request->iouring_sessions || request->vfs_sessions)
		files_end(request, kernel, result, now);
	if (request->net_sessions)
		net_ends(number_of(key), kernel, result, now);
	if (request->conn_sessions)
		conn_ends(number_of(key), kernel, result, now);
	if (!last)
		return 0;
	if (kernel && request->repeats)
		repeat_forget((struct io_kiocb *)kernel);
	request_forget(key, request);
	return 0;
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring_complete__3, void *ring, struct io_kiocb *kernel, struct io_uring_cqe *cqe)
{
	return told(ring, kernel, READ(struct io_uring_cqe, cqe, user_data), cqe->res,
		    READ(struct io_uring_cqe, cqe, flags));
}

SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring_complete__7, void *ring, struct io_kiocb *kernel, __u64 user_data, int result, __u32 flags)
{
	return told(ring, kernel, user_data, result, flags);
}

/* On the oldest kernels, where a request that the kernel refused begins when its completion comes. */
SEC("tp_btf/io_uring_complete")
int BPF_PROG(uring_complete__4, struct io_ring_ctx *ring, __u64 user_data, int result, __u32 flags)
{
	struct uring_work *work = work_scratch(SCRATCH_COMPLETE);
	__u64 key = request_key_oldest(ring, user_data), file;
	struct iotr_control *page = control_page();

	if (!page || !work)
		return 0;
	if (!key && uring_entry_refused(ring, user_data, result, &work->entry) &&
	    accepted(page, work->entry.opcode, &work->sessions)) {
		sessions_set(&work->request, &work->sessions);
		key = request_key_free(ring, user_data);
		work->request.tag = 0;
		file_at_start(&work->request, NULL, &work->entry, &file);
		submitted(page, &work->request, false, key, ring, NULL, file, &work->entry, &work->entry, false);
	}
	return completed(0, key, result, !(flags & CQE_MORE));
}

/* On kernels that name the request each completion hits one tracepoint only: this one, or io_uring_complete. */
SEC("tp_btf/io_uring_cqe_overflow")
int BPF_PROG(uring_overflow__5, void *ring, __u64 user_data, int result, __u32 flags)
{
	return overflowed(ring, user_data, result, flags);
}

/* ---- rings ---- */

SEC("tp_btf/io_uring_create")
int BPF_PROG(uring_create, int fd, void *ring)
{
	ring_count((__u64)ring);
	__sync_fetch_and_add(&rings_made, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
