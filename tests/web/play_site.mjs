// Plays games by the files of a site: each line of the input is a table, each of the output what it was: its decisions, and
// what every seat is shown of some of its frames.
import { createHash } from "node:crypto";
import fs from "node:fs";
import vm from "node:vm";

const [folder, game] = process.argv.slice(2);
const run = (name) => vm.runInThisContext(fs.readFileSync(`${folder}/${name}`, "utf8"), { filename: name });
run("ask.js");
run(`games/${game}.js`);
const { gameOf, Table } = vm.runInThisContext("backalley"), found = await gameOf(game);
const digest = (...parts) => createHash("sha256").update(Buffer.concat(parts.map((one) => Buffer.from(one)))).digest("hex").slice(0, 16);
for (const line of fs.readFileSync(0, "utf8").trim().split("\n")) {
  const { stream, agents, looks } = JSON.parse(line), table = new Table("", found, { seats: agents, stream }), decisions = [];
  while (!table.over) {
    const { state } = table.frames.at(-1), action = table.decide(agents[table.acting]);
    decisions.push([state.seat, action, digest(state.record().bytes, found.legal(state.record()))]);
    table.play(action);
  }
  const frames = [...table.frames.keys()].filter((at) => looks && (at % looks === 0 || at === table.frames.length - 1));
  const seen = frames.flatMap((at) => [null, ...agents.keys()].map((seat) => {
    const look = [at, seat, at % 2 ? "dark" : "light", at % 3 ? 960 : 390];
    return [...look, table.seen(...look)];
  }));
  console.log(JSON.stringify({ decisions, seen, returns: table.returns, ending: table.ending(0), frames: [...agents.keys()].map((seat) => table.frames_of(seat)) }));
}
