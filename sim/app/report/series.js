// From points to what a chart draws: coordinates, colours, lines, the Pareto front. Nothing here draws.

const shapes = ['circle', 'triangle', 'rect', 'rectRot', 'crossRot'];
const most_groups = 40;  // colours times shapes

const byLine = '@line';

function coordinate(f, point, log) {
  const value = f.numeric ? f.values[point] : rankOf(f, point);
  return value == null || (log && !(value > 0)) ? null : value;
}

const seed = varied.find(f => f.id === '/seed' && distinct(f).length > 1);  // repetitions, not configurations
const lineKeys = join => varied.filter(f => f.id !== join && f !== seed && distinct(f).length > 1);
// TP4 of /serving/replicas/0/parallelism/tensor: what people call a layout.
const ranks = [
  [/\/parallelism\/tensor$/, 'TP'], [/\/parallelism\/pipeline$/, 'PP'], [/\/parallelism\/expert$/, 'EP'],
  [/^\/serving\/replicas\/\d+\/count$/, 'DP']
];
for (const f of varied) f.prefix = ranks.find(([pointer]) => pointer.test(f.id))?.[1] || '';
const lineName = (point, keys) => keys.map(f => f.prefix + textOf(f, point)).join(' · ');

function colourOf(f, rank, theme) {
  const count = distinct(f).length;
  return f.numeric && count > 1 ? mix(scales[theme], rank / (count - 1)) :
                                  palettes[theme][rank % palettes[theme].length];
}

// What tells points apart: {of: point -> {name, colour, shape}, list: for the legend, keys: what the names
// say}. Of a key with many numbers: a scale of colours, {from, to, colours} instead of the list.
function grouping(figure, shown, theme) {
  const f = byId.get(figure.colour);
  if (f && f.numeric && distinct(f).length > 8) return scaleOf(f, theme);
  const keys = f ? [f] : figure.colour === byLine ? lineKeys(figure.join) : [];
  const [first, second] = keys, byBoth = keys.length === 2 && distinct(second).length <= shapes.length;
  const groups = new Map();
  for (const i of points.map((_, i) => i)
           .sort((a, b) => keys.reduce((d, k) => d || rankOf(k, a) - rankOf(k, b), 0))) {
    const name = lineName(i, keys), at = groups.size;
    if (groups.has(name)) continue;
    groups.set(name, {
      name,
      colour: byBoth || f ? colourOf(first, rankOf(first, i), theme) :
                            palettes[theme][at % palettes[theme].length],
      shape: shapes[(byBoth ? rankOf(second, i) : at) % shapes.length],
    });
  }
  const of = i => groups.get(lineName(i, keys)), used = new Set(shown.map(i => of(i).name));
  return {of, list: [...groups.values()].filter(g => used.has(g.name)), keys};
}

function scaleOf(f, theme) {
  const values = distinct(f).map(d => d.value), from = values[0], to = values[values.length - 1];
  const log = from > 0 && to / from > 100, at = v => (log ? Math.log(v) : v);
  const share = v => (at(v) - at(from)) / (at(to) - at(from) || 1);
  const of = i => ({
    name: '',
    shape: 'circle',
    colour: f.values[i] == null ? '#888' : mix(scales[theme], share(f.values[i]))
  });
  return {of, list: [], keys: [f], from, to, colours: scales[theme]};
}

// The points that no other one beats in both, by x; the directions are +1 (more is better) or -1.
function paretoFront(placed, directionX, directionY) {
  const order = [...placed].sort((a, b) => directionX * (b.x - a.x) || directionY * (b.y - a.y));
  const front = [];
  let best = -Infinity, bestX;
  for (const p of order) {
    const y = directionY * p.y;
    if (y > best || (y === best && p.x === bestX)) {
      front.push(p);
      best = y;
      bestX = p.x;
    }
  }
  return front.sort((a, b) => a.x - b.x || a.y - b.y);
}

// [{x, y, i}], i the point; of seeds taken together i is the first one, `all` says which, and x and y are
// {mean, half} in `estimates`.
function placedPoints(figure, shown) {
  const x = byId.get(figure.x), y = byId.get(figure.y);
  const placed = shown.map(i => ({x: coordinate(x, i, figure.logX), y: coordinate(y, i, figure.logY), i}))
                     .filter(p => p.x !== null && p.y !== null);
  if (!seed || figure.seeds || x === seed || y === seed) return placed;
  return grouped(placed, lineKeys('')).map(all => {
    const estimates = {x: estimate(all.map(p => p.x)), y: estimate(all.map(p => p.y))};
    const i = Math.min(...all.map(p => p.i));
    return {x: estimates.x.mean, y: estimates.y.mean, i, all: all.map(p => p.i), estimates};
  });
}

// Mean and half the width of its 95 % confidence interval by Student's t (0 of a single value).
function estimate(values) {
  const n = values.length, mean = values.reduce((a, b) => a + b, 0) / n;
  const squares = values.reduce((sum, v) => sum + (v - mean) ** 2, 0);
  return {mean, half: n > 1 ? data.student_t[n - 1] * Math.sqrt(squares / (n - 1) / n) : 0};
}

function grouped(placed, keys) {  // lists of those that agree in the keys
  const groups = new Map();
  for (const p of placed) {
    const name = lineName(p.i, keys);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(p);
  }
  return [...groups.values()];
}

// Points that differ in nothing but the joined key make a line, in that key's order.
function linesOf(figure, placed) {
  const f = byId.get(figure.join);
  if (!f) return [];
  const keys = lineKeys(figure.join);
  return grouped(placed, seed && f !== seed ? [...keys, seed] : keys)
      .filter(line => line.length > 1)
      .map(line => line.sort((a, b) => rankOf(f, a.i) - rankOf(f, b.i)));
}

// --- What a reader most likely wants first ---

const loadKey = () =>
    varied.find(f => f.numeric && /rate|concurrency|load/.test(f.id) && distinct(f).length > 1);

function defaultColour(join) {
  const lines = new Set(points.map((_, i) => lineName(i, lineKeys(join)))).size;
  if (join && lines > 1 && lines <= 16) return byLine;
  const candidates = varied.filter(f => f.id !== join && f !== seed && distinct(f).length > 1);
  return (candidates.find(f => distinct(f).length <= 8) || candidates[0])?.id || '';
}

function defaultFigures() {
  const first = ids => ids.find(id => byId.get(id)?.numeric);
  const load = loadKey(), join = load ? load.id : '';
  const figures = [];
  const add = (x, y, more) => {
    const along = more.join ?? join;
    if (x && y)
      figures.push({
        x,
        y,
        colour: defaultColour(along),
        logX: false,
        logY: false,
        pareto: false,
        ...more,
        join: along
      });
  };
  add(first(['tokens_per_s_per_user']), first(['tokens_per_s_per_device', 'output_throughput']),
      {pareto: true});
  // A key that makes lines, or else the first there is.
  const count = keys => new Set(points.map((_, i) => lineName(i, keys))).size;
  const keys = lineKeys(''), other = keys.find(f => f.numeric && count(lineKeys(f.id)) < count(keys));
  if (load)
    add(first(['output_throughput']), first(['p99_ttft_ms', 'median_ttft_ms']), {logY: true});
  else
    add((other || keys[0] || byId.get('index')).id,
        first(['capacity_rate_per_s', 'output_throughput', 'training_0_samples_per_s']),
        {join: other ? other.id : ''});
  if (!figures.length && metrics.length > 0) add('index', metrics[0].id, {});
  return figures;
}
