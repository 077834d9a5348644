// The page of a single run: cards of its main metrics, its latencies' distribution and its course in time, in
// place of the table.
function showCurves() {
  const {latencies, course} = data.curves, parent = $('figures');
  const cdf =
      Object.entries(latencies)
          .filter(([, q]) => q.length > 1)
          .map(([name, q]) => ({name: spelt[name], points: q.map((x, i) => ({x, y: i / (q.length - 1)}))}));
  const bounds =
      Object.keys(spelt).filter(id => id in data.slo).map(id => ({bound: data.slo[id], name: spelt[id]}));
  if (cdf.length)
    figures.push(new Distribution('Latencies', 'ms', 'share of requests', cdf, parent, {bounds}));
  const time = course.time_s || [];
  const add = (title, label, names) => {
    const lines = Object.entries(names)
                      .filter(([id]) => id in course)
                      .map(([id, name]) => ({name, points: time.map((x, i) => ({x, y: course[id][i]}))}));
    if (lines.length && time.length > 1) figures.push(new Curves(title, 'time (s)', label, lines, parent));
  };
  const busy = Object.keys(course)
                   .filter(id => id.endsWith('_utilisation') && !id.endsWith('link_utilisation'))
                   .slice(0, 8);
  add('Requests', 'requests', {running: 'running', waiting: 'waiting'});
  add('Output', 'tokens/s', {output_tokens_per_s: 'output tokens/s'});
  add('KV cache', 'blocks', {kv_blocks_used: 'blocks used'});
  add('Utilisation', 'share of time',
      Object.fromEntries(busy.map(id => [id, id.replace(/_utilisation$/, '').replaceAll('_', ' ')])));
  showPrompts(parent);
}

// Where prompts' tokens came from: each source upon those before it, as an area.
function showPrompts(parent) {
  const prompts = data.curves.prompts;
  if (!prompts) return;
  const line = (name, values) => ({name, points: prompts.time_s.map((x, i) => ({x, y: values[i]}))});
  const sum = prompts.time_s.map(() => 0);
  const stacked = Object.entries(prompts.tokens_per_s).map(([name, values]) => {
    values.forEach((v, i) => sum[i] += v);
    return {...line(name, [...sum]), fill: '-1', own: values};
  });
  if (stacked.length) stacked[0].fill = 'origin';
  figures.push(new Curves('Where prompts came from', 'time (s)', 'prompt tokens/s', stacked, parent));
  figures.push(new Curves(
      'Found of prompts', 'time (s)', '% of their tokens', [line('found or loaded', prompts.hit_percent)],
      parent));
  const along = (id) => prompts.tenths.map(t => ({x: t.from_percent + 5, y: t[id]}));
  if (prompts.tenths.length > 1)
    figures.push(new Curves(
        'TTFT by what was found', '% of the prompt that was found', 'TTFT (ms)',
        [{name: 'median', points: along('p50_ttft_ms')}, {name: '90 %', points: along('p90_ttft_ms')}],
        parent, {unit: '%'}));
}

const spelt = {
  ttft_ms: 'TTFT',
  tpot_ms: 'TPOT',
  e2el_ms: 'end to end'
};

function showRun() {
  document.body.classList.add('run');
  $('points').hidden = true;
  $('cards').hidden = false;
  for (const f of mainMetrics.filter(f => f.values[0] != null))
    $('cards').append(element(
        'div', {class: 'card', title: f.id}, element('b', null, textOf(f, 0)),
        element('span', null, f.label)));
  showCurves();
  change('selected', {selected: 0});
}
