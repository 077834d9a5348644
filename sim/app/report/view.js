// What the reader has chosen to see. It is kept in the address, so that a reload or a copied address shows
// the same; whoever draws something registers with onChange.
const view = {
  sort: 'rank',
  descending: false,
  text: '',
  filters: {},  // field -> the values shown, or {from, to}
  columns: ['index', ...varied.map(f => f.id), 'status', ...mainMetrics.map(f => f.id)],
  figures: [],
  selected: null,
  pinned: null,
  theme: null,
};
const listeners = [];
const onChange = draw => listeners.push(draw);

// what: 'rows' (filter, sort), 'columns', 'selected', 'theme'
function change(what, values) {
  Object.assign(view, values);
  for (const draw of listeners) draw(what);
  remember();
}

let remembering;
function remember() {  // not at once: browsers take only so many changes of the address
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const kept = Object.entries(view).filter(([key, value]) => JSON.stringify(value) !== standing[key]);
    const address =
        kept.length ? '#' + encodeURIComponent(JSON.stringify(Object.fromEntries(kept))) : location.pathname;
    try {
      history.replaceState(null, '', address);
    } catch { /* an embedded page has none */
    }
  }, 150);
}

let standing = {};  // what need not be kept
function recall() {
  standing = Object.fromEntries(Object.entries(view).map(([key, value]) => [key, JSON.stringify(value)]));
  let kept;
  try {
    kept = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch {
    return;
  }
  if (!kept || typeof kept !== 'object') return;
  for (const key of Object.keys(view))
    if (key in kept && (view[key] === null || typeof kept[key] === typeof view[key])) view[key] = kept[key];
  view.columns = [].concat(view.columns).filter(id => byId.has(id));
  view.figures = [].concat(view.figures).filter(f => byId.has(f.x) && byId.has(f.y));
  if (!byId.has(view.sort)) view.sort = 'rank';
  if (!points[view.selected]) view.selected = null;
  if (!points[view.pinned]) view.pinned = null;
}

// --- Which points are shown, and in which order ---

const rowTexts = points.map(
    (p, i) => [p.index, p.status, p.error || '', ...varied.map(f => `${f.label}=${textOf(f, i)}`)]
                  .join(' ')
                  .toLowerCase());

function hasWord(point, word) {
  const exact = /^([^=]+)=(.*)$/.exec(word);
  const key = exact && varied.find(f => f.label.toLowerCase() === exact[1]);
  return key ? textOf(key, point).toLowerCase() === exact[2] : rowTexts[point].includes(word);
}

function passes(point, id, filter) {
  const f = byId.get(id), value = f?.values[point];
  if (Array.isArray(filter)) return f && filter.includes(textOf(f, point));
  return value >= (filter.from ?? -Infinity) && value <= (filter.to ?? Infinity);
}

function shownPoints() {
  const words = view.text.toLowerCase().split(/\s+/).filter(Boolean);
  const filters = Object.entries(view.filters);
  const shown =
      points.map((_, i) => i)
          .filter(i => words.every(w => hasWord(i, w)) && filters.every(([id, f]) => passes(i, id, f)));
  const f = byId.get(view.sort), sign = view.descending ? -1 : 1;
  const key = i => (f.numeric ? f.values[i] : f.values[i] == null ? null : textOf(f, i));
  return shown.sort((a, b) => {
    const x = key(a), y = key(b);
    if (x == null || y == null) return (x == null) - (y == null) || a - b;  // what has none comes last
    return sign * (typeof x === 'string' ? x.localeCompare(y, 'en', {numeric: true}) : x - y) || a - b;
  });
}
