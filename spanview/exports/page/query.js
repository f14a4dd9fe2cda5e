/* The viewer's query language: from a text to what holds for rows. Its patterns, its keys and what these take come from
   Python; how parts are joined is as in `analysis/query/parse.py`, and what they mean as in `terms.py`.

   A test of a row is true or false, null where this page can't tell, and undefined until its details are read. */
const queries = (() => {
let language = null, tokens = {}, whole = {};

function learn(read) {
  language = read;
  for (const [name, pattern] of Object.entries(read.tokens)) tokens[name] = new RegExp(pattern, "suy");
  for (const [name, pattern] of Object.entries(read.whole)) whole[name] = new RegExp(`^(?:${pattern})$`, "u");
}

/** A mistake in a query, at a position of it. */
class Mistake extends Error {
  constructor(position, message) { super(message); this.position = position; }
}
/** What can be asked, and this page doesn't know. */
class Unanswered extends Error {}
const fail = (position, message) => { throw new Mistake(position, message); };
const refuse = message => { throw new Unanswered(message); };

// -- from the text to parts --------------------------------------------------------------------------------------------

function match(name, text, position) {
  tokens[name].lastIndex = position;
  return tokens[name].exec(text);
}
const end_of = (name, text, position) => position + (match(name, text, position)?.[0].length ?? 0);
const is_or = (text, position) => match("or", text, position) !== null;

function parse(text) {
  const [parts, position] = alternatives(text, end_of("blank", text, 0), 0);
  if (position < text.length) fail(position, 'expected a ( before this ); if it is part of a word, quote the word: "…"');
  return joined(parts);
}
const joined = parts => (parts.length === 1 ? parts[0] : { negated: false, any: false, parts });

function alternatives(text, position, depth) {
  let parts;
  [parts, position] = all(text, position, depth);
  if (!is_or(text, position)) return [parts, position];
  const found = [];
  while (is_or(text, position)) {
    if (!parts.length) fail(position, 'expected a term before OR; to search for the word, quote it: "OR"');
    found.push(joined(parts));
    [parts, position] = all(text, end_of("blank", text, position + 2), depth);
  }
  if (!parts.length) fail(position, 'expected a term after OR; to search for the word, quote it: "OR"');
  return [[{ negated: false, any: true, parts: [...found, joined(parts)] }], position];
}
function all(text, position, depth) {
  const parts = [];
  while (position < text.length && text[position] !== ")" && !is_or(text, position)) {
    const [part, end] = lineage(text, position, depth);
    parts.push(part);
    position = end_of("blank", text, end);
    if (text[position] === ">") {
      const arrow = text.startsWith(">>", position) ? ">>" : ">";
      fail(position, `expected spaces around ${arrow}, as in a ${arrow} b`);
    }
    if (text[position] === "(" && position === end) fail(position, 'expected a space before (; if it belongs to a term, quote the value: "…"');
    if (position === end && end < text.length && text[position] !== ")") fail(position, `expected a space before ${text[position]}`);
  }
  return [parts, position];
}
function lineage(text, position, depth) {
  let [part, end] = one_part(text, position, depth);
  const generations = [part], arrows = [];
  for (;;) {
    position = end_of("blank", text, end);
    const arrow = match("lineage", text, position);
    if (!arrow || position === end) break;
    position = end_of("blank", text, position + arrow[0].length);
    if (position === text.length || text[position] === ")" || is_or(text, position)) fail(position, `expected a term after ${arrow[0]}`);
    if (depth + generations.length >= language.depth) fail(position, `expected at most ${language.depth} generations`);
    [part, end] = one_part(text, position, depth + generations.length);
    generations.push(part);
    arrows.push(arrow[0]);
  }
  part = generations.pop();
  while (generations.length) part = joined([generations.pop(), { negated: false, is_child: arrows.pop() === ">", below: part }]);
  return [part, end];
}
function one_part(text, position, depth) {
  const negated = text[position] === "-";
  if (negated) position++;
  if (text[position] !== "(") return term(text, position, negated);
  if (depth >= language.depth) fail(position, `expected at most ${language.depth} nested parentheses`);
  const [parts, end] = alternatives(text, end_of("blank", text, position + 1), depth + 1);
  if (end === text.length) fail(position, "expected a ) to close this parenthesis");
  if (!parts.length) fail(end, "expected a term in the parentheses");
  const part = joined(parts);
  return [negated ? { ...part, negated: !part.negated } : part, end + 1];
}
function term(text, position, negated) {
  const key_start = position, is_quoted = text[position] === '"';
  let key = "";
  if (is_quoted) [key, position] = quoted(text, position);
  else {
    const word = match("word", text, position);
    if (word) [key, position] = [word[0], position + word[0].length];
    else if (negated && (position === text.length || text[position] === ")" || end_of("blank", text, position) > position))
      fail(position, "expected a term directly after -, as in -status=ERROR");
  }
  const operator = operator_after(text, position, is_quoted ? "" : key), is_word = ["OR", "AND", "NOT"].includes(key);
  if (!operator || (operator.index > position && is_word)) {
    if (key === "OR" && !is_quoted) {
      if (!negated) fail(position, `expected a space before ${text[position]}`);
      fail(key_start, 'expected a term directly after -; to search for the word, quote it: -"OR"');
    }
    if (is_word && !is_quoted)
      fail(key_start, `expected a term, not ${key}: ${key === "AND" ? "a space means and" : "a - directly before a term means not"}; to search for the word, quote it: "${key}"`);
    return [{ negated, key: "", operator: "", value: key, key_start, operator_start: key_start, value_start: key_start }, position];
  }
  if (!key) {
    const arrow = operator[0] === ">" && match("lineage", text, key_start);
    if (arrow) fail(key_start, `expected a term before ${arrow[0]}`);
    fail(key_start, `expected a key before ${operator[0]}, as in name${operator[0]}x; to search for the text, quote it: "…"`);
  }
  const [value, value_start, end] = value_after(text, operator, is_quoted ? "" : key.toLowerCase());
  return [{ negated, key, is_quoted, operator: operator[0], value, key_start, operator_start: operator.index, value_start, written: text.slice(value_start, end) }, end];
}
function operator_after(text, position, key) {
  const operator = match("operator", text, end_of("blank", text, position));
  if (!operator || operator.index === position || operator[0] !== ">") return operator;
  if (text.startsWith(">>", operator.index)) return null;
  const behind = operator.index + 1, value_start = end_of("blank", text, behind);
  if ((value_start === behind && behind < text.length) || Object.hasOwn(language.keys, key.toLowerCase())) return operator;
  return match("number", text, value_start) ? operator : null;
}
function value_after(text, operator, key) {
  if (text.startsWith(">>", operator.index)) fail(operator.index, "expected spaces around >>, as in a >> b");
  const position = end_of("blank", text, operator.index + operator[0].length);
  if (text[position] === '"') { const [value, end] = quoted(text, position); return [value, position, end]; }
  const time = language.keys[key]?.[0] === "duration" && match("duration", text, position);
  if (time) return [time[1] + time[2], position, position + time[0].length];
  const value = match("value", text, position);
  if (!value) fail(position, `expected a value after ${operator[0]}; ${"()".includes(text[position] || "x") ? 'to use parentheses in a value, quote it: "…"' : 'for an empty value, write ""'}`);
  if ("=<>~".includes(value[0][0])) fail(position, `expected a value after ${operator[0]}, not ${value[0][0]}; if it belongs to the value, quote it`);
  return [value[0], position, position + value[0].length];
}
function quoted(text, position) {
  const found = match("quoted", text, position);
  if (!found) fail(position, 'expected a closing " for this one');
  return [found[1].replace(new RegExp(language.tokens.escaped, "gu"), "$1"), position + found[0].length];
}

// -- values ------------------------------------------------------------------------------------------------------------

/** Texts that differ in upper and lower case alone are folded alike, as by Python's `casefold`. */
const folded = text => [...text].map(one => (one === "ı" ? one : one === "ẞ" ? "ss" : [...one.toUpperCase()].map(upper => upper.toLowerCase()).join(""))).join("");

/** The number that a text spells, exact where it is an integer; null where it spells none. */
const number_of = text => (whole.integer.test(text) ? BigInt(text.replace("+", "")) : whole.decimal.test(text) ? Number(text) : null);

/** The nanoseconds of a duration, rounded as Python does: to the nearest, halves to the even one. */
function duration_of(text) {
  if (text === "0") return 0n;
  const found = whole.duration.exec(text);
  if (!found) return null;
  const [digits, decimals = ""] = found[1].split("."), size = 10n ** BigInt(decimals.length);
  const exact = BigInt(digits + decimals) * BigInt(language.units[found[2]]), low = exact / size, twice = 2n * (exact % size);
  return twice > size || (twice === size && low % 2n) ? low + 1n : low;
}
/** The nanoseconds since 1970 of a time as somebody writes it, without a zone in that of all times. */
function moment_of(text) {
  const found = whole.time.exec(text);
  if (!found) return null;
  const [, day, clock = "00:00", fraction = "0", utc, sign, hours, minutes] = found;
  const [year, month, date] = day.split("-").map(Number), [hour, minute, second = 0] = clock.split(":").map(Number);
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, date);
  const is_one = time.getUTCMonth() === month - 1 && time.getUTCDate() === date && year > 0 && hour < 24 && minute < 60 && second < 60;
  const ahead = Number(hours ?? 0) * 60 + Number(minutes ?? 0);
  if (!is_one || ahead >= 1440) return null;
  let seconds = time.getTime() / 1000 + hour * 3600 + minute * 60 + second;
  if (sign) seconds -= (sign === "-" ? -ahead : ahead) * 60;
  else if (!utc) seconds = local_second(year, month, date, hour, minute, second, seconds);
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.padEnd(9, "0"));
}
function local_second(year, month, date, hour, minute, second, as_utc) {
  if (is_utc) return as_utc;
  const time = new Date(2000, 0, 1);
  time.setFullYear(year, month - 1, date);
  time.setHours(hour, minute, second);
  return time.getTime() / 1000;
}
/** The time of a time of day: on the latest day on which it lies between the first and the last start. */
function moment_on_a_day(text) {
  const starts = [...data.rows.start.keys()].map(start_ns).filter(start => start !== null);
  if (!starts.length) return 0n;
  const [first, last] = starts.reduce(([low, high], start) => [start < low ? start : low, start > high ? start : high], [starts[0], starts[0]]);
  const day = moment(Number(last / 1_000_000_000n), 0).slice(0, 10), before = new Date(Date.parse(`${day}T00:00Z`) - 86_400_000).toISOString().slice(0, 10);
  const [then, earlier] = [day, before].map(on => moment_of(`${on}T${text}`));
  return then === null || (then > last && earlier !== null && earlier >= first) ? earlier ?? 0n : then;
}
function start_ns(row) {
  if (data.rows.flags[row] & MISSING || Number.isNaN(data.rows.start[row])) return null;
  const { second, nanosecond } = data.traces, trace = data.rows.trace[row];
  return second[trace] === null ? null : BigInt(second[trace]) * 1_000_000_000n + BigInt(nanosecond[trace]) + BigInt(data.rows.start[row]);
}

/** What of a text this page has, and whether that is all. */
function uncut(text, most) {
  const is_cut = text.length > most && [...text].length > most;
  return { text: is_cut ? [...text].slice(0, most).join("") : text, is_cut };
}
/** What an attribute's field says: values, lists flattened, each with its text and, where it is one, its number. */
function values_in([, told, bits = 0]) {
  const raw = uncut(typeof told === "string" ? told : told.map(([, line]) => line).join("\n"), language.most.text);
  if (raw.is_cut || bits & 4) return [{ text: raw.text, is_cut: true }];
  if (!(bits & 1)) return [{ text: raw.text }];
  if (raw.text[0] === "[") return elements(raw.text).map(value_of);
  const word = raw.text.replaceAll('"', "");
  // What is no number in JSON stands in quotes there.
  return [raw.text[0] === '"' ? { text: word, number: Number(word) } : value_of(raw.text)];
}
const SCALAR = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*|true|false|null|[[\]{},:]/gs;
/** The texts of the elements of a list, as JSON has them. */
function elements(json) {
  const found = [];
  let depth = 0, from = 1;
  for (const { 0: token, index } of json.matchAll(SCALAR)) {
    if ("[{".includes(token)) depth++;
    if ("]}".includes(token)) depth--;
    if ((token === "," && depth === 1) || depth === 0) {
      if (index > from) found.push(json.slice(from, index));
      from = index + 1;
    }
  }
  return found;
}
function value_of(json) {
  if (json[0] === '"') { const text = JSON.parse(json); return { text, may_be_number: /^(NaN|-?Infinity)$/.test(text) }; }
  return /^-?\d/.test(json) ? { text: json, number: /^-?\d+$/.test(json) ? BigInt(json) : Number(json) } : { text: json, json, is_word: true };
}
/** What lists and objects have at their ends. */
function leaves(json) {
  const found = [...json.matchAll(SCALAR)], is_key = place => found[place + 1]?.[0] === ":";
  return found.flatMap(([token], place) => ("[]{},:".includes(token) || is_key(place) ? [] : [value_of(token)]));
}

/** Whether any of some verdicts is true. */
function any(verdicts) {
  let found = false;
  for (const verdict of verdicts) {
    if (verdict === true) return true;
    if (verdict === undefined) found = undefined;
    else if (verdict === null && found !== undefined) found = null;
  }
  return found;
}
const not = verdict => (typeof verdict === "boolean" ? !verdict : verdict);
const every = verdicts => not(any(verdicts.map(not)));

const SIZES = { "=": (a, b) => a == b, "!=": (a, b) => a != b, "<": (a, b) => a < b, ">": (a, b) => a > b, "<=": (a, b) => a <= b, ">=": (a, b) => a >= b };

const no_size = raw => fail(raw.operator_start, `expected =, != or ~ after ${raw.key}, which can't be compared with ${raw.operator}`);
/** The test of a text, of which not all may be there. */
function text_test(raw, equals = (text, value) => text === value) {
  const search = raw.operator === "~" ? pattern(raw) : ["=", "!="].includes(raw.operator) ? null : no_size(raw);
  return ({ text, is_cut = false }) => {
    if (is_cut) return search && can_only_find_more(raw) && search(text) ? true : null;
    return search ? search(text) : equals(text, raw.value) === (raw.operator === "=");
  };
}
/** Whether what a regular expression finds in the beginning of a text it finds in the whole, too. */
const can_only_find_more = raw => !/[$\\]/.test(raw.value);

/** The test of the values that one key has. */
function values_test(raw) {
  const number = number_of(raw.value);
  if (raw.operator === "~") { const test = text_test(raw); return values => any(values.map(test)); }
  const is_equal = value => (value.is_cut ? null : (value.number !== undefined && number !== null && value.number == number) || value.text === raw.value);
  if (raw.operator === "=") return values => any(values.map(is_equal));
  if (raw.operator === "!=") return values => not(any(values.map(is_equal)));
  const compare = SIZES[raw.operator];
  return values => any(values.map(value => {
    if (value.is_cut || value.may_be_number) return null;
    const size = value.number !== undefined ? value.number : value.is_word ? null : number_of(value.text);
    return size !== null && compare(size, number);
  }));
}

// -- what the keys mean ------------------------------------------------------------------------------------------------

/** A test that is made once for each number of a column. */
function by_number(column, texts, test) {
  const known = [];
  return row => { const number = column(row); return number in known ? known[number] : (known[number] = test(texts(number))); };
}
const trace_of = row => data.rows.trace[row];
const name_of = number => uncut(data.names[number], language.most.name);
const service_of = number => uncut(data.services[number] ?? "", language.most.name);
const id_of = row => { const id = span_id(row); return /^0+$/.test(id) ? "" : id; };
function parent_id(row) {
  const parent = data.rows.parent[row];
  return data.rows.flags[row] & CYCLE ? { text: "", is_cut: true } : { text: parent < 0 ? "" : id_of(parent) };
}
const text_of_key = {
  name: test => by_number(row => data.rows.name[row], name_of, test),
  service: test => by_number(row => data.rows.service[row], service_of, test),
  kind: test => by_number(row => data.rows.kind[row], number => ({ text: language.keys.kind[1 + number] }), test),
  status: test => by_number(row => data.rows.status[row], number => ({ text: language.keys.status[1 + number] }), test),
  file: test => by_number(row => data.rows.file[row], number => ({ text: data.files[number] }), test),
  trace: test => by_number(trace_of, trace => ({ text: data.traces.id[trace] }), test),
  span: test => row => test({ text: id_of(row) }),
  description: test => of_span(span => test(uncut(span.description ?? "", language.most.text))),
  scope: test => of_span(span => test(uncut(scope_of(span), language.most.text))),
};
const scope_of = span => span.scope.find(([key, , bits]) => key === "name" && bits & 2)?.[1] ?? "";
const of_span = test => (row, span) => (span === undefined ? undefined : test(span));
const attributes_in = fields => fields.filter(([, , bits = 0]) => !(bits & 2));
/** What a span's fields are in: its own, those of its events, and of its resource. */
const holders = span => [span.attributes, ...span.events.map(([, , fields]) => fields), span.resource];

const SIZE_OF_KEY = {
  duration: row => (Number.isNaN(data.rows.length[row]) ? data.asked.ran.get(row) ?? null : data.rows.length[row]),
  self: row => (Number.isNaN(data.rows.own[row]) ? null : data.rows.own[row]),
  depth: row => data.rows.depth[row],
  start: start_ns,
  pid: (row, span) => {
    if (span === undefined) return undefined;
    const field = attributes_in(span.attributes).find(([key]) => key === "ray.pid");
    if (!field) return data.asked.pids[data.rows.file[row]];
    const [value, ...more] = values_in(field);
    return more.length || !value || value.is_word || field[1][0] === "[" && field[2] & 1 ? null : value.number ?? number_of(value.text);
  },
  "trace.duration": row => (data.asked.ended.has(trace_of(row)) ? data.asked.ended.get(trace_of(row)) : data.traces.length[trace_of(row)]),
  "trace.spans": row => data.traces.spans[trace_of(row)],
  "trace.errors": row => data.traces.errors[trace_of(row)],
};
/** How long the first attempt of a call waited, for one thing or in all. */
function wait_of(key) {
  const cause = data.causes.findIndex(([, , name]) => `wait.${name}` === key);
  return row => {
    if (!(data.rows.flags[row] & FIRST)) return null;
    let sum = 0;
    const parts = data.rows.waits.get(row) ?? [];
    for (let index = 0; index < parts.length; index += 2) if (cause < 0 || parts[index] === cause) sum += parts[index + 1];
    return sum;
  };
}
function size_term(raw, value_of_text, expected) {
  const compare = SIZES[raw.operator] ?? fail(raw.operator_start, `expected =, !=, <, >, <= or >= after ${raw.key}, which isn't text`);
  let value = value_of_text(raw.value);
  if (value === null) fail(raw.value_start, `expected ${expected}`);
  const read = raw.key.startsWith("wait") ? wait_of(raw.key) : SIZE_OF_KEY[raw.key] ?? refuse(`${raw.key}: a page doesn't know it; ask spanview itself`);
  return (row, span) => {
    const size = read(row, span);
    if (size === undefined || size === null) return size === undefined ? undefined : false;
    // Beyond this, numbers of JavaScript are no longer exact.
    if (typeof size === "number" && Math.abs(size) > Number.MAX_SAFE_INTEGER && Math.abs(size - Number(value)) < 65_536) return null;
    return compare(size, value);
  };
}
const TAKES = {
  text(raw) {
    if (raw.key === "any") return any_term(raw);
    if (raw.key === "event" || raw.key === "trace.root") {
      if (!["=", "!=", "~"].includes(raw.operator)) no_size(raw);
      const holds = values_test(raw);
      if (raw.key === "event") return of_span(({ events }) => (events.length ? whole_list(events, holds(events.map(([name]) => uncut(name, language.most.text)))) : false));
      return row => holds(names_of_trace(trace_of(row)));
    }
    const is_file = (path, wanted) => path === wanted || path.split(/[/\\]/).at(-1) === wanted;
    return text_of_key[raw.key](text_test(raw, raw.key === "file" ? is_file : undefined));
  },
  id(raw, [digits]) {
    const prefix = raw.value.toLowerCase().replace(/^0x/, "");
    if (raw.operator !== "~" && (!whole.id.test(prefix) || prefix.length > digits)) fail(raw.value_start, `expected the first hex digits of an id, at most ${digits}`);
    return text_of_key[raw.key](text_test(raw, text => text.startsWith(prefix)));
  },
  choice(raw, names) {
    const state = raw.value.toLowerCase();
    if (raw.key === "status" && ["=", "!="].includes(raw.operator) && language.states.includes(state)) {
      const rows = new Set(data.asked.state[state]);
      return row => rows.has(row) === (raw.operator === "=");
    }
    const wanted = raw.value.toUpperCase();
    if (["=", "!="].includes(raw.operator) && !names.includes(wanted)) fail(raw.value_start, `expected one of ${[...names, ...(raw.key === "status" ? language.states : [])].join(", ")}`);
    return text_of_key[raw.key](text_test(raw, text => text === wanted));
  },
  named(raw, names) {
    if (!["=", "!="].includes(raw.operator)) fail(raw.operator_start, `expected = or != after ${raw.key}`);
    const wanted = raw.value.toLowerCase(), is_wanted = raw.operator === "=";
    if (!names.includes(wanted)) fail(raw.value_start, `expected one of ${names.join(", ")}`);
    if (raw.key === "trace.complete") return row => (data.traces.complete[trace_of(row)] === (wanted === "true")) === is_wanted;
    if (raw.key === "outcome") return row => data.asked.outcome[row] > 0 && (names[data.asked.outcome[row] - 1] === wanted) === is_wanted;
    if (!data.of_findings) refuse("finding: the page has a selection of traces, and findings are those of all; ask spanview itself");
    const rows = new Set(data.of_findings[wanted] ?? []);
    return row => rows.has(row) === is_wanted;
  },
  duration: raw => size_term(raw, duration_of, `a duration such as ${language.durations}`),
  number: raw => size_term(raw, number_of, "a number"),
  moment(raw) {
    const is_clock = whole.clock.test(raw.value), text = raw.value[1] === ":" ? `0${raw.value}` : raw.value;
    if (!is_clock || moment_of(`2024-05-28T${text}`) === null) return size_term(raw, moment_of, `a time such as ${language.times}`);
    return size_term(raw, () => moment_on_a_day(text), "");
  },
};
function names_of_trace(trace) {
  const root = data.asked.root[trace];
  if (root < 0) return [{ text: "" }];
  const number = data.rows.name[data.traces.first[trace] + root];
  return [name_of(number), ...(data.asked.names[number] ?? []).map(text => ({ text }))];
}
/** A verdict on a list of which not all may be there. */
const whole_list = (list, verdict) => (list.length >= language.most.values && verdict !== true ? null : verdict);

function attribute_term(raw) {
  if (!["=", "!=", "~"].includes(raw.operator) && number_of(raw.value) === null) fail(raw.value_start, `expected a number after ${raw.key}${raw.operator}`);
  const holds = values_test(raw);
  return of_span(span => {
    const fields = holders(span).map(each => attributes_in(each).find(([key]) => key === raw.key)).filter(Boolean);
    const is_whole = [...holders(span), span.events].every(list => list.length < language.most.values);
    const verdict = fields.length ? holds(fields.flatMap(values_in)) : false;
    return is_whole ? verdict : null;
  });
}
function any_term(raw) {
  if (!["=", "!=", "~"].includes(raw.operator)) no_size(raw);
  const positive = { ...raw, operator: raw.operator === "~" ? "~" : "=" }, holds = text_test(positive), of_values = values_test(positive);
  const prefix = raw.value.toLowerCase().replace(/^0x/, "");
  let of_id = null;
  if (raw.operator === "~") {
    const literal = whole.literal.test(raw.value) ? raw.value.replace(/\\(.)/gsu, "$1") : null;
    if (literal === null || whole.id.test(literal.toLowerCase()))
      of_id = value => (value.is_cut ? null : value.text !== "" && any([value.text, value.text.toUpperCase()].map(text => holds({ text }))));
  } else if (prefix.length >= language.id_digits && whole.id.test(prefix)) of_id = value => (value.is_cut ? null : value.text.startsWith(prefix));
  const columns = [text_of_key.name(holds), text_of_key.service(value => (value.text ? holds(value) : false))];
  if (of_id) columns.push(text_of_key.trace(of_id), text_of_key.span(of_id), row => of_id(parent_id(row)));
  const test = (row, span) => {
    const of_row = any(columns.map(column => column(row)));
    if (of_row === true || span === undefined) return of_row === true ? true : undefined;
    const texts = [span.description, span.scope.length ? scope_of(span) : null, ...span.events.map(([name]) => name)].filter(text => text !== null);
    const fields = [...holders(span), ...span.links.map(([, , each]) => each)].flatMap(attributes_in);
    const values = fields.flatMap(field => values_in(field).flatMap(value => (value.json && "[{".includes(value.json[0]) ? [value, ...leaves(value.json)] : [value])));
    const is_whole = [...holders(span), span.events, span.links].every(list => list.length < language.most.values);
    return any([of_row, of_values([...texts.map(text => uncut(text, language.most.text)), ...values]), is_whole ? false : null]);
  };
  return raw.operator === "!=" ? (row, span) => not(test(row, span)) : test;
}

function compile(part, belows) {
  const test = part.parts ? group(part, belows) : part.below ? below(part, belows) : single(part);
  return part.negated ? (row, span) => not(test(row, span)) : test;
}
function group(part, belows) {
  const tests = part.parts.map(each => compile(each, belows));
  return part.any ? (row, span) => any(tests.map(test => test(row, span))) : (row, span) => every(tests.map(test => test(row, span)));
}
function below(part, belows) {
  const stage = { test: compile(part.below, belows), is_child: part.is_child, above: new Map() };
  belows.push(stage);
  return row => stage.above.get(row) ?? (stage.above.has(row) ? null : false);
}
function single(raw) {
  if (!raw.operator) {
    const word = folded(raw.value);
    return text_of_key.name(({ text, is_cut }) => folded(text).includes(word) || (is_cut ? null : false));
  }
  const key = raw.key.toLowerCase();
  if (!raw.is_quoted && Object.hasOwn(language.keys, key)) {
    const [takes, ...choices] = language.keys[key];
    return TAKES[takes]({ ...raw, key }, choices);
  }
  if (!raw.is_quoted && key.startsWith("trace."))
    fail(raw.key_start, `expected one of ${Object.keys(language.keys).filter(known => known.startsWith("trace.")).join(", ")}; for an attribute of that name, write "${raw.key}" with the quotes`);
  return attribute_term(raw);
}

// -- regular expressions -----------------------------------------------------------------------------------------------

const POSIX = { alnum: "0-9A-Za-z", alpha: "A-Za-z", ascii: "\\x00-\\x7f", blank: "\\t ", cntrl: "\\x00-\\x1f\\x7f", digit: "0-9", graph: "!-~", lower: "a-z", print: " -~", punct: "!-\\/:-@\\[-`\\{-~", space: "\\t\\n\\v\\f\\r ", upper: "A-Z", word: "0-9A-Za-z_", xdigit: "0-9A-Fa-f" };
const SETS = { d: "0-9", w: "0-9A-Za-z_", s: "\\t\\n\\f\\r ", D: "\\x00-\\x2f\\x3a-\\u{10ffff}", W: "\\x00-\\x2f\\x3a-\\x40\\x5b-\\x5e\\x60\\x7b-\\u{10ffff}", S: "\\x00-\\x08\\x0b\\x0e-\\x1f\\x21-\\u{10ffff}" };
const CONTROLS = { a: 7, f: 12, t: 9, n: 10, r: 13, v: 11 };
const MOST_REPEATED = 1000;
const character = code => `\\u{${code.toString(16)}}`;

/** A regular expression of RE2 as one of JavaScript's that finds the same: what one can't do, or would take its time to
    do, is refused, and what neither can is a mistake. */
class Translator {
  constructor(raw) {
    this.raw = raw;
    this.text = [...raw.value];
    this.place = 0;
    this.flags = "u";
  }
  wrong(what) { fail(this.raw.value_start, `expected a regular expression: ${what}`); }
  refuse(what) { refuse(`a page doesn't search with ${what} in a regular expression; ask spanview itself`); }
  done() {
    for (let found; (found = /^\(\?([is]+)\)/.exec(this.text.slice(this.place, this.place + 8).join(""))); this.place += found[0].length) this.flags += found[1];
    this.ignores_case = this.flags.includes("i");
    const out = this.alternatives();
    if (this.place < this.text.length) this.wrong("an unexpected )");
    return new RegExp(out.text, [...new Set(this.flags.replace("s", ""))].join(""));
  }
  alternatives() {
    let text = "", last = null, is_repeated = false, is_open = false, is_counted = false;
    const add = atom => { if (last) text += last.text; last = atom; is_repeated = false; };
    for (; this.place < this.text.length && this.text[this.place] !== ")";) {
      const one = this.text[this.place], rest = this.text.slice(this.place, this.place + 12).join("");
      const times = /^\{(\d+)(,(\d*))?\}/.exec(rest);
      if ("*+?".includes(one) || times) {
        if (!last || is_repeated) this.wrong(`nothing to repeat with ${times ? times[0] : one}`);
        const most = times ? (times[2] ? times[3] : times[1]) : one === "?" ? "1" : "";
        if (times && (Number(times[1]) > MOST_REPEATED || (most && (Number(most) > MOST_REPEATED || Number(most) < Number(times[1]))))) this.wrong(`a repetition as often as ${times[0]}`);
        if ((last.is_open && (most === "" || Number(most) > 1)) || (times && last.is_counted)) this.refuse("repetitions within repetitions");
        this.place += (times?.[0] ?? one).length;
        const is_lazy = this.text[this.place] === "?";
        if (is_lazy) this.place++;
        last = { text: `${last.text}${times?.[0] ?? one}${is_lazy ? "?" : ""}`, is_open: last.is_open || most === "", is_counted: Boolean(times) || last.is_counted };
        is_repeated = true;
      } else if (one === "|") { add({ text: "|" }); text += last.text; last = null; this.place++; } else add(this.atom(one));
      is_open ||= last?.is_open ?? false;
      is_counted ||= last?.is_counted ?? false;
    }
    return { text: text + (last?.text ?? ""), is_open, is_counted };
  }
  atom(one) {
    this.place++;
    if (one === ".") return { text: this.flags.includes("s") ? "[^]" : "[^\\n]" };
    if (one === "^" || one === "$") return { text: `(?:${one})` };
    if (one === "[") return { text: this.class() };
    if (one === "(") return this.group();
    if (one === "\\") return { text: this.escape() };
    return { text: character(one.codePointAt(0)) };
  }
  group() {
    const head = /^\?(P?<\w+>|:)/.exec(this.text.slice(this.place).join(""));
    if (head) this.place += head[0].length;
    else if (this.text[this.place] === "?") {
      if (/^\?-?[imsU]/.test(this.text.slice(this.place, this.place + 3).join(""))) this.refuse("flags that aren't at its beginning, or (?m) or (?U)");
      this.wrong("an unknown kind of group");
    }
    const inside = this.alternatives();
    if (this.text[this.place] !== ")") this.wrong("a missing )");
    this.place++;
    return { ...inside, text: `(?:${inside.text})` };
  }
  /** A set of an escape, as what stands in a class; null where it is a character. */
  set() {
    const one = this.text[this.place];
    if (SETS[one]) {
      if (this.ignores_case && "wW".includes(one)) this.refuse(`\\${one} beside (?i)`);
      this.place++;
      return SETS[one];
    }
    if (one !== "p" && one !== "P") return null;
    const found = /^[pP](?:\{(\^?)(\w+)\}|([A-Z]))/.exec(this.text.slice(this.place, this.place + 40).join(""));
    if (!found) this.wrong("an unknown kind of character");
    if (this.ignores_case || found[1]) this.refuse(`\\${found[0]}`);
    this.place += found[0].length;
    const name = found[2] ?? found[3], of = /^[CLMNPSZ][a-z]?$/.test(name) ? name : `Script=${name}`;
    try { new RegExp(`\\p{${of}}`, "u"); } catch { this.wrong("an unknown kind of character"); }
    return `\\${one}{${of}}`;
  }
  escape() {
    const set = this.set(), one = this.text[this.place];
    if (set !== null) return `[${set}]`;
    if (one === "b" || one === "B") { if (this.ignores_case) this.refuse(`\\${one} beside (?i)`); this.place++; return `(?:\\${one})`; }
    if (one === "A" || one === "z") { this.place++; return one === "A" ? "(?:^)" : "(?:$)"; }
    if (one === "Q" || one === "C") this.refuse(`\\${one}`);
    return character(this.character());
  }
  /** The code of an escaped character. */
  character() {
    const one = this.text[this.place], rest = this.text.slice(this.place, this.place + 12).join("");
    const code = /^x(?:\{([0-9a-fA-F]{1,8})\}|([0-9a-fA-F]{2}))/.exec(rest);
    if (code) {
      this.place += code[0].length;
      const number = parseInt(code[1] ?? code[2], 16);
      return number <= 0x10ffff ? number : this.wrong("an unknown character");
    }
    if (/^[0-9]/.test(rest)) { if (one === "0" || /^[1-7][0-7]/.test(rest)) this.refuse("octal numbers"); this.wrong("references to groups aren't supported"); }
    if (one === undefined || (!CONTROLS[one] && !/^[!-/:-@[-^`{-~ ]$/.test(one))) this.wrong(`an unknown escape \\${one ?? ""}`);
    this.place++;
    return CONTROLS[one] ?? one.codePointAt(0);
  }
  class() {
    let text = "";
    const negated = this.text[this.place] === "^";
    if (negated) this.place++;
    for (let is_first = true; this.text[this.place] !== "]" || is_first; is_first = false) {
      if (this.place >= this.text.length) this.wrong("a missing ]");
      const posix = /^\[:(\^?)(\w+):\]/.exec(this.text.slice(this.place, this.place + 14).join(""));
      if (posix) {
        if (posix[1]) this.refuse(posix[0]);
        if (!Object.hasOwn(POSIX, posix[2])) this.wrong(`an unknown class ${posix[0]}`);
        if (this.ignores_case && posix[2] === "word") this.refuse(`${posix[0]} beside (?i)`);
        text += POSIX[posix[2]];
        this.place += posix[0].length;
        continue;
      }
      if (this.text[this.place] === "\\") {
        this.place++;
        const set = this.set();
        if (set !== null) { text += set; continue; }
        this.place--;
      }
      const low = this.one_of_class();
      if (this.text[this.place] !== "-" || this.text[this.place + 1] === "]" || this.place + 1 >= this.text.length) { text += character(low); continue; }
      this.place++;
      const high = this.one_of_class();
      if (high < low) this.wrong("a range that ends before it begins");
      text += `${character(low)}-${character(high)}`;
    }
    this.place++;
    return `[${negated ? "^" : ""}${text}]`;
  }
  one_of_class() {
    const one = this.text[this.place++];
    return one === "\\" ? this.character() : one.codePointAt(0);
  }
}
function pattern(raw) {
  const search = new Translator(raw).done();
  return text => search.test(text);
}

// -- asking ------------------------------------------------------------------------------------------------------------

/** The test that a text stands for, with what has to be found out of spans below before. */
function understood(text) {
  const belows = [];
  return { test: compile(parse(text), belows), belows };
}

/** Find out what holds for the rows of some traces: 1 it does, 0 it doesn't, 2 this page can't tell.
    `tell` is called with that from time to time, and how much of it is known; what it returns goes on or ends it. */
async function ask({ test, belows }, first, last, tell) {
  for (const stage of belows) {
    const verdicts = await verdicts_of(stage.test, first, last, () => tell(null, 0));
    if (!verdicts) return null;
    mark_above(stage, verdicts, first);
  }
  return verdicts_of(test, first, last, tell);
}
function mark_above(stage, verdicts, first) {
  // What holds comes last, so that it stays.
  for (const [verdict, marked] of [[2, null], [1, true]])
    verdicts.forEach((found, index) => {
      if (found !== verdict) return;
      for (let above = data.rows.parent[first + index]; above >= 0; above = data.rows.parent[above]) {
        if (stage.above.has(above) && stage.above.get(above) === marked) break;
        if (stage.above.get(above) !== true) stage.above.set(above, marked);
        if (stage.is_child) break;
      }
    });
}
async function verdicts_of(test, first, last, tell) {
  const verdicts = new Uint8Array(last - first), pending = [], number = verdict => (verdict === null ? 2 : Number(verdict));
  for (let row = first; row < last; row++) {
    if (data.rows.flags[row] & MISSING) continue;
    const verdict = test(row, undefined);
    if (verdict === undefined) pending.push(row); else verdicts[row - first] = number(verdict);
  }
  let told = performance.now();
  for (let index = 0; index < pending.length;) {
    const block = details.block_of(data.rows.detail[pending[index]]), end = details.firsts[block + 1] ?? Infinity;
    await details.load(block);
    for (; index < pending.length && data.rows.detail[pending[index]] < end; index++)
      verdicts[pending[index] - first] = number(test(pending[index], details.now(pending[index])));
    if (performance.now() - told > 100) {
      if (!tell(verdicts, index / pending.length)) return null;
      told = performance.now();
    }
  }
  return verdicts;
}

// -- why nothing matches -----------------------------------------------------------------------------------------------

const MOST_SPELLINGS = 2000, LEAST_ALIKE = .75;

/** How alike two texts are, from 0 to 1, as `difflib` has it. */
function likeness(a, b) {
  const common = (a, b) => {
    let most = 0, at = 0, from = 0, before = [];
    for (let i = 0; i < a.length; i++) {
      const now = [];
      for (let j = 0; j < b.length; j++) if (a[i] === b[j]) {
        now[j] = (before[j - 1] ?? 0) + 1;
        if (now[j] > most) [most, at, from] = [now[j], i - now[j] + 1, j - now[j] + 1];
      }
      before = now;
    }
    return most && most + common(a.slice(0, at), b.slice(0, from)) + common(a.slice(at + most), b.slice(from + most));
  };
  return 2 * common(a, b) / (a.length + b.length);
}
/** The known text that was probably meant. */
function near_text(text, known) {
  let best, most = LEAST_ALIKE;
  for (const one of [...known].slice(0, MOST_SPELLINGS)) {
    if (2 * Math.min(one.length, text.length) < most * (one.length + text.length)) continue;
    const alike = likeness(one, text);
    if (alike > most || (alike === most && !(best >= one))) [best, most] = [one, alike];
  }
  return best;
}
/** The key of the language that was probably meant, or an attribute that is spelled nearly so, or has more at its ends. */
function near_key(key, attributes) {
  const own = Object.keys(language.keys), wanted = key.toLowerCase(), begun = own.filter(one => one.startsWith(wanted));
  if (key.length > 2 && begun.length === 1) return begun[0];
  const meant = near_text(wanted, own);
  if (meant) return meant;
  const lower = new Map([...attributes].filter(one => one !== key).map(one => [one.toLowerCase(), one])), words = wanted.split(/[._-]/).join("");
  const has = one => { const parts = one.split(/[._-]/); return parts.some((_, cut) => [parts.slice(cut), parts.slice(0, cut + 1)].some(some => some.join("") === words)); };
  return lower.get(wanted) ?? lower.get([...lower.keys()].find(has)) ?? lower.get(near_text(wanted, lower.keys()));
}
const literally = text => text.replace(/[\\.^$*+?{}[\]|()]/g, "\\$&");
const written = text => (/^[\w.:/@%+,;#&?*^$|{}[\]\\-]+$/.test(text) ? text : in_quotes(text));

/** What spans have of each key that texts are asked for; of attributes, events and scopes, only where these are asked. */
async function texts_in(first, last, has_details) {
  const texts = { name: new Set(), service: new Set(), file: new Set(), event: new Set(), scope: new Set(), "trace.root": new Set() }, attributes = new Map();
  for (let row = first; row < last; row++) {
    if (data.rows.flags[row] & MISSING) continue;
    texts.name.add(data.names[data.rows.name[row]]);
    texts.service.add(data.services[data.rows.service[row]] ?? "");
    texts.file.add(data.files[data.rows.file[row]]);
    for (const { text } of names_of_trace(trace_of(row))) texts["trace.root"].add(text);
    if (!has_details) continue;
    const span = await details.of(row);
    for (const [name] of span.events) texts.event.add(name);
    texts.scope.add(scope_of(span));
    for (const field of holders(span).flatMap(attributes_in)) {
      if (!attributes.has(field[0])) attributes.set(field[0], new Set());
      for (const { text } of values_in(field)) attributes.get(field[0]).add(text);
    }
  }
  return { texts, attributes };
}
/** Why a query matches nothing, a sentence each, as far as its terms explain that: as in `analysis/query/misses.py`. */
async function why_nothing(text, first, last) {
  const terms = [], gather = part => { if (part.parts) part.parts.forEach(gather); else if (part.below) gather(part.below); else terms.push(part); };
  const query = parse(text), own = ({ key, is_quoted }) => (!is_quoted && Object.hasOwn(language.keys, key.toLowerCase()) ? key.toLowerCase() : null);
  gather(query);
  const asks = terms.some(term => term.operator && (own(term) === null || ["event", "scope"].includes(own(term))));
  const { texts, attributes } = await texts_in(first, last, asks), said = new Set();
  const named = word => [...texts.name].some(name => folded(name).includes(folded(word)));
  const bare = terms.filter(term => !term.operator), missing = bare.find(term => !term.negated && !named(term.value));
  if (bare.some(term => term.value === "or" && text[term.value_start] !== '"')) said.add("or is searched for as a word: to join terms it is written in capitals, as in a OR b");
  for (const { value, value_start } of bare) {
    const words = value.split("|").filter(Boolean);
    if (words.length > 1 && text[value_start] !== '"') said.add(`| is searched for as a character: ${words.join(" OR ")} finds either, and so does name~${words.map(literally).join("|")}`);
  }
  for (const { key, operator, value, negated, is_quoted, ...raw } of terms) {
    const mine = operator && own({ key, is_quoted });
    if (operator && mine === null && !attributes.has(key)) {
      const near = is_quoted ? undefined : near_key(key, attributes.keys());
      said.add(`no span has ${key}${near ? ` (did you mean ${near}?)` : ""}`);
    } else if (["=", "~"].includes(operator) && value && !negated) {
      const of = [...(mine === null ? attributes.get(key) : texts[mine] ?? [])], is_exact = operator === "=", as = is_quoted ? in_quotes(key) : key;
      // In any case a page can't search for some patterns.
      const found = value => { try { return of.some(pattern({ ...raw, value })); } catch { return false; } }, any_case = `(?i)${is_exact ? literally(value) : value}`;
      if (is_exact ? of.includes(value) : found(value)) continue;
      if (is_exact && of.some(one => one.includes(value))) said.add(`= is exact, ${as}~${written(literally(value))} looks inside`);
      else if (found(any_case)) said.add(is_exact ? `= is exact, ${as}~${in_quotes(any_case)} looks inside and ignores case` : `~ is case-sensitive, ${as}~${in_quotes(any_case)} isn't`);
      else { const near = is_exact && near_text(value, of); if (near) said.add(`did you mean ${as}=${written(near)}?`); }
    }
  }
  if (!said.size && query.parts?.length > 1 && !query.any && !query.negated && !terms.some(({ key }) => key?.toLowerCase().startsWith("trace."))) {
    let is_lineage = false, each = true;
    for (const part of query.parts) {
      const belows = [], alone = part.below ?? part, verdicts = await ask({ test: compile(alone, belows), belows }, first, last, () => true);
      is_lineage ||= Boolean(part.below);
      each &&= verdicts.includes(1);
    }
    if (each) said.add(is_lineage ? "each term matches some span, but never one below the other" : "each term matches some span, but no span matches all of them (A >> B asks for a descendant)");
  }
  if (missing) said.add(`no span has "${missing.value}" in its name · any~${written(literally(missing.value))} looks in ids, services, attributes and events, too`);
  return [...said];
}
return { learn, understood, ask, why_nothing, Mistake, Unanswered };
})();
