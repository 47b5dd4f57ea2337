// SPDX-License-Identifier: GPL-2.0-or-later
#include "session/slots.h"

#include <errno.h>
#include <inttypes.h>

#include "log.h"
#include "probes/control_page.h"
#include "probes/in_flight.h"

/* ---- counts ---- */

static void loss_add(struct probes_loss *sum, const struct slots *slots, const struct slot *slot,
		     enum iotr_stream stream, const struct probes_loss *losses)
{
	struct probes_loss loss;

	if (losses)
		loss = losses[slot->bit];
	else
		probes_loss(slots->probes, stream, (unsigned int)slot->bit, &loss);
	sum->emitted += loss.emitted - slot->before[stream].emitted;
	sum->ring += loss.ring - slot->before[stream].ring;
	sum->unmatched += loss.unmatched - slot->before[stream].unmatched;
}

static bool has_left(const struct slot_state *state, const struct slot_owner *owner)
{
	return state->left && state->owner == owner;
}

void slot_loss(const struct slots *slots, const struct slot_owner *owner, enum iotr_stream stream,
	       const struct probes_loss *losses, struct probes_loss *ret)
{
	*ret = owner->settled[stream];
	if (!owner->taken)
		return;
	loss_add(ret, slots, &owner->slot, stream, losses);
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (has_left(&slots->states[bit], owner))
			loss_add(ret, slots, &slots->states[bit].slot, stream, losses);
}

uint64_t slot_mask(const struct slots *slots, const struct slot_owner *owner)
{
	uint64_t mask = owner->taken ? 1ULL << owner->slot.bit : 0;

	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (has_left(&slots->states[bit], owner))
			mask |= 1ULL << bit;
	return mask;
}

static uint64_t unfollowed_of(const struct slots *slots, const struct slot *slot)
{
	return control_page_unfollowed(slots->probes, (unsigned int)slot->bit) - slot->unfollowed_before;
}

uint64_t slot_unfollowed(const struct slots *slots, const struct slot_owner *owner)
{
	uint64_t sum = owner->unfollowed_settled;

	if (!owner->taken)
		return 0;
	sum += unfollowed_of(slots, &owner->slot);
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (has_left(&slots->states[bit], owner))
			sum += unfollowed_of(slots, &slots->states[bit].slot);
	return sum;
}

/* ---- slots that were left ---- */

/* When it returns, the slot's rows are in the queue of the sink, and the slot is free. */
static void give_up(struct slots *slots, struct slot_state *state)
{
	struct slot_owner *owner = state->owner;
	unsigned int bit = (unsigned int)state->slot.bit;

	control_page_clear(slots->probes, bit);
	consumer_drain(slots->consumer);
	router_detach(consumer_router(slots->consumer), bit);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		loss_add(&owner->settled[stream], slots, &state->slot, stream, NULL);
	owner->unfollowed_settled += unfollowed_of(slots, &state->slot);
	*state = (struct slot_state){ 0 };
}

static bool any_left(const struct slots *slots)
{
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (slots->states[bit].left)
			return true;
	return false;
}

/* No operation begins in a slot that was left, so once nothing is in flight in it, nothing will be. */
void slots_tidy(struct slots *slots)
{
	struct in_flight in_flight;

	if (!any_left(slots))
		return;
	in_flight_count(slots->probes, &in_flight);
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (slots->states[bit].left && !(in_flight.slots >> bit & 1))
			give_up(slots, &slots->states[bit]);
}

static struct slot_state *left_first(struct slots *slots)
{
	struct slot_state *first = NULL;

	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (slots->states[bit].left && (!first || slots->states[bit].number < first->number))
			first = &slots->states[bit];
	return first;
}

/* Operations in flight in the slot that was left first are counted as lost: no filters will judge them. */
static void lose_first(struct slots *slots)
{
	struct slot_state *first = left_first(slots);
	struct slot_owner *owner = first ? first->owner : NULL;
	struct in_flight in_flight;
	uint64_t lost = 0;

	if (!first)
		return;
	in_flight_count(slots->probes, &in_flight);
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++) {
		uint32_t count = in_flight.count[stream][first->slot.bit];

		owner->settled[stream].emitted += count;
		owner->settled[stream].unmatched += count;
		lost += count;
	}
	give_up(slots, first);
	if (lost)
		log_warning("session %s: %" PRIu64 " operations in flight that began before its filters changed are lost: "
			    "all 64 slots of sessions were taken, and another was needed", owner->name, lost);
}

/* ---- free slots ---- */

static int next_free(const struct slots *slots, uint64_t except)
{
	for (int bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (!slots->states[bit].owner && !((slots->reserved | except) >> bit & 1))
			return bit;
	return -ENOSPC;
}

int slots_find(struct slots *slots)
{
	if (next_free(slots, 0) < 0)
		slots_tidy(slots);
	if (next_free(slots, 0) < 0)
		lose_first(slots);
	return next_free(slots, 0);
}

int slots_reserve(struct slots *slots, unsigned int count, unsigned int *bits)
{
	uint64_t found = 0;

	for (unsigned int i = 0; i < count; i++) {
		int bit = next_free(slots, found);

		if (bit < 0)
			return bit;
		bits[i] = (unsigned int)bit;
		found |= 1ULL << bit;
	}
	slots->reserved = found;
	return 0;
}

void slots_unreserve(struct slots *slots)
{
	slots->reserved = 0;
}

/* ---- the slots of a session ---- */

void slot_own(struct slots *slots, struct slot_owner *owner, int bit)
{
	owner->slot.bit = bit;
	slots->states[bit].owner = owner;
}

int slot_prepare(struct slots *slots, const struct slot_owner *owner, int bit, struct slot *ret)
{
	unsigned int slot = (unsigned int)bit;
	int r = owner->sink->ops->attach(owner->sink, consumer_router(slots->consumer), slot);

	if (r < 0)
		return r;
	ret->bit = bit;
	for (size_t stream = 0; stream < IOTR_STREAM_COUNT; stream++)
		probes_loss(slots->probes, stream, slot, &ret->before[stream]);
	ret->unfollowed_before = control_page_unfollowed(slots->probes, slot);
	return 0;
}

void slot_abandon(struct slots *slots, const struct slot *slot)
{
	control_page_clear(slots->probes, (unsigned int)slot->bit);
	router_detach(consumer_router(slots->consumer), (unsigned int)slot->bit);
}

int slot_take(struct slots *slots, struct slot_owner *owner)
{
	int r = slot_prepare(slots, owner, owner->slot.bit, &owner->slot);

	owner->taken = r >= 0;
	return r;
}

void slot_change(struct slots *slots, struct slot_owner *owner, const struct slot *slot)
{
	struct slot_state *state = &slots->states[owner->slot.bit];

	control_page_open(slots->probes, (unsigned int)slot->bit, owner->slot.bit);
	*state = (struct slot_state){ .owner = owner, .left = true, .number = slots->left++, .slot = owner->slot };
	slots->states[slot->bit].owner = owner;
	owner->slot = *slot;
}

/* What is in flight in slots that were left ends with the session: its rows would come too late. */
void slot_close(struct slots *slots, struct slot_owner *owner)
{
	for (size_t bit = 0; bit < IOTR_SESSIONS_MAX; bit++)
		if (has_left(&slots->states[bit], owner))
			give_up(slots, &slots->states[bit]);
	if (!owner->taken)
		return;
	control_page_clear(slots->probes, (unsigned int)owner->slot.bit);
	consumer_drain(slots->consumer);
	router_detach(consumer_router(slots->consumer), (unsigned int)owner->slot.bit);
}

void slot_disown(struct slots *slots, struct slot_owner *owner)
{
	slots->states[owner->slot.bit].owner = NULL;
}
