/* Stands for `whyoom` where thousands of incidents are counted and their verdicts do not matter: reads what
 * it is given, and answers as `whyoom why --json` does. */

#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char *verdict =
    "{\"schema\":\"whyoom.why\",\"version\":1,\"verdict\":{\"cause\":\"working-set\",\"strength\":\"explains\","
    "\"headline\":\"it does not fit\",\"device\":0,\"call_sites\":[],\"remedies\":[]},"
    "\"incidents\":[{\"requested_bytes\":2147483648,\"capacity_bytes\":null,\"free_bytes\":null,"
    "\"allocated_bytes\":null,\"reserved_bytes\":null}]}\n";

int main(int count, char **words) {
    char buffer[65536];
    if (count < 2 || strcmp(words[1], "why") != 0) return 1;
    while (read(0, buffer, sizeof buffer) > 0) continue;
    return fputs(verdict, stdout) < 0;
}
