/* Where the time goes, as blocks: spans with the same names above them are one call path, as in `analysis/flame.py`, and a
   block is as wide as the time that it takes, or as all below it where that is more, as in the viewer. */

const UNSEEN = "? parent not seen", LEAST_BLOCK = 1.5, MOST_BLOCKS_DRAWN = 4000;
const WIDTHS = { total: "total time, or that of all below", self: "self time in it and below" };

/** The call paths of some traces, each behind the one that it is below. */
class CallPaths {
  constructor(traces) {
    this.all = [];
    this.of_row = new Int32Array(data.rows.size).fill(-1);
    this.roots = [];
    this.below = [];
    this.numbers = new Map();
    const rows = data.rows, texts = new Map(), names = data.names.map((name, number) => number_in(texts, data.routes[number] ?? name));
    const services = data.services.map(service => number_in(texts, service.startsWith("unknown_service:") ? service.replace(/[0-9.]+$/, "") : service));
    this.texts = [...texts.keys()];
    for (const trace of traces)
      for (let row = data.traces.first[trace]; row < after(trace); row++) {
        const is_missing = (rows.flags[row] & MISSING) !== 0, above = rows.parent[row] < 0 ? -1 : this.of_row[rows.parent[row]];
        const path = this.all[this.of_row[row] = is_missing ? this.number(-1, null, 0, -1) : this.number(above, names[rows.name[row]], services[rows.service[row]] ?? 0, rows.name[row])];
        path.count++;
        if (is_missing) continue;
        if (path.first < 0 || rank_of(row) < rank_of(path.first)) path.first = row;
        if (rows.status[row] === ERROR) path.errors++;
        if (known(rows.length[row])) { path.total += rows.length[row]; path.timed++; }
        if (known(rows.own[row])) path.self += rows.own[row];
      }
    this.values = { total: this.summed(path => (path.name === null ? 0 : path.total), Math.max), self: this.summed(path => path.self, (own, below) => own + below) };
    const order = (one, other) => this.all[other].total - this.all[one].total || compare(this.label(one), this.label(other));
    for (const below of [this.roots, ...this.below]) below.sort(order);
  }
  number(above, name, service, name_number) {
    const key = `${above} ${name} ${service}`;
    if (!this.numbers.has(key)) {
      this.numbers.set(key, this.all.length);
      this.children(above).push(this.all.length);
      this.all.push({ above, name, service, name_number, count: 0, errors: 0, total: 0, self: 0, timed: 0, first: -1 });
      this.below.push([]);
    }
    return this.numbers.get(key);
  }
  children(path) { return path < 0 ? this.roots : this.below[path]; }
  /** A value of each path with those of all below it: what is below comes after. */
  summed(own, join) {
    const sums = new Float64Array(this.all.length), values = new Float64Array(this.all.length);
    for (let path = this.all.length - 1; path >= 0; path--) {
      values[path] = join(own(this.all[path]), sums[path]);
      if (this.all[path].above >= 0) sums[this.all[path].above] += values[path];
    }
    return values;
  }
  label(path) {
    const { name, name_number } = this.all[path];
    return name === null ? UNSEEN : visible(data.routes[name_number] ?? data.short[name_number] ?? this.texts[name]) || "(no name)";
  }
  /** The durations of a path's spans, in order. */
  durations(path) {
    const found = [];
    this.of_row.forEach((number, row) => { if (number === path && known(data.rows.length[row]) && !(data.rows.flags[row] & MISSING)) found.push(data.rows.length[row]); });
    return found.sort((one, other) => one - other);
  }
}
const number_in = (texts, text) => { if (!texts.has(text)) texts.set(text, texts.size); return texts.get(text); };
/** When a span began; what has no start comes last. */
const rank_of = row => (known(data.rows.start[row]) ? (start_of(data.rows.trace[row]) ?? 0) * 1e9 + data.rows.start[row] : Infinity);

class FlameView {
  constructor() { this.by = "total"; }
  open(main) {
    const listed = views.traces.listed;
    this.traces = this.only === undefined ? listed : [this.only];
    this.paths = new CallPaths(this.traces);
    this.tops = [];
    this.element = make("div.flame");
    this.element.tabIndex = 0;
    this.element.setAttribute("role", "tree");
    this.element.setAttribute("aria-label", "flame graph");
    this.element.addEventListener("click", event => this.clicked(event));
    this.element.addEventListener("dblclick", () => this.come_closer());
    this.width = button("", "total or self time (s)", () => this.next_width());
    this.figures = make("span", ""); this.share = make("span.dim", "");
    const of = this.only !== undefined ? trace_name(this.only) : `${listed.length < data.count ? `${whole(listed.length)} of ` : ""}${count(data.count, "trace")}${listed.length < data.count ? ", as listed" : ""}`;
    main.replaceChildren(
      make("div.bar", make("span", `flame graph of ${of}`), make("span.count", count(this.paths.all.length, "call path")), this.width),
      make("div.bar.chosen", this.figures, this.share), this.element,
    );
    document.title = "Flame · spanview";
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.element);
    this.selected = this.widest(-1);
    this.draw();
  }
  close() { this.watch.disconnect(); }
  get top() { return this.tops.at(-1) ?? -1; }
  value(path) { return this.paths.values[this.by][path]; }
  widest(path) { return this.paths.children(path).reduce((best, child) => (best === path || this.value(child) > this.value(best) ? child : best), path); }
  draw() {
    const pixels = this.element.clientWidth, blocks = [], sum = paths => paths.reduce((all, path) => all + this.value(path), 0);
    let level = this.top < 0 ? this.spread(this.paths.roots, 0, pixels, sum(this.paths.roots)) : [[this.top, 0, pixels]];
    for (let depth = 0; level.length && blocks.length < MOST_BLOCKS_DRAWN; depth++) {
      for (const [path, left, right] of level) blocks.push(this.block(path, left, right, depth));
      level = level.flatMap(([path, left, right]) => this.spread(this.paths.children(path), left, right, this.value(path)));
    }
    this.element.replaceChildren(...blocks);
    set(this.width, `width: ${WIDTHS[this.by]}`);
    this.show_selected();
  }
  spread(paths, left, right, all) {
    const found = [], scale = all ? (right - left) / all : 0;
    for (const path of paths) {
      const end = Math.min(right, left + this.value(path) * scale);
      if (end - left >= LEAST_BLOCK) found.push([path, left, end]);
      left = end;
    }
    return found;
  }
  block(path, left, right, depth) {
    const label = this.paths.label(path), { errors } = this.paths.all[path];
    const block = make("div.block", errors && right - left > 60 ? make("span.error", "✖ ") : "", right - left > 16 ? label : "");
    Object.assign(block.style, { left: `${left}px`, width: `${Math.max(1, right - left - 1)}px`, top: `${depth * ROW}px` });
    const color = data.colors[[...label].reduce((total, one) => total + one.codePointAt(0), 0) % data.colors.length];
    block.style.background = `color-mix(in srgb, ${color} 45%, var(--page))`;
    block.dataset.path = path;
    block.title = `${label}\n${duration(this.value(path))}`;
    block.setAttribute("role", "treeitem");
    block.setAttribute("aria-level", depth + 1);
    return block;
  }
  show_selected() {
    for (const block of this.element.children) block.setAttribute("aria-selected", Number(block.dataset.path) === this.selected);
    this.element.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: "nearest" });
    if (this.selected < 0) { set(this.figures, ""); set(this.share, ""); return; }
    const path = this.paths.all[this.selected], durations = this.paths.durations(this.selected);
    const ranked = percent => durations[Math.max(0, Math.ceil(percent / 100 * durations.length) - 1)];
    const parts = [this.paths.label(this.selected), `×${whole(path.count)}`];
    if (path.errors) parts.push(`✖ ${whole(path.errors)}`);
    if (path.name !== null && path.timed < path.count) parts.push(`${whole(path.count - path.timed)} no end`);
    if (path.timed) parts.push(`total ${duration(path.total)}`, `self ${duration(path.self)}`, `p50 ${duration(ranked(50))}`, `p95 ${duration(ranked(95))}`);
    set(this.figures, parts.join("   "));
    const all = this.paths.roots.reduce((sum, root) => sum + this.value(root), 0), own = this.by === "total" ? path.total : path.self, value = this.value(this.selected);
    set(this.share, all ? `${value === own ? "" : `${duration(value)} with what is below, `}${fixed(100 * value / all, 1)}% of all` : "");
  }
  select(path) { this.selected = path; this.show_selected(); }
  clicked(event) {
    const block = event.target.closest(".block");
    if (block) this.select(Number(block.dataset.path));
  }
  // -- keys
  move(by) {
    if (by > 0) this.select(this.widest(this.selected));
    else if (this.selected !== this.top && this.paths.all[this.selected]?.above >= 0) this.select(this.paths.all[this.selected].above);
  }
  edge(is_last) {
    for (let before = null; before !== this.selected;) { before = this.selected; this.move(is_last ? 1 : -1); }
  }
  beside(by) {
    if (this.selected < 0 || this.selected === this.top) return;
    const drawn = new Set([...this.element.children].map(block => Number(block.dataset.path)));
    const beside = this.paths.children(this.paths.all[this.selected].above).filter(path => drawn.has(path) || path === this.selected);
    this.select(beside[beside.indexOf(this.selected) + by] ?? this.selected);
  }
  /** Let the selected path take the whole width; where it does, open the trace of its first span. */
  come_closer() {
    if (this.selected < 0) return;
    if (this.top !== this.selected) {
      this.tops.push(this.selected);
      this.draw();
      say("Enter again: first span; Esc: zoom out");
      return;
    }
    const row = this.paths.all[this.selected].first;
    if (row >= 0) location.hash = `${trace_key(data.rows.trace[row])}/${span_id(row)}`;
  }
  next_width() {
    this.by = this.by === "total" ? "self" : "total";
    this.draw();
  }
  next_error() {
    const drawn = [...this.element.children].map(block => Number(block.dataset.path)), place = drawn.indexOf(this.selected) + 1;
    const failed = [...drawn.slice(place), ...drawn.slice(0, place)].find(path => this.paths.all[path].errors);
    if (failed === undefined) say("no block here has an error"); else this.select(failed);
  }
  back() {
    if (this.tops.length) { this.tops.pop(); this.draw(); return true; }
    if (this.only === undefined) return false;
    location.hash = trace_key(this.only);
    return true;
  }
}
