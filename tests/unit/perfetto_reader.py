# SPDX-License-Identifier: GPL-2.0-or-later
"""Reads what is exported for Perfetto with the decoder of protoc, and judges it as Perfetto would."""
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from types import SimpleNamespace

HERE = os.path.dirname(os.path.realpath(__file__))
CLEARED, NEEDS_STATE = 1, 2
BEGIN, END, COUNTER = 1, 2, 4
WINDOW_NS = 100_000_000


def decoder():
    """The module that protoc makes of perfetto.proto, or None."""
    # Of a module in a package that is not there, find_spec() does not say None, but raises.
    if not shutil.which('protoc') or not importlib.util.find_spec('google') or not importlib.util.find_spec('google.protobuf'):
        return None
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(['protoc', '-I', HERE, '--python_out', folder, os.path.join(HERE, 'perfetto.proto')], check=True)
        sys.path.insert(0, folder)
        try:
            return importlib.import_module('perfetto_pb2')
        finally:
            sys.path.remove(folder)


class Sequence:
    """The packets of one writer: what they have interned, and how far their time is."""

    def __init__(self):
        self.names, self.ever, self.reached, self.cleared = {}, {}, 0, 0

    def intern(self, data):
        for kind in ('event_categories', 'event_names', 'debug_annotation_names', 'debug_annotation_string_values'):
            for entry in getattr(data, kind):
                text = entry.str.decode() if kind.endswith('values') else entry.name
                assert self.ever.setdefault((kind, entry.iid), text) == text, 'a number has two meanings'
                self.names[kind, entry.iid] = text


class Reading:
    """`slices`: objects with track, begin, end, category, name, flows and arguments; `counters`: values by name of the track."""

    def __init__(self, module, text):
        self.module, self.tracks, self.sequences, self.open = module, {}, {}, {}
        self.slices, self.counters, self.clocks = [], {}, {}
        trace = module.Trace.FromString(text)
        size = trace.ByteSize()
        trace.DiscardUnknownFields()
        assert trace.ByteSize() == size == len(text), 'there are fields that are not known'
        for packet in trace.packet:
            self.take(packet)
        assert not self.open, 'slices do not end'

    def take(self, packet):
        assert packet.trusted_packet_sequence_id, packet
        sequence = self.sequences.setdefault(packet.trusted_packet_sequence_id, Sequence())
        if packet.sequence_flags & CLEARED:
            sequence.names = {}
            sequence.cleared += 1
        if packet.HasField('interned_data'):
            assert packet.sequence_flags & NEEDS_STATE, packet
            sequence.intern(packet.interned_data)
        if packet.HasField('clock_snapshot'):
            self.clocks = {clock.clock_id: clock.timestamp for clock in packet.clock_snapshot.clocks}
        if packet.HasField('track_descriptor'):
            one = packet.track_descriptor
            assert not one.parent_uuid or one.parent_uuid in self.tracks, 'below a track that is not there'
            known = self.tracks.setdefault(one.uuid, one)
            assert known == one, 'a track has two meanings'
        if packet.HasField('track_event'):
            assert packet.timestamp >= sequence.reached, 'not in the order of time'
            sequence.reached = packet.timestamp
            self.event(packet, sequence)

    def event(self, packet, sequence):
        event = packet.track_event
        track = self.tracks[event.track_uuid]
        assert track.HasField('counter') == (event.type == COUNTER), event
        if event.type == COUNTER:
            self.counters.setdefault(track.name, []).append((packet.timestamp, event.counter_value))
        elif event.type == END:
            self.open.pop(event.track_uuid).end = packet.timestamp
        else:
            assert event.type == BEGIN and packet.sequence_flags & NEEDS_STATE, packet
            assert event.track_uuid not in self.open, 'slices of a track overlap'
            arguments = {sequence.names['debug_annotation_names', one.name_iid]:
                         sequence.names['debug_annotation_string_values', one.string_value_iid] if one.string_value_iid
                         else one.uint_value for one in event.debug_annotations}
            one = SimpleNamespace(
                track=self.whose(track), begin=packet.timestamp, end=None, flows=list(event.flow_ids), arguments=arguments,
                category=sequence.names['event_categories', event.category_iids[0]],
                name=sequence.names['event_names', event.name_iid])
            self.open[event.track_uuid] = one
            self.slices.append(one)

    def whose(self, track):
        """The thread, as (pid, tid), or the name of the disk."""
        while track.name in ('requests', 'at the same time'):
            track = self.tracks[track.parent_uuid]
        if not track.HasField('thread'):
            return track.name
        assert self.tracks[track.parent_uuid].process.pid == track.thread.pid, track
        return track.thread.pid, track.thread.tid


def transferred(values):
    """Bytes, of a counter of bytes a second."""
    return sum(rate * (after - time) for (time, rate), (after, _) in zip(values, values[1:])) // 10 ** 9
