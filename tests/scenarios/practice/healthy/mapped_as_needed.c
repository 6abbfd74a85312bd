/* One range of addresses, 8 GiB, is reserved; physical memory is mapped into it piece by piece as a
 * particle store fills, up to 40 pieces of 32 MiB. Then particles come and go within it. */
#include "driver.h"

#define PIECE (32 * MIB)
#define RANGE ((size_t)8 << 30)
enum { PIECES = 40, STEPS = 500, PINNED = 1, ON_DEVICE = 1, READ_WRITE = 3 };

struct location { int kind, number; };
struct properties {
    int kind, handles;
    struct location location;
    void *security;
    struct { unsigned char compressed, gpudirect; unsigned short usage; unsigned char reserved[4]; } flags;
};
struct access { struct location location; int rights; };

int main(void) {
    int (*reserve)(device_address *, size_t, size_t, device_address, unsigned long long) = by_dlsym("cuMemAddressReserve");
    int (*create)(unsigned long long *, size_t, const struct properties *, unsigned long long) = by_dlsym("cuMemCreate");
    int (*map)(device_address, size_t, size_t, unsigned long long, unsigned long long) = by_dlsym("cuMemMap");
    int (*allow)(device_address, size_t, const struct access *, size_t) = by_dlsym("cuMemSetAccess");
    int (*unmap)(device_address, size_t) = by_dlsym("cuMemUnmap");
    int (*drop)(unsigned long long) = by_dlsym("cuMemRelease");
    int (*give_back)(device_address, size_t) = by_dlsym("cuMemAddressFree");
    struct properties wanted = {.kind = PINNED, .location = {ON_DEVICE, 0}};
    struct access access = {{ON_DEVICE, 0}, READ_WRITE};
    struct driver driver = usual_driver();
    unsigned long long pieces[PIECES];
    device_address range = 0;
    int mapped = 0;
    start(&driver);
    must(reserve(&range, RANGE, 0, 0, 0), "cuMemAddressReserve");
    for (int step = 0; step < STEPS; step++) {
        if (step % 5 == 0 && mapped < PIECES) {
            must(create(&pieces[mapped], PIECE, &wanted, 0), "cuMemCreate");
            must(map(range + (size_t)mapped * PIECE, PIECE, 0, pieces[mapped], 0), "cuMemMap");
            must(allow(range + (size_t)mapped * PIECE, PIECE, &access, 1), "cuMemSetAccess");
            mapped++;
        }
        must(driver.synchronize(), "cuCtxSynchronize");
    }
    must(unmap(range, PIECES * PIECE), "cuMemUnmap");
    for (int piece = 0; piece < PIECES; piece++) must(drop(pieces[piece]), "cuMemRelease");
    must(give_back(range, RANGE), "cuMemAddressFree");
    return 0;
}
