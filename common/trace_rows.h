/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the rows of one file of a trace, one after the other, in bounded memory: CSV by RFC 4180 with a header, or JSON
 * with one object per line; compressed or not, also while it is being written. A line that is no row is counted and
 * skipped. Nothing in the file is trusted. One thread per object.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session_spec.h"
#include "trace_file.h"

enum { TRACE_CELLS_MAX = 64 };

/* Not ended by a NUL. */
struct trace_text {
	const char *at;
	size_t length;
};

struct trace_rows {
	/* The columns: of CSV those of its header, of JSON lines those that were given. */
	struct trace_text names[TRACE_CELLS_MAX];
	size_t columns;
	/* The row that was read last, valid until the next one is: values without quotes; "" is an unknown value. */
	struct trace_text cells[TRACE_CELLS_MAX];
	uint64_t rows;	  /* good ones so far */
	uint64_t bad_rows; /* lines that are no row */
	uint64_t bytes;	  /* of text that were read */
	bool cut;	  /* at the end: something stands after the last line end */
	/* Set by the caller: no line is read behind so many rows, good and bad ones, or bytes of text; 0 to UINT64_MAX at first. */
	uint64_t rows_max, bytes_max;
	bool more; /* at the end: something stands behind them */
	/* Private. */
	struct trace_file file;
	enum iotr_format format;
	char *buffer, *header;
	size_t at, end;
	bool ended;
};

/*
 * Opens `name` in the folder. `names`: columns of rows of JSON lines, or what CSV must have in its header, in any order;
 * they are borrowed. Returns 0; an error of trace_file.h; -ENOMSG: it has no complete header yet; -EPROTO: its header is
 * no list of columns. Whatever is returned, trace_rows_close() must follow.
 */
int trace_rows_open(struct trace_rows *rows, int folder_fd, const char *name, enum iotr_format format,
		    const char *const *names, size_t columns);

/* Reads the next row. Returns 1; 0 at the end; or an error of trace_file.h, or -EMSGSIZE: a row is longer than 1 MiB. */
int trace_rows_next(struct trace_rows *rows);

/* The number of the column of that name, or -1. */
int trace_rows_column(const struct trace_rows *rows, const char *name);

/* Takes an all-zero object, too. */
void trace_rows_close(struct trace_rows *rows);

/* ---- values ---- */

bool trace_text_is(struct trace_text text, const char *word);

/* False: it is no such number, or unknown. */
bool trace_text_u64(struct trace_text text, uint64_t *number);
bool trace_text_s64(struct trace_text text, int64_t *number);

/* Milliseconds with up to six decimals, in ns. */
bool trace_text_ms(struct trace_text text, uint64_t *ns);
