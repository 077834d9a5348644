// The kinds of controls. Each has the pointer of what it sets, which the problems of a scenario find it by,
// and refresh(), which shows what is set now.
const inputs = [];
let inputsSoFar = 0;

function labelled(pointer, label, control, hint) {
  const problem = element('p', {class: 'problem', id: `problem-${inputsSoFar}`, hidden: true});
  const name = element('label', {for: control.id, title: hint
  }, label);
  const row = element('div', {class: 'input', 'data-pointer': pointer}, name, control, problem);
  control.setAttribute('aria-describedby', problem.id);
  return {row, problem};
}

function addInput(into, pointer, made) {
  inputs.push({pointer, ...made});
  into.append(made.row);
}

// A list of [value, name, title].
function addList(into, pointer, label, options, choose = value => change(pointer, value)) {
  const id = `input-${++inputsSoFar}`;
  const select = element('select', {
    id,
    onchange: () => {
      const chosen = options.find(([value]) => String(value) === select.value);
      choose(chosen ? chosen[0] : select.value);
      changed(true);
    }
  });
  const {row, problem} = labelled(pointer, label, select);
  const refresh = () => {
    const value = typeof choose.shown === 'function' ? choose.shown() : current(pointer) ?? '';
    const known = options.some(([option]) => option === value);
    const own = known ? [] : [[value, typeof value === 'object' ? 'its own numbers' : String(value)]];
    select.replaceChildren(...[...own, ...options].map(
        ([option, name, title]) => element(
            'option', {value: String(option), title: title || undefined, selected: option === value}, name)));
    select.title = options.find(([option]) => option === value)?.[2] || '';
  };
  addInput(into, pointer, {row, problem, refresh, control: select});
}

// A slider over steps that people would choose, and the number itself, which may be any.
function addSlider(into, pointer, label, steps, {unit = '', none = null, whole = false} = {}) {
  const id = `input-${++inputsSoFar}`;
  const slider =
      element('input', {type: 'range', id, min: 0, max: steps.length - 1, step: 1, 'aria-label': undefined});
  const field = element('input', {
    type: 'number',
    step: 'any',
    min: steps[0] > 0 ? 0 : steps[0],
    'aria-label': unit ? `${label}, in ${unit}` : label,
    placeholder: none || ''
  });
  const nearest = value => {
    let best = 0;
    steps.forEach((step, i) => {
      if (Math.abs(step - value) < Math.abs(steps[best] - value)) best = i;
    });
    return best;
  };
  const show = value => {
    const known = typeof value === 'number';
    slider.value = known ? nearest(value) : 0;
    field.value = known ? value : '';
    slider.setAttribute('aria-valuetext', known ? `${text(value)} ${unit}`.trim() : none || 'none');
  };
  const set = (value, letGo) => {
    show(value);
    change(pointer, value);
    changed(letGo);
  };
  slider.addEventListener('input', () => set(steps[slider.value], false));
  slider.addEventListener('change', () => set(steps[slider.value], true));
  field.addEventListener('change', () => {
    const value = field.value === '' ? null : Number(field.value);
    if (value === null && none === null) return show(current(pointer));
    set(value !== null && whole ? Math.round(value) : value, true);
  });
  const {row, problem} = labelled(pointer, label, slider);
  row.classList.add('slider');
  row.insertBefore(
      element('span', {class: 'amount'}, field, unit ? element('span', null, unit) : null), slider);
  addInput(into, pointer, {row, problem, refresh: () => show(current(pointer)), control: slider});
}

function addGroup(title, pointer) {
  const problem = element('p', {class: 'problem', hidden: true});
  const group = element(
      'details', {class: 'card group', open: true, 'data-pointer': pointer}, element('summary', null, title),
      problem);
  $('panel').append(group);
  inputs.push({pointer, row: group, problem, refresh: () => {}});
  return group;
}

// --- Steps ---

// Numbers of two digits, so many a decade: 1, 1.1, 1.3, ...
function decadeSteps(from, to, each = 16, whole = false) {
  const steps = new Set();
  const first = Math.round(each * Math.log10(from)), last = Math.round(each * Math.log10(to));
  for (let i = first; i <= last; ++i) {
    const value = Number((10 ** (i / each)).toPrecision(2));
    steps.add(whole ? Math.max(1, Math.round(value)) : value);
  }
  return [...steps];
}
const doublings = (from, to) => {
  const steps = [];
  for (let value = from; value <= to; value *= 2) steps.push(value);
  return steps;
};
const countTo = most => Array.from({length: most}, (_, i) => i + 1);
