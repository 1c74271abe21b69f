'use strict';
// What comes in, and what numbers it makes.

const $ = id => document.getElementById(id);
// The columns of a sample.
const T = 0, CWND = 1, SSTHRESH = 2, FLIGHT = 3, QUEUED = 4, ACCEPTED = 5, REFUSED = 6, TIMEOUTS = 7;
const KEEP = 600e3, GAP = 3500, MOST = 2000;
// Between decisions with no sample in between nobody looked.
const BLIND = 300;

// What is known of each limiter, by id: {id, name, s: samples, d: decisions, a: state, gone}.
// A client without one has a window of 0.
const limiters = new Map();
const view = { run: '', now: 0, end: 0, until: 0, range: 60e3, span: 60e3, at: 0, id: 0, every: '250ms', heard: 0 };
const saved = $('saved') && JSON.parse($('saved').textContent);

function take(m) {
  let wanted;
  if (m.run !== view.run) {
    wanted = limiters.get(view.id)?.name;
    limiters.clear();
    view.run = m.run;
    view.id = 0;
  }
  // When all have ended, time stands still, so that they stay in sight.
  const all = [...limiters.values()];
  if (all.length && all.every(over) && m.limiters.every(v => limiters.has(v.id) && v.name == null)) return;
  view.now = m.now;
  for (const l of limiters.values()) l.gone ||= m.now;
  for (const v of m.limiters) {
    let l = limiters.get(v.id);
    if (!l) limiters.set(v.id, l = { id: v.id, name: v.name, s: [], d: [] });
    l.gone = 0;
    l.a = v.a;
    l.u = v.u || [];
    l.f = v.f;
    l.w = v.w;
    l.name = v.name ?? l.name;
    const last = l.s.length ? l.s[l.s.length - 1][T] : 0;
    for (const row of v.s) if (row[T] > last) l.s.push(row);
    const seq = l.d.length ? l.d[l.d.length - 1].q : 0;
    for (const d of v.d || []) if (d.q > seq) l.d.push(d);
    trim(l, m.now - KEEP);
    if (l.name === wanted) view.id = l.id;
  }
  for (const l of limiters.values()) if (l.gone && l.gone < m.now - KEEP) limiters.delete(l.id);
  const gone = [...limiters.values()].filter(l => l.gone);
  for (const l of [...m.limiters.map(v => limiters.get(v.id)), ...gone]) { // in the order of the message
    limiters.delete(l.id);
    limiters.set(l.id, l);
  }
  if (!limiters.has(view.id)) Object.assign(view, { id: limiters.size ? limiters.keys().next().value : 0, picked: false });
  // Until somebody picks one: the first that has not ended.
  const ended = l => l.gone || l.a === 'closed';
  if (!view.picked && view.id && !view.end && ended(limiters.get(view.id))) view.id = [...limiters.values()].find(l => !ended(l))?.id ?? view.id;
  $('more').hidden = !m.more;
  $('more').textContent = `${m.more} more are not shown.`;
  $('empty').textContent = 'No limiter is at work yet. One shows up here as soon as it is.';
}

const bounded = l => l.s[l.s.length - 1]?.[CWND] > 0;
// now is a rate, but of what has ended.
const now = (l, i, ...columns) => over(l) ? null : rate(l.s, i, ...columns);
const over = l => l.a === 'closed' && !l.s[l.s.length - 1]?.[FLIGHT];

function trim(l, oldest) {
  let n = 0;
  while (n + 1 < l.s.length && l.s[n + 1][T] < oldest) n++;
  if (n > 50) l.s.splice(0, n);
  if (l.d.length > MOST) l.d.splice(0, l.d.length - MOST / 2);
}

let source, again;
function listen() {
  clearTimeout(again);
  source?.close();
  source = new EventSource('events?every=' + view.every);
  source.onmessage = e => {
    view.heard = Date.now();
    take(JSON.parse(e.data));
    link();
    draw();
    speak();
  };
  source.onerror = () => {
    view.heard = 0;
    link();
    if (source.readyState === EventSource.CLOSED) again = setTimeout(listen, 3000); // it would not by itself
  };
}

function link() {
  let state = 'live', text = 'live';
  if (saved) [state, text] = ['saved', `saved ${new Date(view.now).toLocaleDateString('sv')} ${clock(view.now)}`];
  else if (!view.heard || Date.now() - view.heard > 5000) [state, text] = view.run ? ['lost', 'lost the program, trying again'] : ['connecting', 'connecting'];
  else if (view.end) [state, text] = ['frozen', 'frozen, still recording'];
  if ($('link').dataset.state === state && !saved) return;
  $('link').dataset.state = state;
  $('link').lastElementChild.textContent = text;
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const num = x => x == null ? '–' : (Math.abs(x) < 100 ? tenth : whole).format(x);
const took = ms => ms < 1000 ? `${ms} ms` : ms < 60e3 ? `${tenth.format(ms / 1000)} s` : `${tenth.format(ms / 60e3)} min`;
const pad = n => String(n).padStart(2, '0');
const clock = t => { const d = new Date(t); return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`; };
const arrow = s => s.replaceAll(' -> ', '\u00a0→\u00a0');
// end is that of the time shown: of what has ended, when it did.
const end = () => view.end || view.until || view.now;

// index of the last sample at or before t, -1: none.
function find(s, t) {
  let lo = 0, hi = s.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; s[mid][T] <= t ? lo = mid + 1 : hi = mid; }
  return lo - 1;
}

// per second, over the last second before sample i; null where nobody looked.
function rate(s, i, ...columns) {
  let j = i;
  while (j > 0 && s[i][T] - s[j][T] < 950) j--;
  const dt = s[i][T] - s[j][T];
  return dt < 150 || dt > GAP ? null : columns.reduce((sum, c) => sum + s[i][c] - s[j][c], 0) * 1000 / dt;
}
