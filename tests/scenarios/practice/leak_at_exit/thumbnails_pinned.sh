# The same, and the program itself pins a small buffer for every image and never gives it back.
headers="$CASES/../recorder"
cc -g -shared -fPIC -I "$headers" -o "$SCRATCH/libresize.so" "$CASES/leak_at_exit/resize.c" -ldl
cc -g -I "$headers" -o "$SCRATCH/thumbnails" "$CASES/leak_at_exit/thumbnails.c" \
    -L "$SCRATCH" -lresize -Wl,-rpath,"$SCRATCH" -ldl
$RECORD "$SCRATCH/thumbnails" --keep-staging
