// SPDX-License-Identifier: GPL-2.0-or-later
/* Constant propagation over registers; where two ways meet, a register that differs is unknown. */
#include "reachable.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#define REGISTERS 11
#define SLOTS	  64 /* of eight bytes of a frame, which has 512 */

struct value {
	bool known;
	uint64_t number;
};

struct state {
	bool seen;
	struct value registers[REGISTERS];
	struct value stack[SLOTS];
};

struct walk {
	const struct bpf_insn *insns;
	size_t count;
	struct state *states; /* before each instruction */
	size_t *pending;
	size_t pending_count;
	bool *is_pending;
};

static bool join_values(struct value *into, const struct value *from, size_t count)
{
	bool changed = false;

	for (size_t i = 0; i < count; i++) {
		if (!into[i].known || (from[i].known && from[i].number == into[i].number))
			continue;
		into[i].known = false;
		changed = true;
	}
	return changed;
}

static int go_to(struct walk *walk, size_t at, const struct state *from)
{
	struct state *state;
	bool changed = false;

	if (at >= walk->count)
		return -EINVAL;
	state = &walk->states[at];
	if (!state->seen) {
		*state = *from;
		state->seen = changed = true;
	} else {
		changed = join_values(state->registers, from->registers, REGISTERS);
		changed |= join_values(state->stack, from->stack, SLOTS);
	}
	if (changed && !walk->is_pending[at]) {
		walk->is_pending[at] = true;
		walk->pending[walk->pending_count++] = at;
	}
	return 0;
}

static struct value *frame_slot(struct state *state, int reg, int offset)
{
	if (reg != BPF_REG_10 || offset >= 0 || offset < -8 * SLOTS || offset % 8)
		return NULL;
	return &state->stack[-offset / 8 - 1];
}

static struct value operand(const struct state *state, const struct bpf_insn *insn)
{
	if (BPF_SRC(insn->code) == BPF_X)
		return state->registers[insn->src_reg];
	return (struct value){ .known = true, .number = (uint64_t)(int64_t)insn->imm };
}

/* Sets a result; false: not an operation that guards are made of. */
static bool calculate(int op, uint64_t left, uint64_t right, uint64_t *result)
{
	switch (op) {
	case BPF_ADD: *result = left + right; return true;
	case BPF_SUB: *result = left - right; return true;
	case BPF_AND: *result = left & right; return true;
	case BPF_OR: *result = left | right; return true;
	case BPF_XOR: *result = left ^ right; return true;
	case BPF_LSH: *result = left << (right & 63); return true;
	case BPF_RSH: *result = left >> (right & 63); return true;
	case BPF_MOV: *result = right; return true;
	default: return false;
	}
}

static void run_arithmetic(struct state *state, const struct bpf_insn *insn)
{
	bool wide = BPF_CLASS(insn->code) == BPF_ALU64;
	struct value *to = &state->registers[insn->dst_reg], right = operand(state, insn);
	bool known = right.known && (to->known || BPF_OP(insn->code) == BPF_MOV);
	uint64_t left = to->number, result = 0;

	if (!wide) {
		left = (uint32_t)left;
		right.number = (uint32_t)right.number;
	}
	to->known = known && calculate(BPF_OP(insn->code), left, right.number, &result);
	to->number = wide ? result : (uint32_t)result;
}

/* Whether a conditional jump is taken; -1: not known. */
static int jump_taken(const struct state *state, const struct bpf_insn *insn)
{
	struct value left = state->registers[insn->dst_reg], right = operand(state, insn);

	if (!left.known || !right.known)
		return -1;
	if (BPF_CLASS(insn->code) == BPF_JMP32) {
		left.number = (uint32_t)left.number;
		right.number = (uint32_t)right.number;
	}
	switch (BPF_OP(insn->code)) {
	case BPF_JEQ: return left.number == right.number;
	case BPF_JNE: return left.number != right.number;
	case BPF_JGT: return left.number > right.number;
	case BPF_JGE: return left.number >= right.number;
	case BPF_JLT: return left.number < right.number;
	case BPF_JLE: return left.number <= right.number;
	case BPF_JSET: return (left.number & right.number) != 0;
	default: return -1;
	}
}

static void forget(struct value *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		values[i].known = false;
}

/* A callee's arguments are those of all its callers; its frame is a new one. */
static int enter_subprogram(struct walk *walk, size_t at, const struct state *state)
{
	struct state callee = *state;

	forget(callee.stack, SLOTS);
	forget(&callee.registers[BPF_REG_6], 4);
	return go_to(walk, at, &callee);
}

/* A pointer into the frame that is passed on can change any of its slots. */
static int run_call(struct walk *walk, size_t at, struct state *state)
{
	const struct bpf_insn *insn = &walk->insns[at];
	int r = 0;

	if (insn->src_reg == BPF_PSEUDO_CALL)
		r = enter_subprogram(walk, at + 1 + (size_t)(int64_t)insn->imm, state);
	/* Instead of the address of a map that was not made there is a call, whose register is not known here. */
	forget(state->registers, BPF_REG_10);
	forget(state->stack, SLOTS);
	return r < 0 ? r : go_to(walk, at + 1, state);
}

static int run_jump(struct walk *walk, size_t at, struct state *state)
{
	const struct bpf_insn *insn = &walk->insns[at];
	size_t target = at + 1 + (size_t)(int64_t)insn->off;
	int taken, r = 0;

	switch (BPF_OP(insn->code)) {
	case BPF_EXIT: return 0;
	case BPF_CALL: return run_call(walk, at, state);
	case BPF_JA: return go_to(walk, target, state);
	}
	taken = jump_taken(state, insn);
	if (taken)
		r = go_to(walk, target, state);
	if (taken != 1 && r == 0)
		r = go_to(walk, at + 1, state);
	return r;
}

static void run_store(struct state *state, const struct bpf_insn *insn)
{
	int offset = insn->off & ~7; /* of the slot, also of a store into its middle */
	struct value *slot = frame_slot(state, insn->dst_reg, offset);

	if (!slot)
		return;
	if (BPF_SIZE(insn->code) == BPF_DW && insn->off % 8 == 0 && BPF_MODE(insn->code) == BPF_MEM)
		*slot = BPF_CLASS(insn->code) == BPF_STX ? state->registers[insn->src_reg] :
							   (struct value){ true, (uint64_t)(int64_t)insn->imm };
	else
		slot->known = false;
}

static void run_load(struct state *state, const struct bpf_insn *insn)
{
	struct value *slot = frame_slot(state, insn->src_reg, insn->off);

	if (slot && BPF_SIZE(insn->code) == BPF_DW)
		state->registers[insn->dst_reg] = *slot;
	else
		state->registers[insn->dst_reg].known = false;
}

static int run_instruction(struct walk *walk, size_t at)
{
	const struct bpf_insn *insn = &walk->insns[at];
	struct state state = walk->states[at];

	switch (BPF_CLASS(insn->code)) {
	case BPF_JMP:
	case BPF_JMP32: return run_jump(walk, at, &state);
	case BPF_ALU:
	case BPF_ALU64: run_arithmetic(&state, insn); break;
	case BPF_ST:
	case BPF_STX: run_store(&state, insn); break;
	case BPF_LDX: run_load(&state, insn); break;
	case BPF_LD:
		state.registers[insn->dst_reg].known = false;
		if (insn->code == (BPF_LD | BPF_IMM | BPF_DW))
			at++;
		break;
	}
	return go_to(walk, at + 1, &state);
}

int find_reachable(const struct bpf_insn *insns, size_t count, bool *reachable)
{
	struct walk walk = { .insns = insns, .count = count };
	struct state start = { 0 };
	int r = -ENOMEM;

	walk.states = calloc(count, sizeof(*walk.states));
	walk.pending = calloc(count, sizeof(*walk.pending));
	walk.is_pending = calloc(count, sizeof(*walk.is_pending));
	if (walk.states && walk.pending && walk.is_pending)
		r = go_to(&walk, 0, &start);
	while (r == 0 && walk.pending_count) {
		size_t at = walk.pending[--walk.pending_count];

		walk.is_pending[at] = false;
		r = run_instruction(&walk, at);
	}
	for (size_t i = 0; i < count && r == 0; i++)
		reachable[i] = walk.states[i].seen;
	free(walk.states);
	free(walk.pending);
	free(walk.is_pending);
	return r;
}

/* ---- stack ---- */

#define DEPTH_MAX 16 /* functions in a chain; kernels allow 8 */

/* Where the function ends that begins at `begin`: where another one begins that is called. */
static size_t function_end(const struct bpf_insn *insns, size_t count, size_t begin)
{
	size_t end = count;

	for (size_t i = 0; i < count; i++) {
		size_t target = i + 1 + (size_t)(int64_t)insns[i].imm;

		if (insns[i].code == (BPF_JMP | BPF_CALL) && insns[i].src_reg == BPF_PSEUDO_CALL && target > begin && target < end)
			end = target;
	}
	return end;
}

/* The lowest byte of the frame that an instruction names, as a positive number; 0: none. */
static size_t frame_use(const struct bpf_insn *insns, size_t at)
{
	const struct bpf_insn *insn = &insns[at];
	int class = BPF_CLASS(insn->code);

	if (class == BPF_LDX && insn->src_reg == BPF_REG_10)
		return (size_t)-insn->off;
	if ((class == BPF_ST || class == BPF_STX) && insn->dst_reg == BPF_REG_10)
		return (size_t)-insn->off;
	/* A pointer into the frame is made of two instructions. */
	if (insn->code == (BPF_ALU64 | BPF_MOV | BPF_X) && insn->src_reg == BPF_REG_10 &&
	    insns[at + 1].code == (BPF_ALU64 | BPF_ADD | BPF_K) && insns[at + 1].dst_reg == insn->dst_reg && insns[at + 1].imm < 0)
		return (size_t)-insns[at + 1].imm;
	return 0;
}

static size_t chain_depth(const struct bpf_insn *insns, size_t count, const bool *reachable, size_t begin,
			  size_t rounding, int level)
{
	size_t end = function_end(insns, count, begin), own = 1, deepest = 0;

	for (size_t i = begin; i < end; i++) {
		size_t use = reachable[i] ? frame_use(insns, i) : 0, depth;

		own = use > own ? use : own;
		if (!reachable[i] || insns[i].code != (BPF_JMP | BPF_CALL) || insns[i].src_reg != BPF_PSEUDO_CALL ||
		    level == DEPTH_MAX)
			continue;
		depth = chain_depth(insns, count, reachable, i + 1 + (size_t)(int64_t)insns[i].imm, rounding,
				    level + 1);
		deepest = depth > deepest ? depth : deepest;
	}
	return (own + rounding - 1) / rounding * rounding + deepest;
}

size_t stack_depth(const struct bpf_insn *insns, size_t count, const bool *reachable, size_t rounding)
{
	return chain_depth(insns, count, reachable, 0, rounding, 1);
}
