/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What becomes of a system call that a signal has interrupted, as is known where the signal is delivered. */
#pragma once

#include "registers.bpf.h"

#define ERESTARTSYS	      512
#define ERESTARTNOINTR	      513
#define SIGNAL_HANDLER_NONE   0 /* SIG_DFL */
#define SIGNAL_HANDLER_IGNORE 1 /* SIG_IGN */
#define SA_RESTART	      0x10000000
#define SIGNAL_UNKILLABLE     0x40 /* of the first process of a PID namespace */

/* Signals that end no thread by default, as bits: CHLD, CONT, STOP, TSTP, TTIN, TTOU, URG, WINCH; and that nothing withstands. */
#define SIGNAL_BIT(number) (1ULL << ((number) - 1))
#define SIGNALS_MILD                                                                            \
	(SIGNAL_BIT(17) | SIGNAL_BIT(18) | SIGNAL_BIT(19) | SIGNAL_BIT(20) | SIGNAL_BIT(21) |       \
	 SIGNAL_BIT(22) | SIGNAL_BIT(23) | SIGNAL_BIT(28))
#define SIGNAL_KILL	   9

/* Whether a signal with the default action ends the thread. */
static __always_inline bool is_fatal(int signal)
{
	struct signal_struct *process = FOLLOW(current_task(), signal);

	if (signal == SIGNAL_KILL)
		return true;
	if (signal < 64 && SIGNALS_MILD >> ((signal - 1) & 63) & 1)
		return false;
	return !(FOLLOW(process, flags) & SIGNAL_UNKILLABLE);
}

/*
 * What a signal that is being delivered makes of the call that the thread has been in: the negative error that the program sees,
 * -IOTR_DIED, or 0: it may still begin once more, or there is none.
 */
static __always_inline long signal_result(int signal, struct k_sigaction *action)
{
	struct pt_regs *regs = user_registers();
	__u64 handler = (__u64)READ(struct k_sigaction, action, sa.sa_handler);
	long code = (int)REGISTER(regs, ax);

	if ((long)REGISTER(regs, orig_ax) < 0 || !restarts(code) || handler == SIGNAL_HANDLER_IGNORE)
		return 0;
	if (handler == SIGNAL_HANDLER_NONE)
		return is_fatal(signal) ? -IOTR_DIED : 0;
	if (code == -ERESTARTNOINTR ||
	    (code == -ERESTARTSYS && READ(struct k_sigaction, action, sa.sa_flags) & SA_RESTART))
		return 0;
	return -EINTR;
}

/* The call that a thread was in, as its end is seen where a signal is delivered. */
static __always_inline struct call_context context_signalled(void)
{
	return (struct call_context){ .classic = true, .number = REGISTER(user_registers(), orig_ax) };
}
