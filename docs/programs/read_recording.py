"""Reads a recording of whyoom: read_recording.py FOLDER

Written from docs/dev/recording-format.md alone, to show that the page is sufficient. It counts the
events, and prints which lines allocated the PyTorch blocks that were live at the peak.
"""

import collections
import heapq
import pathlib
import struct
import sys
import zlib

BLOCK, HEADER, TRAILER = 16 << 10, 128, 8

# The fields of each action: a(ddress) and h(andle) are deltas, n(umbers) are numbers, c(hoices) a byte.
ACTIONS = {
    1: ("HistoryStart", ""), 2: ("Alloc", "can"), 3: ("Free", "ca"), 4: ("PoolTrim", "n"),
    5: ("Reserve", "an"), 6: ("Unreserve", "an"), 7: ("Create", "hn"), 8: ("Release", "h"),
    9: ("Map", "anh"), 10: ("Unmap", "an"), 11: ("ContextCreate", ""), 12: ("ContextDestroy", ""),
    13: ("LimitSet", "cn"), 14: ("LaunchFailed", "nn"), 15: ("CodeLoad", "h"), 16: ("CodeUnload", "h"),
    17: ("Synchronize", "c"), 18: ("SegmentAlloc", "ancc"), 19: ("SegmentFree", "a"),
    20: ("SegmentMap", "anc"), 21: ("SegmentUnmap", "an"), 22: ("BlockAlloc", "ann"),
    23: ("BlockFreeRequested", "a"), 24: ("BlockFree", "a"), 25: ("OutOfMemory", "n"),
    26: ("Symptom", "ccn"), 27: ("Mark", "cn"), 28: ("Setting", "nn"), 29: ("Sample", "cn"),
    30: ("Holder", "nnnc"), 31: ("Exit", ""),
}
FLAGS = ("thread", "device", "context", "stream", "pool", "stack", "result")

Event = collections.namedtuple("Event", ["time", "name", "fields", *FLAGS])


class Scan:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def number(self):
        value, shift = 0, 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def step(self, last):
        coded = self.number()
        way = -(coded + 1) // 2 if coded & 1 else coded // 2
        return (last + way) % (1 << 64)


def blocks(data):
    """The records of each block of a segment with a valid checksum."""
    committed, closed, check = struct.unpack_from("<QII", data, 64)
    for start in range(0, len(data), BLOCK):
        first, end = start or HEADER, start + BLOCK
        if first >= committed:
            return
        if committed <= end:  # the block that the writer was in
            records, told = data[first:committed], check if closed else None
        else:
            told, used = struct.unpack_from("<IH", data, end - TRAILER)
            records = data[first : first + used]
        if told is None or zlib.crc32(records) == told:
            yield records


def events(data):
    for records in blocks(data):
        scan, time, address, handle = Scan(records), 0, 0, 0
        origin = dict.fromkeys(FLAGS, 0)
        while scan.at < len(records):
            name, kinds = ACTIONS[scan.byte()]
            flags, way = scan.byte(), scan.number()
            time += -way if flags & 128 else way
            origin["result"] = 0
            for bit, field in enumerate(FLAGS):
                if flags >> bit & 1:
                    origin[field] = scan.number()
            fields = []
            for kind in kinds:
                if kind == "a":
                    address = scan.step(address)
                    fields.append(address)
                elif kind == "h":
                    handle = scan.step(handle)
                    fields.append(handle)
                else:
                    fields.append(scan.number() if kind == "n" else scan.byte())
            yield Event(time, name, fields, **origin)


class Tables:
    """What events reference by id."""

    def __init__(self):
        self.strings, self.frames, self.stacks = {}, {}, {}

    def read(self, data):
        at = HEADER
        (committed,) = struct.unpack_from("<Q", data, 64)
        while at < committed:
            head, check = struct.unpack_from("<II", data, at)
            tag, length = head & 0xFF, head >> 8
            body = data[at + 8 : at + 8 + length]
            if zlib.crc32(data[at : at + 4] + body) != check:
                raise ValueError(f"a damaged definition at {at}")
            self.define(tag, Scan(body))
            at = (at + 8 + length + 7) // 8 * 8

    def define(self, tag, scan):
        if tag == 1:
            number = scan.number()
            self.strings[number] = bytes(scan.data[scan.at :]).decode(errors="replace")
        elif tag == 2:
            number, function, file, line = (scan.number() for _ in range(4))
            self.frames[number] = (self.strings[function], self.strings[file], line)
        elif tag == 3:
            number, address, stack = scan.number(), 0, []
            while scan.at < len(scan.data):
                frame = scan.number()
                if frame:
                    stack.append(frame - 1)  # a Python frame
                else:
                    address = scan.step(address)  # native code
            self.stacks[number] = stack

    def place(self, stack):
        """The outermost line of Python, which is the program's own."""
        frames = self.stacks.get(stack)
        if not frames:
            return "no Python frame"
        function, file, line = self.frames[frames[-1]]
        return f"{pathlib.Path(file).name}:{line} {function}"


def number_of(path):
    return int(path.stem.rsplit("-", 1)[1])


def show(part):
    """One process: its files, its counts, its peak."""
    tables = Tables()
    for path in sorted(part.parent.glob(f"{part.stem}-*.tables"), key=number_of):
        tables.read(path.read_bytes())
    segments = [path.read_bytes() for path in part.parent.glob(f"{part.stem}-*.events")]
    counts, live, now, peak, at_peak = collections.Counter(), {}, 0, 0, {}
    for event in heapq.merge(*map(events, segments), key=lambda event: event.time):
        counts[event.name] += 1
        if event.name == "BlockAlloc":
            address, _, size = event.fields
            live[address], now = (size, event.stack), now + size
        elif event.name == "BlockFree":
            now -= live.pop(event.fields[0], (0, 0))[0]
        if now > peak:
            peak, at_peak = now, dict(live)
    print(f"{sum(counts.values())} events:", ", ".join(f"{n} {name}" for name, n in counts.most_common()))
    places = collections.Counter()
    for size, stack in at_peak.values():
        places[tables.place(stack)] += size
    for place, size in places.most_common(3):
        print(f"at the peak of {peak / 2**20:.2f} MiB: {size / 2**20:.2f} MiB of {place}")


for part in sorted(pathlib.Path(sys.argv[1]).glob("*.part")):
    if part.read_bytes()[:8] == b"whyoomPT":
        show(part)
