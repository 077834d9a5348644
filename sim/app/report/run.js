// The page of a single run: cards of its main metrics in place of the table.
function showRun() {
  document.body.classList.add('run');
  $('points').hidden = true;
  $('add-figure').closest('section').hidden = true;
  $('cards').hidden = false;
  for (const f of mainMetrics)
    $('cards').append(element('div', {class: 'card', title: f.id}, element('b', null, text(f.values[0])), element('span', null, f.label)));
  change('selected', {selected: 0});
}
