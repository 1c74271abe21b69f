'use strict';
// When to draw, what hands do, and the file to keep.

// span is the time shown: what was asked for, or what there is so far.
function span(...all) {
  const first = Math.min(...all.map(l => Math.min(l.s[0]?.[T] ?? end(), l.d[0]?.t ?? end())));
  return Math.min(view.range, Math.max(5e3, end() - first));
}

let asked = false;
function draw() {
  if (asked) return;
  asked = true;
  requestAnimationFrame(() => {
    asked = false;
    const l = limiters.get(view.id);
    $('detail').hidden = !l;
    $('empty').hidden = !!l;
    view.until = 0;
    view.span = span(...limiters.values()); // one for all, to be compared
    overview();
    if (!l) return;
    view.until = over(l) ? l.s[l.s.length - 1][T] : 0;
    view.span = span(l);
    detail(l);
    charts(l);
    log(l);
  });
}

for (const radio of document.getElementsByName('range')) radio.onchange = () => { view.range = radio.value * 1000; draw(); };
$('every').onchange = e => { view.every = e.target.value; listen(); };
$('freeze').onclick = () => {
  view.end = view.end ? 0 : view.now;
  $('freeze').setAttribute('aria-pressed', !!view.end);
  text($('freeze'), view.end ? 'Go on' : 'Freeze');
  link();
  draw();
};
$('controls').onsubmit = e => e.preventDefault();
$('save').onclick = save;

function point(e) {
  const box = e.target.getBoundingClientRect();
  const part = (e.clientX - box.left - 46) / (box.width - 54);
  view.at = part < 0 || part > 1 ? 0 : end() - view.span + part * view.span;
  draw();
}
for (const canvas of $('charts').querySelectorAll('canvas')) {
  canvas.onpointermove = canvas.onpointerdown = point;
  canvas.onpointerleave = () => { view.at = 0; draw(); };
}
$('charts').onblur = () => { view.at = 0; draw(); };
$('charts').onkeydown = e => {
  const l = limiters.get(view.id), from = view.at || end(), start = end() - view.span;
  if (!l || e.ctrlKey || e.metaKey || e.altKey) return;
  const ds = shownDecisions(l).filter(d => d.t >= start);
  const to = {
    ArrowLeft: () => from - view.span / 60, ArrowRight: () => from + view.span / 60,
    ArrowUp: () => ds.findLast(d => d.t < from - 1)?.t ?? from, ArrowDown: () => ds.find(d => d.t > from + 1)?.t ?? from,
    Home: () => start, End: () => end(), Escape: () => 0,
  }[e.key];
  if (!to) return;
  e.preventDefault();
  const t = to();
  view.at = t && Math.min(Math.max(t, start), end());
  draw();
};

// ---- one file to keep

async function save() {
  const load = async url => {
    const r = await fetch(url);
    if (!r.ok) throw new Error(`${url}: ${r.status}`);
    return r.text();
  };
  const scripts = [...document.querySelectorAll('script[src]')].map(s => s.getAttribute('src'));
  let html, css, js;
  try {
    [html, css, ...js] = await Promise.all(['./', 'live.css', ...scripts].map(load));
  } catch {
    return text($('spoken'), 'Not saved: the program does not answer.'), alert('Not saved: the program does not answer.');
  }
  const data = JSON.stringify({ now: view.end || view.now, run: view.run, id: view.id, range: view.range, limiters: [...limiters.values()] });
  const file = html
    .replace(/<link rel="icon"[^>]*>\n?/, '')
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>\n${css}</style>`)
    // The scripts must not have their own end in them.
    .replace(/<script src[^]*<\/script>/, () =>
      `<script type="application/json" id="saved">${data.replaceAll('<', '\\u003c')}<\/script>\n<script>\n${js.join('\n')}<\/script>`);
  const a = element('a');
  a.href = URL.createObjectURL(new Blob([file], { type: 'text/html' }));
  a.download = `aimd-${new Date(view.end || view.now).toISOString().slice(0, 19).replaceAll(':', '-')}.html`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10e3);
  text($('spoken'), `Saved as ${a.download}.`);
}

function reopen(s) {
  Object.assign(view, { now: s.now, run: s.run, id: s.id, range: s.range });
  for (const l of s.limiters) limiters.set(l.id, l);
  for (const radio of document.getElementsByName('range')) radio.checked = radio.value * 1000 === s.range;
  document.documentElement.classList.add('saved');
  $('more').hidden = true;
}

// ---- begin

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolor);
new ResizeObserver(draw).observe(document.body);
if (saved) reopen(saved);
recolor();
link();
if (!saved) {
  listen();
  setInterval(link, 1000);
}
