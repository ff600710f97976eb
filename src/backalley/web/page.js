"use strict";
// The page of tables: a list of games and tables, the form of a new one, and the table. `ask`, from `ask.js`, answers what it asks.

const main = document.getElementById("main"), trouble = document.getElementById("trouble");
const dark = matchMedia("(prefers-color-scheme: dark)");
let leaving = new AbortController(); // ends what the view before has asked for
let shown = null; // the table that is shown

/** Do something that may be refused, and show the sentence that says why. */
async function attempt(work) {
  try { trouble.textContent = ""; return await work(); } catch (error) {
    if (error.name !== "AbortError") trouble.textContent = error instanceof TypeError ? "The server does not answer; nothing was done. Try again when it runs." : error.message;
  }
}

// Elements -------------------------------------------------------------------------------------------------------------

function make(tag, about = {}, ...inside) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(about))
    if (name in made && name !== "list") made[name] = value; else made.setAttribute(name, value);
  made.append(...inside.flat().filter((one) => one !== null && one !== undefined));
  return made;
}
const button = (words, onclick, about = {}) => make("button", { type: "button", onclick, ...about }, words);
const CARD = /\b([2-9TJQKA])([CDHS])(?:[ab]|\.\d+)?\b/g, SIGNS = { C: "♣", D: "♦", H: "♥", S: "♠" };
const RANKS = { T: "ten", J: "jack", Q: "queen", K: "king", A: "ace" };
const SUITS = { C: "clubs", D: "diamonds", H: "hearts", S: "spades" };

/** A text with its cards as signs, and behind each which copy it is, unless that is to be left out. */
function signs(words, copies = true) {
  const parts = [], text = jokers(words); let from = 0;
  for (const found of text.matchAll(CARD)) {
    const [card, rank, suit] = found;
    parts.push(text.slice(from, found.index));
    parts.push(make("span", { className: "DH".includes(suit) ? "card red" : "card" }, (rank === "T" ? "10" : rank) + SIGNS[suit] + (copies ? card.slice(2) : "")));
    from = found.index + card.length;
  }
  return [...parts, text.slice(from)];
}
const jokers = (text) => text.replace(/\bLJ\b/g, "little joker").replace(/\bBJ\b/g, "big joker").replace(/\bJOKER\b/g, "joker");
const spoken = (text) => jokers(text).replace(CARD, (_, rank, suit) => `the ${RANKS[rank] ?? rank} of ${SUITS[suit]}`);

function show(where, ...inside) {
  document.getElementById("where").textContent = where;
  document.title = where ? `${where} · Back Alley` : "Back Alley";
  main.replaceChildren(...inside.flat());
}

// The first view: games, tables ----------------------------------------------------------------------------------------

async function start() {
  const [games, tables] = await Promise.all([ask("/api/games"), ask("/api/tables")]);
  const about = (one) => [...Object.entries(one.options).map((pair) => pair.join(" ")), ...(one.over ? ["over"] : [])].join(", ");
  const line = (one, ...more) => make("li", {}, ...more, make("span", { className: "quiet" }, about(one)));
  const mine = tables.mine.map((one) => {
    const made = line(one, make("a", { href: `#table=${one.id}` }, one.title));
    if (one.owned) made.append(button("Delete", () => attempt(async () => { await ask(`/api/tables/${one.id}/delete`, {}); await start(); })));
    return made;
  });
  const open = tables.open.map((one) => line(one, make("a", { href: `#join=${one.link}` }, `Sit down: ${one.title}`)));
  const file = make("input", { type: "file", accept: ".json", onchange: () => attempt(async () => {
    const answer = await ask("/api/recordings", JSON.parse(await file.files[0].text()));
    location.hash = `table=${answer.id}`;
  }) });
  show("",
    make("h1", {}, "What shall we play?"),
    make("ul", { className: "games" }, games.map((game) => make("li", {}, button(
      [game.title, make("span", { className: "quiet" }, game.about)],
      () => { location.hash = `new=${game.name}`; })))),
    open.length ? [make("h2", {}, "Open chairs"), make("ul", { className: "lines" }, open)] : [],
    mine.length ? [make("h2", {}, "Your tables"), make("ul", { className: "lines" }, mine)] : [],
    tables.files === false ? [] : [make("h2", {}, "A recorded game"),
      make("label", { className: "file" }, "Choose a file", file),
      make("span", { className: "quiet" }, " that backalley record, play --save or this page has written")]);
}

// The form of a new game -----------------------------------------------------------------------------------------------

async function setup(game, given = {}, seats = []) {
  const query = new URLSearchParams({ game, ...given });
  const about = await ask(`/api/setup?${query}`);
  if (location.hash !== `#new=${game}`) return; // meanwhile it has been dealt, or left
  const known = about.agents.map((one) => one.name), best = ["policy", "bot", "random"].find((one) => known.includes(one));
  const called = (name) => about.agents.find((one) => one.name === name)?.words.split(":")[0] ?? name;
  const people = about.people ?? { me: "me", link: "a person, by a link", open: "an open chair" }, gone = new Set();
  const chairs = about.seats.map((name, seat) => {
    const agents = about.agents.map((one) => make("option", { value: one.name, title: one.name }, one.words));
    const chair = make("select", { name: `seat ${seat}` }, Object.entries(people).map(([value, words]) => make("option", { value }, words)), make("optgroup", { label: "the computer" }, agents));
    chair.value = seats[seat] ?? (seat === 0 ? "me" : best);
    if (!chair.value) { gone.add(seats[seat]); chair.value = best; } // who does not play under these options
    chair.onchange = () => { if (chair.value === "me") chairs.forEach((other) => { if (other !== chair && other.value === "me") other.value = best; }); };
    return chair;
  });
  const chosen = () => Object.fromEntries(fields.filter(([one, field]) => field.value !== one.default).map(([one, field]) => [one.name, field.value]));
  const fields = about.options.map((one) => {
    const field = one.choices
      ? make("select", { name: one.name }, one.choices.map((value) => make("option", { value }, { "": "none", true: "yes", false: "no" }[value] ?? value.replaceAll("_", " "))))
      : make("input", { name: one.name });
    field.value = given[one.name] ?? one.default;
    field.onchange = () => attempt(() => setup(game, chosen(), chairs.map((chair) => chair.value)));
    return [one, field];
  });
  const labelled = (words, field, more) => make("label", {}, make("span", {}, words, more ? make("small", { className: "quiet" }, ` ${more}`) : null), field);
  const dealing = make("button", { className: "main" }, "Deal");
  const deal = () => once(dealing, "Dealing ...", { game, options: chosen(), seats: chairs.map((chair) => chair.value) });
  const among = (research, length = false) => fields.filter(([one]) => one.length === length && (length || one.research === research)).map(([one, field]) => labelled(one.name.replaceAll("_", " "), field, one.takes ? `${one.doc}: ${one.takes}` : one.doc));
  const open = (research) => Object.keys(given).some((name) => about.options.find((one) => one.name === name)?.research === research);
  const held = document.activeElement?.name;
  show(about.title, make("h1", {}, about.title), make("p", { className: "about" }, about.about), make("form", { onsubmit: (event) => { event.preventDefault(); deal(); } },
    make("h2", {}, "Who sits where"), chairs.map((chair, seat) => labelled(about.seats[seat], chair)),
    gone.size ? make("p", { role: "status" }, `${[...gone].map((name) => (name === "policy" ? "The trained player" : name)).join(", ")} does not know these rules; ${called(best)} sits there instead.`) : null,
    among(false, true), dealing,
    fields.length ? make("details", { open: open(false) }, make("summary", {}, "Rules that may be changed"), among(false)) : make("p", { className: "quiet" }, about.note ?? "The rules of this game cannot be changed."),
    fields.length ? make("details", { open: open(true) }, make("summary", {}, "For research: smaller games, rewards, observations"), among(true)) : null));
  if (held) main.querySelector(`[name="${held}"]`)?.focus();
}

/** Deal a new game, and let that be asked once. */
async function once(asked, words, wanted) {
  const before = asked.textContent;
  asked.disabled = true; asked.textContent = words;
  await attempt(async () => { location.hash = `table=${(await ask("/api/tables", wanted)).id}`; });
  asked.disabled = false; asked.textContent = before;
}

// The table ------------------------------------------------------------------------------------------------------------

/** Everything that stays on the page while the table changes. */
function furniture(id) {
  const part = (tag, className, about = {}) => make(tag, { className, ...about });
  const the = {
    id, at: -1, seat: "", reached: -1, lines: [], now: null, valued: false, fresh: true,
    picture: part("div", "picture"), turn: part("p", "turn", { role: "status" }), end: part("div", "row end"),
    actions: part("div", "row"), choices: [],
    events: part("ol", ""), log: part("div", "events", { role: "log", tabIndex: 0, "aria-label": "What happened" }), asked: part("div", "", { role: "status" }),
    help: make("p", { className: "quiet keys" }, "Click a card or a button, or press 1 to 9 for the first to the ninth choice; arrows and Enter work, too; h is a hint, u takes back."), note: part("p", "quiet"), rules: part("div", "rules"), again: button("Again", () => once(the.again, "Dealing ...", the.now.again), { className: "main" }),
    values: part("div", "", { "aria-live": "polite" }), seats: part("ul", "seats"), words: part("pre", ""), place: part("span", "quiet"),
    slider: part("input", "slider", { type: "range", min: 0, "aria-label": "Look back" }), eyes: part("select", "", { "aria-label": "Seen from" }),
    hint: button("Hint", () => { the.valued = true; attempt(() => values(the)); }), undo: button("Take back", () => agree(the, true)),
    review: button("Review", () => attempt(() => review(the))), reviewed: part("div", "", { "aria-live": "polite" }),
    file: button("Save the game", () => attempt(() => keep(the))),
  };
  the.log.append(the.events);
  const go = (at) => { the.at = at >= the.now.last ? -1 : Math.max(at, 0); attempt(() => look(the)); };
  the.slider.oninput = () => go(Number(the.slider.value));
  the.eyes.onchange = () => { the.seat = the.eyes.value; attempt(() => look(the)); };
  the.go = go;
  const step = (by, words, label) => button(words, () => go(the.now.at + by), { "aria-label": label });
  const section = (title, ...inside) => make("section", {}, make("h2", {}, title), ...inside);
  show("", make("h1", { className: "unseen" }), make("div", { className: "table" },
    make("div", {}, the.turn, the.help, the.note,
      the.picture, the.end, the.actions, make("div", { className: "row" }, the.again, the.hint, the.undo, the.review, the.file),
      the.asked, the.reviewed, the.values, make("details", {}, make("summary", {}, "The table in words"), the.words)),
    make("div", { className: "side" }, section("Seats", the.seats), section("What happened", the.log), section("Rules", the.rules),
      section("Look back", the.slider, make("div", { className: "row" }, step(-1, "◀", "One back"), step(1, "▶", "One on"), the.place), the.eyes))));
  return the;
}

async function table(id) {
  leaving = new AbortController();
  const { signal } = leaving, the = (shown = furniture(id));
  let version = "";
  while (!signal.aborted) {
    try {
      const found = await ask(`/api/tables/${id}?${looks(the, { after: version })}`, undefined, signal);
      if (!version) { the.reached = found.last; if (!the.chapters) lay(the, found); }
      if (found.version !== version && (the.at < 0 || !version)) await news(the, found);
      else if (found.version !== version) the.now = { ...the.now, last: found.last };
      version = found.version;
      trouble.textContent = "";
    } catch (error) {
      if (error.name === "AbortError") return;
      trouble.textContent = error instanceof TypeError ? "The server does not answer; trying again ..." : error.message;
      if (!(error instanceof TypeError)) return;
      await new Promise((done) => setTimeout(done, 2000));
      version = "";
    }
  }
}

/** Show how a deal has ended, once, before what followed it. */
async function news(the, found) {
  const ended = found.ends.find((end) => end > the.reached);
  if (ended !== undefined && !found.over) { the.reached = ended; the.at = ended; return look(the); }
  the.reached = Math.max(the.reached, found.last);
  draw(the, found);
}

const looks = (the, more) => new URLSearchParams({ seat: the.seat, theme: dark.matches ? "dark" : "light",
  width: innerWidth < 600 ? Math.max(320, innerWidth) : 960, ...more });
const look = async (the) => draw(the, await ask(`/api/tables/${the.id}?${looks(the, { at: the.at })}`));

function draw(the, found) {
  const refused = the.now?.undo && !found.undo && found.last >= the.now.last && the.now.at === found.at;
  const live = found.at === found.last, names = found.chairs.map((chair) => chair.name);
  the.now = found;
  const held = [...the.choices, ...the.end.children].includes(document.activeElement);
  main.querySelector("h1").textContent = document.getElementById("where").textContent = found.title;
  document.title = `${found.title} · Back Alley`;
  the.turn.textContent = found.trouble || found.turn;
  const gain = (value, seat) => `${names[seat]} ${value > 0 ? "+" : ""}${Number(value.toFixed(3))}`;
  if (found.over && live) the.turn.textContent = found.ending;
  the.turn.classList.toggle("over", found.over && live);
  the.words.textContent = found.words + (found.over ? `\n\nReturns: ${found.returns.map(gain).join(", ")}.` : "");
  the.note.textContent = found.compiling && !found.over ? "The computer is still getting ready for this game: until then its players think less, and the trained one plays by rules of thumb." : "";
  the.again.hidden = found.recorded || found.mine === null || !found.over;
  offer(the, found, live);
  the.end.replaceChildren(...(live ? [] : [button(found.over ? "To the end" : found.deal_over ? "Go on" : "Back to the present", () => attempt(() => resume(the)), { className: "main" })]));
  if (held || found.deal_over) (the.end.querySelector("button") ?? the.choices[0])?.focus({ preventScroll: true });
  tell(the, found.events);
  the.help.hidden = found.over || found.mine === null;
  the.hint.textContent = found.over ? "Values" : "Hint";
  the.hint.hidden = found.over && live;
  the.hint.disabled = found.acting === null || !(found.over || found.acting === found.mine);
  the.undo.hidden = found.over || found.recorded || found.mine === null;
  the.undo.disabled = !found.can_undo;
  the.file.hidden = found.files === false || found.recorded || found.mine === null || !found.over;
  the.review.hidden = the.file.hidden;
  the.values.replaceChildren();
  if (the.valued && found.over && !the.hint.disabled) attempt(() => values(the)); else if (!found.over) the.valued = false;
  the.slider.max = found.last; the.slider.value = found.at;
  the.place.textContent = live ? "now" : `${found.at + 1} of ${found.last + 1}`;
  the.slider.setAttribute("aria-valuetext", the.place.textContent);
  open(the, live ? found.actions : []);
  if (the.fresh && (the.choices.length || found.over)) { the.fresh = false; if ([main, document.body].includes(document.activeElement)) the.choices[0]?.focus({ preventScroll: true }); }
  the.eyes.hidden = !found.free;
  the.eyes.replaceChildren(make("option", { value: "all" }, "all cards shown"), ...names.map((name, seat) => make("option", { value: seat }, `seen by ${name}`)));
  the.eyes.value = found.seat ?? "all";
  the.seats.replaceChildren(...found.chairs.map((chair, seat) => make("li", { className: seat === found.acting ? "now" : "" },
    chair.who ? `${chair.name}: ${chair.who}` : chair.name, chair.link ? make("input", { readOnly: true, value: `${location.origin}/#join=${chair.link}`, "aria-label": `Link for ${chair.name}`, onfocus: (event) => event.target.select() }) : null)));
  const asks = found.undo && found.mine !== null && !found.undo.agree.includes(found.mine);
  const own = found.undo?.seat === found.mine;
  the.asked.replaceChildren(...(found.undo ? [make("p", {}, own ? "You have asked to take your last action back; the others are asked." : `${names[found.undo.seat]} asks to take their last action back.`)] : []),
    ...(refused ? [make("p", {}, "Taking back was refused.")] : []),
    ...(asks ? [button("Agree", () => agree(the, true)), button("Refuse", () => agree(the, false))] : []));
}

/** Draw the table; its cards and buttons that stand for legal actions are buttons of the page. */
function offer(the, found, live) {
  const picture = document.importNode(new DOMParser().parseFromString(found.svg, "image/svg+xml").documentElement, true);
  const drawn = new Map([...picture.querySelectorAll("[data-action]")].map((one) => [Number(one.dataset.action), one]));
  if (live && drawn.size) picture.setAttribute("role", "group");
  const rest = [];
  the.choices = (live ? found.actions : []).map(([action, name], place) => {
    const one = drawn.get(action) ?? rest[rest.push(button(signs(name))) - 1];
    for (const [key, value] of Object.entries({ role: "button", "aria-label": spoken(name), tabindex: place ? -1 : 0 })) one.setAttribute(key, value);
    if (!drawn.has(action) && place < 9) one.dataset.key = place + 1;
    one.onclick = () => act(the, action);
    return one;
  });
  the.picture.replaceChildren(picture);
  const touched = (live ? found.actions : []).filter(([action]) => drawn.has(action)).map(([action, name]) => button(signs(name), () => act(the, action), { className: "touch", tabIndex: -1, "aria-hidden": "true" }));
  the.actions.replaceChildren(...rest, ...touched);
}

async function resume(the) {
  the.at = -1;
  await news(the, await ask(`/api/tables/${the.id}?${looks(the)}`));
}

/** Change the list from the first line on that is new, so that a screen reader reads these alone. */
function tell(the, lines) {
  const same = the.lines.findIndex((line, place) => lines[place] !== line), from = same < 0 ? the.lines.length : same;
  [...the.events.children].slice(from).forEach((line) => line.remove());
  the.events.append(...lines.slice(from).map((line) => make("li", {}, signs(line, false))));
  the.log.scrollTop = the.log.scrollHeight;
  the.lines = lines;
}

// The rules beside the table -------------------------------------------------------------------------------------------

/** Lay a game's rules beside the table, a part for each paragraph of its page. */
async function lay(the, found) {
  the.chapters = [];
  const rules = await ask(`/api/rules?game=${found.game}`);
  the.chapters = rules.map(({ number, text }) => {
    const [head, ...blocks] = text.trim().split(/\n\n+/), title = head.replace(/^#+ /, "");
    return { title, text, part: make("details", {}, make("summary", { onclick: () => { the.reading = true; } }, title), blocks.map(block)) };
  }).filter((one) => one.part.children.length > 1);
  the.rules.replaceChildren(...the.chapters.map((one) => one.part));
  open(the, the.now?.actions ?? []);
}

/** A paragraph, a list or a table of Markdown. */
function block(text) {
  const plain = (words) => signs(words.replace(/[*`]/g, "")), lines = text.split("\n");
  if (text.startsWith("|")) return make("div", { className: "wide", tabIndex: 0 }, make("table", {}, lines.filter((line) => !/^[|\s:-]+$/.test(line)).map((line) =>
    make("tr", {}, line.replace(/^\||\|$/g, "").split(/(?<!\\)\|/).map((cell) => make("td", {}, plain(cell.replaceAll("\\|", "|").trim())))))));
  if (/^([*-]|\d+\.) /.test(text)) return make(/^\d/.test(text) ? "ol" : "ul", { className: "dots" }, text.split(/\n(?=(?:[*-]|\d+\.) )/).map((one) => make("li", {}, plain(one.replace(/^([*-]|\d+\.) /, "").replace(/\s+/g, " ")))));
  return make("p", {}, plain(text.replace(/\s+/g, " ")));
}

/** Open the paragraph that speaks most of what may be done now, and in whose title is what the table shows. */
function open(the, actions) {
  const verbs = [...new Set(actions.map(([, name]) => name.split(" ")[0]))].sort().join(" ");
  if (!the.chapters?.length || !verbs || the.reading) return; // what the reader has opened stays
  const shown = new Set((the.now.words.toLowerCase().match(/[a-z]{4,}/g) ?? []).filter((word) => !/^(card|deal|hand|player|turn)s?$/.test(word)));
  const title = (one) => (one.title.toLowerCase().match(/[a-z]{4,}/g) ?? []).filter((word) => shown.has(word)).length;
  const asked = [verbs, ...the.chapters.map(title)].join();
  if (asked === the.opened) return;
  the.opened = asked;
  const spoken = (text) => verbs.split(" ").reduce((sum, verb) => sum + (text.match(new RegExp(`\\b${verb.replace(/e$/, "")}`, "gi"))?.length ?? 0), 0);
  const rated = the.chapters.map((one) => 10 * spoken(one.title) + 3 * title(one) + (1000 * spoken(one.text)) / (one.text.length + 1000)), best = Math.max(...rated);
  the.chapters.forEach((one, place) => { one.part.open = best > 0 && place === rated.indexOf(best); });
  if (best > 0) the.rules.scrollTop = the.chapters[rated.indexOf(best)].part.offsetTop - the.rules.offsetTop;
}

async function values(the) {
  const at = the.now.at;
  the.values.replaceChildren(make("p", { className: "quiet" }, "Searching ..."));
  const found = await ask(`/api/tables/${the.id}/values?at=${at}`);
  if (the.now.at !== at) return;
  the.choices[the.now.actions?.findIndex(([action]) => action === found.actions[0].action)]?.focus({ preventScroll: true });
  const amount = (value) => (value === null ? "not tried" : (value > 0 ? "+" : "") + value.toFixed(3));
  const valued = found.actions.some((one) => one.value !== null), [best, ...others] = found.actions;
  const level = best.value !== null && others.some((one) => one.value > best.value); // a search departs from its base player for a clear lead alone
  the.values.replaceChildren(make("p", {}, found.actions.length < 2 ? "The only choice is " : "The computer would choose ", make("b", {}, signs(found.actions[0].name)), "."),
    ...(valued || the.now.over ? [make("p", { className: "quiet" }, `What each choice gains on average, ± its standard error, as far as ${found.by} has seen ahead${level ? "; where no choice leads by more than chance, a rule of thumb decides" : ""}:`),
      make("table", { className: "values" }, found.actions.map((one, place) => make("tr", { className: place ? "" : "best" },
        make("td", {}, signs(one.name), one.taken ? " (played)" : "", place ? "" : " ✓"), make("td", {}, amount(one.value)), make("td", {}, one.value === null ? "" : `± ${one.error.toFixed(3)}`))))] : []));
  the.values.scrollIntoView({ block: "nearest" });
}

async function review(the) {
  const all = [], amount = (value) => value.toFixed(3);
  the.review.disabled = true;
  const progress = make("progress", { max: the.now.last, value: 0, ariaLabel: "Review" });
  the.reviewed.replaceChildren(progress);
  try {
    for (let at = 0, one; (one = await ask(`/api/tables/${the.id}/review?at=${at}`)).at !== undefined; at = one.at + 1) { all.push(one); progress.value = one.at; }
  } catch (error) { the.reviewed.replaceChildren(); throw error; } finally { the.review.disabled = false; }
  const costly = all.filter((one) => one.better !== one.action && one.loss > 0).sort((one, other) => other.loss - one.loss).slice(0, 3);
  the.reviewed.replaceChildren(
    make("p", {}, costly.length ? `You had ${all.length} choices. These cost most, by what you could see; a click shows the table then:` : `You had ${all.length} choices. No better one was found.`),
    make("ol", {}, costly.map((one) => make("li", {}, button(`${signs(one.name)} was played`, () => the.go(one.at)), " ", make("b", {}, signs(one.better_name)),
      ` gains ${amount(one.loss)} more (95 %: ${amount(one.interval[0])} to ${amount(one.interval[1])})`))));
}

const act = (the, action) => attempt(() => ask(`/api/tables/${the.id}/act`, { action, at: the.now.last }));
const agree = (the, yes) => attempt(() => ask(`/api/tables/${the.id}/undo`, { agree: yes }));

async function keep(the) {
  const kept = await ask(`/api/tables/${the.id}/recording`);
  const url = URL.createObjectURL(new Blob([JSON.stringify(kept, null, 1)], { type: "application/json" }));
  make("a", { href: url, download: `${kept.game}.json` }).click();
  URL.revokeObjectURL(url);
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.matches("input, select, textarea") || !shown) return;
  const { choices, hint, undo } = shown, at = choices.indexOf(document.activeElement), by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  const pressed = { h: hint, u: undo }[event.key] ?? (event.key >= "1" && event.key <= "9" ? choices[event.key - 1] : null);
  if (by && choices.length) choices.at((at + by + (at < 0 && by < 0 ? 1 : 0)) % choices.length).focus();
  else if ((event.key === "Enter" || event.key === " ") && at >= 0 && event.target.tagName !== "BUTTON") choices[at].onclick();
  else if (pressed && !pressed.disabled) pressed.onclick();
  else return;
  event.preventDefault();
});

async function route() {
  leaving.abort();
  shown = null;
  const [what, value] = location.hash.slice(1).split("=");
  main.replaceChildren();
  if (what === "table") await table(value);
  else if (what === "new") await setup(value);
  else if (what === "join") location.replace(`#table=${(await ask("/api/join", { link: value })).id}`);
  else await start();
  main.focus({ preventScroll: true });
}
addEventListener("hashchange", () => attempt(route));
dark.addEventListener("change", () => attempt(route));
attempt(route);
