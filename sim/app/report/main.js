// Puts the page together.
const dark = matchMedia('(prefers-color-scheme: dark)');
let printing = false;
const currentTheme = () => (printing ? 'light' : view.theme || (dark.matches ? 'dark' : 'light'));

function drawTheme() {
  document.documentElement.dataset.theme = currentTheme();
  for (const figure of figures) figure.draw();
}

function drawFigures(what) {
  if (what === 'rows' || what === 'selected')
    for (const figure of figures) figure.draw();
  if (what === 'theme') drawTheme();
}

function describePage() {
  const failed = points.filter(p => p.status !== 'done').length;
  const keys =
      varied.filter(f => distinct(f).length > 1).map(f => `${f.label} (${distinct(f).length})`).join(', ');
  $('about').textContent = data.sweep ?
      `${points.length} points${failed ? `, ${failed} failed` : ''}` +
          `${
              data.missing ?
                  `, ${data.missing} have no result yet (the sweep was interrupted or is running)` :
                  ''}` +
          `${keys ? ' over ' + keys : ''}` :
      summaryOf(0)?.bound?.reason || '';
  $('version').textContent = data.version;
  $('energy-note').textContent = energyNote && `* ${energyNote}.`;
}

function showVerdict() {
  const {asked, answers} = data.verdict, most = 20;
  $('verdict').hidden = false;
  $('verdict').append(
      element('p', {class: 'muted'}, asked),
      element(
          'ul', null,
          ...answers.slice(0, most).map(
              ([winner, next]) => element(
                  'li', null, element('b', null, winner),
                  next ? element('span', {class: 'muted'}, next) : null))));
  if (answers.length > most)
    $('verdict').append(element('p', {class: 'muted'}, `and ${answers.length - most} more`));
}

function listen() {
  $('theme').addEventListener(
      'click', () => change('theme', {theme: currentTheme() === 'dark' ? 'light' : 'dark'}));
  dark.addEventListener('change', () => change('theme', {}));
  addEventListener('beforeprint', () => {
    printing = true;
    allRows = true;
    drawRows();
    drawTheme();
    for (const f of figures) f.chart.resize();
  });
  addEventListener('afterprint', () => {
    printing = false;
    allRows = false;
    drawRows();
    drawTheme();
    for (const f of figures) f.chart.resize();
  });
  $('filter').addEventListener('input', () => change('rows', {text: $('filter').value}));
  $('clear').addEventListener('click', () => {
    $('filter').value = '';
    change('rows', {text: '', filters: {}});
  });
  $('best').addEventListener('click', () => change('rows', {sort: 'rank', descending: false}));
  $('csv').addEventListener('click', saveCsv);
  $('more').addEventListener('click', () => {
    allRows = true;
    drawRows();
  });
  $('add-figure').addEventListener('click', () => {
    view.figures.push({...(view.figures.at(-1) || defaultFigures()[0])});
    addFigure(view.figures.at(-1));
    remember();
  });
  const pointAt = e => {
    const row = e.target.closest('tr[data-point]');
    return row ? Number(row.dataset.point) : null;
  };
  const body = $('table').tBodies[0];
  body.addEventListener('click', e => {
    if (pointAt(e) !== null && !String(getSelection())) change('selected', {selected: pointAt(e)});
  });
  document.addEventListener('keydown', keyPressed);
  document.addEventListener('click', e => {
    for (const menu of document.querySelectorAll('details.menu[open]'))
      if (!menu.contains(e.target)) menu.open = false;
  });
}

function keyPressed(e) {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
  const row = e.target.closest?.('tr[data-point]');
  if (e.key === 'Enter' && row) change('selected', {selected: Number(row.dataset.point)});
  if (e.key === 'Escape' && data.sweep) change('selected', {selected: null});
  if ((e.key === 'ArrowDown' || e.key === 'ArrowUp') && view.selected !== null && data.sweep) {
    const next = currentPoints[currentPoints.indexOf(view.selected) + (e.key === 'ArrowDown' ? 1 : -1)];
    if (next !== undefined) {
      e.preventDefault();
      change('selected', {selected: next});
    }
  }
}

if (data.sweep && metrics.length > 0) view.figures = defaultFigures();
recall();
document.documentElement.dataset.theme = currentTheme();
describePage();
listen();
if (data.sweep) {
  if (points.length) showVerdict();
  $('filter').value = view.text;
  makeFilters();
  makeChooser();
  drawTable('columns');
  if (metrics.length === 0) $('figures').closest('section').hidden = true;
  for (const options of view.figures) addFigure(options);
  onChange(drawTable);
  onChange(drawFigures);
  onChange(drawDetail);
  onChange(what => {
    if (what === 'selected') scrollToRow(view.selected);
  });
  if (view.selected !== null) change('selected', {});
} else {
  onChange(drawFigures);
  onChange(drawDetail);
  showRun();
}
