// Charts of lines: courses in time and distributions, with dashed lines where an SLO bounds them.
class Curves {
  // lines: {name, points: [{x, y}]}; of stacked ones `own`, what each adds. A line may have a colour, a dash
  // and the radius of its points of its own, and may be unlisted in the legend. Further: the unit of x, and
  // bounds of x: [{bound, name}].
  constructor(title, xLabel, yLabel, lines, parent, {unit = 's', bounds = []} = {}) {
    Object.assign(this, {xLabel, yLabel, lines, unit, bounds});
    this.canvas = element('canvas', {role: 'img', 'aria-label': title});
    this.legend = element('div', {class: 'legend'});
    this.card = element(
        'figure', {class: 'card'}, element('h2', null, title), element('div', {class: 'canvas'}, this.canvas),
        this.legend);
    parent.append(this.card);
    const options = {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      normalized: true,
      interaction: {mode: 'nearest', axis: 'x', intersect: false},
      plugins: {legend: {display: false}, tooltip: {enabled: false}},
      onHover: (event, found) => this.hover(event.native, found)
    };
    const plugins = [{afterDatasetsDraw: drawBounds}];
    this.chart = new Chart(this.canvas, {type: 'scatter', data: {datasets: []}, options, plugins});
    this.canvas.addEventListener('mouseleave', hideTip);
    this.draw();
  }

  hover(native, found) {
    if (!found.length || !native) return hideTip();
    const at = found[0].index;
    const rows =
        this.lines.filter(l => at < l.points.length)
            .map(
                l =>
                    [l.name, this.byY ? number(l.points[at].x) : number(l.own ? l.own[at] : l.points[at].y)]);
    const p = this.lines[found[0].datasetIndex].points[at];
    showTip(
        native.clientX, native.clientY,
        this.byY ? `${number(100 * p.y)} % within` : `${number(p.x)} ${this.unit}`, rows);
  }

  colour(line, i) {
    const palette = palettes[currentTheme()];
    return line.colour || palette[i % palette.length];
  }

  axes() {
    const logX = this.byY && Math.min(...this.lines.map(l => l.points[0].x)) > 0;
    return {
      x: axisStyle(this.xLabel, logX ? 'logarithmic' : 'linear'),
      y: {...axisStyle(this.yLabel, 'linear'), min: 0}
    };
  }

  draw() {
    this.chart.data.datasets = this.lines.map((l, i) => ({
                                                data: l.points,
                                                fill: l.fill || false,
                                                showLine: true,
                                                pointRadius: l.radius || 0,
                                                pointHoverRadius: 4,
                                                borderWidth: 2,
                                                borderDash: l.dash || [],
                                                borderColor: this.colour(l, i),
                                                backgroundColor: this.colour(l, i),
                                              }));
    this.chart.options.scales = this.axes();
    const key = (l, i) =>
        (l.unlisted ?
             null :
             element('span', null, swatch({shape: 'circle', colour: this.colour(l, i)}), ' ' + l.name));
    this.legend.replaceChildren(...this.lines.map(key).filter(Boolean));
    this.chart.slo = {x: this.bounds, y: this.yBounds || []};
    const most = Math.max(...this.bounds.map(s => s.bound), ...this.lines.flatMap(l => l.points.at(-1)?.x));
    if (this.bounds.length && this.lines.length) this.chart.options.scales.x.max = 1.1 * most;
    this.chart.update('none');
  }
}

class Distribution extends Curves {
  get byY() { return true; }

  axes() {
    const {x, y} = super.axes();
    return {x: {...x, ticks: {...x.ticks, maxRotation: 0}}, y: {...y, max: 1}};
  }
}

// Dashed where the SLO bounds what is drawn.
function drawBounds(chart) {
  const {ctx, chartArea: area, scales} = chart;
  for (const which of ['x', 'y']) {
    for (const {bound, name} of [chart.slo?.[which] || []].flat()) {
      if (bound < scales[which].min || bound > scales[which].max) continue;
      const at = scales[which].getPixelForValue(bound), upright = which === 'x';
      ctx.save();
      ctx.setLineDash([5, 4]);
      ctx.lineWidth = 1.2;
      ctx.strokeStyle = ctx.fillStyle = css('--bad');
      ctx.beginPath();
      ctx.moveTo(...(upright ? [at, area.top] : [area.left, at]));
      ctx.lineTo(...(upright ? [at, area.bottom] : [area.right, at]));
      ctx.stroke();
      ctx.font = `11px ${css('--font')}`;
      ctx.textAlign = name ? 'left' : 'right';  // beside a curve that rises to its left
      const label = `SLO${name ? ' ' + name : ''} ${number(bound)}`;
      if (name)
        ctx.fillText(label, at + 4, area.bottom - (name === 'TPOT' ? 34 : 20));
      else if (upright)
        ctx.fillText(label, at - 4, area.top + 11);
      else
        ctx.fillText(label, area.right - 4, at - 4);
      ctx.restore();
    }
  }
}
