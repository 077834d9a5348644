// What the page is about: data, as report_data() wrote it, and fields, the things a point has a value of.
const data = JSON.parse(document.getElementById('data').textContent);
const points = data.points;

function columnOf(number) {
  const column = data.columns[number];
  if ('all' in column) return new Array(points.length).fill(column.all);
  for (const i of column.absent || []) column.each[i] = undefined;
  return column.each;
}

// The whole summary.json of a point, put together from its leaves; null if it has none.
function summaryOf(point) {
  const root = {};
  let some = false;
  for (const [pointer, number] of data.leaves) {
    const value = columnOf(number)[point];
    if (value === undefined) continue;
    some = true;
    const words = pointer.slice(1).split('/').map(w => w.replaceAll('~1', '/').replaceAll('~0', '~'));
    let at = root;
    words.forEach((word, i) => {
      if (i + 1 === words.length)
        define(at, word, value);
      else if (!Object.hasOwn(at, word))
        define(at, word, /^(0|[1-9]\d*)$/.test(words[i + 1]) ? [] : {});
      at = at[word];
    });
  }
  return some ? root : null;
}

function define(object, key, value) {  // "__proto__" is a key like any other
  Object.defineProperty(object, key, {value, enumerable: true, writable: true, configurable: true});
}

// --- Values and names for people ---

// A number of dollars has them before it.
const inDollars = (f, value, shown) =>
    (/dollars/.test(f.id) && typeof value === 'number' ? '$' + shown : shown);

// +1 if more of it is better, -1 if less is; of what has no better, less: devices, say.
const better = f => (f.lower === false ? 1 : -1);
const judged = f => typeof f.lower === 'boolean';

// --- Fields ---

function field(id, label, group, values) {
  const known = values.filter(v => v !== undefined && v !== null);
  return {
    id,
    label,
    group,
    values,
    texts: [],
    numeric: known.length > 0 && known.every(v => typeof v === 'number')
  };
}

const textOf = (f, point) => (f.texts[point] ??= inDollars(f, f.values[point], text(f.values[point])));

// The values a field has, in order: numbers by size, others as they come in the sweep.
function distinct(f) {
  if (!f.distinct) {
    const seen = new Map();
    f.values.forEach((v, i) => {
      if (v !== undefined) seen.set(textOf(f, i), v);
    });
    f.distinct = [...seen].map(([shown, value]) => ({shown, value}));
    if (f.numeric) f.distinct.sort((a, b) => a.value - b.value);
    f.rank = new Map(f.distinct.map((d, i) => [d.shown, i]));
  }
  return f.distinct;
}
function rankOf(f, point) {
  distinct(f);
  return f.rank.get(textOf(f, point));
}

// The known error of GPUs' joules: a star at each name that has them, its sentence above the charts.
const energyNote =
    (([, column] = []) => column === undefined ? '' : columnOf(column).find(note => note) || '')(
        data.leaves.find(([pointer]) => pointer === '/energy_note'));
const starred = (id, title) => energyNote && /joule|energy/.test(id) ? title + '*' : title;

function allFields() {
  const varied =
      data.varied.map(([pointer, c], i) => field(pointer, data.short_names[i], 'varied', columnOf(c)));
  const metrics = data.metrics.map(
      ([name, c, title, lower, main]) =>
          ({...field(name, starred(name, title), 'metric', columnOf(c)), lower, main}));
  const places = [];  // best first
  (data.order || points.map((_, i) => i)).forEach((point, place) => places[point] = place + 1);
  const own = [
    field('rank', 'place', 'point', places), field('index', 'point', 'point', points.map(p => p.index)),
    field('status', 'status', 'point', points.map(p => p.status))
  ];
  return [...own, ...varied, ...metrics];
}

const fields = allFields();
const byId = new Map(fields.map(f => [f.id, f]));
const varied = fields.filter(f => f.group === 'varied');
const metrics = fields.filter(f => f.group === 'metric' && f.numeric);
// What points are ranked by, then the others that are shown first.
const mainMetrics = [...new Set([
                      ...(data.ranked_by || []),
                      ...metrics.filter(f => f.main !== null).sort((a, b) => a.main - b.main).map(f => f.id),
                    ])].map(id => byId.get(id))
                        .filter(f => f && f.numeric);

const nameOf = (point, but) => varied.filter(f => f !== but && distinct(f).length > 1)
                                   .map(f => `${f.label}=${textOf(f, point)}`)
                                   .join('  ');
