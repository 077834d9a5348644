// The scenario's file, what was changed of it, and what both make together.
const data = JSON.parse($('data').textContent);
const changes = new Map();     // pointer -> value, in the order in which they are set
let resolved = data.resolved;  // the last scenario that ran, with its defaults

const wordsOf = pointer =>
    pointer.split('/').slice(1).map(w => w.replaceAll('~1', '/').replaceAll('~0', '~'));

function valueAt(document, pointer) {
  let at = document;
  for (const word of wordsOf(pointer)) {
    if (at === null || typeof at !== 'object' || !Object.hasOwn(at, word)) return undefined;
    at = at[word];
  }
  return at;
}

function setAt(document, pointer, value) {
  const words = wordsOf(pointer), last = words.pop();
  let at = document;
  for (const word of words) {
    if (at[word] === null || typeof at[word] !== 'object') at[word] = {};
    at = at[word];
  }
  at[last] = value;
}

function currentDocument() {
  const document = structuredClone(data.document);
  for (const [pointer, value] of changes) setAt(document, pointer, structuredClone(value));
  return document;
}

// A key that nobody set is as the file was read; below something that was set, as it was when this last ran.
function defaultOf(pointer) {
  const above = [...changes.keys()].some(other => pointer.startsWith(other + '/'));
  return valueAt(above ? resolved : data.resolved, pointer);
}

// As it is set now.
function current(pointer) {
  const set = valueAt(currentDocument(), pointer);
  return set !== undefined ? set : defaultOf(pointer);
}

const equal = (a, b) => JSON.stringify(a) === JSON.stringify(b);

// A value takes along all below it. One as in the file, or as by default, is no change.
function change(pointer, value) {
  for (const other of [...changes.keys()])
    if (other === pointer || other.startsWith(pointer + '/')) changes.delete(other);
  const above = [...changes.keys()].some(other => pointer.startsWith(other + '/'));
  const before = above ? valueAt(currentDocument(), pointer) : current(pointer);
  if (!equal(before, value)) changes.set(pointer, value);
}

// As short as it can be and still be told from others: "tensor 2 · rate per s 16".
function nameOfChanges() {
  const short = pointer => wordsOf(pointer).at(-1).replaceAll('_', ' ').replace(/ per s$/, '');
  const shown = value =>
      (value !== null && typeof value === 'object' ? value.kind || value.name || '…' : text(value));
  const counted = [
    [/devices\/\d+\/count$/, 'devices'], [/nodes\/\d+\/count$/, 'nodes'],
    [/replicas\/\d+\/count$/, 'replicas'], [/requests\/count$/, 'requests']
  ];
  const named = ([pointer, value]) => {
    const things = counted.find(([pattern]) => pattern.test(pointer));
    if (things) return `${shown(value)} ${things[1]}`;
    const key = short(pointer);
    if (/\/kind$|\/name$|^\/model$|interconnect$/.test(pointer)) return shown(value);
    return `${{tensor: 'TP', pipeline: 'PP', expert: 'EP'}[key] || key} ${shown(value)}`;
  };
  return changes.size ? [...changes].map(named).join(' · ') : 'as in the file';
}

// --- In the address, so that a reload shows the same ---

let remembering;
function remember() {  // not at once: browsers take only so many changes of the address
  clearTimeout(remembering);
  remembering = setTimeout(() => {
    const kept = changes.size ? '#' + encodeURIComponent(JSON.stringify([...changes])) : location.pathname;
    history.replaceState(null, '', kept);
  }, 150);
}

function recall() {
  try {
    for (const [pointer, value] of JSON.parse(decodeURIComponent(location.hash.slice(1))))
      changes.set(String(pointer), value);
  } catch { /* none, or not ours */
  }
}
