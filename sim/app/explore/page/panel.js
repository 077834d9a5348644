// The controls there are: those of the scenario's own nodes and replicas.
const listed = (choices, own) =>
    choices.map(([name, summary]) => [name, own ? own(name, summary) : name, summary]);
const powers = most => doublings(1, most).map(value => [value, String(value)]);

// On: a node has as many devices as the replicas take, where the cluster is one kind of node with one of
// device.
let follows = false;
const oneOf = pointer => current(pointer)?.length === 1;
const canFollow = () => oneOf('/cluster/nodes') && oneOf('/cluster/nodes/0/devices');
const devicesTaken = () => (current('/serving/replicas') || []).reduce((sum, _, r) => {
  const at = key => current(`/serving/replicas/${r}${key}`) || 1;
  return sum + at('/count') * at('/parallelism/tensor') * at('/parallelism/pipeline');
}, 0);
const devicesGiven = () =>
    (current('/cluster/nodes/0/count') || 1) * (current('/cluster/nodes/0/devices/0/count') || 1);

function followLayout() {
  if (!follows || !canFollow()) return;
  change(
      '/cluster/nodes/0/devices/0/count',
      Math.ceil(devicesTaken() / (current('/cluster/nodes/0/count') || 1)));
}

function addFollow(into) {
  if (!canFollow()) return;
  follows = devicesTaken() === devicesGiven();
  const box = element('input', {
    type: 'checkbox',
    id: 'follow',
    checked: follows,
    onchange: () => {
      follows = box.checked;
      changed(true);
    }
  });
  into.append(element(
      'label', {class: 'check', title: 'Devices a node = what all replicas take'}, box,
      'as many devices as the replicas take'));
}

function addHardware() {
  const group = addGroup('Model and hardware', '/cluster');
  addList(group, '/model', 'Model', listed(data.choices.models));
  const nodes = current('/cluster/nodes') || [];
  nodes.forEach((node, n) => {
    const at = `/cluster/nodes/${n}`;
    if (nodes.length > 1) group.append(element('h3', null, `Nodes of kind ${n + 1}`));
    node.devices.forEach((_, d) => {
      addList(group, `${at}/devices/${d}/kind`, 'Device', listed(data.choices.devices));
      addSlider(group, `${at}/devices/${d}/count`, 'Devices a node', countTo(16), {whole: true});
    });
    addList(group, `${at}/interconnect`, 'Interconnect', listed(data.choices.interconnects));
    addSlider(group, `${at}/count`, 'Nodes', countTo(16), {whole: true});
  });
  addFollow(group);
}

function addReplica(r, many) {
  const at = `/serving/replicas/${r}`, role = current(`${at}/role`);
  const group =
      addGroup(many ? `Replicas ${r + 1}${role && role !== 'both' ? ` (${role})` : ''}` : 'Layout', at);
  const layout = element('div', {class: 'few'});
  group.append(layout);
  addList(layout, `${at}/parallelism/tensor`, 'Tensor', powers(16));
  addList(layout, `${at}/parallelism/pipeline`, 'Pipeline', powers(8));
  addList(layout, `${at}/parallelism/expert`, 'Expert', powers(64));
  addList(layout, `${at}/parallelism/attention_data`, 'Attention data', powers(64));
  addSlider(group, `${at}/count`, 'Replicas', countTo(16), {whole: true});
  addBatching(group, `${at}/batching`);
}

// Another policy takes over the keys that it has.
function addBatching(group, at) {
  const keysOf = kind => data.choices.batching.find(([name]) => name === kind)?.[2] || [];
  const choose = kind => {
    const kept = Object.entries(valueAt(currentDocument(), at) || {})
                     .filter(([key]) => key !== 'kind' && keysOf(kind).includes(key));
    change(at, {kind, ...Object.fromEntries(kept)});
  };
  choose.shown = () => current(`${at}/kind`);
  addList(group, `${at}/kind`, 'Batching', listed(data.choices.batching), choose);
  for (const [key, label, most] of [
           ['max_batch_requests', 'Requests a step', 2048], ['max_batch_tokens', 'Tokens a step', 65536]]) {
    addSlider(group, `${at}/${key}`, label, doublings(1, most), {whole: true});
    const input = inputs.at(-1), refresh = input.refresh;
    input.refresh = () => {
      input.row.hidden = !keysOf(current(`${at}/kind`)).includes(key);
      refresh();
    };
  }
}

function addServing() {
  const replicas = current('/serving/replicas') || [];
  replicas.forEach((_, r) => addReplica(r, replicas.length > 1));
  addRouting();
}

function addRouting() {
  const group = addGroup('Routing', '/serving/routing');
  const choose = kind => change('/serving/routing', {kind});
  choose.shown = () => current('/serving/routing/kind');
  addList(group, '/serving/routing/kind', 'Router', listed(data.choices.routing), choose);
}

function addSlo() {
  const group = addGroup('SLO', '/slo');
  addSlider(group, '/slo/ttft_ms', 'First token', decadeSteps(10, 20000), {unit: 'ms', none: 'none'});
  addSlider(group, '/slo/tpot_ms', 'Each next one', decadeSteps(1, 500), {unit: 'ms', none: 'none'});
}

function makePanel() {
  $('panel').replaceChildren();
  inputs.length = 0;
  addLoad();
  addHardware();
  addServing();
  addSlo();
  refreshPanel();
}

function refreshPanel() {
  for (const input of inputs) input.refresh();
}

// --- Problems ---

// Beside the control that sets what is wrong, or the group that it belongs to, or above everything.
function showProblems(problems) {
  for (const input of inputs) {
    input.problem.hidden = true;
    input.problem.textContent = '';
    input.row.classList.remove('wrong');
    input.control?.removeAttribute('aria-invalid');
  }
  const homeless = [];
  for (const {pointer, what} of problems) {
    const inside = input => pointer === input.pointer || pointer.startsWith(input.pointer + '/');
    const home = inputs.filter(input => inside(input) && !input.row.hidden)
                     .sort((a, b) => b.pointer.length - a.pointer.length)[0];
    if (!home) {
      homeless.push({pointer, what});
      continue;
    }
    home.problem.hidden = false;
    home.problem.textContent += (home.problem.textContent ? '\n' : '') + what;
    home.row.classList.add('wrong');
    home.control?.setAttribute('aria-invalid', 'true');
    home.row.closest('details').open = true;
  }
  $('problems').hidden = homeless.length === 0;
  $('problems')
      .replaceChildren(
          ...homeless.map(({pointer, what}) => element('p', null, pointer ? `${pointer}: ` : '', what)));
}
