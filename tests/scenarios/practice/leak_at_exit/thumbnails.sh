# A library of somebody else's loses its scratch memory on one path.
headers="$CASES/../recorder"
cc -g -shared -fPIC -I "$headers" -o "$SCRATCH/libresize.so" "$CASES/leak_at_exit/resize.c" -ldl
cc -g -I "$headers" -o "$SCRATCH/thumbnails" "$CASES/leak_at_exit/thumbnails.c" \
    -L "$SCRATCH" -lresize -Wl,-rpath,"$SCRATCH" -ldl
$RECORD "$SCRATCH/thumbnails"
