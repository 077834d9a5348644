// Everything about the selected point: its keys, metrics beside those of the pinned point, scenario, summary.
let tab = 'metrics';

function drawDetail(what) {
  if (what !== 'selected') return;
  const panel = $('detail'), i = view.selected;
  document.body.classList.toggle('with-detail', i !== null);
  panel.hidden = i === null;
  if (i === null) return;
  const p = points[i], summary = summaryOf(i);
  const tabs = {
    metrics: () => metricList(i),
    scenario: () => jsonView(summary?.scenario, varied.map(f => f.id)),
    summary: () => jsonView(summary && {...summary, scenario: undefined}, [])
  };
  const body = element('div', {class: 'body'}, tabs[tab]());
  const tabButton = name => element(
      'button', {
        role: 'tab',
        'aria-selected': String(name === tab),
        onclick: () => {
          tab = name;
          drawDetail('selected');
        }
      },
      name);
  panel.replaceChildren(
      element(
          'div', {class: 'title'}, element('h2', null, data.sweep ? `Point ${p.index}` : 'The run'),
          element('span', {class: 'status ' + p.status}, p.status), element('span', {class: 'gap'}),
          ...(data.sweep ? steps(i) : [])),
      element(
          'dl', {class: 'keys'},
          ...varied.flatMap(f => [element('dt', {title: f.id}, f.label), element('dd', null, textOf(f, i))])),
      p.error ? element('pre', {class: 'error'}, p.error) : '',
      summary ?
          element(
              'div', {role: 'tablist'}, ...Object.keys(tabs).map(tabButton), element('span', {class: 'gap'}),
              tab === 'metrics' ? (data.sweep ? pinButton(i) : null) : copyButton(body)) :
          '',
      summary ? body : '');
}

function steps(i) {
  const at = currentPoints.indexOf(i);
  const to = (symbol, title, other) => element(
      'button', {
        class: 'quiet',
        title,
        disabled: other === undefined,
        onclick: () => change('selected', {selected: other})
      },
      symbol);
  return [
    to('↑', 'The row before (↑)', currentPoints[at - 1]),
    to('↓', 'The row after (↓)', at < 0 ? undefined : currentPoints[at + 1]),
    element(
        'button', {
          class: 'quiet',
          id: 'close',
          title: 'Close (Esc)',
          onclick: () => change('selected', {selected: null})
        },
        '×')
  ];
}

function pinButton(i) {
  const pinned = view.pinned === i;
  return element(
      'button', {
        class: 'toggle',
        'aria-pressed': String(pinned),
        title: 'Show the ratios of other points to this one',
        onclick: () => change('selected', {pinned: pinned ? null : i})
      },
      pinned ? 'pinned' : 'pin to compare');
}

function copyButton(body) {
  return element(
      'button', {
        class: 'quiet',
        title: 'Copy the JSON',
        onclick: e => {
          navigator.clipboard.writeText(body.textContent).then(() => {
            e.target.textContent = 'copied';
          }, () => getSelection().selectAllChildren(body));
        }
      },
      'copy');
}

function metricList(i) {
  const pinned = view.pinned !== null && view.pinned !== i ? view.pinned : null;
  const rest = metrics.filter(f => !mainMetrics.includes(f));
  const row = f => {
    const value = f.values[i], base = pinned === null ? null : f.values[pinned];
    const ratio = base && value != null ? value / base : null;
    const good = ratio === null || !judged(f) || Math.abs(ratio - 1) < 5e-4 ? '' :
        (ratio > 1) === (better(f) > 0)                                     ? 'good' :
                                                                              'bad';
    return element(
        'tr', null, element('th', {scope: 'row', title: f.id}, f.label),
        element('td', {class: 'number'}, inDollars(f, value, exact(value))),
        pinned === null ?
            null :
            element('td', {class: 'number ' + good}, ratio === null ? '' : '×' + ratio.toFixed(3)));
  };
  const head = pinned === null ?
      null :
      element('caption', null, `× is the ratio to point ${points[pinned].index}: ${nameOf(pinned)}`);
  const has = f => f.values[i] !== undefined;
  return element(
      'table', {class: 'metrics'}, head, element('tbody', null, ...mainMetrics.filter(has).map(row)),
      element('tbody', null, ...rest.filter(has).map(row)));
}

// Pretty JSON; what is at one of the pointers is marked.
function jsonView(value, pointers) {
  const pre = element('pre', {class: 'json'}), marks = new Set(pointers);
  const write = (v, at, pad, into) => {
    if (v === null || typeof v !== 'object') {
      const kind = v === null ? 'null' : typeof v;
      into.append(element('span', {class: kind}, JSON.stringify(v)));
      return;
    }
    const list = Array.isArray(v), entries = Object.entries(v).filter(([, below]) => below !== undefined);
    if (entries.length === 0) return into.append(list ? '[]' : '{}');
    into.append(list ? '[' : '{');
    entries.forEach(([key, below], k) => {
      const pointer = at + '/' + key.replaceAll('~', '~0').replaceAll('/', '~1');
      const line = marks.has(pointer) ? into.appendChild(element('mark', null)) : into;
      line.append('\n' + pad + '  ');
      if (!list) line.append(element('span', {class: 'key'}, JSON.stringify(key)), ': ');
      write(below, pointer, pad + '  ', line);
      into.append(k + 1 < entries.length ? ',' : '');
    });
    into.append('\n' + pad + (list ? ']' : '}'));
  };
  if (value)
    write(value, '', '', pre);
  else
    pre.append('none');
  return pre;
}
