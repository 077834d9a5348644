// The scenario as set now, or the command that runs it, to be taken elsewhere.
const scenarioText = () => JSON.stringify(currentDocument(), null, 2) + '\n';

const quoted = word => (/^[\w@%+=:,.\/-]+$/.test(word) ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`);
function commandText() {
  const sets =
      [...changes].map(([pointer, value]) => `--set ${quoted(`${pointer}=${JSON.stringify(value)}`)}`);
  return ['weir run ' + quoted(data.file), ...sets].join(' ');
}

// Into the clipboard, or where a browser does not allow that, as a text that is selected.
async function copy(button, title, copied) {
  try {
    await navigator.clipboard.writeText(copied);
    const label = button.textContent;
    button.textContent = 'Copied';
    setTimeout(() => button.textContent = label, 1200);
  } catch {
    $('copied-title').textContent = title;
    $('copied-text').value = copied;
    $('copied').showModal();
    $('copied-text').select();
  }
}
