// The charts: what a load does to latency, how latencies are spread, the KV cache over time.
const charts = {};
let latency = 'p99_ttft_ms';
const latencies = [
  ['p99_ttft_ms', 'TTFT p99'], ['median_ttft_ms', 'TTFT p50'], ['p99_tpot_ms', 'TPOT p99'],
  ['median_tpot_ms', 'TPOT p50'], ['p99_e2el_ms', 'end to end p99'], ['median_e2el_ms', 'end to end p50']
];

// Points of a line, lowest load first; the scenario's own is a large one.
class Loads extends Curves {
  hover(native, found) {
    if (!found.length || !native) return hideTip();
    const line = this.lines[found[0].datasetIndex], {run} = line.points[found[0].index];
    showTip(native.clientX, native.clientY, line.name, [
      ['requests/s', number(run.request_throughput)], ['output tokens/s', number(run.output_throughput)],
      ...latencies.slice(0, 4).map(([id, name]) => [name, `${text(run[id])} ms`])
    ]);
  }

  axes() {
    const y = this.lines.flatMap(l => l.points.map(p => p.y)).filter(v => v > 0);
    const log = y.length > 0 && Math.max(...y) > 20 * Math.min(...y);
    return {
      x: {...axisStyle(this.xLabel, 'linear'), min: 0},
      y: {...axisStyle(this.yLabel, log ? 'logarithmic' : 'linear'), ...(log ? {} : {min: 0})}
    };
  }
}

function makeCharts() {
  const parent = $('figures');
  charts.loads = new Loads('Throughput against latency', 'output tokens/s', 'ms', [], parent);
  charts.loads.card.querySelector('h2').append(selector('', latency, [['', latencies]], value => {
    latency = value;
    drawLoadChart();
  }));
  charts.loads.card.querySelector('select').setAttribute('aria-label', 'Latency');
  charts.loads.chart.options.interaction = {mode: 'nearest', intersect: false};
  charts.ttft = new Distribution('Time to first token', 'ms', 'share of requests', [], parent);
  charts.tpot = new Distribution('Time per output token', 'ms', 'share of requests', [], parent);
  charts.kv = new Curves('KV cache over time', 'time (s)', '% of its blocks', [], parent);
  charts.queue = new Curves('Requests over time (dotted: waiting)', 'time (s)', 'requests', [], parent);
  parent.append(element(
      'figure', {class: 'card'}, element('h2', null, 'Where the time goes'), element('div', {id: 'times'})));
}

function drawLoadChart() {
  const chart = charts.loads, slo = answers.shown.scenario.slo || {};
  const bound = slo[latency.endsWith('ttft_ms') ? 'ttft_ms' : latency.endsWith('tpot_ms') ? 'tpot_ms' : ''];
  chart.yLabel = `${latencies.find(([id]) => id === latency)[1]} (ms)`;
  chart.lines =
      allRuns()
          .map(({run, name, colour, dash}) => {
            const points = [{...run.summary, order: 4}, ...run.loads]
                               .filter(r => typeof r[latency] === 'number')
                               .map(r => ({x: r.output_throughput, y: r[latency], run: r}))
                               .sort((a, b) => a.run.order - b.run.order);
            return {name, colour, dash, points, radius: points.map(p => (p.run.order === 4 ? 6 : 2.5))};
          })
          .filter(line => line.points.length);
  chart.yBounds = typeof bound === 'number' ? [{bound}] : [];
  chart.draw();
}

function drawDistribution(chart, id) {
  const slo = answers.shown.scenario.slo?.[id];
  chart.bounds = typeof slo === 'number' ? [{bound: slo}] : [];
  chart.lines = allRuns().filter(({run}) => run.latencies[id].length > 1).map(({run, ...look}) => {
    const q = run.latencies[id];
    return {...look, points: q.map((x, i) => ({x, y: i / (q.length - 1)}))};
  });
  chart.draw();
}

function drawCourses() {
  const line = (run, values, look) =>
      ({...look, points: run.course.time_s.map((x, i) => ({x, y: values[i]}))});
  charts.kv.lines = allRuns().map(({run, ...look}) => {
    const blocks = run.summary.kv_cache?.blocks || 0;
    return line(run, run.course.kv_blocks_used.map(b => (blocks > 0 ? 100 * b / blocks : 0)), look);
  });
  charts.kv.draw();
  const both = ({run, name, colour, dash}) =>
      [line(run, run.course.running, {name, colour, dash}),
       line(run, run.course.waiting, {name: `${name}, waiting`, colour, dash: [2, 3], unlisted: true})];
  charts.queue.lines = allRuns().flatMap(both);
  charts.queue.draw();
}

function drawAnswer() {
  if (!answers.shown) return;
  drawCards();
  drawPins();
  drawDistribution(charts.ttft, 'ttft_ms');
  drawDistribution(charts.tpot, 'tpot_ms');
  drawCourses();
  drawTimes();
  const {summary, evidence} = answers.shown;
  $('about').textContent = `Bound by ${summary.bound.by}: ${summary.bound.reason}`;
  $('notes').replaceChildren(...[evidence, summary.energy_note, ...(summary.notes || [])].filter(Boolean).map(
      note => element('p', null, note)));
}

function drawAll() {
  drawAnswer();
  if (answers.shown) drawLoadChart();
}
