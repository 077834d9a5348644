// Puts the page together.
const dark = matchMedia('(prefers-color-scheme: dark)');
const narrow = matchMedia('(max-width: 899px)');
let theme = null;  // chosen
const currentTheme = () => theme || (dark.matches ? 'dark' : 'light');

function drawTheme() {
  document.documentElement.dataset.theme = currentTheme();
  drawAll();
}

// On a phone one group is open: what is turned most.
function foldPanel() {
  [...document.querySelectorAll('.group')].forEach((group, i) => group.open = !narrow.matches || i === 0);
}

function listen() {
  $('panel').addEventListener('submit', event => event.preventDefault());
  $('pin').addEventListener('click', pin);
  $('reset').addEventListener('click', () => {
    changes.clear();
    changed(true);
  });
  $('copy-scenario')
      .addEventListener('click', () => copy($('copy-scenario'), 'The scenario', scenarioText()));
  $('copy-command').addEventListener('click', () => copy($('copy-command'), 'The command', commandText()));
  $('copied-close').addEventListener('click', () => $('copied').close());
  $('theme').addEventListener('click', () => {
    theme = currentTheme() === 'dark' ? 'light' : 'dark';
    drawTheme();
  });
  dark.addEventListener('change', drawTheme);
  narrow.addEventListener('change', foldPanel);
}

document.documentElement.dataset.theme = currentTheme();
$('version').textContent = data.version;
recall();
listen();
makeCharts();
makePanel();
foldPanel();
changedAt = performance.now();
ask();
