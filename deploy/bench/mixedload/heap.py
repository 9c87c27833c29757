"""What of a process's heap is in use, and what the C library keeps of it for later (glibc, arenas of its threads).

The memory is read while the process runs, so a walk may meet a change and is then left out.
"""

import struct

ARENA = 64 << 20


def heap(pid: int) -> tuple[int, int] | None:
    """The bytes of all arenas that are in use and those that are free; nil: none could be walked."""
    try:
        return arenas_of(pid)
    except (OSError, ValueError, struct.error):
        # The process ends, or an arena is given back meanwhile.
        return None


def arenas_of(pid: int) -> tuple[int, int] | None:
    used = free = arenas = 0
    with open(f"/proc/{pid}/maps") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            fields = line.split()
            start, end = (int(place, 16) for place in fields[0].split("-"))
            if start % ARENA or "rw" not in fields[1] or len(fields) > 5:
                continue
            memory.seek(start)
            if found := walked(memory.read(end - start)):
                used, free, arenas = used + found[0], free + found[1], arenas + 1
    return (used, free) if arenas else None


def walked(arena: bytes) -> tuple[int, int] | None:
    """Walks the chunks of one arena from the first place at which they lead to its end."""
    for start in range(0x20, 0xA00, 16):
        # Of another arena than the main one, with a chunk before it that is in use.
        if start + 16 <= len(arena) and struct.unpack_from("<Q", arena, start + 8)[0] & 5 == 5:
            if found := sums(arena, start):
                return found
    return None


def sums(arena: bytes, place: int) -> tuple[int, int] | None:
    used = free = 0
    while place + 16 <= len(arena):
        size = struct.unpack_from("<Q", arena, place + 8)[0] & ~7
        after = place + size
        if size < 32 or after > len(arena):
            return None
        # The next chunk says whether this one is in use; the last one is what has not been given out.
        is_used = after + 16 <= len(arena) and struct.unpack_from("<Q", arena, after + 8)[0] & 1
        used, free = used + (size if is_used else 0), free + (0 if is_used else size)
        place = after
    return (used, free) if place == len(arena) else None
