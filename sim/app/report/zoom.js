// Dragging a rectangle in a chart shows that part of it, a double click the whole again.
function zoomable(figure) {
  const {canvas, zoomBox} = figure, least = 6;  // pixels; less is a click
  let from = null;
  const place = e => {  // in the canvas, within the axes
    const box = canvas.getBoundingClientRect(), area = figure.chart.chartArea;
    return {
      x: Math.min(Math.max(e.clientX - box.left, area.left), area.right),
      y: Math.min(Math.max(e.clientY - box.top, area.top), area.bottom)
    };
  };
  const between = (scale, a, b) => {
    const ends = [scale.getValueForPixel(a), scale.getValueForPixel(b)].sort((p, q) => p - q);
    return {min: ends[0], max: ends[1]};
  };
  canvas.addEventListener('pointerdown', e => {
    figure.justZoomed = false;
    if (e.button !== 0 || e.pointerType !== 'mouse') return;
    from = place(e);
    canvas.setPointerCapture(e.pointerId);
  });
  canvas.addEventListener('pointermove', e => {
    if (!from) return;
    const to = place(e), width = Math.abs(to.x - from.x), height = Math.abs(to.y - from.y);
    zoomBox.hidden = width < least || height < least;
    const box = {left: Math.min(from.x, to.x), top: Math.min(from.y, to.y), width, height};
    for (const side of Object.keys(box)) zoomBox.style[side] = box[side] + 'px';
  });
  canvas.addEventListener('pointerup', e => {
    if (!from) return;
    const to = place(e), {x, y} = figure.chart.scales;
    if (!zoomBox.hidden) {
      figure.range = {x: between(x, from.x, to.x), y: between(y, from.y, to.y)};
      figure.justZoomed = true;  // the click that follows is not one on a point
      figure.draw();
    }
    from = null;
    zoomBox.hidden = true;
  });
  canvas.addEventListener('dblclick', () => {
    figure.range = null;
    figure.draw();
  });
}
