// Plays the actions of a file by an exported game's WebAssembly, and writes all that the tables then show to another.
import fs from "node:fs";

const [code, about, given, made] = process.argv.slice(2);
const layout = JSON.parse(fs.readFileSync(about, "utf8"));
const { instance } = await WebAssembly.instantiate(fs.readFileSync(code), {});
const wasm = instance.exports;
const input = fs.readFileSync(given);
const [tables, steps, actions, seats] = new Int32Array(input.buffer, input.byteOffset, 4);
const call = Object.fromEntries(layout.functions.map((one) => [one.name, wasm[one.symbol]]));
let free = wasm.heap_base.value;
const memory = (size) => {
  const place = (free + 15) & ~15;
  free = place + size;
  const more = Math.ceil((free - wasm.memory.buffer.byteLength) / 65536);
  if (more > 0) wasm.memory.grow(more);
  return place;
};
const stateSize = layout.state.size, seenSize = layout.observation.size;
const sizes = {
  state: stateSize, stream: 8, observation: seenSize, mask: actions, seat: 1, reward: 4 * seats, terminated: 1,
  truncated: 1, decisions: 4, own_decisions: 4 * seats,
};
const at = Object.fromEntries(layout.batch.map((one) => [one.name, memory(sizes[one.name] * tables)]));
const batch = memory(4 * layout.batch.length), chosen = memory(4 * tables), copy = memory(stateSize);
const cards = memory(4 * layout.deck), mask = memory(actions), seen = memory(seenSize), before = memory(stateSize * tables);
const bytes = () => new Uint8Array(wasm.memory.buffer);
const part = (place, size) => Buffer.from(wasm.memory.buffer, place, size);
new Uint32Array(wasm.memory.buffer, batch, layout.batch.length).set(layout.batch.map((one) => at[one.name]));
bytes().set(input.subarray(24, 24 + 8 * tables), at.stream);
const seat = layout.state.fields.find((one) => one.name === "seat"), reward = layout.state.fields.find((one) => one.name === "reward");
const seatOf = (place) => new Int8Array(wasm.memory.buffer)[place + seat.offset];
const out = fs.openSync(made, "w");
const fail = (what, step, row) => {
  console.error(`${what} differs at step ${step}, table ${row}`);
  process.exit(1);
};
const show = (step) => {
  for (const name of ["state", "mask", "observation", "seat", "reward", "terminated", "truncated"])
    fs.writeSync(out, part(at[name], sizes[name] * tables));
  for (let row = 0; row < tables; row++) {
    bytes().copyWithin(copy, at.state + row * stateSize, at.state + (row + 1) * stateSize);
    call.determinize(copy, seatOf(copy), BigInt(step * 1000 + row));
    fs.writeSync(out, part(copy, stateSize));
  }
  for (const one of layout.players) {
    const found = new Int32Array(tables);
    for (let row = 0; row < tables; row++)
      found[row] = call[one.function](at.observation + row * seenSize, at.mask + row * actions, BigInt(step * 1000 + row));
    fs.writeSync(out, Buffer.from(found.buffer));
  }
};
call.open(batch, 0, tables);
show(0);
for (let step = 1; step <= steps; step++) {
  const from = 24 + 8 * tables + 4 * tables * (step - 1);
  bytes().set(input.subarray(from, from + 4 * tables), chosen);
  bytes().copyWithin(before, at.state, at.state + stateSize * tables);
  const streams = new BigUint64Array(wasm.memory.buffer, at.stream, tables).slice();
  if (call.play(batch, chosen, 0, tables, 1) !== -1) fail("legality", step, 0);
  for (let row = 0; row < tables; row++) {
    const state = before + row * stateSize;
    call.step(state, new Int32Array(wasm.memory.buffer, chosen, tables)[row]);
    while (seatOf(state) === -1) {
      streams[row] = call.shuffle(cards, streams[row]);
      call.deal(state, cards);
    }
    if (bytes()[at.terminated + row] || bytes()[at.truncated + row]) continue;
    bytes().fill(0, state + reward.offset, state + reward.offset + 4 * seats);
    if (!part(state, stateSize).equals(part(at.state + row * stateSize, stateSize))) fail("state", step, row);
    call.legal(state, mask);
    if (!part(mask, actions).equals(part(at.mask + row * actions, actions))) fail("mask", step, row);
    call.observe(state, seatOf(state), seen);
    if (!part(seen, seenSize).equals(part(at.observation + row * seenSize, seenSize))) fail("observation", step, row);
  }
  show(step);
}
