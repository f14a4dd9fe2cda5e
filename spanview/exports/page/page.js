"use strict";
/* Draws what the page carries. Every figure was found out before: here it is only laid out, searched and zoomed.
   Texts of the data become text nodes and nothing else, whatever is in them. */
(() => {
const MISSING = 1, CYCLE = 2, SUBMITS = 4, JOINED = 8, FIRST = 16;  // bits of a row's flags
const ERROR = 2;  // of a span's status
const ROW = 24;  // pixels, as the style has them
const MOST_PRINTED = 1000, MOST_BLOCKS = 150, BINS = 300;

// -- texts ------------------------------------------------------------------------------------------------------------

const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Z}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0\u{e0100}-\u{e01ef}]/gu;

/** A text in which nothing is invisible: control characters become their pictures, others their hexadecimal form, as in
    `display/sanitise.py`. */
function visible(text, keeps = "") {
  return String(text).replace(HIDDEN, character => {
    if (keeps.includes(character)) return character;
    const code = character.codePointAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    if (/\p{Zs}/u.test(character)) return " ";
    const [letter, digits] = code <= 0xff ? ["x", 2] : code <= 0xffff ? ["u", 4] : ["U", 8];
    return `\\${letter}${code.toString(16).padStart(digits, "0")}`;
  });
}
const lines = text => visible(text, "\n\t");

/** A number with decimals, where halves go to the even digit, as Python rounds. */
function fixed(number, decimals) {
  const step = 10 ** -decimals;
  const is_tie = number % [1, .5, .25][decimals] === [.5, .25, .125][decimals];
  if (!is_tie) return number.toFixed(decimals);
  const low = Math.floor(number / step);
  return ((low % 2 ? low + 1 : low) * step).toFixed(decimals);
}
function three_digits(number) {
  if (number === Math.trunc(number) && number < 1000) return String(number);
  return fixed(number, number < 9.995 ? 2 : number < 99.95 ? 1 : 0);
}
const two = number => String(number).padStart(2, "0");
const whole = number => number.toLocaleString("en-US");
const count = (number, noun) => `${whole(number)} ${noun}${number === 1 ? "" : /(s|ch)$/.test(noun) ? "es" : "s"}`;
const known = number => number !== null && !Number.isNaN(number);

/** Nanoseconds as spanview writes them everywhere: `17 µs`, `41.2 ms`, `2 m 05 s`. */
// How long a trace took: of one with spans without an end, as far as that is known.
const lengthOf = trace => data.traces.lasted[trace] || duration(data.traces.length[trace]);

function duration(ns) {
  if (!known(ns)) return "–";
  if (ns < 0) return "-" + duration(-ns);
  for (const [unit, size] of [["ns", 1], ["µs", 1e3], ["ms", 1e6], ["s", 1e9]]) {
    const text = three_digits(ns / size);
    if (Number(text) < (unit === "s" ? 60 : 1000) && (unit !== "ns" || ns % 1000)) return `${text} ${unit}`;
  }
  const seconds = Math.round(ns / 1e9), days = Math.floor(seconds / 86400);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor(seconds % 3600 / 60))} m`;
  return days < 100 ? `${days} d ${two(Math.floor(seconds % 86400 / 3600))} h` : `${whole(days)} d`;
}

/** How many minutes the zone of all times is behind UTC at a time: that of this browser, or UTC itself. */
const zone_at = second => (is_utc ? 0 : new Date(second * 1000).getTimezoneOffset());
let is_utc = false;

/** The zone at a time, as `UTC` or `UTC+02:00`. */
function zone_name(second) {
  const behind = Math.round(zone_at(second)), ahead = Math.abs(behind);
  return behind ? `UTC${behind < 0 ? "+" : "-"}${two(Math.floor(ahead / 60))}:${two(ahead % 60)}` : "UTC";
}
/** A time in the zone of all times. */
function moment(second, nanosecond, with_date = true) {
  if (second === null) return "–";
  const date = new Date(second * 1000 - zone_at(second) * 60_000);
  if (Number.isNaN(date.getTime())) return "–";
  const time = `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
  const day = `${String(date.getUTCFullYear()).padStart(4, "0")}-${two(date.getUTCMonth() + 1)}-${two(date.getUTCDate())} `;
  return `${with_date ? day : ""}${time}.${String(Math.floor(nanosecond / 1000)).padStart(6, "0")}`;
}
/** The same to a thousandth of a second, as tables have it; with its date where the traces began on several days. */
const brief_moment = (second, nanosecond) => (second === null ? "–" : moment(second, nanosecond, data.has_days).slice(0, -3));
function amount(number) {
  if (number === null) return "–";
  if (Number.isInteger(number)) return whole(number);
  const text = three_digits(number);
  if (!text.includes(".")) return whole(Number(fixed(number, 0)));
  return text === "0.00" ? "<0.01" : text.replace(/\.?0+$/, "");
}

/** How values of columns are written, by what they are. */
const WRITTEN = {
  text: visible, count: number => (number ? whole(number) : ""), time: duration, amount,
  share: number => (number === null ? "–" : `${Math.round(100 * number)}%`),
  moment: us => (us === null ? "–" : brief_moment(Math.floor(us / 1e6), us % 1e6 * 1000)),
};

// -- elements ---------------------------------------------------------------------------------------------------------

const SVG = "http://www.w3.org/2000/svg";

/** An element: `make("p.dim", "text", child)`. What isn't an element becomes a text. */
function make(what, ...children) {
  const [tag, ...classes] = what.split(".");
  const element = document.createElement(tag);
  if (classes.length) element.className = classes.join(" ");
  if (tag === "button") element.type = "button";
  element.append(...children.filter(child => child !== null && child !== ""));
  return element;
}
function draw(tag, attributes = {}) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  return element;
}
function button(text, title, run) {
  const element = make("button", text);
  element.title = title;
  element.addEventListener("click", run);
  return element;
}
const set = (element, text) => { if (element.textContent !== text) element.textContent = text; };

let silence = 0;
function say(text) {
  const said = document.getElementById("said");
  said.textContent = text;
  clearTimeout(silence);
  silence = setTimeout(() => { said.textContent = ""; }, 3000 + 60 * text.length);
}
async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", text);
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`copied the ${what}`);
}

// -- data -------------------------------------------------------------------------------------------------------------

async function unpacked(element) {
  const text = atob(element.textContent), bytes = new Uint8Array(text.length);
  for (let index = 0; index < bytes.length; index++) bytes[index] = text.charCodeAt(index);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}
const block = kind => document.querySelector(`script[data-kind="${kind}"]`);
const numbers = values => Float64Array.from(values, value => value === null ? NaN : value);

/** The traces, and the rows once they are read. */
const data = { rows: null };

async function read_overview() {
  for (const kind of ["overview", "conclusions"]) Object.assign(data, await unpacked(block(kind)));
  data.count = data.traces.id.length;
  data.numbers = new Map(data.traces.id.map((id, trace) => [id || "none", trace]));
  look_at_days();
}
function look_at_days() {
  const days = data.traces.second.filter(second => second !== null).map(second => moment(second, 0).slice(0, 10));
  data.has_days = new Set(days).size > 1;
}

async function read_rows() {
  const read = await unpacked(block("rows")), size = read.depth ? read.depth.length : 0, rows = { size };
  for (const column of ["depth", "flags", "name", "service", "kind", "status", "file"])
    rows[column] = Int32Array.from(read[column] || []);
  for (const column of ["length", "own", "wait"]) rows[column] = numbers(read[column] || []);
  rows.span_id = read.span_id;
  rows.path = read.path || [];
  rows.start = new Float64Array(size);
  rows.parent = new Int32Array(size);
  rows.end = new Int32Array(size);
  rows.joined_above = new Int32Array(size);
  rows.detail = new Int32Array(size);
  for (const sparse of ["mark", "note", "silent", "own", "causes"])
    rows[sparse === "own" ? "stretches" : sparse] = map_of(read.sparse[sparse]);
  // What is certain is drawn, queries ask for what is likely, too.
  rows.waits = new Map([...rows.causes].map(([row, [, ...parts]]) => [row, parts.length === 1 ? [parts[0], rows.wait[row]] : parts]));
  rows.causes = new Map([...rows.causes].filter(([, [is_certain]]) => is_certain).map(([row]) => [row, rows.waits.get(row)]));
  rows.trace = new Int32Array(size);
  const above = [];
  let spans = 0;
  for (let trace = 0; trace < data.count; trace++) {
    let time = 0;
    for (let row = data.traces.first[trace]; row < after(trace, size); row++) {
      const depth = rows.depth[row], change = read.start[row];
      for (const ended of above.splice(depth)) rows.end[ended] = row;
      const parent = rows.parent[row] = depth ? above[depth - 1] : -1;
      above.push(row);
      if (change !== null) time += change;
      rows.start[row] = change === null ? NaN : time;
      if (depth) rows.joined_above[row] = rows.joined_above[parent] + (rows.flags[parent] & JOINED ? 1 : 0);
      rows.detail[row] = spans;
      rows.trace[row] = trace;
      if (!(rows.flags[row] & MISSING)) spans++;
    }
    for (const ended of above.splice(0)) rows.end[ended] = after(trace, size);
  }
  data.rows = rows;
  data.asked = { ...read.asked, ran: map_of(read.asked.ran), ended: map_of(read.asked.ended) };
  queries.learn(read.language);
}
const map_of = ([keys, values] = [[], []]) => new Map(keys.map((key, index) => [key, values[index]]));
const after = (trace, size = data.rows.size) => trace + 1 < data.count ? data.traces.first[trace + 1] : size;

/** Blocks of details, read when somebody looks, of which the last ones are kept. */
const details = {
  elements: [], firsts: [], read: new Map(),
  find() {
    this.elements = [...document.querySelectorAll('script[data-kind="details"]')];
    this.firsts = this.elements.map(element => Number(element.dataset.first));
  },
  block_of(detail) {
    let low = 0, high = this.firsts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.firsts[middle] <= detail) low = middle; else high = middle;
    }
    return low;
  },
  /** What is known of a row at once: null where its block isn't read. */
  now(row) {
    if (data.rows.flags[row] & MISSING) return null;
    const number = this.block_of(data.rows.detail[row]), read = this.read.get(number);
    return read && read.value ? this.span(read.value, data.rows.detail[row] - this.firsts[number]) : null;
  },
  span(value, index) {
    const [description, attributes, events, links, resource, scope, state, warnings, source, process] =
      value.spans[index];
    return { description, attributes, events, links, resource: value.shared[resource], scope: value.shared[scope],
      state, warnings, source, process };
  },
  async of(row) {
    await this.load(this.block_of(data.rows.detail[row]));
    return this.now(row);
  },
  async load(number) {
    if (!this.elements[number]) return;
    let read = this.read.get(number);
    if (!read) {
      read = { value: null };
      read.done = unpacked(this.elements[number]).then(value => { read.value = value; });
      this.read.set(number, read);
      if (this.read.size > MOST_BLOCKS) this.read.delete(this.read.keys().next().value);
    }
    await read.done;
  },
};

const in_quotes = text => `"${text.replace(/["\\]/g, "\\$&")}"`;
const trace_key = trace => data.traces.id[trace] || "none";
const trace_name = trace => {
  const name = data.traces.name[trace];
  return visible(data.short[name] ?? data.names[name]) || "(no name)";
};
const span_id = row => data.rows.span_id.slice(16 * row, 16 * row + 16);

// -- a list that draws the rows in sight, and only those ----------------------------------------------------------------

class List {
  /**
   * columns: what `grid-template-columns` has, where `fit` doesn't give columns their room; `fill(element, index)` draws
   * a row, `opened(index)` is called for a chosen one, `moved(index)` for the one under the cursor.
   */
  constructor({ role = "grid", label, heads, columns, build, fill, opened, moved, id }) {
    Object.assign(this, { build, fill, opened, moved, id });
    this.count = 0;
    this.cursor = 0;
    this.drawn = new Map();
    this.spare = [];
    this.is_printing = false;
    this.rows = make("div.rows");
    this.heads = heads;
    this.element = make("div.list", heads, this.rows);
    this.element.tabIndex = 0;
    this.element.setAttribute("role", role);
    this.element.setAttribute("aria-label", label);
    this.element.style.setProperty("--columns", columns);
    this.element.addEventListener("scroll", () => this.later(), { passive: true });
    this.rows.addEventListener("click", event => this.clicked(event));
    this.rows.addEventListener("dblclick", event => this.chosen(event));
    this.watch = new ResizeObserver(() => { this.resized?.(); this.reveal(); this.redraw(); });
    this.watch.observe(this.element);
  }
  close() { this.watch.disconnect(); }
  index_at(event) {
    const row = event.target.closest(".row");
    return row ? Number(row.dataset.index) : -1;
  }
  clicked(event) {
    const index = this.index_at(event);
    if (index < 0 || event.target.closest("a")) return;
    this.go(index);
    this.pressed?.(index, event);
  }
  chosen(event) {
    const index = this.index_at(event);
    if (index >= 0) this.opened?.(index);
  }
  set_count(number, cursor = this.cursor) {
    this.count = number;
    this.cursor = Math.max(0, Math.min(cursor, number - 1));
    this.element.setAttribute("aria-rowcount", number);
    this.redraw();
  }
  later() {
    if (!this.frame) this.frame = requestAnimationFrame(() => { this.frame = 0; this.paint(); });
  }
  /** Draw everything in sight anew. */
  redraw() {
    this.rows.style.height = `${this.count * ROW}px`;
    for (const element of this.drawn.values()) { element.hidden = true; this.spare.push(element); }
    this.drawn.clear();
    this.paint();
  }
  paint() {
    const top = this.element.scrollTop, room = this.element.clientHeight - this.heads.offsetHeight;
    let first = Math.max(0, Math.floor(top / ROW) - 4), last = Math.min(this.count, Math.ceil((top + room) / ROW) + 4);
    if (this.is_printing) { first = 0; last = Math.min(this.count, MOST_PRINTED); }
    for (const [index, element] of this.drawn)
      if (index < first || index >= last) {
        this.drawn.delete(index);
        element.hidden = true;
        this.spare.push(element);
      }
    for (let index = first; index < last; index++) {
      if (this.drawn.has(index)) continue;
      let element = this.spare.shift();
      if (!element) {
        element = this.build();
        element.classList.add("row");
        element.setAttribute("role", "row");
        this.rows.append(element);
      }
      element.hidden = false;
      element.id = `${this.id}-${index}`;
      element.dataset.index = index;
      element.setAttribute("aria-rowindex", index + 1);
      element.style.transform = `translateY(${index * ROW}px)`;
      this.drawn.set(index, element);
      this.fill(element, index);
      element.setAttribute("aria-selected", index === this.cursor);
    }
    if (this.is_printing) this.rows.append(...[...this.drawn.keys()].sort((a, b) => a - b).map(i => this.drawn.get(i)));
    this.element.setAttribute("aria-activedescendant", this.count ? `${this.id}-${this.cursor}` : "");
    this.painted?.(first, last);
  }
  go(index, in_the_middle = false) {
    if (!this.count) return;
    this.drawn.get(this.cursor)?.setAttribute("aria-selected", false);
    this.cursor = Math.max(0, Math.min(index, this.count - 1));
    this.drawn.get(this.cursor)?.setAttribute("aria-selected", true);
    this.reveal(in_the_middle);
    this.later();
    this.moved?.(this.cursor);
  }
  /** Scroll to the cursor, where it is out of sight. */
  reveal(in_the_middle = false) {
    const top = this.element.scrollTop, room = this.element.clientHeight - this.heads.offsetHeight;
    const place = this.cursor * ROW;
    if (place < top || place + ROW > top + room) {
      const aligned = in_the_middle ? place - room / 2 : place < top ? place : place + ROW - room;
      this.element.scrollTop = Math.max(0, aligned);
    }
  }
  /** Give columns their room: those whose turn is first go where the others need theirs, and what stays can be scrolled. */
  fit(columns) {
    const least = some => some.reduce((sum, column) => sum + column.least, 0), turns = new Set(columns.map(column => column.goes));
    let shown = columns;
    for (const turn of [...turns].filter(Boolean).sort((a, b) => a - b))
      if (least(shown) > this.element.clientWidth) shown = shown.filter(column => column.goes !== turn);
    for (const column of columns) column.head.hidden = !shown.includes(column);
    for (const row of this.rows.children) hide_cells(row, columns);
    const grid = shown.map(({ least: pixels, most }) => (most ? `minmax(${pixels}px, ${most})` : `${pixels}px`));
    this.element.style.setProperty("--columns", grid.join(" "));
    this.element.style.setProperty("--least", `${least(shown)}px`);
  }
  page() { return Math.max(1, Math.floor((this.element.clientHeight - this.heads.offsetHeight) / ROW) - 1); }
  print(is_printing) {
    this.is_printing = is_printing;
    this.redraw();
  }
}

const hide_cells = (row, columns) => columns.forEach((column, place) => { row.children[place].hidden = column.head.hidden; });
const CHARACTER = 7.3;  // pixels of one in a figure

/** The pixels of a column in which none of its figures is cut: for its head, and for the longest of its texts. */
function room_of(text, longest) {
  const head = Math.max(...text.split(" ").map(word => word.length)) + 2;
  return Math.ceil(Math.max(head, longest) * CHARACTER) + (innerWidth <= 560 ? 8 : 18);
}
/** The characters of the longest text of values. */
function longest_of(kind, values) {
  const fixed_ones = { time: 9, share: 4, moment: data.has_days ? 23 : 12 };
  if (fixed_ones[kind]) return fixed_ones[kind];
  const length = value => WRITTEN[kind](value).length;
  return kind === "count" ? length(values.reduce((most, value) => Math.max(most, value ?? 0), 0))
    : values.reduce((most, value) => Math.max(most, length(value)), 0);
}

/** The heads of a table that can be sorted. */
function sortable_heads(columns, order, sort) {
  const heads = make("div.heads");
  heads.setAttribute("role", "row");
  for (const column of columns) {
    const head = make(column.number ? "button.number" : "button", column.text);
    head.setAttribute("role", "columnheader");
    head.title = column.title ?? "";
    head.addEventListener("click", () => sort(column.key));
    column.head = head;
    heads.append(head);
  }
  show_order(columns, order);
  return heads;
}
function show_order(columns, order) {
  for (const column of columns) {
    const is_it = column.key === order.key;
    set(column.head, column.text + (is_it ? (order.up ? " ▴" : " ▾") : ""));
    if (is_it) column.head.setAttribute("aria-sort", order.up ? "ascending" : "descending");
    else column.head.removeAttribute("aria-sort");
  }
}
function compare(a, b) {
  if (typeof a === "string") return a < b ? -1 : a > b ? 1 : 0;
  return (a ?? -Infinity) - (b ?? -Infinity);
}

// -- the traces -------------------------------------------------------------------------------------------------------

/** What the page has of traces, by what the report calls it in JSON. */
const OF_TRACES = {
  start_ns: trace => start_of(trace), duration_ns: trace => data.traces.length[trace], span_count: trace => data.traces.spans[trace],
  error_count: trace => data.traces.errors[trace], processes: trace => data.traces.processes[trace],
  service: trace => data.traces.service[trace], name: trace => trace_name(trace),
};

class TracesView {
  constructor() {
    this.order = { key: "start_ns", up: false };
    this.text = "";
    this.only_failed = false;
    this.only = null;
    this.is_explained = false;
    this.picked = null;
    // Also for a page that is opened at a trace, whose list nobody has seen.
    this.listed = [...Array(data.count).keys()];
    this.longest = Math.max(1, ...sample(data.traces.length));
    this.set_columns();
    this.put_in_order();
  }
  set_columns() {
    this.columns = data.trace_columns.map(([key, head, kind, goes, meaning, values]) => {
      const of = values ? trace => values[trace] : OF_TRACES[key], text = head.trim();
      const longest = key === "name" ? 0 : longest_of(kind, values ?? this.listed.map(of));
      return { key, text, kind, goes, of, title: meaning, number: ["count", "share", "amount"].includes(kind), least: room_of(text, longest) };
    });
  }
  open(main) {
    this.find = query_input("filter the traces");
    this.find.value = this.text;
    this.find.addEventListener("input", () => this.filter_by(this.find.value));
    this.search = new Search(this.find, make("p.query", ""));
    this.failed = button("only failed", "list only failed traces (f)", () => this.toggle_failed());
    this.failed.setAttribute("aria-pressed", this.only_failed);
    this.counted = make("span.count");
    this.plot = draw("svg", { class: "plot", role: "img", "aria-label": "duration of the traces over time" });
    this.drag(this.plot);
    this.list = new List({
      id: "trace", label: "traces", columns: "",
      heads: sortable_heads(this.columns, this.order, key => this.sort(key)),
      build: () => this.build(), fill: (element, index) => this.fill(element, index),
      opened: index => { location.hash = trace_key(this.listed[index]); },
    });
    this.list.resized = () => {
      const is_narrow = innerWidth <= 560, column = key => this.columns.find(one => one.key === key);
      Object.assign(column("name"), { least: is_narrow ? 140 : 150, most: "1fr" });
      if (data.traces.service) column("service").least = Math.min(column("service").least, 220);
      Object.assign(column("duration_ns"), { least: room_of("DURATION", 9), most: is_narrow ? "" : "220px" });
      // Where there is little room: without the year and fractions of a second.
      column("start_ns").least = room_of("START", (data.has_days ? 23 : 12) - (is_narrow ? (data.has_days ? 9 : 4) : 0));
      this.list.fit(this.columns);
      this.list.redraw();
      this.draw_plot();
    };
    this.list.pressed = index => { location.hash = trace_key(this.listed[index]); };
    this.explained = explanation();
    if (this.explained) {
      this.explained.open = this.is_explained;
      this.explained.addEventListener("toggle", () => { this.is_explained = this.explained.open; });
    }
    main.replaceChildren(
      this.explained, make("div.bar", this.find, this.failed, this.counted), this.search.said, this.plot, make("div.split", this.list.element),
    );
    document.title = `${count(data.count, "trace")} · spanview`;
    this.apply(this.current);
    // A text may have come from another view.
    if (this.text !== this.asked) this.filter_by(this.text);
  }
  close() { this.list.close(); this.search.number++; }
  /** List the traces in which a span matches a query. */
  filter_by(text) {
    this.text = text;
    if (current !== this || !this.search) return;
    this.asked = text;
    this.search.ask(text, 0, Infinity, verdicts => {
      // A mistake leaves the list as it is.
      if (verdicts === undefined) return;
      this.matching = verdicts && new Set();
      verdicts?.forEach((verdict, row) => { if (verdict === 1) this.matching.add(data.rows.trace[row]); });
      this.apply();
    });
  }
  /** List what the filter leaves, in the order of the list. */
  apply(current = this.listed[this.list.cursor]) {
    const all = [...Array(data.count).keys()];
    this.listed = all.filter(trace => (!this.only_failed || is_failed(trace)) && (this.only?.traces.has(trace) ?? true) && this.is_picked(trace) && (this.matching?.has(trace) ?? true));
    this.put_in_order();
    this.list.set_count(this.listed.length, Math.max(0, this.listed.indexOf(current)));
    if (current !== undefined) this.list.go(this.list.cursor, true);
    const is_less = this.listed.length < data.count;
    set(this.counted, (is_less ? `${whole(this.listed.length)} of ${count(data.count, "trace")}` : count(data.count, "trace")) + (this.only ? ` · only ${this.only.called} (Esc: all)` : ""));
    this.draw_plot();
  }
  put_in_order() {
    const { of } = this.columns.find(column => column.key === this.order.key), sign = this.order.up ? 1 : -1;
    const keys = new Map(this.listed.map(trace => [trace, of(trace)]));
    this.listed.sort((a, b) => sign * compare(keys.get(a), keys.get(b)) || a - b);
  }
  sort(key, up) {
    const is_same = key === this.order.key;
    this.order = { key, up: up ?? (is_same ? !this.order.up : key === "name") };
    show_order(this.columns, this.order);
    const current = this.listed[this.list.cursor];
    this.put_in_order();
    this.list.set_count(this.listed.length, this.listed.indexOf(current));
  }
  toggle_explanation() {
    this.is_explained = current !== this || !this.is_explained;
    if (current !== this) location.hash = "";
    else if (this.explained) this.explained.open = this.is_explained;
  }
  toggle_failed() {
    this.only_failed = !this.only_failed;
    this.failed.setAttribute("aria-pressed", this.only_failed);
    this.apply();
  }
  build() {
    const shades = { start_ns: "span.mono", error_count: "span.number.error" };
    const parts = this.columns.map(({ key, number }) => make(shades[key] ?? (number ? "span.number" : "span")));
    this.columns.forEach(({ key }, place) => {
      parts[place].setAttribute("role", "gridcell");
      if (key === "duration_ns") parts[place].append(make("span.mono.time-of"), make("span.gauge.roomy"));
      if (key === "name") parts[place].append(make("span.mark"), make("span.name"), make("span.dim"));
    });
    const row = make("div", ...parts);
    hide_cells(row, this.columns);
    return row;
  }
  fill(element, index) {
    const trace = this.listed[index];
    this.columns.forEach(({ key, kind, of }, place) => {
      const cell = element.children[place];
      if (key === "start_ns") this.fill_start(cell, trace);
      else if (key === "duration_ns") this.fill_duration(cell, trace);
      else if (key === "name") this.fill_name(cell, trace);
      else set(cell, WRITTEN[kind](of(trace)));
    });
  }
  fill_start(cell, trace) {
    const text = brief_moment(data.traces.second[trace], data.traces.nanosecond[trace]);
    set(cell, innerWidth <= 560 ? text.slice(data.has_days ? 5 : 0, -4) || "–" : text);
  }
  fill_duration(cell, trace) {
    const length = data.traces.length[trace], share = known(length) ? Math.max(0, length) / this.longest : 0;
    set(cell.firstChild, lengthOf(trace));
    cell.lastChild.style.width = share ? `${Math.max(2, share * 110)}px` : "0";
  }
  fill_name(cell, trace) {
    const [mark, title, rest] = cell.children, { lasting, silent } = data.traces;
    set(mark, lasting[trace] ? "✖ " : silent[trace] ? "! " : "");
    mark.className = lasting[trace] ? "mark error" : "mark warning";
    set(title, trace_name(trace));
    set(rest, [...whole_words(trace)].map(text => `  ${text}`).join(""));
    cell.title = trace_name(trace);
  }
  // -- the plot of durations over time
  is_picked(trace) {
    return !this.picked || (start_of(trace) >= this.picked[0] && start_of(trace) <= this.picked[1]);
  }
  draw_plot() {
    const timed = [...Array(data.count).keys()].filter(trace => start_of(trace) !== null && known(data.traces.length[trace]));
    this.plot.toggleAttribute("hidden", timed.length < 2);
    if (timed.length < 2) return;
    const wide = this.plot.clientWidth || 800, left = 72, right = wide - 14, top = 10, bottom = 88;
    const starts = timed.map(start_of), first = Math.min(...sample(starts)), last = Math.max(first + 1e-6, ...sample(starts));
    const logs = timed.map(trace => Math.log10(Math.max(1, data.traces.length[trace])));
    const low = Math.floor(Math.min(...sample(logs))), high = Math.max(low + 1, Math.ceil(Math.max(...sample(logs))));
    const x = start => left + (start - first) / (last - first) * (right - left);
    const y = log => bottom - (log - low) / (high - low) * (bottom - top);
    const points = { ok: "", bad: "" }, listed = new Set(this.listed);
    timed.forEach((trace, index) => {
      if (!listed.has(trace)) return;
      const kind = is_failed(trace) ? "bad" : "ok";
      points[kind] += `M${x(starts[index]).toFixed(1)} ${y(logs[index]).toFixed(1)}m-2-2h4v4h-4z`;
    });
    const parts = [];
    const step = Math.ceil((high - low) / 4);
    for (let power = low; power <= high; power += step) {
      parts.push(draw("path", { class: "grid", d: `M${left} ${y(power)}H${right}` }));
      const label = draw("text", { x: left - 6, y: y(power) + 4, "text-anchor": "end" });
      label.textContent = duration(10 ** power);
      parts.push(label);
    }
    const earlier = (one, other) => (start_of(one) <= start_of(other) ? one : other);
    const ends = [timed.reduce(earlier), timed.reduce((one, other) => (earlier(one, other) === one ? other : one))];
    for (const [place, anchor, trace] of [[left, "start", ends[0]], [right, "end", ends[1]]]) {
      const label = draw("text", { x: place, y: 104, "text-anchor": anchor });
      // Not from the place, which is a sum with too few digits.
      label.textContent = brief_moment(data.traces.second[trace], data.traces.nanosecond[trace]);
      parts.push(label);
    }
    parts.push(draw("path", { class: "ok", d: points.ok }), draw("path", { class: "bad", d: points.bad }));
    this.places = { left, right, first, last };
    if (this.picked) {
      const [from, to] = this.picked.map(start => Math.max(left, Math.min(right, x(start))));
      parts.push(draw("rect", { class: "picked", x: from, y: top, width: Math.max(1, to - from), height: bottom - top }));
    }
    this.plot.replaceChildren(...parts);
  }
  drag(plot) {
    const time = event => {
      const { left, right, first, last } = this.places;
      const place = Math.max(0, Math.min(1, (event.clientX - plot.getBoundingClientRect().left - left) / (right - left)));
      return first + place * (last - first);
    };
    dragged(plot, (from, to) => { this.picked = [Math.min(time(from), time(to)), Math.max(time(from), time(to))]; this.apply(); },
      event => {
        if (this.picked) { this.picked = null; this.apply(); return; }
        const wanted = time(event), nearest = this.listed.reduce((best, trace) =>
          best === null || Math.abs(start_of(trace) - wanted) < Math.abs(start_of(best) - wanted) ? trace : best, null);
        if (nearest !== null) this.list.go(this.listed.indexOf(nearest), true);
      });
  }
  back() {
    if (this.text || this.only_failed || this.picked || this.only) {
      this.find.value = "";
      this.filter_by("");
      this.picked = this.only = null;
      this.only_failed = true;
      this.toggle_failed();
      this.list.element.focus();
      return true;
    }
    return false;
  }
  /** Open the next trace of the list that failed, in place of one; tell whether there is another. */
  open_next_failed(trace, by) {
    const failed = this.listed.filter(other => other === trace || is_failed(other));
    const next = failed.at((failed.indexOf(trace) + by) % failed.length);
    if (next === undefined || next === trace) return false;
    at_error = true;
    location.hash = trace_key(next);
    return true;
  }
  next_error() {
    const failed = this.listed.filter(is_failed);
    if (!failed.length) { say("no trace failed"); return; }
    const newest = failed.reduce((best, trace) => (start_of(trace) > start_of(best) ? trace : best));
    at_error = true;
    location.hash = trace_key(newest);
  }
}
/** A field for queries. */
function query_input(label) {
  const find = make("input");
  find.type = "search";
  find.placeholder = "query: words, status=ERROR, duration>1s, any~text  ( / )";
  find.title = "The query language of spanview: words in names; status=ERROR, duration>100ms, http.status_code>=500, any~text; -term, OR, ( ); a > b for children. `spanview help query` lists it.";
  find.setAttribute("aria-label", label);
  find.spellcheck = false;
  return find;
}
let at_error = false;
function is_failed(trace) { return data.traces.lasting[trace] || data.traces.silent[trace]; }

/** At most some thousand of many values, the greatest and the least among them, to be spread as arguments. */
function sample(values) {
  let low = Infinity, high = -Infinity;
  for (const value of values) if (known(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  return low === Infinity ? [0] : [low, high];
}
function start_of(trace) {
  const second = data.traces.second[trace];
  return second === null ? null : second + data.traces.nanosecond[trace] / 1e9;
}
/** What is said of a trace that isn't whole. */
function* whole_words(trace) {
  const { complete, missing, unended, lost, label } = data.traces;
  if (missing[trace]) yield `? ${count(missing[trace], "missing parent")}`;
  else if (!complete[trace]) yield "incomplete";
  if (label[trace]) yield label[trace];
  else if (lost[trace]) yield `${whole(lost[trace])} lost`;
  if (unended[trace] > lost[trace]) yield `◌ ${count(unended[trace] - lost[trace], "span")} without an end`;
}
/* {query.js} */

/** What a search finds, and says meanwhile: one at a time, of which a new one ends the one before. */
class Search {
  constructor(find, said) { Object.assign(this, { find, said, number: 0 }); }
  /** Ask what holds for rows; `found` is called with verdicts and whether they are all; null where nothing is asked. */
  async ask(text, first, last, found) {
    const number = ++this.number, is_wanted = () => number === this.number;
    this.say("");
    if (!text.trim()) { found(null, true); return; }
    await data.are_rows_read;
    if (!is_wanted()) return;
    try {
      const verdicts = await queries.ask(queries.understood(text), first, Math.min(last, data.rows.size), (some, share) => {
        if (is_wanted()) { if (some) found(some, false); this.say(`searching … ${Math.round(100 * share)}%`, false); }
        return is_wanted();
      });
      if (!verdicts || !is_wanted()) return;
      const unsure = verdicts.reduce((sum, verdict) => sum + (verdict === 2 ? 1 : 0), 0);
      found(verdicts, true);
      const why = unsure ? `of ${count(unsure, "span")} this page can't tell: their texts or lists are shortened here, or a circle of parents was cut`
        : verdicts.includes(1) ? "" : (await queries.why_nothing(text, first, Math.min(last, data.rows.size))).map(line => visible(line)).join("; ");
      if (is_wanted()) this.say(why, unsure > 0);
    } catch (error) {
      if (!is_wanted()) return;
      if (error instanceof queries.Mistake) this.say(`character ${[...text.slice(0, error.position)].length + 1}: ${error.message}`, true);
      else if (error instanceof queries.Unanswered) this.say(error.message, true);
      else throw error;
      found(undefined, true);
    }
  }
  say(text, is_wrong = false) {
    set(this.said, text);
    this.said.classList.toggle("warning", is_wrong);
    this.find.setAttribute("aria-invalid", is_wrong);
  }
}

/** Call `done` with the first and the last event of a drag, or `click`. */
function dragged(element, done, click, moving = () => {}) {
  let from = null;
  element.addEventListener("pointerdown", event => {
    if (event.button) return;
    from = event;
    element.setPointerCapture(event.pointerId);
  });
  element.addEventListener("pointermove", event => { if (from) moving(from, event); });
  element.addEventListener("pointerup", event => {
    if (!from) return;
    const first = from;
    from = null;
    if (Math.abs(event.clientX - first.clientX) > 3) done(first, event); else click?.(event);
  });
  element.addEventListener("pointercancel", () => { from = null; moving(null, null); });
}

// -- one trace --------------------------------------------------------------------------------------------------------

const COLOR_BY = ["service", "file", "kind"], COLOR_NAMES = { service: "service", file: "process", kind: "kind" };

class TraceView {
  constructor(trace) {
    this.trace = trace;
    this.first = data.traces.first[trace];
    this.last = after(trace);
    this.collapsed = new Set();
    this.matches = [];
    this.text = "";
    this.is_lit = false;
    const length = data.traces.length[trace];
    this.whole = [0, known(length) && length > 0 ? length : 1];
    this.window = [...this.whole];
    const rows = data.rows, used = column => new Set(rows[column].subarray(this.first, this.last));
    this.has_calls = false;
    for (let row = this.first; row < this.last; row++) if (rows.flags[row] & (SUBMITS | JOINED)) this.has_calls = true;
    this.has_waits = this.has_calls || rows.wait.subarray(this.first, this.last).some(wait => wait > 0);
    this.joins = this.has_calls;
    this.color_by = used("service").size > 1 ? "service" : used("file").size > 1 ? "file" : "service";
    this.path = this.read_path();
  }
  /** When the critical path is at each row, as starts and ends. */
  read_path() {
    const path = new Map(), [start = 0, ...pairs] = data.rows.path[this.trace] || [];
    for (let index = 0, time = start; index < pairs.length; index += 2) {
      const row = this.first + (pairs[index] >> 1), end = time + pairs[index + 1];
      if (!path.has(row)) path.set(row, []);
      path.get(row).push([time, end]);
      time = end;
    }
    return path;
  }
  // -- what a row says
  is_hidden(row) { return this.joins && (data.rows.flags[row] & JOINED) !== 0; }
  /** The row that shows another one: a call is shown by its attempt. */
  shown(row) { return this.is_hidden(row) ? row + 1 : row; }
  submitted(row) { return this.joins && row > this.first && data.rows.flags[row - 1] & JOINED ? row - 1 : row; }
  name(row) {
    const rows = data.rows;
    if (rows.flags[row] & MISSING) {
      const guess = rows.note.get(row);
      return guess ? `? probably ${visible(guess)}, not seen` : `? parent not seen ${span_id(row).slice(0, 8)}`;
    }
    const number = rows.name[this.submitted(row)];
    return visible((this.joins && data.short[number]) || data.names[number]) || "(no name)";
  }
  has_failed(row) {
    const rows = data.rows;
    return rows.status[row] === ERROR || rows.status[this.submitted(row)] === ERROR;
  }
  is_bad(row) { return this.has_failed(row) || data.rows.silent.has(row); }
  is_open(row) { return Number.isNaN(data.rows.length[row]) && !(data.rows.flags[row] & MISSING); }
  has_children(row) { return data.rows.end[row] > row + 1; }
  ran(row) {
    const rows = data.rows;
    if (rows.flags[row] & MISSING || (this.joins && rows.flags[row] & SUBMITS)) return "";
    if (this.is_open(row)) return rows.note.get(row)?.split(/[:,]/)[0] ?? "no end";
    return duration(rows.length[row]);
  }
  marks(row) {
    const rows = data.rows, marks = [];
    if (this.has_failed(row)) marks.push("✖");
    const silent = rows.silent.get(row), mark = rows.mark.get(row);
    if (silent) marks.push(`! ${visible(silent)}`);
    if (mark) marks.push(visible(mark));
    if (rows.flags[row] & CYCLE) marks.push("↻ cycle");
    if (this.collapsed.has(row)) {
      let below = 0, errors = 0;
      for (let other = row + 1; other < rows.end[row]; other++) {
        if (!this.is_hidden(other)) below++;
        if (rows.status[other] === ERROR) errors++;
      }
      marks.push(`+${whole(below)}`);
      if (errors) marks.push(`✖${whole(errors)}`);
    }
    return marks.join(" ");
  }
  // -- the page
  open(main) {
    const traces = data.traces, trace = this.trace, id = traces.id[trace];
    const facts = [
      traces.second[trace] === null ? "–" : `${moment(traces.second[trace], traces.nanosecond[trace])} ${zone_name(traces.second[trace])}`, lengthOf(trace),
      count(traces.spans[trace], "span"), traces.processes[trace] === 1 ? "1 process" : `${whole(traces.processes[trace])} processes`,
    ];
    const line = make("p.dim", facts.join(" · "));
    if (traces.errors[trace]) line.append(" · ", make("span.error", `✖ ${count(traces.errors[trace], "error")}`));
    const words = [...whole_words(trace)];
    line.append(" · ", make(words.length ? "span.warning" : "span", words.join(" · ") || "complete"), " · ", make("span.mono", id || "no trace id"));
    this.find = query_input("search in the trace");
    this.find.value = this.text;
    this.find.addEventListener("input", () => this.search_for(this.find.value));
    this.search = new Search(this.find, make("p.query", ""));
    this.counted = make("span.count");
    this.buttons = {
      path: button("critical path", "highlight the critical path (c)", () => this.toggle_path()),
      calls: button("calls as rows", "one row per Ray call, or one per span (a)", () => this.toggle_calls()),
      details: button("details", "show or hide the details of the span (d)", () => this.toggle_details()),
      color: button("", "colour by service, process or kind (C)", () => this.next_color()),
    };
    this.buttons.calls.hidden = !this.has_calls;
    this.buttons.details.setAttribute("aria-pressed", true);
    const tools = [
      this.buttons.path, this.buttons.calls, this.buttons.details, this.buttons.color,
      button("−", "zoom out (-)", () => this.zoom(-1)), button("+", "zoom in (+)", () => this.zoom(1)),
      button("fit", "fit the selected span (f)", () => this.fit()), button("whole", "show the whole trace (0)", () => this.show(this.whole)),
    ];
    this.said_path = make("p.dim");
    this.said_path.hidden = true;
    this.legend = make("div.legend");
    this.ruler = draw("svg", { class: "ruler" });
    this.details = make("aside.details");
    this.details.setAttribute("aria-label", "details of the span");
    this.details.tabIndex = 0;
    this.heads = make("div.heads");
    this.list = new List({
      id: "span", role: "treegrid", label: "spans", heads: this.heads, columns: "", build: () => this.build(),
      fill: (element, index) => this.fill(element, index), opened: () => this.fit(), moved: () => this.select(),
    });
    this.list.resized = () => this.measure();
    this.list.pressed = (index, event) => { if (event.target.closest(".arrow")) this.toggle(this.visible[index]); };
    this.list.painted = (first, last) => this.want_events(first, last);
    main.replaceChildren(
      make("div.head", make("h1", trace_name(trace)), line, make("p.answer", visible(traces.answer[trace])), this.said_path),
      make("div.bar", this.find, this.counted, ...tools), this.search.said, this.legend, make("div.split", this.list.element, this.details),
    );
    document.title = `${trace_name(trace)} · spanview`;
    this.drag();
    this.list.element.addEventListener("wheel", event => this.wheel(event), { passive: false });
    this.set_heads();
    this.color();
    this.lay_out(this.selected ?? this.first);
  }
  close() { this.list.close(); this.search.number++; }
  set_heads() {
    const head = text => { const cell = make("span", text); cell.setAttribute("role", "columnheader"); return cell; };
    const heads = this.joins ? ["CALL", "WAIT", "RUN"] : this.has_waits ? ["SPAN", "WAIT", "DURATION"] : ["SPAN", "DURATION"];
    const cells = heads.map((text, index) => { const cell = head(text); if (index) cell.classList.add("number"); return cell; });
    if (this.has_waits) cells[1].classList.add("wide");
    this.heads.replaceChildren(...cells, this.ruler);
    this.ruler.classList.add("time");
    this.buttons.calls.setAttribute("aria-pressed", this.joins);
    this.measure();
  }
  measure() {
    const is_narrow = innerWidth <= 900, figures = this.has_waits && !is_narrow ? "84px 84px" : "84px";
    this.list.element.style.setProperty("--columns", `minmax(130px, ${is_narrow ? 40 : 35}%) ${figures} minmax(0, 1fr)`);
    this.wide = Math.max(40, this.ruler.clientWidth || 400);
    this.draw_ruler();
  }
  /** List the rows that nothing collapsed hides. */
  lay_out(selected = this.selected) {
    const rows = data.rows, listed = [];
    for (let row = this.first; row < this.last;) {
      if (!this.is_hidden(row)) listed.push(row);
      row = this.collapsed.has(row) ? rows.end[row] : row + 1;
    }
    this.visible = listed;
    const are_listed = new Set(listed);
    let shown = this.shown(selected);
    while (!are_listed.has(shown) && rows.parent[shown] >= 0) shown = rows.parent[shown];
    this.list.set_count(listed.length, Math.max(0, listed.indexOf(shown)));
    this.list.go(this.list.cursor, true);
  }
  build() {
    const tree = make("span.tree", make("span.indent"), make("span.arrow"), make("span.name"), make("span.mark"));
    const bar = draw("svg");
    for (const kind of ["inferred", "waited", "below", "self", "path", "event", "cross"]) bar.append(draw("path", { class: kind }));
    bar.append(draw("g", { class: "causes" }));
    const cells = [tree, ...(this.has_waits ? [make("span.number.wide")] : []), make("span.number"), bar];
    for (const cell of cells) cell.setAttribute("role", "gridcell");
    return make("div", ...cells);
  }
  fill(element, index) {
    const row = this.visible[index], rows = data.rows;
    const depth = rows.depth[row] - (this.joins ? rows.joined_above[row] : 0), [tree] = element.children;
    const [indent, arrow, name, mark] = tree.children;
    indent.style.width = `${Math.min(depth, 12) * 12}px`;
    set(indent, depth > 12 ? `${whole(depth)} ` : "");
    const has_children = this.has_children(row);
    set(arrow, has_children ? (this.collapsed.has(row) ? "▸" : "▾") : "");
    set(name, this.name(row));
    set(mark, this.marks(row));
    mark.className = `mark${this.has_failed(row) ? " error" : rows.silent.has(row) ? " warning" : ""}`;
    tree.title = `${this.name(row)} ${mark.textContent}`.trim();
    const figures = element.children.length - 2;
    if (figures === 2) set(element.children[1], known(rows.wait[row]) ? duration(rows.wait[row]) : "");
    set(element.children[figures], this.ran(row));
    element.children[figures].classList.toggle("warning", this.is_open(row));
    element.setAttribute("aria-level", depth + 1);
    if (has_children) element.setAttribute("aria-expanded", !this.collapsed.has(row)); else element.removeAttribute("aria-expanded");
    element.classList.toggle("found", this.is_match?.has(row) ?? false);
    this.draw_bar(element.lastChild, row);
  }
  // -- bars
  x(time) { return (time - this.window[0]) / (this.window[1] - this.window[0]) * this.wide; }
  /** Boxes of stretches as a path, what touches within half a pixel as one. */
  boxes(stretches, top, high) {
    let path = "", from = null, to = null;
    const close = () => { if (from !== null) path += `M${from.toFixed(1)} ${top}h${Math.max(1, to - from).toFixed(1)}v${high}H${from.toFixed(1)}z`; };
    for (const [start, end] of stretches) {
      const left = this.x(start), right = this.x(end);
      if (right < 0 || left > this.wide) continue;
      const begin = Math.min(Math.max(0, left), this.wide - 1), stop = Math.min(this.wide, right);
      if (from !== null && begin - to < .5) { to = Math.max(to, stop); continue; }
      close();
      from = begin; to = stop;
    }
    close();
    return path;
  }
  line(start, end) {
    const left = Math.max(0, this.x(start)), right = Math.min(this.wide, this.x(end));
    return right >= left ? `M${left.toFixed(1)} 12H${Math.max(left + 1, right).toFixed(1)}` : "";
  }
  /** Dots of a wait; where Ray itself says what it was for, a letter begins the time of each cause. */
  draw_wait(element, row, start, wait) {
    const causes = data.rows.causes.get(row), letters = [];
    let dots = "", time = start;
    for (let index = 1; index < causes?.length; index += 2) time -= causes[index];
    for (let index = 0; index < causes?.length; index += 2) {
      const from = Math.max(0, this.x(time)), to = Math.min(this.wide, this.x(time += causes[index + 1]));
      if (to - from >= 18) {
        const letter = draw("text", { x: from.toFixed(1), y: 16 });
        letter.textContent = data.causes[causes[index]][0];
        letters.push(letter);
      }
      if (to > from) dots += `M${(from + (to - from >= 18 ? 9 : 0)).toFixed(1)} 12H${to.toFixed(1)}`;
    }
    element.replaceChildren(...letters);
    return causes ? dots : this.line(start - wait, start);
  }
  draw_bar(bar, row) {
    const rows = data.rows, start = rows.start[row], length = rows.length[row], wait = rows.wait[row];
    const [inferred, waited, below, self, path, events, cross, causes] = bar.children;
    const is_missing = (rows.flags[row] & MISSING) !== 0, is_open = this.is_open(row), is_drawn = known(start) && known(length) && !is_missing;
    const end = start + Math.max(0, length), has_below = rows.stretches.has(row) || this.has_children(row);
    fit_to(bar, this.wide, ROW);
    inferred.setAttribute("class", is_open ? "open" : "inferred");
    inferred.setAttribute("d", known(start) && (is_missing || is_open) ? this.line(start, is_missing ? this.end_of_missing(row) : this.whole[1]) : "");
    waited.setAttribute("d", known(start) && wait > 0 ? this.draw_wait(causes, row, start, wait) : (causes.replaceChildren(), ""));
    below.setAttribute("d", is_drawn && has_below ? this.boxes([[start, end]], 6, 12) : "");
    self.setAttribute("d", is_drawn ? this.boxes(has_below ? this.own(row) : [[start, end]], 6, 12) : "");
    const color = data.colors[this.number_of_color(row) % data.colors.length];
    below.style.fill = self.style.fill = color;
    const lit = this.is_lit ? [...(this.path.get(row) || []), ...(this.submitted(row) !== row ? this.path.get(this.submitted(row)) || [] : [])] : [];
    path.setAttribute("d", lit.length ? this.boxes(lit.sort((a, b) => a[0] - b[0]), 9, 6) : "");
    bar.classList.toggle("lit", this.is_lit);
    this.draw_events(events, row);
    const place = this.x(is_drawn ? end : start);
    cross.setAttribute("d", this.has_failed(row) && place >= 0 && place <= this.wide ? `M${Math.min(this.wide - 5, place + 8) - 4} 8l8 8m0-8l-8 8` : "");
  }
  /** When the last of a missing parent's children ended, of calls as rows their attempts. */
  end_of_missing(row) {
    const rows = data.rows;
    let last = rows.start[row];
    for (let child = row + 1; child < rows.end[row]; child = rows.end[child]) {
      const shown = this.shown(child), end = rows.start[shown] + rows.length[shown];
      if (end > last) last = end;
    }
    return last;
  }
  *own(row) {
    const pairs = data.rows.stretches.get(row) || [];
    for (let index = 0, time = data.rows.start[row]; index < pairs.length; index += 2) {
      const start = time + pairs[index];
      time = start + pairs[index + 1];
      yield [start, time];
    }
  }
  draw_events(element, row) {
    const known_details = details.now(row);
    let path = "", last = -9;
    for (const [, after] of known_details?.events ?? []) {
      const place = after === null ? -1 : this.x(data.rows.start[row] + after);
      if (place < 0 || place > this.wide || Math.abs(place - last) < 2) continue;
      path += `M${(place - 4).toFixed(1)} 12l4-4 4 4-4 4z`;
      last = place;
    }
    element.setAttribute("d", path);
  }
  /** Read the details of the rows in sight once they stay there, for the marks of their events. */
  want_events(first, last) {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(async () => {
      const blocks = new Set();
      for (let index = first; index < last; index++) {
        const row = this.visible[index];
        if (!(data.rows.flags[row] & MISSING) && !details.now(row)) blocks.add(details.block_of(data.rows.detail[row]));
      }
      if (!blocks.size) return;
      for (const number of blocks) await details.load(number);
      for (const [index, element] of this.list.drawn) this.draw_events(element.lastChild.children[5], this.visible[index]);
    }, 60);
  }
  // -- the line of time
  draw_ruler() {
    const parts = [], [from, to] = this.window, step = round_step((to - from) / Math.max(2, this.wide / 80));
    for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
      const place = this.x(time);
      parts.push(draw("path", { class: "grid", d: `M${place.toFixed(1)} 24V46` }));
      if (place > this.wide - 60) continue;
      const label = draw("text", { x: place + 3, y: 42 });
      label.textContent = duration(Math.round(time));
      parts.push(label);
    }
    const profile = this.profile ??= this.count_running(), most = Math.max(1, ...profile);
    const bin = this.wide / BINS;
    parts.push(draw("path", { class: "mini", d: [...profile].map((number, index) =>
      number ? `M${(index * bin).toFixed(1)} 22v-${Math.max(1, number / most * 20).toFixed(1)}h${bin.toFixed(1)}V22z` : "").join("") }));
    const [left, right] = this.window.map(time => (time - this.whole[0]) / (this.whole[1] - this.whole[0]) * this.wide);
    if (right - left < this.wide - 1) parts.push(draw("rect", { class: "window", x: left, y: 1, width: Math.max(2, right - left), height: 21 }));
    if (this.marked) {
      const [start, end] = this.marked;
      parts.push(draw("rect", { class: "picked", x: Math.min(start, end), y: 0, width: Math.abs(end - start), height: 46 }));
    }
    fit_to(this.ruler, this.wide, 46);
    this.ruler.replaceChildren(...parts);
  }
  /** How many spans run in each part of the trace. */
  count_running() {
    const changes = new Int32Array(BINS + 1), rows = data.rows, share = BINS / (this.whole[1] - this.whole[0]);
    for (let row = this.first; row < this.last; row++) {
      if (!known(rows.start[row]) || !known(rows.length[row]) || rows.flags[row] & MISSING) continue;
      const first = Math.floor(rows.start[row] * share), last = Math.floor((rows.start[row] + Math.max(0, rows.length[row])) * share);
      if (last < 0 || first >= BINS) continue;
      changes[Math.max(0, first)]++;
      changes[Math.min(BINS, last + 1)]--;
    }
    let running = 0;
    return changes.subarray(0, BINS).map(change => (running += change));
  }
  drag() {
    const local = event => event.clientX - this.ruler.getBoundingClientRect().left;
    const is_upper = event => event.clientY - this.ruler.getBoundingClientRect().top < 23;
    const time = (event, upper) => {
      const [from, to] = upper ? this.whole : this.window;
      return from + Math.max(0, Math.min(1, local(event) / this.wide)) * (to - from);
    };
    dragged(this.ruler, (from, to) => {
      const upper = is_upper(from), ends = [time(from, upper), time(to, upper)];
      this.marked = null;
      this.show([Math.min(...ends), Math.max(...ends)]);
    }, event => {
      this.marked = null;
      if (!is_upper(event)) { this.draw_ruler(); return; }
      const middle = time(event, true), half = (this.window[1] - this.window[0]) / 2;
      this.show([middle - half, middle + half]);
    }, (from, to) => { this.marked = from && [local(from), local(to)]; this.draw_ruler(); });
    this.ruler.addEventListener("dblclick", () => this.show(this.whole));
  }
  wheel(event) {
    if (event.ctrlKey) {
      const bounds = this.ruler.getBoundingClientRect();
      if (event.clientX < bounds.left) return;
      event.preventDefault();
      this.zoom(event.deltaY < 0 ? .5 : -.5, (event.clientX - bounds.left) / this.wide);
    } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      event.preventDefault();
      this.pan((event.deltaX || event.deltaY) / this.wide);
    }
  }
  /** Show a stretch of the trace, at least a nanosecond of it. */
  show([from, to]) {
    const most = this.whole[1] - this.whole[0], long = Math.min(most, Math.max(1, to - from));
    const start = Math.max(this.whole[0], Math.min(from, this.whole[1] - long));
    this.window = [start, start + long];
    this.draw_ruler();
    for (const [index, element] of this.list.drawn) this.draw_bar(element.lastChild, this.visible[index]);
  }
  zoom(by, around) {
    const [from, to] = this.window, rows = data.rows, start = rows.start[this.selected];
    const middle = around !== undefined ? from + around * (to - from)
      : known(start) && start >= from && start <= to ? start : (from + to) / 2;
    const share = (middle - from) / (to - from), long = (to - from) * 2 ** -by;
    this.show([middle - share * long, middle + (1 - share) * long]);
  }
  pan(by) {
    const step = (this.window[1] - this.window[0]) * by;
    this.show([this.window[0] + step, this.window[1] + step]);
  }
  fit() {
    const rows = data.rows, row = this.selected, wait = rows.wait[row] > 0 ? rows.wait[row] : 0;
    if (!known(rows.start[row])) return;
    const long = known(rows.length[row]) ? Math.max(1, rows.length[row]) : this.whole[1] - rows.start[row];
    this.show([rows.start[row] - wait - long * .05, rows.start[row] + long * 1.05]);
  }
  // -- colours
  number_of_color(row) { return this.colors.get(data.rows[this.color_by][row]) ?? 0; }
  color() {
    const values = data.rows[this.color_by], texts = { service: data.services, file: data.files, kind: data.kinds }[this.color_by];
    this.colors = new Map();
    for (let row = this.first; row < this.last; row++)
      if (!(data.rows.flags[row] & MISSING) && !this.colors.has(values[row])) this.colors.set(values[row], this.colors.size);
    set(this.buttons.color, `colour: ${COLOR_NAMES[this.color_by]}`);
    const shown = [...this.colors].slice(0, 12).map(([value, number]) => {
      const swatch = make("i");
      swatch.style.background = data.colors[number % data.colors.length];
      const text = visible(texts[value] ?? "none") || "none";
      return make("span", swatch, this.color_by === "file" ? text.split("/").pop() : text);
    });
    if (this.colors.size > shown.length) shown.push(make("span.dim", `and ${whole(this.colors.size - shown.length)} more`));
    this.legend.replaceChildren(...(this.colors.size > 1 ? shown : []));
  }
  next_color() {
    this.color_by = COLOR_BY[(COLOR_BY.indexOf(this.color_by) + 1) % COLOR_BY.length];
    this.color();
    this.list.redraw();
    say(`coloured by ${COLOR_NAMES[this.color_by]}`);
  }
  toggle_path() {
    this.is_lit = !this.is_lit;
    this.buttons.path.setAttribute("aria-pressed", this.is_lit);
    this.said_path.hidden = !this.is_lit;
    set(this.said_path, visible(data.traces.path[this.trace]));
    this.list.redraw();
  }
  toggle_calls() {
    if (!this.has_calls) { say("no Ray calls"); return; }
    this.joins = !this.joins;
    this.set_heads();
    this.lay_out();
  }
  toggle_details() {
    this.details.hidden = !this.details.hidden;
    this.buttons.details.setAttribute("aria-pressed", !this.details.hidden);
  }
  // -- moving about
  toggle(row, is_collapsed = !this.collapsed.has(row)) {
    if (!this.has_children(row)) return;
    if (is_collapsed) this.collapsed.add(row); else this.collapsed.delete(row);
    const top = this.list.element.scrollTop;
    this.lay_out(row);
    this.list.element.scrollTop = top;
  }
  collapse() {
    const row = this.selected;
    if (this.has_children(row) && !this.collapsed.has(row)) this.toggle(row, true); else this.go_to_parent();
  }
  expand() {
    const row = this.selected;
    if (this.collapsed.has(row)) this.toggle(row, false);
    else if (this.has_children(row)) this.list.go(this.list.cursor + 1);
  }
  collapse_all() {
    for (let row = this.first; row < this.last; row++) if (this.has_children(row) && !this.is_hidden(row)) this.collapsed.add(row);
    this.lay_out();
  }
  expand_all() { this.collapsed.clear(); this.lay_out(); }
  parent(row) {
    const above = data.rows.parent[this.submitted(row)];
    return above < 0 ? above : this.shown(above);
  }
  go_to_parent() {
    const parent = this.parent(this.selected);
    if (parent >= 0) this.go_to(parent);
  }
  /** Select a row, with all above it expanded. */
  go_to(row) {
    let is_new = false;
    for (let above = data.rows.parent[row]; above >= 0; above = data.rows.parent[above]) is_new = this.collapsed.delete(above) || is_new;
    if (is_new) this.lay_out(row); else this.list.go(this.visible.indexOf(this.shown(row)), true);
  }
  next(test, by, nothing) {
    const size = this.last - this.first;
    for (let step = 1; step <= size; step++) {
      const row = this.first + (((this.selected - this.first + by * step) % size) + size) % size;
      if (!this.is_hidden(row) && test(row)) { this.go_to(row); return; }
    }
    say(nothing);
  }
  first_error() {
    if (!this.is_bad(this.first)) this.next(row => this.is_bad(row), 1, "no failures in this trace");
  }
  /** Go to the next failure here; behind the last one, to the next trace of the list that failed. */
  next_error(by = 1) {
    for (let row = this.selected + by; row >= this.first && row < this.last; row += by)
      if (!this.is_hidden(row) && this.is_bad(row)) { this.go_to(row); return; }
    if (!views.traces.open_next_failed(this.trace, by)) this.next(row => this.is_bad(row), by, "nothing failed");
  }
  next_match(by) { if (this.text) this.next(row => this.is_match.has(row), by, "no match"); }
  same_name(by) { this.next(row => this.name(row) === this.name(this.selected), by, "no other span with this name"); }
  // -- search
  search_for(text) {
    this.text = text.trim();
    let is_first = true;
    this.search.ask(text, this.first, this.last, (verdicts, is_done) => {
      if (verdicts === undefined) return;
      this.is_match = new Set();
      verdicts?.forEach((verdict, index) => { if (verdict === 1) this.is_match.add(this.shown(this.first + index)); });
      set(this.counted, verdicts ? `${count(this.is_match.size, "match")}${is_done ? "" : " …"}` : "");
      for (const [index, element] of this.list.drawn) element.classList.toggle("found", this.is_match.has(this.visible[index]));
      if (is_first && this.is_match.size && !this.is_match.has(this.selected)) { is_first = false; this.next_match(1); }
    });
  }
  back() {
    if (!this.text) return false;
    this.find.value = "";
    this.search_for("");
    this.list.element.focus();
    return true;
  }
  // -- the selected span
  async select() {
    const row = this.selected = this.visible[this.list.cursor];
    if (!this.is_placed) this.is_placed = true;
    else {
      const hash = `#${trace_key(this.trace)}/${span_id(row)}`;
      if (location.hash !== hash) history.replaceState(null, "", hash);
    }
    // Who runs through the list with a key held down has nothing to read yet.
    if (data.rows.flags[row] & MISSING || details.now(row)) { this.show_details(row, details.now(row)); return; }
    const read = await details.of(row);
    if (this.selected === row && current === this) this.show_details(row, read);
  }
  show_details(row, span) {
    const rows = data.rows, id = span_id(row), trace_id = data.traces.id[this.trace], parts = [make("h2", this.name(row))];
    const link = `#${trace_key(this.trace)}/${id}`;
    const facts = [], fact = (key, value) => { if (value !== "" && value !== null) facts.push([key, value]); };
    parts.push(make("div.tools",
      button("copy span id", id, () => copy(id, "span id")), button("copy trace id", trace_id, () => copy(trace_id, "trace id")),
      button("copy link", "copy a link to this span on this page", () => copy(location.href.split("#")[0] + link, "link")),
    ));
    const start = rows.start[row], length = rows.length[row], submitted = this.submitted(row);
    // Ray colours the names of tasks in what it says of exceptions.
    if (span?.description) parts.push(make("p.error", `✖ ${lines(span.description.replace(/\x1b\[[\d;]*m/g, ""))}`));
    if (rows.silent.has(row)) parts.push(make("p.warning", `! ${visible(rows.silent.get(row))}`));
    if (rows.flags[row] & MISSING) fact("parent", "still running, or lost: it is in none of the files");
    else {
      fact("status", ["UNSET", "OK", "ERROR"][rows.status[row]]);
      fact("kind", data.kinds[rows.kind[row]] ?? "none");
      fact("service", visible(data.services[rows.service[row]] ?? ""));
    }
    if (known(start)) {
      const [second, nanosecond] = this.absolute(start);
      fact("start", second === null ? "–" : `${moment(second, nanosecond)} ${zone_name(second)}`);
      fact("in the trace", `starts ${duration(start - this.whole[0])} after the trace`);
    }
    if (!(rows.flags[row] & MISSING)) {
      fact(this.joins && submitted !== row ? "run" : "duration", this.is_open(row) ? visible(rows.note.get(row) ?? "no end") : duration(length));
      if (known(rows.own[row]) && known(length)) fact("self time", `${duration(rows.own[row])}${length > 0 ? ` (${Math.round(rows.own[row] / length * 100)}%)` : ""}`);
      if (known(rows.wait[row])) fact("waited", duration(rows.wait[row]));
      const causes = rows.causes.get(row) || [];
      for (let index = 0; index < causes.length; index += 2) {
        const [letter, cause] = data.causes[causes[index]];
        fact("", `${letter} ${cause} ${duration(causes[index + 1])}`);
      }
      if (submitted !== row) fact("submitted by", this.link(submitted, `${visible(data.names[rows.name[submitted]])}  ${span_id(submitted)}`));
    }
    if (span?.process) fact("process", visible(`pid ${span.process[0]}${span.process[1] ? ` on ${span.process[1]}` : ""}`));
    fact("span id", id);
    const parent = this.parent(row);
    if (parent >= 0) fact("parent", this.link(parent, this.name(parent)));
    parts.push(table(facts));
    if (!span) { this.details.replaceChildren(...parts); return; }
    const attributes = section("Attributes", span.attributes.length, fields(span.attributes), true);
    const events = span.events.map(([name, after, pairs]) => make("div",
      make("h3", make(name === "exception" ? "span.error" : "span", name === "exception" ? "✖ " : "", visible(name) || "(no name)"), make("span.dim", after === null ? "" : `  +${duration(after)}`)),
      fields(pairs)));
    const of_events = section("Events", events.length, make("div", ...events), true);
    // What was raised comes first.
    parts.push(...(this.has_failed(row) ? [of_events, attributes] : [attributes, of_events]));
    const links = span.links.map(([trace, linked, attributes]) => make("div", make("h3", this.link_to(trace, linked)), fields(attributes)));
    parts.push(section("Links", links.length, make("div", ...links), true));
    parts.push(section("Resource", span.resource.length, fields(span.resource)));
    parts.push(section("Scope", span.scope.length, fields(span.scope)));
    parts.push(section("Trace state", span.state.length, fields(span.state)));
    const [file, offset, size] = span.source;
    parts.push(section("Source", 1, table([["file", visible(file)], ["offset", `${whole(offset)}, ${count(size, "byte")}`], ...span.warnings.map(warning => ["warning", warning])])));
    this.details.replaceChildren(...parts.filter(Boolean));
  }
  link(row, text) {
    const element = make("a", text);
    element.href = `#${trace_key(this.trace)}/${span_id(row)}`;
    element.addEventListener("click", event => { event.preventDefault(); this.go_to(row); });
    return element;
  }
  link_to(trace, span) {
    const text = `${trace === data.traces.id[this.trace] ? "this trace" : trace ?? "unknown trace"} / ${span ?? "unknown span"}`;
    if (!data.numbers.has(trace)) return make("span.mono", `${text}  (not on this page)`);
    const element = make("a.mono", text);
    element.href = `#${trace}/${span}`;
    return element;
  }
  /** The second and the nanosecond of a time of this trace. */
  absolute(time) {
    const second = data.traces.second[this.trace];
    if (second === null) return [null, 0];
    const nanoseconds = data.traces.nanosecond[this.trace] + time;
    return [second + Math.floor(nanoseconds / 1e9), ((nanoseconds % 1e9) + 1e9) % 1e9];
  }
}

/** Let a drawing fill its place also where that gets another width than it was drawn for, as on paper. */
function fit_to(drawing, wide, high) {
  drawing.setAttribute("viewBox", `0 0 ${wide} ${high}`);
  drawing.setAttribute("preserveAspectRatio", "none");
}
function round_step(least) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least) ?? power * 10;
}
function table(pairs) {
  return make("table", make("tbody", ...pairs.map(([key, value]) => {
    const head = make("th", key);
    head.scope = "row";
    return make("tr", head, make("td", value));
  })));
}
/** Attributes: a key and a text each, or the lines of a stack trace with their tones. */
function fields(pairs) {
  const parts = [];
  let texts = [];
  const flush = () => { if (texts.length) parts.push(table(texts)); texts = []; };
  for (const [key, value] of pairs) {
    if (typeof value === "string") { texts.push([visible(key), lines(value)]); continue; }
    flush();
    const stack = make("pre");
    for (const [tone, text] of value) stack.append(make(["span", "span.own", "span.dim", "span.error"][tone], lines(text)), "\n");
    parts.push(make("div.dim", visible(key)), stack);
  }
  flush();
  return make("div", ...parts);
}
function section(title, number, content, is_open = false) {
  if (!number) return null;
  const element = make("details", make("summary", number > 1 ? `${title} ${whole(number)}` : title), content);
  element.open = is_open;
  return element;
}

// -- the tables of reports --------------------------------------------------------------------------------------------

/** What the rows of these are searched for in the list of traces. */
const SEARCHED = ["name", "service", "kind", "function"];

/** The reports of one view: one for each thing that it groups by. */
class ReportView {
  constructor(title, reports) {
    this.title = title;
    this.reports = reports;
    this.by = Object.keys(reports)[0];
  }
  open(main) {
    this.buttons = Object.keys(this.reports).map(by => button(by, `group by ${by} (b)`, () => this.show(by)));
    this.counted = make("span.count");
    this.main = main;
    document.title = `${this.title} · spanview`;
    this.show(this.by);
  }
  close() { this.list?.close(); }
  show(by) {
    this.list?.close();
    this.by = by;
    const { columns, order: [key, down], rows, opened } = this.reports[by];
    this.opened = new Map((opened ?? []).map((traces, index) => [rows[index], traces]));
    this.columns = columns.map(([text, kind, error], place) => ({
      key: place, text, number: !["text", "moment"].includes(kind), show: WRITTEN[kind], error,
      // Names may be cut, which figures are not, in words neither.
      least: place ? room_of(text, Math.min(90, longest_of(kind, rows.map(row => row[place])) + 2 * rows.some(row => row[columns.length]?.[place]))) : innerWidth <= 560 ? 130 : 180,
      most: place ? "" : "1fr",
    }));
    this.rows = [...rows];
    this.order = { key, up: !down };
    for (const one of this.buttons) one.setAttribute("aria-pressed", one.textContent === by);
    set(this.counted, count(rows.length, "row"));
    this.list = new List({
      id: "row", label: this.title, columns: "", heads: sortable_heads(this.columns, this.order, key => this.sort(key)),
      build: () => {
        const cells = this.columns.map(column => make(`span${column.number ? ".number" : ""}${column.error ? ".error" : ""}`));
        for (const cell of cells) cell.setAttribute("role", "gridcell");
        return make("div", ...cells);
      },
      fill: (element, index) => this.columns.forEach((column, place) => {
        const text = this.said(this.rows[index], place), cell = element.children[place];
        set(cell, text || (place ? "" : "(none)"));
        if (!column.number) cell.title = text;
      }),
      opened: index => this.open_row(this.rows[index]),
    });
    this.list.element.classList.add("pinned");
    this.list.resized = () => this.list.fit(this.columns);
    this.main.replaceChildren(make("div.bar", make("span.dim", "group by"), ...this.buttons, this.counted), make("div.split", this.list.element));
    this.put_in_order();
    this.list.element.focus({ preventScroll: true });
  }
  next_group() {
    const all = Object.keys(this.reports);
    this.show(all[(all.indexOf(this.by) + 1) % all.length]);
  }
  sort(key, up) {
    this.order = { key, up: up ?? (key === this.order.key ? !this.order.up : !this.columns[key].number) };
    this.put_in_order();
  }
  /** A value in words; what is known at least, or at most, with what says so, which follows the row's values. */
  said(row, place) { return (row[this.columns.length]?.[place] ?? "") + this.columns[place].show(row[place]); }
  put_in_order() {
    const { key, up } = this.order, sign = up ? 1 : -1;
    this.rows.sort((a, b) => sign * compare(a[key], b[key]));
    show_order(this.columns, this.order);
    this.list.set_count(this.rows.length, 0);
  }
  /** Open the trace of a request; list the traces of a route or a worker, or those in which a name or a function is. */
  open_row(row) {
    const traces = this.opened.get(row), called = row[0];
    if (typeof traces?.at(-1) === "string") { location.hash = `${trace_key(traces[0])}/${traces[1]}`; return; }
    if (!traces && !SEARCHED.includes(this.by)) return;
    const names = this.by === "function" ? data.names.filter((_, number) => data.short[number] === called) : [];
    const query = names.map(name => `name=${in_quotes(name)}`).join(" OR ") || `${this.by === "function" ? "" : `${this.by}=`}${in_quotes(called)}`;
    views.traces.only = traces ? { traces: new Set(traces), called: visible(this.columns.filter(({ number }) => !number).map(({ key }) => row[key]).join(" ")).trim() } : null;
    views.traces.filter_by(traces ? "" : query);
    location.hash = "";
  }
  back() { return false; }
  next_error() {
    const bad = row => this.columns.some(column => column.error && column.number && row[column.key]);
    const index = this.rows.findIndex((row, place) => place > this.list.cursor && bad(row));
    const first = index < 0 ? this.rows.findIndex(bad) : index;
    if (first < 0) say("no errors"); else this.list.go(first, true);
  }
}

/** A sentence whose times are in UTC, with them in the zone of all times. */
const with_times = text => text.replace(/(\d{4,}-\d\d-\d\d) (\d\d:\d\d:\d\d)\.(\d{6})Z/, (_, day, clock, digits) => {
  const second = Date.parse(`${day}T${clock}Z`) / 1000;
  return `${moment(second, digits * 1000)} ${zone_name(second)}`;
});
/** What took the time, what failed, what is missing; its first line stands above the list of traces, the rest is folded. */
function explanation() {
  const said = data.explanation.map(([heading, text, likely, shade, trace, span]) => ({ heading, text: `${likely && !/likely|not sure|unknown/.test(text) ? "likely: " : ""}${visible(heading ? text : with_times(text))}`, shade, trace, span }));
  const first = said.find(({ heading }) => heading) ?? said[0];
  if (!first) return "";
  const lines = [];
  let above = "";
  for (const { heading, text, shade, trace, span } of said) {
    if (heading !== above) lines.push(make("h3", heading));
    above = heading;
    const line = make(`p${["error", "warning"].includes(shade) ? `.${shade}` : ""}`, text);
    if (data.numbers.has(trace)) {
      const link = make("a.mono", span ? ` span ${span}` : " trace");
      link.href = `#${trace}${span ? `/${span}` : ""}`;
      line.append(link);
    }
    lines.push(line);
  }
  return make("details.explanation", make("summary", first.text), ...lines);
}

// -- what check found -------------------------------------------------------------------------------------------------

class CheckView {
  open(main) {
    const findings = data.findings.map(([kind, severity, certainty, number, detail, advice, places]) => {
      const shade = { error: "span.error", warning: "span.warning" }[severity] ?? "span.dim";
      const list = make("ul", ...places.map(place => make("li", this.place(place))));
      const where = make("details", make("summary", `${number > places.length ? "the first " : ""}${count(places.length, "place")}`), list);
      return make("article",
        make("p", make(shade, `${severity}: ${kind}`), ` ×${whole(number)}${certainty === "likely" ? " (likely)" : ""}`), make("p", visible(detail)),
        make("p.dim", `do: ${visible(advice)}`), places.length ? where : "");
    });
    const problems = data.problems.map(([kind, severity, file, offset, detail]) => make("article",
      make("p", make(severity === "info" ? "span.dim" : "span.warning", `${severity}: ${kind}`), ` ${visible(file)}${file ? ` @ ${whole(offset)}` : ""}`), make("p", visible(detail))));
    if (data.problem_count > problems.length) problems.push(make("p.dim", `and ${whole(data.problem_count - problems.length)} more problems`));
    if (!findings.length && !problems.length) findings.push(make("p", "nothing found"));
    const { files, spans, traces, missing_parents, duplicates, torn } = data.summary;
    const summary = `${count(files, "file")} · ${count(spans, "span")} · ${count(traces, "trace")} · ${count(missing_parents, "missing parent")} · ${count(duplicates, "duplicate")} · ${whole(torn)} torn`;
    main.replaceChildren(make("div.findings", make("p.dim", summary), ...findings, ...problems));
    main.firstChild.tabIndex = 0;
    document.title = "Check · spanview";
  }
  place([trace, span, name, file, offset]) {
    if (!trace) return make("span.mono", visible(file) + (offset === null ? "" : ` @ ${whole(offset)}`));
    const text = `${visible(name) || "trace"}  ${trace}${span ? ` / ${span}` : ""}`;
    if (!data.numbers.has(trace)) return make("span", text);
    const element = make("a", text);
    element.href = `#${trace}${span ? `/${span}` : ""}`;
    return element;
  }
  close() {}
  back() { return false; }
}

// -- call paths -------------------------------------------------------------------------------------------------------

/* {flame.js} */

// -- which view is shown ----------------------------------------------------------------------------------------------

const views = {};
let current = null;

function route() {
  const [where, span = ""] = location.hash.slice(1).split("/"), main = document.getElementById("main");
  const trace = data.numbers.get(where);
  if (current instanceof TraceView && trace === current.trace) {
    if (span) find_span(current, span);
    return;
  }
  current?.close();
  if (current instanceof TracesView) current.current = current.listed[current.list.cursor];
  if (trace !== undefined) {
    current = new TraceView(trace);
    views.traces.current = trace;
  } else current = (where && views[where]) || views.traces;
  views.flame.only = current === views.flame ? data.numbers.get(span) : undefined;
  current.open(main);
  if (span && trace !== undefined) find_span(current, span);
  else if (trace !== undefined && at_error) current.first_error();
  else if (where && current === views.traces) say("this page has no such trace");
  at_error = false;
  for (const link of document.querySelectorAll("#views a")) {
    const is_it = views[link.hash.slice(1) || "traces"] === current || (link.hash === "" && current instanceof TraceView);
    if (is_it) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  (current.list?.element ?? current.element ?? main.firstChild).focus({ preventScroll: true });
}
function find_span(view, id) {
  for (let row = view.first; row < view.last; row++) if (span_id(row) === id) { view.go_to(row); return; }
  say("this trace has no such span");
}
/** Show a view, or the traces where it is shown. */
function toggle(view) {
  if (views[view]) location.hash = current === views[view] ? "" : view; else say(`no ${view} here`);
}
/** Show the call paths of the open trace, or of those that are listed, or go back to these. */
function toggle_flame() {
  if (current instanceof FlameView) back_from_flame();
  else location.hash = current instanceof TraceView ? `flame/${trace_key(current.trace)}` : "flame";
}
function back_from_flame() { location.hash = current.only === undefined ? "" : trace_key(current.only); }
function back() {
  if (current.back?.()) return;
  if (current !== views.traces) location.hash = "";
}

// -- keys -------------------------------------------------------------------------------------------------------------

const on = (kind, run) => () => { if (current instanceof kind) run(current); };
const in_list = (run, in_flame) => () => { if (current.list) run(current.list); else if (current instanceof FlameView) in_flame?.(current); };
const KEYS = [
  ["↑ k", ["ArrowUp", "k"], "one row up", in_list(list => list.go(list.cursor - 1), view => view.move(-1))],
  ["↓ j", ["ArrowDown", "j"], "one row down", in_list(list => list.go(list.cursor + 1), view => view.move(1))],
  ["PgUp", ["PageUp"], "one page up", in_list(list => list.go(list.cursor - list.page()))],
  ["PgDn", ["PageDown"], "one page down", in_list(list => list.go(list.cursor + list.page()))],
  ["g Home", ["g", "Home"], "to the first row", in_list(list => list.go(0), view => view.edge(false))],
  ["G End", ["G", "End"], "to the last row", in_list(list => list.go(list.count - 1), view => view.edge(true))],
  ["Enter", ["Enter"], "open the trace; fit the span into view; open a request; list the traces of a name, a function, a route or a worker; in Flame: zoom in", in_list(list => list.count && list.opened(list.cursor), view => view.come_closer())],
  ["Esc q", ["Escape", "q"], "back; clears the filter or the search first", back],
  ["/ Ctrl+F", ["/"], "filter the traces, or search a trace, by a query: words, any~text, status=ERROR, duration>1s", () => { current.find?.focus(); current.find?.select(); }],
  ["n N", ["n"], "next and previous match", on(TraceView, view => view.next_match(1))],
  ["", ["N"], "", on(TraceView, view => view.next_match(-1))],
  ["e E", ["e"], "next and previous failure; in the list: open the newest", () => current.next_error?.(1)],
  ["", ["E"], "", on(TraceView, view => view.next_error(-1))],
  ["f", ["f"], "list only failed traces; in a trace: fit the selected span", () => (current instanceof TraceView ? current.fit() : current.toggle_failed?.())],
  ["← h", ["ArrowLeft", "h"], "collapse, or go to the parent; in Flame: the block before", () => (current instanceof FlameView ? current.beside(-1) : on(TraceView, view => view.collapse())())],
  ["→ l", ["ArrowRight", "l"], "expand, or go to the first child; in Flame: the next block", () => (current instanceof FlameView ? current.beside(1) : on(TraceView, view => view.expand())())],
  ["[ ]", ["["], "collapse all, expand all", on(TraceView, view => view.collapse_all())],
  ["", ["]"], "", on(TraceView, view => view.expand_all())],
  ["p", ["p"], "go to the parent", on(TraceView, view => view.go_to_parent())],
  ["w W", ["w"], "next and previous span with the same name", on(TraceView, view => view.same_name(1))],
  ["", ["W"], "", on(TraceView, view => view.same_name(-1))],
  ["c", ["c"], "highlight the critical path", on(TraceView, view => view.toggle_path())],
  ["a", ["a"], "one row per Ray call, or one per span", on(TraceView, view => view.toggle_calls())],
  ["d", ["d"], "show or hide the details of the span", on(TraceView, view => view.toggle_details())],
  ["C", ["C"], "colour by service, process or kind", on(TraceView, view => view.next_color())],
  ["+ -", ["+", "="], "zoom in and out; also Ctrl and the wheel, or a drag on the ruler", on(TraceView, view => view.zoom(1))],
  ["", ["-"], "", on(TraceView, view => view.zoom(-1))],
  ["< >", ["<"], "earlier, later; also Shift and the wheel", on(TraceView, view => view.pan(-.25))],
  ["", [">"], "", on(TraceView, view => view.pan(.25))],
  ["0", ["0"], "the whole trace", on(TraceView, view => view.show(view.whole))],
  ["s S", ["s"], "sort by the next column; reverse the order; in Flame: by total or self time", () => next_order(1)],
  ["", ["S"], "", () => next_order(0)],
  ["b", ["b"], "group by the next key", on(ReportView, view => view.next_group())],
  ["y", ["y"], "copy the span id, or the trace id", copy_id],
  ["t A H L", ["t"], "statistics, calls, requests, workers", () => toggle("stats")],
  ["", ["A"], "", () => toggle("calls")],
  ["", ["H"], "", () => toggle("requests")],
  ["", ["L"], "", () => toggle("workers")],
  ["F", ["F"], "flame graph of the listed traces, or of the open one: where the time goes, by call path", toggle_flame],
  ["x", ["x"], "what took the time, what failed and what is missing, above the traces", () => views.traces.toggle_explanation()],
  ["!", ["!"], "findings and problems", () => toggle("check")],
  ["T", ["T"], "light or dark", next_theme],
  ["U", ["U"], "times in this browser's zone, or in UTC", next_zone],
  ["?", ["?"], "these keys", show_help],
];
const ACTIONS = new Map(KEYS.flatMap(([, names, , run]) => names.map(name => [name, run])));

function next_order(by) {
  if (current instanceof FlameView) current.next_width();
  if (!current.order) return;
  if (!by) { current.sort(current.order.key, !current.order.up); return; }
  const keys = current.columns.map(column => column.key);
  const key = keys[(keys.indexOf(current.order.key) + 1) % keys.length];
  current.sort(key, key === "name" || key === 0);
}
function copy_id() {
  if (current instanceof TraceView) copy(span_id(current.selected), "span id");
  else if (current === views.traces && current.listed.length) copy(data.traces.id[current.listed[current.list.cursor]], "trace id");
}
function next_theme() {
  const root = document.documentElement, is_dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = is_dark ? "light" : "dark";
}
/** Show all times in the other zone. */
function next_zone() {
  is_utc = !is_utc;
  show_zone();
  look_at_days();
  views.traces.set_columns();
  current.close();
  current.open(document.getElementById("main"));
}
/** Name the zone of all times, that of the first trace. */
function show_zone() {
  const second = data.traces.second.find(known) ?? Date.now() / 1000;
  set(document.getElementById("zone"), `times in ${zone_name(second)}`);
}
function show_help() {
  const help = document.getElementById("help");
  if (help.open) { help.close(); return; }
  const rows = KEYS.filter(([shown]) => shown).map(([shown, , text]) => make("tr", make("td", shown), make("td", text)));
  const note = `One file, written by spanview ${data.version}: it loads nothing else and works offline. All times are in the zone that the button above names: that of this browser, or UTC.`;
  help.replaceChildren(make("table", make("tbody", ...rows)), make("p.dim", note), button("close", "Esc", () => help.close()));
  help.showModal();
  help.scrollTop = 0;
}
function pressed(event) {
  if (event.isComposing || event.altKey || document.getElementById("help").open) {
    if (event.key === "?" && document.getElementById("help").open) show_help();
    return;
  }
  const is_typing = event.target instanceof HTMLInputElement;
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "f" && current?.find && !is_typing) {
    // The browser would find in the rows in sight only. Pressed again, it is the browser's own.
    event.preventDefault();
    ACTIONS.get("/")();
    return;
  }
  if (event.ctrlKey || event.metaKey || !current) return;
  if (is_typing) {
    if (event.key === "Escape") { if (!current.back()) event.target.blur(); current.list.element.focus(); }
    else if (event.key === "Enter") { current.list.element.focus(); if (current instanceof TraceView) current.next_match(event.shiftKey ? -1 : 1); }
    else if (event.key === "ArrowDown") current.list.element.focus();
    else return;
    event.preventDefault();
    return;
  }
  if (event.key === "Enter" && event.target.closest("a, button, summary")) return;
  const run = ACTIONS.get(event.key);
  // Details and findings scroll by the keys of the browser.
  if (!run || (event.key.length > 1 && event.key !== "Escape" && event.target.closest(".details, .findings"))) return;
  event.preventDefault();
  run();
}

// -- the beginning ----------------------------------------------------------------------------------------------------

function print(is_printing) {
  current?.list?.print(is_printing);
  if (is_printing && current?.list?.count > MOST_PRINTED) say(`only the first ${whole(MOST_PRINTED)} rows are printed`);
}
async function begin() {
  await read_overview();
  details.find();
  const bad = data.findings.filter(([, severity]) => severity !== "info").length;
  const link = (text, hash) => { const element = make("a", text); element.href = `#${hash}`; return element; };
  const titles = { stats: "Stats", calls: "Calls", requests: "Requests", workers: "Workers" };
  const reports = Object.entries(data.reports).filter(([, tables]) => Object.keys(tables).length);
  document.getElementById("views").replaceChildren(
    link("Traces", ""), ...reports.map(([view]) => link(titles[view], view)), link("Flame", "flame"), link(bad ? `Check ${whole(bad)}` : "Check", "check"));
  const errors = data.traces.errors.reduce((sum, number) => sum + number, 0), spans = data.traces.spans.reduce((sum, number) => sum + number, 0);
  set(document.getElementById("totals"), `${count(data.count, "trace")} · ${count(spans, "span")}${errors ? ` · ✖ ${count(errors, "error")}` : ""}`);
  Object.assign(views, { traces: new TracesView(), check: new CheckView(), flame: new FlameView() },
    Object.fromEntries(reports.map(([view, tables]) => [view, new ReportView(titles[view], tables)])));
  show_zone();
  document.getElementById("zone").addEventListener("click", next_zone);
  document.getElementById("theme").addEventListener("click", next_theme);
  document.getElementById("keys").addEventListener("click", show_help);
  addEventListener("keydown", pressed);
  // A page of one trace shows it; back leads to the list of one.
  if (data.count === 1 && !location.hash) history.replaceState(null, "", `#${trace_key(0)}`);
  const where = location.hash.slice(1).split("/")[0], is_list = where !== "flame" && !data.numbers.has(where);
  data.are_rows_read = read_rows();
  // The list is there before the rows of its traces are read.
  if (is_list) route();
  await data.are_rows_read;
  addEventListener("hashchange", route);
  if (!is_list || data.numbers.has(location.hash.slice(1))) route();
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  document.body.dataset.ready = "true";
}
begin().catch(error => {
  document.getElementById("main").replaceChildren(make("p.wait", `this page can't be shown: ${error.message}`));
  throw error;
});
})();
