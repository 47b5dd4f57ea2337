// SPDX-License-Identifier: GPL-2.0-or-later
#include "probes/changes.h"

#include "probes/symbols.h"

enum { RENAME_LOCK, MOUNT_LOCK, RCU_STATE, SYMBOLS };

void changes_find(int symbols, struct iotr_control *page)
{
	static const char *const names[SYMBOLS] = {
		[RENAME_LOCK] = "rename_lock",
		[MOUNT_LOCK] = "mount_lock",
		[RCU_STATE] = "rcu_state",
	};
	uint64_t found[SYMBOLS] = { 0 };

	symbols_find(symbols, names, SYMBOLS, found);
	if (!found[RENAME_LOCK] || !found[MOUNT_LOCK] || !found[RCU_STATE])
		return;
	page->changes.rename_lock = found[RENAME_LOCK];
	page->changes.mount_lock = found[MOUNT_LOCK];
	__atomic_store_n(&page->changes.rcu_state, found[RCU_STATE], __ATOMIC_SEQ_CST);
}
