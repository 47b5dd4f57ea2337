// SPDX-License-Identifier: GPL-2.0-or-later
#include "moves.h"

#include <stddef.h>

#include "events.h"

#define COPY (IOTR_MOVES_READ | IOTR_MOVES_WRITTEN | IOTR_MOVES_COPY)

#define READS(id, operation)  { IOTR_##id, IOTR_##id##_##operation, IOTR_MOVES_READ }
#define WRITES(id, operation) { IOTR_##id, IOTR_##id##_##operation, IOTR_MOVES_WRITTEN }
#define COPIES(id, operation) { IOTR_##id, IOTR_##id##_##operation, COPY }

static const struct {
	enum iotr_stream stream;
	int operation;
	unsigned int moves;
} moving[] = {
	READS(VFS, READ), READS(VFS, DIO_READ), WRITES(VFS, WRITE), WRITES(VFS, DIO_WRITE),
	COPIES(VFS, COPY_FILE_RANGE), COPIES(VFS, SENDFILE), COPIES(VFS, SPLICE),
	READS(BLOCK, READ), WRITES(BLOCK, WRITE), WRITES(BLOCK, ZONE_APPEND),
	READS(NET, RECEIVE), WRITES(NET, SEND),
	READS(CACHE, HIT), READS(CACHE, MISS), WRITES(CACHE, DIRTY),
	READS(IOURING, READ), READS(IOURING, READV), READS(IOURING, READ_FIXED), READS(IOURING, READV_FIXED),
	READS(IOURING, READ_MULTISHOT), READS(IOURING, RECV), READS(IOURING, RECVMSG), READS(IOURING, RECV_ZC),
	WRITES(IOURING, WRITE), WRITES(IOURING, WRITEV), WRITES(IOURING, WRITE_FIXED), WRITES(IOURING, WRITEV_FIXED),
	WRITES(IOURING, SEND), WRITES(IOURING, SENDMSG), WRITES(IOURING, SEND_ZC), WRITES(IOURING, SENDMSG_ZC),
	COPIES(IOURING, SPLICE),
};

unsigned int iotr_moves(enum iotr_stream stream, int operation)
{
	for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++)
		if (moving[i].stream == stream && moving[i].operation == operation)
			return moving[i].moves;
	return 0;
}
