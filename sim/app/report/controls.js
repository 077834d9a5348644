// What charts are made of beside the chart itself: choices, colours, axes, the tip.
const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function selector(label, chosen, options, choose) {
  const select = element('select', {'aria-label': label, onchange: () => choose(select.value)});
  for (const [group, list] of options) {
    const into = group ? select.appendChild(element('optgroup', {label: group})) : select;
    for (const [value, name] of list)
      into.append(element('option', {value, selected: value === chosen}, name));
  }
  return element('label', {class: 'pick'}, element('span', null, label), select);
}

function toggle(label, title, chosen, choose) {
  const button = element(
      'button', {
        class: 'toggle',
        title,
        'aria-pressed': String(chosen),
        onclick: () => {
          const now = button.getAttribute('aria-pressed') !== 'true';
          button.setAttribute('aria-pressed', String(now));
          choose(now);
        }
      },
      label);
  return button;
}

function axisOptions() {
  const of = list => list.map(f => [f.id, f.label]);
  const groups = [
    ['Main metrics', of(mainMetrics)], ['Varied', of(varied)],
    ['All metrics', of(metrics.filter(f => !mainMetrics.includes(f)))], ['Point', [['index', 'point']]]
  ];
  return groups.filter(([, list]) => list.length > 0);
}

function axisStyle(label, type, categories) {
  return {
    type,
    ...(categories && {
      afterBuildTicks: axis => {
        axis.ticks =
            categories.map((_, value) => ({value})).filter(t => t.value >= axis.min && t.value <= axis.max);
      }
    }),
    title: {
      display: true,
      text: label,
      color: css('--text'),
      font: {family: css('--font'), size: 12.5, weight: 500}
    },
    grid: {color: css('--grid'), borderColor: css('--line'), tickColor: css('--line')},
    ticks: {
      color: css('--muted'),
      font: {family: css('--font'), size: 11.5},
      maxRotation: 40,
      callback: function(value) {
        if (categories) return shortened(categories[value]?.shown ?? '', 18);
        const shown = (label.includes('$') ? '$' : '') + number(value);
        if (type === 'linear') return shown;
        const digit = Math.round(value / 10 ** Math.floor(Math.log10(value) + 1e-9)),
              ratio = this.max / this.min;
        return (ratio > 300   ? [1] :
                    ratio > 8 ? [1, 2, 5] :
                                [1, 2, 3, 4, 5, 6, 8])
                   .includes(digit) ?
            shown :
            '';
      },
    },
  };
}

const shortened = (name, most) => (name.length > most ? name.slice(0, most - 1) + '…' : name);

function faded(colour, alpha) {
  const [r, g, b] = colour.startsWith('#') ? [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16)) :
                                             colour.match(/\d+/g);
  return `rgba(${r}, ${g}, ${b}, ${alpha})`;
}

function swatch(group) {
  const paths = {
    circle: 'M6 2a4 4 0 1 0 .01 0z',
    triangle: 'M6 1.5 10.5 10h-9z',
    rect: 'M2.5 2.5h7v7h-7z',
    rectRot: 'M6 1 11 6 6 11 1 6z',
    crossRot: 'M2 3l1-1 3 3 3-3 1 1-3 3 3 3-1 1-3-3-3 3-1-1 3-3z'
  };
  const made = element('span', {class: 'swatch'});
  made.innerHTML = `<svg viewBox="0 0 12 12" width="12" height="12"><path d="${paths[group.shape]}" fill="${
      group.colour}"/></svg>`;
  return made;
}

// --- The tip ---

function showTip(x, y, title, ...blocks) {
  const tip = $('tip');
  tip.replaceChildren(
      element('b', null, title),
      ...blocks.filter(b => b.length)
          .map(
              block => element(
                  'dl', null,
                  ...block.flatMap(
                      ([name,
                        value]) => [element('dt', null, name), element('dd', null, shortened(value, 60))]))));
  tip.hidden = false;
  const left = x + 16 + tip.offsetWidth > innerWidth ? x - 16 - tip.offsetWidth : x + 16;
  tip.style.left = Math.max(4, left) + 'px';
  tip.style.top = Math.max(4, Math.min(y + 12, innerHeight - tip.offsetHeight - 8)) + 'px';
}
function hideTip() { $('tip').hidden = true; }
