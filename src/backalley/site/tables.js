// What a server of tables answers, answered in the page: rules and players are WebAssembly (`backalley export`), what is
// drawn and said of a table is Python's own functions in JavaScript (`B`). Games, and what they are made of, come by `backalley.bring`.

const backalley = { pace: Number(new URLSearchParams(globalThis.location?.search).get("pace") ?? 500), brought: {} };
const CHANCE = -1, KEPT = "backalley tables", MOST_KEPT = 20, MOST_DRAWN = 32;
const READ = {
  uint8: ["Uint8", 1], int8: ["Int8", 1], uint16: ["Uint16", 2], int16: ["Int16", 2], uint32: ["Uint32", 4], int32: ["Int32", 4],
  uint64: ["BigUint64", 8], int64: ["BigInt64", 8], float: ["Float32", 4], double: ["Float64", 8],
};

// A game -----------------------------------------------------------------------------------------------------------------

class Game {
  constructor(about, made, wasm) {
    Object.assign(this, about, made, { wasm, num_seats: about.layout.seats, title: about.layout.title, type: { seat_names: about.seat_names, reworded: (text) => text } });
    const { layout } = about;
    this.call = Object.fromEntries(layout.functions.map((one) => [one.name, wasm[one.symbol]]));
    let free = wasm.heap_base.value;
    const place = (size) => { const found = (free + 15) & ~15; free = found + size; return found; };
    this.at = { state: place(layout.state.size), seen: place(layout.observation.size), mask: place(layout.actions.length), cards: place(4 * layout.deck) };
    const lacking = Math.ceil((free - wasm.memory.buffer.byteLength) / 65536);
    if (lacking > 0) wasm.memory.grow(lacking);
    this.Record = recordOf(layout.state.fields, about.empty);
    this.reward = layout.state.fields.find((one) => one.name === "reward");
  }

  part(place, size) { return new Uint8Array(this.wasm.memory.buffer, place, size); }
  put(bytes) { this.part(this.at.state, bytes.length).set(bytes); }
  taken() { return this.part(this.at.state, this.layout.state.size).slice(); }
  record() { return new this.Record(this.taken()); }
  seat_name(seat) { return this.layout.seat_names[seat]; }
  action_str(action) { return this.layout.actions[action]; }
  action_told(action) { return this.shown_as[action]; }
  card_name(card) { return this.card_names[card]; }

  /** The mask of the legal actions of who is to act in a state. */
  legal(record) {
    this.put(record.bytes);
    this.call.legal(this.at.state, this.at.mask);
    return [...this.part(this.at.mask, this.layout.actions.length)];
  }

  /** What a seat sees of a table, drawn from a state in which all that it does not know is dealt again. */
  table(record, seat) {
    if (seat === null || record.seat < 0) return this.shown(this.options, record, seat);
    if (!record.seen[seat]) {
      this.put(record.bytes);
      this.call.determinize(this.at.state, seat, 0n);
      record.seen[seat] = this.record();
    }
    return this.shown(this.options, record.seen[seat], seat);
  }

  /** What an agent does where a seat is to act: it is given what that seat observes, and a key. */
  decide(agent, record, key) {
    this.legal(record);
    this.part(this.at.seen, this.layout.observation.size).fill(0);
    this.call.observe(this.at.state, record.seat, this.at.seen);
    const { function: name } = this.agents.find((one) => one.name === agent);
    return name === "random" ? this.call.random(this.at.mask, key) : this.call[name](this.at.seen, this.at.mask, key);
  }
}

/** A class whose properties are the fields of a record in bytes; arrays are lists of lists. */
function recordOf(fields, empty) {
  const Record = class {
    constructor(bytes) { this.bytes = bytes; this.view = new DataView(bytes.buffer, bytes.byteOffset); this.seen = {}; }
    get dtype() { return { names: fields.map((one) => one.name) }; }
  };
  const kept = (name, read) => Object.defineProperty(Record.prototype, py.field(name), { configurable: true, get() {
    const value = read(this.view);
    Object.defineProperty(this, py.field(name), { value });
    return value;
  } });
  for (const { name, offset, type, shape } of fields) {
    const [kind, size] = READ[type], get = `get${kind}`;
    const read = (view, at, [count, ...inner]) => {
      if (count === undefined) { const value = view[get](at, true); return typeof value === "bigint" ? py.whole(value) : value; }
      const step = inner.reduce((product, one) => product * one, size);
      return Array.from({ length: count }, (_, place) => read(view, at + place * step, inner));
    };
    kept(name, (view) => read(view, offset, shape));
  }
  for (const [name, shape] of Object.entries(empty)) kept(name, () => shape.reduceRight((inner, count) => Array.from({ length: count }, () => inner), 0));
  return Record;
}

/** A game by its name: its file is loaded once. */
const games = {};
function gameOf(name) {
  games[name] ??= (async () => {
    if (!backalley.brought[name]) await new Promise((done, failed) => {
      const script = document.createElement("script");
      Object.assign(script, { src: `games/${name}.js`, onload: done, onerror: () => failed(new Error("The game's file could not be loaded; try again.")) });
      document.head.append(script);
    });
    const [about, make] = backalley.brought[name];
    const packed = new Blob([Uint8Array.from(atob(about.wasm), (one) => one.charCodeAt(0))]).stream();
    const code = await new Response(packed.pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
    const { instance } = await WebAssembly.instantiate(code, {});
    return new Game(about, make(B, py), instance.exports);
  })();
  games[name].catch(() => { delete games[name]; });
  return games[name];
}
backalley.bring = (about, make) => { backalley.brought[about.name] = [about, make]; };

// A table ----------------------------------------------------------------------------------------------------------------

B.batch = { from_states: (one) => ({ game: one.game, arrays: { seat: [one.seat], decisions: [one.decisions], mask: [one.seat < 0 ? [] : one.game.legal(one.record())], state: [one.record()] } }) };
const letters = Object.fromEntries(Object.entries(LETTERS).map(([weight, all]) => [weight, new Map(Object.entries(all).map(([sign, one]) => [sign, B.letters_Letter(...one)]))]));
B.letters_of = (weight) => letters[weight];
B.kinds_of = (game) => game.kinds;
B.tell = ({ entries }, to, kind, who, what) => { entries.push([to, kind, who, Number(what)].map(Number)); return null; };

class Table {
  constructor(id, game, { seats, stream, actions = [] }) {
    Object.assign(this, { id, game, seats, stream: py.uint64(stream), version: 0, waiting: new Set(), _secret: game.secret });
    this.chairs = seats.map((one) => ({ agent: one === "me" ? "" : one }));
    this.mine = seats.indexOf("me") < 0 ? null : seats.indexOf("me");
    this.key = B.keys_table_key(this.stream);
    this.replay(actions);
  }

  get over() { return this.acting < CHANCE; }
  get acting() { return this.frames.at(-1).state.seat; }
  get free() { return this.over || this.mine === null; }

  replay(actions) {
    const { game } = this;
    Object.assign(this, { frames: [], actions: [], _results: new Map(), drawn: new Map(), returns: game.sides.map(() => 0), own: game.sides.map(() => 0), log: { entries: [] }, dealt: 0 });
    let outcome = 0;
    this.chance = this.stream;
    if (game.layout.start_outcomes > 1) [this.chance, outcome] = B.rng_below(this.chance, game.layout.start_outcomes);
    game.call.start(game.at.state, outcome);
    this.deal();
    this.look(null);
    actions.forEach((action) => this.play(action));
  }

  /** Deal until somebody is to act. */
  deal() {
    const { game } = this;
    let record = game.record();
    while (record.seat === CHANCE) {
      this.chance = py.uint64(game.call.shuffle(game.at.cards, BigInt(this.chance)));
      game.call.deal(game.at.state, game.at.cards);
      record = game.record();
      this.dealt = this.log.entries.length;
      game.tell_deal?.(game.options, record, this.log);
    }
  }

  play(action) {
    const { game } = this, before = this.frames.at(-1).state.record(), { seat } = before;
    if (!game.legal(before)[action]) throw new Error(`${game.action_str(action)} is not legal now.`);
    game.call.step(game.at.state, action);
    const ended = game.record();
    this.actions.push(action);
    this.own[seat] += 1;
    if (game.seen_as[action] >= 0) this.log.entries.push([-1, 1, seat, action]);
    else this.log.entries.push([seat, 1, seat, action]);
    game.tell_step?.(game.options, before, ended, action, this.log);
    if (ended.seat === CHANCE) { this.look(ended, this.gained(ended)); this.deal(); }
    this.returns = this.gained(game.record());
    game.part(game.at.state + game.reward.offset, 4 * game.num_seats).fill(0);
    this.look(null);
  }

  gained(record) { return this.returns.map((value, seat) => value + record.reward[seat]); }

  look(ended, returns = this.returns) {
    const { game, actions: { length: decisions } } = this, record = game.record(), { seat } = record, events = this.log.entries.slice(this.dealt);
    const state = { game, seat, decisions, events, own: this.own[seat], is_over: seat < CHANCE, is_chance: seat === CHANCE, record: () => record, states: () => state };
    this.frames.push({ state, decisions, returns, ended });
    this.version += 1;
  }

  /** What a seat has learned in the present deal; without one, all that was done. */
  _events(at, seat) { return seat === null ? this._texts(at, null) : this._learned(at, seat, { kinds: [...this.game.kinds.values()] }); }

  _texts(at, seat) {
    const { game } = this, lines = [];
    let latest = null;
    for (const [to, kind, who, what] of this.frames[at].state.events) {
      if (seat === null ? kind !== 1 : to !== seat && to !== -1 && (to > -2 || to === -2 - seat)) continue;
      const hidden = kind === 1 && seat !== null && who !== seat && game.seen_as[what] > 0;
      const [shown, number] = [hidden ? 2 : kind, hidden ? game.seen_as[what] - 1 : what], turned = who < 0 ? -1 : seat === null ? who : (who - seat + game.num_seats) % game.num_seats;
      if (shown > 2 && latest === `${shown} ${who}`) lines[lines.length - 1] += ` ${B.histories__number(game, shown, number)}`;
      else lines.push(seat === null ? `${game.seat_name(who)}: ${game.action_str(number)}` : B.histories__line(game, shown, turned, number, seat));
      latest = `${shown} ${who}`;
    }
    return lines;
  }

  key_of(state) { return BigInt(B.keys_decision_key(this.key, state.seat, state.own)); }

  decide(agent, { state } = this.frames.at(-1)) { return this.game.decide(agent, state.record(), this.key_of(state)); }

  /** The number of actions before the last one of who sits here. */
  get last() { return this.frames.slice(0, -1).findLast((one) => one.ended === null && one.state.seat === this.mine)?.decisions ?? null; }

  seen(at, seat, theme, width) {
    const look = [at, seat, theme, width].join();
    if (this.drawn.size >= MOST_DRAWN) this.drawn.clear();
    if (!this.drawn.has(look)) this.drawn.set(look, Object.fromEntries(this._draw(at, seat, theme, width)));
    return this.drawn.get(look);
  }

  /** What the page is sent. */
  answer({ seat: wanted = "", at: place = "-1", theme, width }) {
    const { game, mine } = this, eyes = !this.free ? mine : wanted === "all" ? null : wanted === "" ? mine : Number(wanted);
    const frames = this.frames_of(this.free ? null : eyes), last = frames.length - 1, at = Number(place) < 0 ? last : Math.min(last, Number(place));
    const names = B.telling_seats_called(game, mine);
    return {
      ...this.seen(frames[at], eyes, theme, Number(width)), id: this.id, at, last, over: this.over, title: game.title, game: game.name,
      ends: frames.flatMap((frame, number) => (this.frames[frame].ended === null ? [] : [number])), again: { game: game.name, seats: this.seats },
      ending: this.ending(mine), compiling: false, can_undo: mine !== null && !this.over && this.last !== null, mine, now: this.acting,
      chairs: this.chairs.map(({ agent }, seat) => ({ name: names[seat], who: game.agents.find((one) => one.name === agent)?.words.split(":")[0] ?? "", link: "" })),
      free: this.free, undo: null, trouble: "", recorded: false, files: false, version: `${this.version}`,
    };
  }

  /** Let the players whose turn it is play, until it is a person's. */
  async run() {
    if (this.running) return;
    this.running = true;
    while (!this.over && this.acting !== this.mine && this.running) {
      await new Promise((done) => setTimeout(done, backalley.pace));
      if (!this.over && this.acting !== this.mine) this.changed(() => this.play(this.decide(this.chairs[this.acting].agent)));
    }
    this.running = false;
  }

  changed(work) {
    work();
    keep(this);
    this.waiting.forEach((one) => one());
    this.run();
  }

  news(signal) {
    return new Promise((done, failed) => {
      const ended = () => { this.waiting.delete(ended); if (signal?.aborted) failed(new DOMException("", "AbortError")); else done(); };
      this.waiting.add(ended);
      signal?.addEventListener("abort", ended);
    });
  }
}
for (const name of METHODS)
  Table.prototype[name] = function called(...given) { return B[`table_Table_${name}`](this, ...given); };

// The tables of this browser ---------------------------------------------------------------------------------------------

const opened = new Map();
const kept = () => JSON.parse(globalThis.localStorage?.getItem(KEPT) ?? "[]");
const keepAll = (all) => globalThis.localStorage?.setItem(KEPT, JSON.stringify(all.slice(-MOST_KEPT)));
function keep({ id, game, seats, stream, actions, over }) {
  const all = kept(), one = { id, game: game.name, title: game.title, seats, stream: String(stream), actions, over };
  keepAll(all.some((other) => other.id === id) ? all.map((other) => (other.id === id ? one : other)) : [...all, one]);
}

async function tableOf(id) {
  if (!opened.has(id)) {
    const found = kept().find((one) => one.id === id);
    if (!found) throw new Error("There is no such table in this browser.");
    opened.set(id, new Table(id, await gameOf(found.game), found));
  }
  return opened.get(id);
}

async function deal({ game: name, seats }) {
  const game = await gameOf(name), id = crypto.getRandomValues(new BigUint64Array(1))[0].toString(36);
  const table = new Table(id, game, { seats, stream: crypto.getRandomValues(new BigUint64Array(1))[0] });
  opened.set(id, table);
  keep(table);
  return { id };
}

const ANSWERS = {
  games: () => backalley.games,
  async setup({ game: name }) {
    const { title, agents, layout, note, summary } = await gameOf(name);
    return { title, seats: layout.seat_names, about: summary, agents, note, options: [], people: { me: "me" } };
  },
  rules: async ({ game }) => (await gameOf(game)).rules,
  tables: () => ({ mine: kept().reverse().map(({ id, title, over }) => ({ id, title, over, options: {}, owned: true })), open: [], files: false }),
};
const OF_A_TABLE = {
  async look(table, given, signal) {
    table.run();
    while (given.after === `${table.version}`) await table.news(signal);
    return table.answer(given);
  },
  values(table, { at }) {
    const frames = table.frames_of(table.free ? null : table.mine), frame = table.frames[frames[Number(at)]], best = ["policy", "bot"].map((name) => table.game.agents.find((one) => one.name === name)).find(Boolean);
    if (frame.ended !== null || frame.state.is_over) throw new Error("Nobody is to act here, so there is nothing to value.");
    const action = table.decide(best.name, frame);
    const others = table.game.legal(frame.state.record()).flatMap((legal, one) => (legal && one !== action ? [one] : []));
    const said = (one) => ({ action: one, name: table.game.action_str(one), taken: table.actions[frame.decisions] === one, value: null, error: null });
    return { seat: frame.state.seat, by: best.words.split(":")[0], actions: [action, ...others].map(said) };
  },
  act(table, { action }) {
    if (table.acting !== table.mine) throw new Error("It is not your turn.");
    table.changed(() => table.play(action));
    return {};
  },
  undo(table) {
    if (table.last === null) throw new Error("You have not acted yet.");
    table.changed(() => table.replay(table.actions.slice(0, table.last)));
    return {};
  },
  delete(table) {
    table.running = false;
    opened.delete(table.id);
    keepAll(kept().filter((one) => one.id !== table.id));
    return {};
  },
};

/** What `page.js` asks a server: the answer, or an error with a sentence. */
async function ask(path, body, signal) {
  const [where, query] = path.split("?"), [, , what, id, verb = "look"] = where.split("/"), given = { ...Object.fromEntries(new URLSearchParams(query)), ...body };
  if (what === "tables" && id) return OF_A_TABLE[verb](await tableOf(id), given, signal);
  if (what === "tables" && body) return deal(body);
  return ANSWERS[what](given);
}

Object.assign(backalley, { gameOf, Table });
