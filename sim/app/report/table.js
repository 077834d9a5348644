// The table of points: sorted by its headings, filtered above, linked with the charts.
const most_rows = 2000;  // drawn at once; the rest on demand
let currentPoints = [];
let allRows = false;
const rows = new Map();  // point -> its <tr>, made once for a set of columns

const columns = () => view.columns.map(id => byId.get(id));

function drawHead() {
  const head = columns().map(f => {
    const sorted = view.sort === f.id;
    const sort = () => change(
        'rows',
        sorted ? {descending: !view.descending} :
                 {sort: f.id, descending: f.group === 'metric' && better(f) > 0});
    return element(
        'th', {
          class: f.numeric ? 'number' : '',
          scope: 'col',
          title: f.id,
          'data-field': f.id,
          'aria-sort': sorted ? (view.descending ? 'descending' : 'ascending') : 'none'
        },
        element('button', {onclick: sort}, f.id === 'index' ? '#' : f.label));
  });
  $('table').tHead.replaceChildren(element('tr', null, ...head));
}

function cell(f, i) {
  if (f.id === 'status') {
    const p = points[i];
    return element(
        'td', null, element('span', {class: 'status ' + p.status, title: p.error}, p.status),
        p.error ? element('span', {class: 'why', title: p.error}, shortened(p.error.split('\n')[0], 60)) :
                  null);
  }
  const shown = textOf(f, i);
  return element(
      'td', {class: f.numeric ? 'number' : '', title: shown.length > 40 ? shown : undefined},
      shortened(shown, 40));
}

function rowOf(i) {
  if (!rows.has(i))
    rows.set(i, element('tr', {'data-point': i, tabindex: 0}, ...columns().map(f => cell(f, i))));
  return rows.get(i);
}

function drawRows() {
  const shown = allRows ? currentPoints : currentPoints.slice(0, most_rows);
  $('table').tBodies[0].replaceChildren(...shown.map(rowOf));
  const failed = points.filter(p => p.status !== 'done').length;
  $('count').textContent =
      (currentPoints.length === points.length ? `${points.length} points` :
                                                `${currentPoints.length} of ${points.length} points`) +
      (failed ? `, ${failed} failed` : '') + (view.sort === 'rank' ? ', best first' : '');
  $('best').hidden = view.sort === 'rank';
  $('more').hidden = shown.length === currentPoints.length;
  $('more').textContent = `show all ${currentPoints.length} rows`;
}

function drawTable(what) {
  if (what === 'columns') rows.clear();
  if (what === 'columns' || what === 'rows') {
    currentPoints = shownPoints();
    drawHead();
    drawRows();
    drawFilters();
  }
  if (what !== 'theme') markSelected();
}

function markSelected() {
  for (const row of document.querySelectorAll('tr[aria-selected]')) row.removeAttribute('aria-selected');
  if (view.selected !== null && rows.has(view.selected))
    rows.get(view.selected).setAttribute('aria-selected', 'true');
}

let marked = null;
function markRow(i) {
  if (marked === i) return;
  rows.get(marked)?.classList.remove('hovered');
  rows.get(i)?.classList.add('hovered');
  marked = i;
}

function scrollToRow(i) {  // within the table's own frame: the page stays where it is
  const row = rows.get(i), frame = document.querySelector('.scroll');
  if (!row || !row.isConnected) return;
  const top = row.offsetTop - $('table').tHead.offsetHeight, bottom = row.offsetTop + row.offsetHeight;
  if (top < frame.scrollTop || bottom > frame.scrollTop + frame.clientHeight)
    frame.scrollTop = top - frame.clientHeight / 3;
}
