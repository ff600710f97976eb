/* Plays the actions of a file by an exported game's library, and writes all that the tables then show to another.
   Compiled with -DGAME=pitch -DHEADER='"pitch.h"' -DPLAYERS=pitch_bot_book,... */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include HEADER

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)
#define G(name) JOIN(GAME, name)

typedef int32_t player(G(observation) *, int8_t *, uint64_t);
static player *players[] = {PLAYERS};
static FILE *in, *out;
static int32_t tables, steps, actions, seats, deck, outcomes;

static void *memory(size_t size) { return calloc(1, size ? size : 1); }

static void take(void *to, size_t size) {
    if (fread(to, 1, size, in) != size) exit(2);
}

static void fail(const char *what, int step, int row) {
    fprintf(stderr, "%s differs at step %d, table %d\n", what, step, row);
    exit(1);
}

/* What the functions of one state say of a table that the functions of many have played. */
static void compare(G(batch) * b, int step, int row, G(state) * state, uint64_t stream, int8_t *mask) {
    G(observation) seen;
    memset(state->reward, 0, sizeof state->reward);
    if (memcmp(state, &b->state[row], sizeof *state)) fail("state", step, row);
    if (stream != b->stream[row]) fail("stream", step, row);
    G(legal)(state, mask);
    if (memcmp(mask, b->mask + row * actions, actions)) fail("mask", step, row);
    memset(&seen, 1, sizeof seen);
    G(observe)(state, state->seat, &seen);
    if (memcmp(&seen, &b->observation[row], sizeof seen)) fail("observation", step, row);
}

static uint64_t deal(G(state) * state, uint64_t stream, int32_t *cards) {
    while (state->seat == -1) {
        stream = G(shuffle)(cards, stream);
        G(deal)(state, cards);
    }
    return stream;
}

static void show(G(batch) * b, int step, int32_t *chosen) {
    fwrite(b->state, sizeof *b->state, tables, out);
    fwrite(b->mask, actions, tables, out);
    fwrite(b->observation, sizeof *b->observation, tables, out);
    fwrite(b->seat, 1, tables, out);
    fwrite(b->reward, sizeof(float) * seats, tables, out);
    fwrite(b->terminated, 1, tables, out);
    fwrite(b->truncated, 1, tables, out);
    for (int row = 0; row < tables; row++) {
        G(state) copy = b->state[row];
        G(determinize)(&copy, b->seat[row], step * 1000 + row);
        fwrite(&copy, sizeof copy, 1, out);
    }
    for (size_t one = 0; one < sizeof players / sizeof *players; one++) {
        for (int row = 0; row < tables; row++)
            chosen[row] = players[one](&b->observation[row], b->mask + row * actions, step * 1000 + row);
        fwrite(chosen, sizeof(int32_t), tables, out);
    }
}

int main(int count, char **words) {
    int32_t sizes[6];
    in = fopen(words[1], "rb"), out = fopen(words[2], "wb");
    if (count != 3 || !in || !out) return 2;
    take(sizes, sizeof sizes);
    tables = sizes[0], steps = sizes[1], actions = sizes[2], seats = sizes[3], deck = sizes[4], outcomes = sizes[5];
    G(batch) b = {memory(tables * sizeof(G(state))), memory(tables * 8), memory(tables * sizeof(G(observation))),
                  memory(tables * actions), memory(tables), memory(tables * seats * 4), memory(tables), memory(tables),
                  memory(tables * 4), memory(tables * seats * 4)};
    int32_t *chosen = memory(tables * 4), *cards = memory(deck * 4);
    int8_t *mask = memory(actions);
    uint64_t *before = memory(tables * 8);
    G(state) *states = memory(tables * sizeof(G(state)));
    take(b.stream, tables * 8);
    memcpy(before, b.stream, tables * 8);
    G(open)(&b, 0, tables);
    for (int row = 0; row < tables; row++) {
        int found = 0;
        for (int outcome = 0; outcome < outcomes && !found; outcome++) {
            G(start)(&states[row], outcome);
            deal(&states[row], before[row] + (outcomes > 1 ? 0x9E3779B97F4A7C15u : 0), cards);
            found = !memcmp(&states[row], &b.state[row], sizeof *states);
        }
        if (!found) fail("start", 0, row);
    }
    show(&b, 0, chosen);
    for (int step = 1; step <= steps; step++) {
        take(chosen, tables * 4);
        memcpy(states, b.state, tables * sizeof *states);
        memcpy(before, b.stream, tables * 8);
        if (G(play)(&b, chosen, 0, tables, 1) != -1) fail("legality", step, 0);
        for (int row = 0; row < tables; row++) {
            G(step)(&states[row], chosen[row]);
            before[row] = deal(&states[row], before[row], cards);
            if (!b.terminated[row] && !b.truncated[row]) compare(&b, step, row, &states[row], before[row], mask);
        }
        show(&b, step, chosen);
    }
    chosen[0] = -1;
    if (G(play)(&b, chosen, 0, 1, 1) != 0) fail("refusal", steps, 0);
    return fclose(out) != 0;
}
