// What stands above the table: a filter for each varied key, a list of values or a range for a key with many;
// the choice of columns; the table as CSV.
const many_values = 24;

function drawFilters() {
  $('clear').hidden = !view.text && Object.keys(view.filters).length === 0;
  for (const menu of $('filters').children) {
    const filter = view.filters[menu.dataset.field];
    menu.classList.toggle('active', filter !== undefined);
    for (const box of menu.querySelectorAll('input[type=checkbox]'))
      box.checked = !filter || filter.includes(box.value);
    if (!filter)
      for (const box of menu.querySelectorAll('input[type=number]')) box.value = '';
  }
}

function setFilter(id, filter) {
  const filters = {...view.filters};
  if (filter === null)
    delete filters[id];
  else
    filters[id] = filter;
  change('rows', {filters});
}

function filterMenu(f) {
  const pop = element('div', {class: 'pop'});
  if (f.numeric && distinct(f).length > many_values) {
    const end = key => element('input', {
      type: 'number',
      step: 'any',
      placeholder: text(distinct(f).at(key === 'from' ? 0 : -1).value),
      'aria-label': `${f.label} ${key}`,
      value: view.filters[f.id]?.[key]
    });
    const from = end('from'), to = end('to');
    const set = () => setFilter(f.id, from.value === '' && to.value === '' ? null : {
      ...(from.value === '' ? {} : {from: Number(from.value)}),
      ...(to.value === '' ? {} : {to: Number(to.value)})
    });
    for (const box of [from, to]) box.addEventListener('input', set);
    pop.append(element('div', {class: 'range'}, from, '–', to));
  } else {
    const boxes = distinct(f).map(d => element('input', {
                                    type: 'checkbox',
                                    value: d.shown,
                                    onchange: () => {
                                      const chosen = boxes.filter(b => b.checked).map(b => b.value);
                                      setFilter(f.id, chosen.length === boxes.length ? null : chosen);
                                    }
                                  }));
    const only = (value, e) => {
      e.preventDefault();
      setFilter(f.id, [value]);
    };
    pop.append(
        element('button', {class: 'quiet', onclick: () => setFilter(f.id, null)}, 'all'),
        ...boxes.map(
            b => element(
                'label', null, b, element('span', {class: 'name'}, shortened(b.value, 50)),
                element('button', {class: 'only', onclick: e => only(b.value, e)}, 'only'))));
  }
  return element(
      'details', {class: 'menu', 'data-field': f.id}, element('summary', {title: f.id}, f.label), pop);
}

function makeFilters() {
  const statuses = byId.get('status');
  for (const f of [...varied, statuses])
    if (distinct(f).length > 1) $('filters').append(filterMenu(f));
}

function makeChooser() {
  const list = $('chooser').querySelector('.pop');
  const search = element('input', {
    type: 'search',
    placeholder: 'Find a column',
    'aria-label': 'Find a column',
    oninput: () => {
      for (const label of list.querySelectorAll('label'))
        label.hidden = !(label.textContent + label.title).toLowerCase().includes(search.value.toLowerCase());
    }
  });
  list.append(search);
  const choose = f => e => {
    const chosen = new Set(view.columns);
    if (e.target.checked)
      chosen.add(f.id);
    else
      chosen.delete(f.id);
    change(
        'columns',
        {columns: fields.filter(g => chosen.has(g.id)).sort((a, b) => order(a) - order(b)).map(g => g.id)});
  };
  const standing = ['index', ...varied.map(f => f.id), 'status', ...mainMetrics.map(f => f.id)];
  const order = f => (standing.includes(f.id) ? standing.indexOf(f.id) : standing.length + fields.indexOf(f));
  for (const f of [...fields].sort((a, b) => order(a) - order(b)))
    list.append(element(
        'label', {title: f.id},
        element('input', {type: 'checkbox', checked: view.columns.includes(f.id), onchange: choose(f)}),
        element('span', {class: 'name'}, f.id === 'index' ? '#' : f.label)));
}

function saveCsv() {
  const quoted = v => {
    const plain = v === undefined || v === null ? '' : typeof v === 'object' ? JSON.stringify(v) : String(v);
    return /[",\n]/.test(plain) ? '"' + plain.replaceAll('"', '""') + '"' : plain;
  };
  const lines =
      [columns().map(f => quoted(f.id)), ...currentPoints.map(i => columns().map(f => quoted(f.values[i])))];
  const url =
      URL.createObjectURL(new Blob([lines.map(l => l.join(',')).join('\n') + '\n'], {type: 'text/csv'}));
  element('a', {href: url, download: 'points.csv'}).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
