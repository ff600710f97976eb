// What Python's operators, built-in functions and methods are in JavaScript, for the functions that `javascript.py` translates.
// Lists and tuples are arrays, dictionaries maps, sets sets; whole numbers above 2**53 are BigInts, of 64 bits without a sign.
const B = {}; // what is translated
const py = (() => {
  const py = {}, big = (one) => typeof one === "bigint";
  const small = (one) => (one >= 2n ** 64n ? small(BigInt.asUintN(64, one)) : one <= 2n ** 53n && one >= -(2n ** 53n) ? Number(one) : one);
  const fail = (words) => { throw new Error(words); };
  const own = Symbol("own"), maker = Symbol("maker");

  // Functions and classes: what `about` says of a function's arguments lets them be given by name.
  py.fn = (body, names, only = [], star = 0, rest = 0) => {
    const made = only.length || star || rest ? (...given) => py.kw(made, given, {}) : body;
    made.about = { body, names, only, star, rest };
    return made;
  };
  py.kw = (called, given, named) => {
    if (!called.about) fail(`${called.name} takes no arguments by name`);
    const { body, names, only, star, rest, self = [] } = called.about, all = [...self, ...given];
    const bound = names.map((name, place) => (place < all.length ? all[place] : named[name]));
    if (star) bound.push(all.slice(names.length));
    bound.push(...only.map((name) => named[name]));
    if (rest) bound.push(new Map(Object.entries(named).filter(([name]) => !names.includes(name) && !only.includes(name))));
    return body(...bound);
  };
  const tied = (called, one) => Object.assign((...given) => called(one, ...given), called.about && { about: { ...called.about, self: [one] } });
  const furnish = (kind, methods, properties) => {
    for (const [name, method] of Object.entries(methods))
      Object.defineProperty(kind.prototype, name, { get() { return properties.includes(name) ? method(this) : tied(method, this); } });
    kind.prototype[own] = new Set(Object.keys(methods));
  };
  py.kind = (name, methods, properties) => {
    const Made = class {};
    furnish(Made, methods, properties);
    return py.kindOf(Made, (...given) => { const one = new Made(); methods.__init__?.(one, ...given); return one; }, methods.__init__?.about.names.slice(1) ?? []);
  };
  py.kindOf = (Made, make, names) => { make.about = { body: make, names, only: [], star: 0, rest: 0 }; make.made = Made; Made.prototype[maker] = make; return make; };
  py.field = (name) => (name === "length" ? "length_" : name); // an array has its own
  py.named = (name, fields, defaults, methods, properties) => {
    const Made = class extends Array {};
    fields.forEach((field, place) => Object.defineProperty(Made.prototype, py.field(field), { get() { return this[place]; } }));
    furnish(Made, { ...methods, _replace: py.fn((self, ...values) => make(...fields.map((_, place) => (values[place] === undefined ? self[place] : values[place]))), ["self"], fields) }, properties);
    Made.prototype._fields = fields;
    const make = (...given) => Made.from(fields.map((field, place) => (given[place] === undefined ? field in defaults ? defaults[field] : fail(`${name} takes ${field}`) : given[place])));
    return py.kindOf(Made, make, fields);
  };
  py.enumeration = (values) => py.fn((value) => ({ name: Object.keys(values).find((name) => values[name] === Number(value)), value }), ["value"]);
  py.failure = (name) => (words) => Object.assign(new Error(words), { name });
  py.enter = (made) => { made?.next(); return made; };
  py.leave = (made) => made?.next();
  py.nullcontext = () => null;
  py.type = (one) => one[maker] ?? fail("its type is not known");

  // Operators
  py.t = (one) => (one && typeof one === "object" ? (one.size ?? one.length ?? 1) > 0 : Boolean(one));
  py.both = (one, other) => (py.t(one) ? other() : one);
  py.either = (one, other) => (py.t(one) ? one : other());
  py.eq = (one, other) => {
    if (one === other) return true;
    if (Array.isArray(one) && Array.isArray(other)) return one.length === other.length && one.every((part, place) => py.eq(part, other[place]));
    if (one instanceof Set && other instanceof Set) return one.size === other.size && [...one].every((part) => other.has(part));
    const number = (part) => ["number", "bigint", "boolean"].includes(typeof part);
    return number(one) && number(other) && one == other;
  };
  const less = (one, other) => {
    if (!Array.isArray(one)) return one < other;
    const place = one.findIndex((part, at) => at >= other.length || !py.eq(part, other[at]));
    return place < 0 ? one.length < other.length : place < other.length && less(one[place], other[place]);
  };
  py.has = (all, one) => (typeof all === "string" ? all.includes(one) : all instanceof Map || all instanceof Set ? all.has(tuple(one)) : py.it(all).some((part) => py.eq(part, one)));
  const reckon = (plain, wide) => (one, other) => (big(one) || big(other) ? small(wide(BigInt(one), BigInt(other))) : plain(one, other));
  const bits = (wide) => (one, other) => { // numbers of more than 31 bits are not for JavaScript's own operators
    const found = small(wide(BigInt(one), BigInt(other)));
    return typeof one === "boolean" && typeof other === "boolean" ? Boolean(found) : found;
  };
  const plus = reckon((one, other) => one + other, (one, other) => one + other);
  py.add = (one, other) => (Array.isArray(one) ? [...one, ...other] : plus(one, other));
  const without = reckon((one, other) => one - other, (one, other) => one - other);
  py.sub = (one, other) => (one instanceof Set ? new Set([...one].filter((part) => !other.has(part))) : without(one, other));
  const times = reckon((one, other) => one * other, (one, other) => one * other);
  py.mul = (one, other) => {
    if (typeof other === "string" || Array.isArray(other)) [one, other] = [other, one];
    if (typeof one === "string") return one.repeat(Math.max(0, Number(other)));
    if (Array.isArray(one)) return Array.from({ length: Math.max(0, Number(other)) }, () => one).flat(1);
    const found = times(one, other);
    return Number.isInteger(one) && Number.isInteger(other) && !Number.isSafeInteger(found) && !big(found) ? small(BigInt(one) * BigInt(other)) : found;
  };
  py.div = (one, other) => Math.floor(one / other);
  py.mod = (one, other) => ((one % other) + other) % other;
  py.divmod = (one, other) => [py.div(one, other), py.mod(one, other)];
  const merged = bits((one, other) => one | other);
  py.or = (one, other) => (one instanceof Map || one instanceof Set ? new one.constructor([...one, ...other]) : merged(one, other));
  py.and = bits((one, other) => one & other);
  py.xor = bits((one, other) => one ^ other);
  py.shl = bits((one, other) => one << other);
  py.shr = bits((one, other) => one >> other);
  py.not = (one) => small(~BigInt(one));
  py.uint64 = (one) => small(BigInt.asUintN(64, BigInt(one)));
  py.int64 = (one) => small(BigInt.asIntN(64, BigInt(one)));
  py.whole = small;

  // What holds others
  py.Slice = class { constructor(from, to, by) { Object.assign(this, { from, to, by }); } };
  const ends = ({ from, to }, length) => [from ?? 0, to ?? length].map((end) => Math.min(length, Math.max(0, Number(end) + (end < 0 ? length : 0))));
  const tuple = (key) => (Array.isArray(key) ? JSON.stringify(key) : key);
  py.get = (all, key) => {
    if (all instanceof Map) return all.has(key = tuple(key)) ? all.get(key) : fail(`there is no ${key}`);
    if (all instanceof py.Match) return all.part(key);
    if (typeof key === "string") return all[key];
    if (Array.isArray(key)) return key.reduce(py.get, all);
    if (!(key instanceof py.Slice)) {
      const place = Number(key) + (key < 0 ? all.length : 0);
      return place in Object(all) ? all[place] : fail(`there is no place ${key}`);
    }
    if (key.by === -1) return [...all].reverse();
    const [from, to] = ends(key, all.length);
    return typeof all === "string" ? all.slice(from, to) : Array.from(all).slice(from, to);
  };
  py.set = (all, key, value) => {
    if (all instanceof Map) all.set(tuple(key), value);
    else if (!(key instanceof py.Slice)) all[Number(key) + (key < 0 ? all.length : 0)] = value;
    else { const [from, to] = ends(key, all.length); all.splice(from, to - from, ...value); }
  };
  py.it = (all) => (Array.isArray(all) ? all : all instanceof Map ? [...all.keys()] : [...all]);
  py.list = (all = []) => Array.from(py.it(all));
  py.tuple = py.list;
  py.dict = (all = []) => new Map(all);
  py.set_ = (all = []) => new Set(py.it(all));
  py.items = (all) => [...all];
  py.shape = (all) => (Array.isArray(all) ? [all.length, ...py.shape(all[0])] : []);
  py.len = (all) => all.size ?? all.length;
  py.range = (from, to, by = 1) => { if (to === undefined) [from, to] = [0, from]; const found = []; for (let one = Number(from); by > 0 ? one < to : one > to; one += by) found.push(one); return found; };
  py.enumerate = (all, from = 0) => py.it(all).map((one, place) => [place + from, one]);
  py.zip = py.fn((all, strict) => { const lists = all.map(py.it); return lists[0].slice(0, Math.min(...lists.map((one) => one.length))).map((_, place) => lists.map((one) => one[place])); }, [], ["strict"], 1);
  py.map = (change, ...all) => py.zip(...all).map((parts) => change(...parts));
  py.combinations = (all, count) => { const list = py.it(all); return count !== 2 ? fail("pairs alone") : list.flatMap((one, place) => list.slice(place + 1).map((other) => [one, other])); };
  py.next = (all, other) => { const list = py.it(all); return list.length ? list[0] : other; };
  py.any = (all) => py.it(all).some(py.t);
  py.all = (all) => py.it(all).every(py.t);
  py.sum = (all, from = 0) => py.it(all).reduce(py.add, from);
  const most = (better) => py.fn((given, key, other) => {
    const list = given.length === 1 ? py.it(given[0]) : given, rated = (one) => (key ? key(one) : one);
    return list.length ? list.reduce((best, one) => (better(rated(one), rated(best)) ? one : best)) : other;
  }, [], ["key", "default"], 1);
  py.max = most((one, best) => less(best, one));
  py.min = most(less);
  py.sorted = py.fn((all, key = null, reverse = false) => {
    const keyed = py.it(all).map((one) => [key ? key(one) : one, one]);
    keyed.sort(([one], [other]) => (less(one, other) ? -1 : less(other, one) ? 1 : 0) * (reverse ? -1 : 1));
    return keyed.map(([, one]) => one);
  }, ["all", "key", "reverse"]);
  py.groupby = (all) => py.it(all).reduce((runs, one) => { if (runs.length && py.eq(runs.at(-1)[0], one)) { runs.at(-1)[1].push(one); } else { runs.push([one, [one]]); } return runs; }, []);
  py.Counter = (all) => py.it(all).reduce((found, one) => found.set(one, (found.get(one) ?? 0) + 1), new Map());
  py.isinstance = (one, kind) => (kind === py.str ? typeof one === "string" : kind === py.tuple || kind === py.list ? Array.isArray(one) : kind.made ? one instanceof kind.made : fail("it is not known"));
  py.flatnonzero = (all) => all.flatMap((one, place) => (one ? [place] : []));
  py.hasattr = (one, name) => name in Object(one);

  // Numbers and texts
  py.int = (one) => (big(one) ? one : typeof one === "string" ? parseInt(one, 10) : Math.trunc(Number(one)));
  py.float = Number;
  py.bool = (one = false) => py.t(one);
  py.abs = Math.abs; py.cos = Math.cos; py.sin = Math.sin; py.ord = (one) => one.codePointAt(0); py.chr = (one) => String.fromCodePoint(one);
  py.round = (value, digits = null) => { const found = Number(fixed(value, digits ?? 0)); return found === 0 ? 0 : found; };
  /** A number to so many digits; a tie goes to the even one, as in Python. */
  const fixed = (value, digits) => {
    const exact = Math.abs(value).toFixed(Math.min(100, digits + 60)), cut = exact.length - 60 + (digits ? 0 : -1);
    const down = exact.slice(0, cut), tie = /^\.?50*$/.test(exact.slice(cut));
    const found = tie && "02468".includes(down.at(-1)) ? down : Math.abs(value).toFixed(digits);
    return (value < 0 || Object.is(value, -0) ? "-" : "") + found;
  };
  py.str = (one = "") => (one === true ? "True" : one === false ? "False" : one === null ? "None" : String(one));
  py.repr = (one) => (typeof one === "string" ? `'${one}'` : py.str(one));
  py.format = (value, how) => {
    const [, align, sign, width, digits, kind] = /^([<>^]?)(\+?)(\d*)(?:\.(\d+))?([fgd]?)$/.exec(how) ?? fail(`no format ${how}`);
    let shown = kind === "f" ? fixed(value, Number(digits ?? 6)) : kind === "g" ? String(Number(Number(value).toPrecision(6))) : py.str(value);
    if (sign && !shown.startsWith("-")) shown = `+${shown}`;
    const pad = " ".repeat(Math.max(0, Number(width) - shown.length)), half = pad.length >> 1;
    const to = align || (typeof value === "string" ? "<" : ">");
    return to === "<" ? shown + pad : to === ">" ? pad + shown : pad.slice(half) + shown + pad.slice(0, half);
  };
  py.escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  py.quoteattr = (text) => {
    const made = py.escape(text).replaceAll("\n", "&#10;").replaceAll("\r", "&#13;").replaceAll("\t", "&#9;");
    return !made.includes('"') ? `"${made}"` : made.includes("'") ? `"${made.replaceAll('"', "&quot;")}"` : `'${made}'`;
  };
  /** Python's `textwrap.wrap`, where words are neither cut nor broken at hyphens. */
  py.wrap = py.fn((text, width, indent) => {
    const chunks = text.split(/([ \t\n\r]+)/).filter(Boolean), lines = [];
    while (chunks.length) {
      const start = lines.length ? indent : "", room = width - start.length;
      let line = [], long = 0;
      if (lines.length && !chunks[0].trim()) chunks.shift();
      while (chunks.length && long + chunks[0].length <= room) { long += chunks[0].length; line.push(chunks.shift()); }
      if (chunks.length && chunks[0].length > room && !line.length) line.push(chunks.shift());
      if (line.length && !line.at(-1).trim()) line.pop();
      if (line.length) lines.push(start + line.join(""));
    }
    return lines;
  }, ["text", "width", "subsequent_indent", "break_long_words", "break_on_hyphens", "drop_whitespace", "replace_whitespace"]);

  // Regular expressions
  py.Match = class { constructor(found) { this.found = found; } part(key) { return (typeof key === "string" ? this.found.groups[key] : this.found[key]) ?? null; } };
  const first = (pattern, text) => { const found = new RegExp(pattern.source, pattern.flags.replace("g", "")).exec(text); return found && new py.Match(found); };
  py.findall = (pattern, text) => [...text.matchAll(typeof pattern === "string" ? new RegExp(pattern, "g") : pattern)].map((one) => one[1] ?? one[0]);
  const RE = {
    search: first,
    fullmatch: (pattern, text) => first(new RegExp(`^(?:${pattern.source})$`, pattern.flags), text),
    findall: py.findall,
    sub: (pattern, made, text) => text.replace(pattern, (...given) => {
      const groups = typeof given.at(-1) === "object" ? given.pop() : undefined;
      return typeof made === "string" ? made : made(new py.Match(Object.assign(given.slice(0, -2), { groups })));
    }),
  };

  // Methods
  const strip = (text, signs, left, right) => {
    const out = (one) => (signs === undefined ? !one.trim() : signs.includes(one));
    let from = 0, to = text.length;
    while (left && from < to && out(text[from])) from++;
    while (right && from < to && out(text[to - 1])) to--;
    return text.slice(from, to);
  };
  const STR = {
    join: (by, all) => py.it(all).join(by), lower: (text) => text.toLowerCase(), upper: (text) => text.toUpperCase(),
    capitalize: (text) => text.slice(0, 1).toUpperCase() + text.slice(1).toLowerCase(), replace: (text, one, other) => text.replaceAll(one, other),
    split: (text, by) => (by === undefined ? text.split(/\s+/).filter(Boolean) : text.split(by)), startswith: (text, one) => text.startsWith(one),
    strip: (text, signs) => strip(text, signs, 1, 1), lstrip: (text, signs) => strip(text, signs, 1, 0), rstrip: (text, signs) => strip(text, signs, 0, 1),
    islower: (text) => text === text.toLowerCase() && text !== text.toUpperCase(), isdigit: (text) => /^\d+$/.test(text), removeprefix: (text, one) => (text.startsWith(one) ? text.slice(one.length) : text),
    partition: (text, by) => { const at = text.indexOf(by); return at < 0 ? [text, "", ""] : [text.slice(0, at), by, text.slice(at + by.length)]; },
    rpartition: (text, by) => { const at = text.lastIndexOf(by); return at < 0 ? ["", "", text] : [text.slice(0, at), by, text.slice(at + by.length)]; },
    index: (text, one) => (text.includes(one) ? text.indexOf(one) : fail(`there is no ${one}`)), isprintable: (text) => !/[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Cs}\p{Zl}\p{Zp}]|(?! )\p{Zs}/u.test(text),
  };
  const flat = (all) => (Array.isArray(all) ? all.flatMap(flat) : [all]);
  const LIST = {
    append: (all, one) => { all.push(one); return null; }, index: (all, one) => all.findIndex((part) => py.eq(part, one)),
    sort: py.fn((all, key = null, reverse = false) => { py.sorted.about.body(all, key, reverse).forEach((one, place) => { all[place] = one; }); return null; }, ["all", "key", "reverse"]),
    tolist: (all) => all, tobytes: flat, any: (all) => flat(all).some(py.t), sum: (all) => flat(all).reduce(py.add, 0),
  };
  const DICT = {
    get: (all, key, other = null) => (all.has(key) ? all.get(key) : other), items: (all) => [...all], values: (all) => [...all.values()], keys: (all) => [...all.keys()],
    setdefault: (all, key, value) => { if (!all.has(key)) all.set(key, value); return all.get(key); },
  };
  const NUMBER = { bit_length: (one) => (py.t(one) ? one.toString(2).replace("-", "").length : 0), tolist: (one) => one, item: (one) => one };
  const SET = { add: (all, one) => { all.add(one); return null; } };
  /** A method, with its first argument. */
  py.m = (one, name) => {
    const kinds = typeof one === "string" ? STR : one instanceof Map ? DICT : one instanceof Set ? SET : one instanceof RegExp ? RE : ["number", "bigint"].includes(typeof one) ? NUMBER
      : Array.isArray(one) && !one[own]?.has(name) ? LIST : null;
    if (kinds) return tied(kinds[name] ?? fail(`there is no method ${name}`), one);
    return one[own] ? one[name] : one[name]?.bind(one) ?? fail(`there is no method ${name}`);
  };
  return py;
})();
