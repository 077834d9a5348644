// Runs of what is set now: asked of the server, the newest at once, what is older given up.
const answers = {
  shown: null,   // {summary, latencies, course, evidence, scenario, loads}, the last that ran
  pinned: [],    // the same, with a name and a place in the palette
  asked: 0,      // how many runs so far
  lastMs: null,  // from the last change to everything drawn
  error: null,
};
const pageName = crypto.randomUUID();
const patience =
    250;  // ms; while a slider moves, an answer may be waited for so long before the next is asked

let asking = null;  // {since, controller}
let pending = false;
let changedAt = 0;

// Something was set. letGo: not in the middle of a movement.
function changed(letGo) {
  followLayout();
  refreshPanel();
  remember();
  changedAt = performance.now();
  if (letGo || !asking || performance.now() - asking.since > patience)
    ask();
  else
    pending = true;
}

async function ask() {
  pending = false;
  asking?.controller.abort();
  const mine = {since: changedAt, controller: new AbortController()};
  asking = mine;
  ++answers.asked;
  document.body.classList.add('asking');
  const timer = setTimeout(() => tell('running …'), 300);
  try {
    const response = await fetch('run', {
      method: 'POST',
      headers: {'Content-Type': 'application/json'},
      body: JSON.stringify({page: pageName, changes: [...changes]}),
      signal: mine.controller.signal
    });
    if (!response.ok) throw Error((await response.text()).trim());
    await readLines(response, line => {
      if (asking === mine) take(line, mine);
    });
  } catch (error) {
    if (asking === mine)
      failed(error.name === 'TypeError' ? 'weir explore has ended: start it again' : error.message);
  }
  clearTimeout(timer);
  if (asking !== mine) return;
  asking = null;
  document.body.classList.remove('asking');
  if (pending) ask();
}

async function readLines(response, take) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    const lines = (rest + value).split('\n');
    rest = lines.pop();
    for (const line of lines) take(JSON.parse(line));
  }
}

// A line of an answer: the scenario itself is part 0, its other loads come after it or before.
function take(line, mine) {
  mine.loads ??= [];
  if (line.part === 0) {
    if (line.error) return failed(line.error);
    if (line.answer.problems) return wrong(line.answer.problems);
    mine.ran = line.answer;
    answers.shown = {...line.answer, loads: answers.shown?.loads || []};
    resolved = line.answer.scenario;
    answers.error = null;
    showProblems([]);
    document.body.classList.remove('stale');
    refreshPanel();
    drawAnswer();
    if (pending) ask();
  } else if (line.answer && !line.answer.problems) {
    mine.loads.push({...line.answer, order: line.part < 4 ? line.part : line.part + 1});  // 4: its own load
    if (mine.ran && performance.now() - mine.since > 2 * patience) drawLoads(mine);
  } else if (line.end === 'done' && mine.ran) {
    drawLoads(mine);
    answers.lastMs = performance.now() - mine.since;
    const loads = mine.loads.length ? `at ${mine.loads.length + 1} loads ` : '';
    tell(`simulated ${text(answers.shown.summary.completed)} requests ${loads}in ${
        text(Math.round(answers.lastMs))} ms${loads ? '' : '; such arrivals have no other loads'}`);
  } else if (line.end === 'lost') {
    failed('the process that runs scenarios is gone: start weir explore again');
  }
}

function drawLoads(mine) {
  answers.shown.loads = [...mine.loads];
  drawLoadChart();
}

function wrong(problems) {
  document.body.classList.add('stale');
  answers.error = problems.map(p => p.what).join('\n');
  showProblems(problems);
  tell('this cannot run; what is shown is the run before');
}

function failed(error) {
  document.body.classList.add('stale');
  answers.error = error;
  showProblems([{pointer: '', what: error}]);
  tell('this did not run; what is shown is the run before');
}

function tell(what) { $('state').textContent = what; }
