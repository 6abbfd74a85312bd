/* A map server keeps up to 64 tiles on the GPU and drops the one that was not asked for the longest.
 * Requests come from 400 tiles: the cache fills, and then every miss replaces one. */
#include "driver.h"

enum { ROOM = 64, TILES = 400, REQUESTS = 3000 };

struct entry {
    int tile, asked_at;
    device_address address;
};

static struct entry cache[ROOM];
static int filled;

/* Where the tile is, or the entry that has to make room for it. */
static struct entry *place_of(int tile) {
    struct entry *oldest = &cache[0];
    for (int index = 0; index < filled; index++) {
        if (cache[index].tile == tile) return &cache[index];
        if (cache[index].asked_at < oldest->asked_at) oldest = &cache[index];
    }
    if (filled == ROOM) return oldest;
    cache[filled].tile = -1;
    return &cache[filled++];
}

int main(void) {
    struct driver driver = usual_driver();
    start(&driver);
    srand(3);
    for (int request = 0; request < REQUESTS; request++) {
        int tile = rand() % TILES;
        struct entry *entry = place_of(tile);
        if (entry->tile != tile) {
            if (entry->address) must(driver.release(entry->address), "cuMemFree");
            must(driver.allocate(&entry->address, (size_t)(4 + tile % 3) * MIB), "cuMemAlloc");
            entry->tile = tile;
        }
        entry->asked_at = request;
    }
    for (int index = 0; index < filled; index++) must(driver.release(cache[index].address), "cuMemFree");
    return 0;
}
