// The controls of what comes in: how often, and how long.
const requestsAt = '/workload/requests', arrivalsAt = '/workload/arrivals';
const rated = ['poisson', 'constant', 'gamma'];

function addLoad() {
  const group = addGroup('Load', '/workload');
  const own = valueAt(data.document, `${arrivalsAt}/kind`);
  const kinds = [...new Set([own, ...rated, 'closed_loop', 'all_at_once'])].filter(Boolean);
  const choose = kind => change(arrivalsAt, arrivalsOf(kind));
  choose.shown = () => current(`${arrivalsAt}/kind`);
  addList(
      group, `${arrivalsAt}/kind`, 'Arrivals', kinds.map(kind => [kind, kind.replaceAll('_', ' ')]), choose);
  addWhere(
      () => rated.includes(choose.shown()), group, `${arrivalsAt}/rate_per_s`, 'Rate',
      decadeSteps(0.1, 1000, 24), {unit: 'a second'});
  addWhere(
      () => 'concurrency' in (current(arrivalsAt) || {}), group, `${arrivalsAt}/concurrency`, 'In flight',
      decadeSteps(1, 4096, 12, true), {whole: true});
  addWhere(
      () => choose.shown() === 'trace', group, `${arrivalsAt}/rate_scale`, 'Speed of the trace',
      decadeSteps(0.01, 100, 24), {unit: 'x'});
  addLengths(group);
  addSlider(group, `${requestsAt}/count`, 'Requests', decadeSteps(20, 20000, 8, true), {whole: true});
}

// The file's own kind is as in the file; another takes over what the one before says.
function arrivalsOf(kind) {
  const own = valueAt(data.document, arrivalsAt);
  if (own?.kind === kind) return own;
  const rate = current(`${arrivalsAt}/rate_per_s`) ?? answers.shown?.summary.request_throughput ?? 1;
  if (rated.includes(kind))
    return {kind, rate_per_s: Number(rate.toPrecision(3)), ...(kind === 'gamma' && {cv: 2})};
  return kind === 'closed_loop' ? {kind, concurrency: 16} : {kind};
}

// A slider that is there while `holds`.
function addWhere(holds, group, pointer, label, steps, options) {
  addSlider(group, pointer, label, steps, options);
  const input = inputs.at(-1), refresh = input.refresh;
  input.refresh = () => {
    input.row.hidden = !holds();
    if (!input.row.hidden) refresh();
  };
}

// --- Lengths ---

function addLengths(group) {
  const own = valueAt(data.document, requestsAt), kind = () => current(`${requestsAt}/kind`);
  const laws = ['fixed', 'lognormal'];
  const choose = value => {
    if (value === '@file') return change(requestsAt, own);
    change(
        requestsAt,
        laws.includes(value) ? lengthsOf(value) : {kind: 'named', name: value, count: countNow()});
  };
  const isNamed = own?.kind === 'named', isLaw = laws.includes(own?.kind);
  choose.shown = () =>
      (laws.includes(kind())  ? kind() :
           kind() === 'named' ? current(`${requestsAt}/name`) :
                                '@file');
  const options = [
    ...data.choices.data_sets.map(([name, summary]) => [name, name.replaceAll('_', ' '), summary]),
    ['fixed', 'the same for all', 'One input and one output length for every request'],
    ['lognormal', 'lognormal', 'Lengths of lognormal laws, by mean and standard deviation'],
    ...(isNamed || isLaw ? [] : [['@file', `as in the file (${own?.kind})`, '']])
  ];
  addList(group, requestsAt, 'Lengths', options, choose);
  const steps = decadeSteps(1, 131072, 12, true), tokens = {unit: 'tokens', whole: true};
  addWhere(() => kind() === 'fixed', group, `${requestsAt}/input_tokens`, 'Input', steps, tokens);
  addWhere(() => kind() === 'fixed', group, `${requestsAt}/output_tokens`, 'Output', steps, tokens);
  const drawn = () => ['lognormal', 'gamma'].includes(kind());
  for (const side of ['input', 'output'])
    for (const [key, label] of [['mean', 'mean'], ['std', 'deviation']])
      addWhere(
          drawn, group, `${requestsAt}/${side}/${key}`, `${side[0].toUpperCase()}${side.slice(1)}, ${label}`,
          steps, {unit: 'tokens'});
}

const countNow = () => current(`${requestsAt}/count`) ?? 500;

// Laws start at the means of what ran last.
function lengthsOf(kind) {
  const summary = answers.shown?.summary, done = summary?.completed || 1;
  const mean = total => Math.max(1, Math.round((summary?.[total] ?? 500 * done) / done));
  const input = mean('total_input_tokens'), output = mean('total_output_tokens'), count = countNow();
  if (kind === 'fixed') return {kind, input_tokens: input, output_tokens: output, count};
  const law = tokens => ({mean: tokens, std: tokens, max: Math.max(8 * tokens, 64)});
  return {kind, input: law(input), output: law(output), count};
}
