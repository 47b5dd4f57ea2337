/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the kernel side has counted of a session. Main thread. */
#pragma once

#include "pipeline/writer/losses.h"
#include "session/session.h"

/* Runs of BPF programs that the kernel skipped since it began. */
uint64_t session_missed(const struct session *session, enum iotr_stream stream);

/* The kernel's counts of a stream, all of them read now. */
void session_probes(const struct session *session, enum iotr_stream stream, struct writer_probes *ret);

/* Reports the counts of all its streams to the sink. */
void session_report(struct session *session);

/*
 * The same for one stream, whose counts in all slots were just read with probes_losses(). What programs missed is
 * told as in the last session_report(), as it is dear to read.
 */
void session_report_stream(struct session *session, enum iotr_stream stream, const struct probes_loss *losses);

/* What kernel and sink have counted of a stream, all of it read now. False: the session does not record it. */
bool session_counts(const struct session *session, enum iotr_stream stream, struct writer_probes *probes, struct row_counts *rows);

/* The rows of a stream that were lost, by cause. */
void session_losses(const struct writer_probes *probes, const struct row_counts *rows, uint64_t ret[LOSS_CAUSES]);

/* Rows of all its streams that were lost until now, whatever the cause. */
uint64_t session_lost(const struct session *session);
