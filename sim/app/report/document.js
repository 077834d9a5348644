// Numbers for people, and elements, as every page of ours writes them.
const decimals =
    Array.from({length: 9}, (_, digits) => new Intl.NumberFormat('en', {maximumFractionDigits: digits}));

function number(value) {  // four digits
  if (value === 0) return '0';
  const size = Math.abs(value);
  if (size >= 1e7 || size < 1e-4) return value.toExponential(3).replace(/\.?0+e/, 'e').replace('e+', 'e');
  return decimals[Math.min(Math.max(0, 3 - Math.floor(Math.log10(size))), 8)].format(value);
}

// All the digits there are.
const exact = value =>
    (typeof value === 'number' ? value.toLocaleString('en', {maximumSignificantDigits: 15}) : text(value));

function text(value) {
  if (value === undefined || value === null) return '–';
  if (typeof value === 'number') return number(value);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

const $ = id => document.getElementById(id);

// element('td', {class: 'x', onclick: f}, 'text', child, ...)
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith('on'))
      made.addEventListener(key.slice(2), value);
    else if (typeof value === 'boolean')
      made[key] = value;
    else if (value !== undefined)
      made.setAttribute(key, value);
  }
  made.append(...children.filter(c => c !== undefined && c !== null));
  return made;
}
