/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's structures, as far as they are read, relocated by CO-RE against the running kernel.
 * Maintained by hand: a field is here only if a program reads it. Where kernels differ: kernel_changes.h.
 */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
	unsigned long bp, bx, r10, r9, r8, ax, cx, dx, si, di, orig_ax, sp;
};

struct thread_info {
	__u32 status;
};

struct list_head {
	struct list_head *next;
};

struct hlist_node {
	struct hlist_node *next;
};

struct hlist_head {
	struct hlist_node *first;
};

struct address_space;
struct super_block;
struct file_system_type {
	const char *name;
	struct hlist_head fs_supers;
};

struct mount;
struct dentry;
struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
	struct dentry *s_root;
	struct mount *s_mounts;
	void *s_fs_info;
	struct {
		__u8 b[16];
	} s_uuid;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	__u32 i_rdev;
	unsigned int i_flags;
	struct address_space *i_mapping;
	long long i_size;
	struct hlist_head i_dentry;
	__u32 i_generation;
};

struct qstr {
	union {
		struct {
			__u32 hash;
			__u32 len;
		};
		__u64 hash_len;
	};
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
	struct super_block *d_sb;
	struct hlist_node d_alias;
};

struct vfsmount {
	struct dentry *mnt_root;
	struct super_block *mnt_sb;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mount *mnt_next_for_sb;
	void *mnt_ns;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	unsigned int f_mode;
	struct inode *f_inode;
	struct address_space *f_mapping;
	unsigned int f_flags;
	struct path f_path;
	long long f_pos;
	void *private_data;
};

/* A file that a stacked file system opened in the one below. */
struct backing_file {
	struct path user_path;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
	unsigned long *open_fds;
};

struct rcu_state {
	unsigned long gp_seq;
};

struct rcu_node {
	unsigned long gp_seq; /* that of rcu_state: set before the CPUs of the node take part in a grace period */
};

struct rcu_data {
	struct rcu_node *mynode;
};

/* Used to read any 64-bit number by a typed load. */
struct timespec64 {
	long long tv_sec;
};

typedef struct {
	int counter;
} atomic_t;

struct files_struct {
	atomic_t count;
	struct fdtable *fdt;
	struct fdtable fdtab;	  /* the first table, of fd_array; a larger one has taken its place where fdt is another */
	struct file *fd_array[1]; /* NR_OPEN_DEFAULT */
};

struct signal_struct {
	atomic_t live;
	int nr_threads;
	unsigned int flags;
};

struct sigaction {
	void *sa_handler;
	unsigned long sa_flags;
};

struct k_sigaction {
	struct sigaction sa;
};

struct fs_struct {
	struct path root, pwd;
};

struct kuid {
	__u32 val;
};

struct cred {
	struct kuid uid;
};

struct kernfs_node {
	const char *name;
	__u64 id;
};

struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup_root {
	int hierarchy_id;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
	struct cgroup_root *root;
};

struct css_set {
	struct cgroup *dfl_cgrp;
};

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int flags;
	int exit_state; /* not 0: it has ended, and has no descriptors any more */
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct cred *cred;
	struct css_set *cgroups;
	char comm[16];
	struct files_struct *files;
	struct fs_struct *fs;
	struct mm_struct *mm;
	struct pid *thread_pid;
	struct hlist_node pid_links[4];
	struct signal_struct *signal;
	struct task_struct *group_leader;
	__u64 start_time;
	__u64 start_boottime;
	struct io_uring_task *io_uring; /* NULL: it never used io_uring */
	void *journal_info; /* of a file system that changes something: of jbd2, its handle */
	void *worker_private; /* of a worker of io_uring, struct io_worker */
	unsigned int kasan_depth; /* exists only with CONFIG_KASAN */
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_left, *rb_right;
};

struct xarray {
	void *xa_head;
};

struct xa_node {
	unsigned char shift;
	void *slots[64];
};

struct idr {
	struct xarray idr_rt;
};

struct pid_namespace {
	struct idr idr;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct hlist_head tasks[4];
	struct upid numbers[1]; /* as many as the level says, and one more */
};

struct proc_inode {
	struct pid *pid;
	struct inode vfs_inode;
};

struct mm_struct___exe {
	struct file *exe_file;
};

struct vm_area_struct {
	unsigned long vm_start, vm_end;
	struct mm_struct *vm_mm;
	unsigned long vm_pgoff;
	struct file *vm_file;
	struct {
		struct rb_node rb;
	} shared;
};

enum maple_type {
	maple_leaf_64 = 1,
	maple_arange_64 = 3,
};

struct maple_range_64 {
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

struct maple_tree {
	void *ma_root;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct address_space {
	struct inode *host;
	struct rb_root_cached i_mmap;
};

struct page {
	unsigned long compound_head;
	struct address_space *mapping;
	unsigned long private;
};

struct folio {
	struct address_space *mapping;
	unsigned long index;
	void *private;
	unsigned int _nr_pages;
};

enum pageflags {
	PG_locked = 0,
	PG_head = 6,
	PG_writeback = 1,
	PG_uptodate = 3,
};

enum req_flag_bits {
	__REQ_META = 12,
	__REQ_FUA = 17,
	__REQ_RAHEAD = 19,
};

/* Exists on kernels with the tracepoint mm_filemap_get_pages, which shows the range of pages that a read asks for. */
struct trace_event_raw_mm_filemap_op_page_cache_range {
	unsigned long index;
};

struct bio_vec {
	struct page *bv_page;
	unsigned int bv_len;
	unsigned int bv_offset;
};

struct bvec_iter {
	__u64 bi_sector;
	unsigned int bi_size;
	unsigned int bi_idx;
	unsigned int bi_bvec_done;
};

struct blk_mq_ops;
struct request_queue;
struct gendisk {
	int major;
	int first_minor;
	struct request_queue *queue;
};

struct queue_limits {
	unsigned int features;
};

struct request_queue {
	const struct blk_mq_ops *mq_ops;
	unsigned long queue_flags;
	struct gendisk *disk;
	struct queue_limits limits;
	void *queuedata; /* the driver's */
};

struct block_device {
	__u32 bd_dev;
	__u64 bd_start_sect;
	struct gendisk *bd_disk;
	void *bd_holder;
};

struct bdev_inode {
	struct block_device bdev;
	struct inode vfs_inode;
};

struct bio {
	struct bio *bi_next;
	struct block_device *bi_bdev;
	unsigned int bi_opf;
	unsigned short bi_flags;
	__u8 bi_status;
	struct bvec_iter bi_iter;
	void *bi_end_io;
	void *bi_private;
	unsigned short bi_vcnt;
	struct bio_vec *bi_io_vec;
	void *bi_pool;
};

/* Direct I/O in flight: of iomap, (struct dio) of the file systems that do not use it, and of block devices. */
struct iomap_dio {
	struct kiocb *iocb;
};

/* A small read of iomap, with its only bio in it; from 7.3 on. */
struct iomap_dio_simple {
	struct kiocb *iocb;
	struct bio bio;
};

struct dio {
	struct kiocb *iocb;
};

struct blkdev_dio {
	struct kiocb *iocb; /* or the task that waits, in a union */
	struct bio bio;
};

struct device {
	__u32 devt;
};

struct request {
	struct request_queue *q;
	unsigned int cmd_flags;
	unsigned int __data_len;
	__u64 __sector;
	struct bio *bio;
	struct block_device *part;
};

struct in6_addr {
	union {
		__u32 u6_addr32[4];
	} in6_u;
};

struct sock_common {
	union {
		__u64 skc_addrpair;
		struct {
			__u32 skc_daddr;
			__u32 skc_rcv_saddr;
		};
	};
	union {
		__u32 skc_portpair;
		struct {
			__u16 skc_dport;
			__u16 skc_num;
		};
	};
	unsigned short skc_family;
	unsigned char skc_state;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
};

struct sock {
	struct sock_common __sk_common;
	int sk_err;
	__u16 sk_type;
	__u16 sk_protocol;
	struct kuid sk_uid;
};

struct inet_sock {
	__u16 inet_sport;
};

struct sockaddr_un {
	unsigned short sun_family;
};

struct unix_address {
	int len;
	struct sockaddr_un name[0];
};

struct unix_sock {
	struct unix_address *addr;
	struct sock *peer;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
};

struct io_rw {
	struct kiocb kiocb;
	__u64 addr;
	__u32 len;
	int flags;
};

struct io_sr_msg {
	void *umsg; /* in a union with `buf` */
	__u32 len;
	__u32 msg_flags;
	__u16 flags; /* from the entry's `ioprio` */
};

struct io_sync {
	long long len;
	long long off;
	int flags;
	int mode;
};

struct io_cqe {
	__u64 user_data;
	__s32 res;
	union { /* the descriptor, until the result is set */
		__u32 flags;
		int fd;
	};
};

struct io_wq_work_node {
	struct io_wq_work_node *next;
};

struct io_wq_work {
	struct io_wq_work_node list;
};

struct io_worker {
	struct io_wq_work *cur_work; /* what it works on */
};

struct io_ring_ctx;
struct io_kiocb {
	struct file *file;
	__u8 opcode;
	__u64 flags;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
	struct io_wq_work_node comp_list;
	struct io_wq_work work;
};

struct io_wq_work_list {
	struct io_wq_work_node *first;
};

struct io_submit_state {
	struct io_wq_work_list compl_reqs; /* requests whose completions are posted as a batch */
};

struct io_ring_ctx {
	unsigned int flags;
	__u32 *sq_array;
	void *sq_sqes;
	struct io_submit_state submit_state;
	unsigned int cached_sq_head;
	unsigned int sq_entries;
};

struct io_uring_cqe {
	__u64 user_data;
	int res;
	__u32 flags;
};

struct request_sock;

struct sk_buff {
	unsigned int len;
	unsigned char *head;
	__u16 transport_header; /* as network_header, an offset from `head` */
	__u16 network_header;
	char cb[48]; /* of TCP: struct tcp_skb_cb */
};

struct epoll_event {
	__u64 data;
};

struct epoll_filefd {
	struct file *file;
	int fd;
};

/* Begins with its node in the tree of its instance. */
struct epitem {
	struct epoll_filefd ffd;
	struct eventpoll *ep;
	struct epoll_event event;
};

struct eventpoll {
	struct rb_root_cached rbr;
};

struct kioctx {
	unsigned long user_id;
	unsigned int nr_events;
	unsigned int tail; /* in a struct */
};

struct kioctx_table {
	unsigned int nr;
	struct kioctx *table[0];
};

struct mm_struct___aio {
	struct kioctx_table *ioctx_table;
};

struct tcp_skb_cb {
	__u16 tcp_gso_segs; /* in a struct in a union */
};

struct tcp_sock {
	struct tcp_fastopen_request *fastopen_req;
};

#pragma clang attribute pop
