// The numbers of the run and of the pinned ones, and where their time goes.
const metricOf = (run, name) => name.split('.').reduce((at, key) => at?.[key], run.summary);

const colourOfPin = pin => palettes[currentTheme()][pin.place];
const shownColour = () => palettes[currentTheme()][0];
// The run that is shown first, then the pinned ones.
const allRuns = () =>
    [{run: answers.shown, name: 'now', colour: shownColour()},
     ...answers.pinned.map(pin => ({run: pin, name: pin.name, colour: colourOfPin(pin), dash: [6, 4]}))];

// Short enough for a card: 473.8K.
const compact = new Intl.NumberFormat('en', {notation: 'compact', maximumSignificantDigits: 4});
const onCard = value =>
    (typeof value === 'number' && Math.abs(value) >= 1e5 ? compact.format(value) : text(value));

function drawCards() {
  const card = ([name, label, lower]) => {
    const value = metricOf(answers.shown, name);
    if (value === undefined || (value === null && name === 'request_goodput')) return null;
    const beside = answers.pinned.map(pin => {
      const base = metricOf(pin, name), ratio = base && value !== null ? value / base : null;
      const good = ratio === null || Math.abs(ratio - 1) < 5e-4 ? '' : (ratio > 1) !== lower ? 'good' : 'bad';
      return element(
          'span', {class: 'beside', title: `${pin.name}: ${exact(base)}`},
          swatch({shape: 'circle', colour: colourOfPin(pin)}), ' ',
          element('span', {class: good}, ratio === null ? '–' : '×' + ratio.toFixed(2)));
    });
    return element(
        'div', {class: 'card', title: `${name}: ${exact(value)}`},
        element('b', null, (/dollars/.test(name) && value !== null ? '$' : '') + onCard(value)),
        element('span', null, label), ...beside);
  };
  $('cards').replaceChildren(...data.headlines.map(card).filter(Boolean));
}

// --- Pinned runs ---

function pin() {
  if (!answers.shown) return;
  const free = palettes.light.map((_, i) => i).find(i => i > 0 && !answers.pinned.some(p => p.place === i));
  if (free === undefined) return tell('no more than seven runs can be pinned');
  answers.pinned.push({...answers.shown, name: nameOfChanges(), changes: [...changes], place: free});
  drawAll();
}

function drawPins() {
  $('pins').hidden = answers.pinned.length === 0;
  $('pins').replaceChildren(...answers.pinned.map(
      p => element(
          'span', {class: 'pinned'}, swatch({shape: 'circle', colour: colourOfPin(p)}),
          element(
              'button', {
                class: 'quiet name',
                title: `Back to it: ${p.name}`,
                onclick: () => {
                  changes.clear();
                  for (const [pointer, value] of p.changes) changes.set(pointer, value);
                  changed(true);
                }
              },
              shortened(p.name, 60)),
          element(
              'button', {
                class: 'quiet',
                'aria-label': `Unpin ${p.name}`,
                title: 'Unpin',
                onclick: () => {
                  answers.pinned.splice(answers.pinned.indexOf(p), 1);
                  drawAll();
                }
              },
              '×'))));
}

// --- Where the time goes ---

const bounds = [
  ['compute_bound_s', 'compute', '#0072b2'], ['memory_bound_s', 'memory', '#e69f00'],
  ['link_bound_s', 'links', '#009e73'], ['host_bound_s', 'host', '#cc79a7']
];

// Devices of a run, alike ones of many together: [{label, shares}].
function timesOf(run) {
  const units = run.summary.devices || [], duration = run.summary.duration, groups = new Map();
  for (const unit of units) {
    const own = units.length > 1 && units.length <= 6 ? unit.name : '', label = own || unit.kind;
    const nothing = {count: 0, kind: unit.kind, own, seconds: bounds.map(() => 0)};
    const sum = groups.get(label) || groups.set(label, nothing).get(label);
    sum.count += unit.devices;
    bounds.forEach(([key], i) => sum.seconds[i] += unit.devices * unit[key]);
  }
  return [...groups.values()].map(({count, kind, own, seconds}) => ({
                                    label: own || `${count} × ${kind}`,
                                    title: `${own} ${count} × ${kind}`.trim(),
                                    shares: seconds.map(s => (duration > 0 ? 100 * s / count / duration : 0))
                                  }));
}

function drawTimes() {
  const bar = ({label, title, shares}, colour) => element(
      'div', {
        class: 'time',
        role: 'img',
        'aria-label': `${title}: ` + bounds.map(([, name], i) => `${name} ${text(shares[i])} %`).join(', ')
      },
      element('span', {class: 'of', title}, swatch({shape: 'circle', colour}), ' ' + label),
      element('span', {class: 'bar-of-time'}, ...shares.map((share, i) => {
        const part = element('i', {title: `${bounds[i][1]} ${text(share)} %`});
        part.style.width = `${share}%`;
        part.style.background = bounds[i][2];
        return part;
      })),
      element('span', {class: 'sum'}, `${shares.reduce((a, b) => a + b, 0).toFixed(1)} %`));
  const key = element(
      'div', {class: 'legend'},
      ...bounds.map(([, name, colour]) => element('span', null, swatch({shape: 'rect', colour}), ' ' + name)),
      element('span', {class: 'muted'}, 'the rest: idle'));
  const rows = allRuns().flatMap(({run, colour}) => timesOf(run).map(row => bar(row, colour)));
  $('times').replaceChildren(...rows, key);
}
