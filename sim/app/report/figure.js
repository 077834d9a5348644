// A chart card: its controls, its legend, and the Chart.js chart of the points shown.
const figures = [];

class Figure {
  constructor(options, parent) {
    this.options = options;
    this.canvas = element('canvas', {role: 'img'});
    this.legend = element('div', {class: 'legend'});
    this.caption = element('p', {class: 'caption'});
    this.zoomBox = element('div', {class: 'zoom', hidden: true});
    this.hidden = new Set();  // groups switched off in the legend
    this.card = element(
        'figure', {class: 'card'}, this.controls(),
        element('div', {class: 'canvas'}, this.canvas, this.zoomBox), this.legend,
        element(
            'div', {class: 'foot'}, this.caption,
            element('button', {class: 'quiet', title: 'Save as PNG', onclick: () => this.save()}, '⤓'),
            element(
                'button', {class: 'quiet', title: 'Remove this chart', onclick: () => this.remove()}, '×')));
    parent.append(this.card);
    this.chart = new Chart(this.canvas, this.config());
    zoomable(this);
    this.canvas.addEventListener('mouseleave', () => {
      hideTip();
      markRow(null);
    });
    this.draw();
  }

  controls() {
    const set = key => value => {
      this.options[key] = value;
      if (key === 'x' || key === 'y' || key.startsWith('log')) this.range = null;
      if (key === 'colour' || key === 'join') this.hidden.clear();
      this.draw();
      remember();
    };
    const o = this.options, keys = varied.filter(f => distinct(f).length > 1).map(f => [f.id, f.label]);
    return element(
        'div', {class: 'controls'},
        element(
            'span', {class: 'pair'}, selector('y', o.y, axisOptions(), set('y')),
            toggle('log', 'Logarithmic y axis', o.logY, set('logY'))),
        element(
            'span', {class: 'pair'}, selector('x', o.x, axisOptions(), set('x')),
            toggle('log', 'Logarithmic x axis', o.logX, set('logX'))),
        keys.length ? selector(
                          'colour', o.colour,
                          [['', [['', 'one colour'], [byLine, 'each line']]], ['By', keys]], set('colour')) :
                      null,
        keys.length ? selector('lines', o.join, [['', [['', 'none']]], ['Along', keys]], set('join')) : null,
        toggle('Pareto', 'Mark the points that no other one beats on both axes', o.pareto, set('pareto')),
        seed ? toggle(
                   'seeds', 'Every seed by itself, in place of the mean and its 95 % confidence interval',
                   o.seeds, set('seeds')) :
               null);
  }

  config() {
    return {
      type: 'scatter',
      data: {datasets: []},
      plugins: [{afterDatasetsDraw: drawIntervals}, {afterDatasetsDraw: drawBounds}],
      options: {
        animation: false,
        responsive: true,
        maintainAspectRatio: false,
        interaction: {mode: 'nearest', intersect: true},
        plugins: {legend: {display: false}, tooltip: {enabled: false}},
        onHover: (event, found) => this.hover(event.native, found),
        onClick: (event, found) => {
          const p = this.placedOf(found);
          if (p && !this.justZoomed) change('selected', {selected: p.i});
        },
      },
    };
  }

  placedOf(found) {
    for (const {datasetIndex, index} of found) {
      const set = this.chart.data.datasets[datasetIndex];
      if (set.ours !== 'front') return set.data[index];
    }
    return null;
  }

  hover(native, found) {
    const p = this.placedOf(found);
    this.canvas.style.cursor = p ? 'pointer' : 'crosshair';
    markRow(p ? p.i : null);
    if (!p || !native) return hideTip();
    const together = p.all && p.all.length > 1, {i} = p;
    const line = f => [f.label, textOf(f, i)];
    const value = (f, which) =>
        [f.label, together ? `${number(p[which])} ± ${number(p.estimates[which].half)}` : textOf(f, i)];
    const x = byId.get(this.options.x), y = byId.get(this.options.y);
    const rest = mainMetrics.filter(f => f !== x && f !== y && f.values[i] != null).slice(0, 6);
    showTip(
        native.clientX, native.clientY,
        together ? `mean of ${p.all.length} seeds` : `point ${points[i].index}`,
        varied.filter(f => distinct(f).length > 1 && !(together && f === seed)).map(line),
        [[y, 'y'], [x, 'x']].filter(([f]) => f.group === 'metric').map(([f, which]) => value(f, which)),
        together ? [] : rest.map(line));
  }

  // Where the SLO bounds an axis: in sight, unless that would squeeze the points.
  bounds(values, which) {
    const bound = data.slo[this.options[which]], most = Math.max(...values), least = Math.min(...values);
    const log = this.options['log' + which.toUpperCase()], far = log ? 100 : 4;
    return bound === undefined || !values.length ?
        null :
        {bound, inSight: bound <= far * most && least <= far * bound};
  }

  draw() {
    const o = this.options, theme = currentTheme(),
          shown = currentPoints.filter(i => points[i].status === 'done').sort((a, b) => a - b);
    const placed = placedPoints(o, shown), groups = grouping(o, shown, theme);
    const visible = placed.filter(p => !this.hidden.has(groups.of(p.i).name));
    const front = o.pareto ? paretoFront(visible, better(byId.get(o.x)), better(byId.get(o.y))) : [];
    this.onFront = new Set(front.map(p => p.i));
    this.chart.data.datasets =
        [this.frontSet(front), this.pointSet(visible, groups), ...this.lineSets(visible, groups)];
    this.slo = {x: this.bounds(visible.map(p => p.x), 'x'), y: this.bounds(visible.map(p => p.y), 'y')};
    this.chart.slo = this.slo;
    const ends = (which, log) => {  // intervals too; a logarithmic axis would end at whole decades
      const values = visible.flatMap(({[which]: at, estimates}) => {
        const half = estimates ? estimates[which].half : 0;
        return log ? [at] : [at - half, at + half];
      });
      if (!values.length) return {};
      if (this.slo[which]?.inSight) values.push(this.slo[which].bound);
      const least = Math.min(...values), most = Math.max(...values);
      return log ? {min: least / 1.15, max: most * 1.15} : {suggestedMin: least, suggestedMax: most};
    };
    this.chart.options.scales = {
      x: this.axis(byId.get(o.x), o.logX, ends('x', o.logX), 'x'),
      y: this.axis(byId.get(o.y), o.logY, ends('y', o.logY), 'y')
    };
    this.chart.update('none');
    this.drawLegend(groups);
    const found = placed.reduce((sum, p) => sum + (p.all ? p.all.length : 1), 0);
    this.describe(shown.length - found, front.length);
  }

  pointSet(placed, groups) {
    const many = placed.length > 400;
    const set = {
      ours: 'points',
      data: placed,
      order: 1,
      clip: false,
      pointHitRadius: 6,
      pointHoverRadius: 8,
      pointHoverBorderWidth: 2,
      pointHoverBorderColor: css('--text'),
      pointStyle: [],
      pointBackgroundColor: [],
      pointBorderColor: [],
      pointBorderWidth: [],
      pointRadius: [],
    };
    const ring = css('--text'), edge = css('--card');
    for (const {i, all} of placed) {
      const has = point => i === point || Boolean(all?.includes(point));
      const {colour, shape} = groups.of(i), shown = has(view.selected) || has(view.pinned);
      const fill = faded(colour, this.options.pareto && !this.onFront.has(i) ? 0.35 : many ? 0.8 : 0.95);
      set.pointStyle.push(shape);
      set.pointBackgroundColor.push(fill);
      set.pointBorderColor.push(shown ? ring : shape === 'crossRot' ? fill : edge);
      set.pointBorderWidth.push(shown ? 2.5 : shape === 'crossRot' ? 2 : many ? 0.5 : 1);
      set.pointRadius.push(has(view.selected) ? 9 : has(view.pinned) ? 7 : many ? 3.5 : 5);
    }
    return set;
  }

  lineSets(placed, groups) {
    return linesOf(this.options, placed)
        .map(line => ({
               ours: 'line',
               data: line,
               order: 3,
               showLine: true,
               pointRadius: 0,
               pointHitRadius: 0,
               pointHoverRadius: 0,
               borderWidth: 1.5,
               borderColor: faded(groups.of(line[0].i).colour, this.options.pareto ? 0.35 : 0.7),
             }));
  }

  frontSet(front) {
    return {
      ours: 'front',
      data: front,
      order: 2,
      showLine: true,
      pointRadius: 0,
      pointHitRadius: 0,
      pointHoverRadius: 0,
      borderWidth: 2,
      borderDash: [6, 4],
      borderColor: css('--text')
    };
  }

  axis(f, log, ends, which) {
    const categories = f.numeric ? null : distinct(f);
    return {
      ...(this.range?.[which] || (categories ? {min: -0.5, max: categories.length - 0.5} : ends)),
      ...axisStyle(f.label, log && f.numeric ? 'logarithmic' : 'linear', categories),
    };
  }

  drawLegend(groups) {
    this.legend.replaceChildren();
    if (!groups.colours && groups.list.length < 2) return;
    this.legend.append(element('span', {class: 'muted'}, groups.keys.map(f => f.label).join(' · ') + ':'));
    if (groups.colours)
      this.legend.append(
          text(groups.from),
          element(
              'span',
              {class: 'ramp', style: `background:linear-gradient(90deg, ${groups.colours.join(',')})`}),
          text(groups.to));
    for (const g of groups.list.slice(0, most_groups)) this.legend.append(this.legendKey(g));
    if (groups.list.length > most_groups)
      this.legend.append(element('span', {class: 'muted'}, `and ${groups.list.length - most_groups} more`));
  }

  legendKey(group) {
    const switchIt = () => {
      if (!this.hidden.delete(group.name)) this.hidden.add(group.name);
      this.draw();
    };
    return element(
        'button', {
          class: 'key',
          'aria-pressed': String(!this.hidden.has(group.name)),
          title: group.name,
          onclick: switchIt
        },
        swatch(group), shortened(group.name, 48));
  }

  describe(missing, onFront) {
    const o = this.options, sense = f => (better(f) > 0 ? 'higher' : 'lower'), said = [];
    if (o.pareto)
      said.push(`${onFront} on the Pareto front: ${sense(byId.get(o.y))} y and ${
          sense(byId.get(o.x))} x are better`);
    for (const which of ['y', 'x'])
      if (this.slo[which] && !this.slo[which].inSight)
        said.push(
            `the SLO on ${byId.get(o[which]).label}, ${number(this.slo[which].bound)}, is out of sight`);
    if (missing > 0) said.push(`${missing} point${missing > 1 ? 's' : ''} without a value here`);
    this.caption.textContent = said.join(' · ');
    this.canvas.setAttribute('aria-label', `${byId.get(o.y).label} against ${byId.get(o.x).label}`);
  }

  save() {
    const name = `${this.options.y}_${this.options.x}.png`;
    element('a', {href: this.chart.toBase64Image('image/png', 1), download: name}).click();
  }

  remove() {
    this.chart.destroy();
    this.card.remove();
    figures.splice(figures.indexOf(this), 1);
    view.figures.splice(view.figures.indexOf(this.options), 1);
    remember();
  }
}

function addFigure(options) { figures.push(new Figure(options, $('figures'))); }

// The confidence intervals of means over seeds, as bars through their points.
function drawIntervals(chart) {
  const {ctx, chartArea: area, scales: {x, y}} = chart,
                                           set = chart.data.datasets.find(d => d.ours === 'points');
  ctx.save();
  ctx.beginPath();
  ctx.rect(area.left, area.top, area.width, area.height);
  ctx.clip();
  ctx.lineWidth = 1.2;
  set?.data.forEach((p, k) => {
    if (!p.estimates) return;
    ctx.strokeStyle = set.pointBackgroundColor[k];
    const across = x.getPixelForValue(p.x), down = y.getPixelForValue(p.y), {x: ex, y: ey} = p.estimates;
    const line = (a, b, c, d) => {
      ctx.beginPath();
      ctx.moveTo(a, b);
      ctx.lineTo(c, d);
      ctx.stroke();
    };
    line(across, y.getPixelForValue(ey.mean - ey.half), across, y.getPixelForValue(ey.mean + ey.half));
    line(x.getPixelForValue(ex.mean - ex.half), down, x.getPixelForValue(ex.mean + ex.half), down);
  });
  ctx.restore();
}
