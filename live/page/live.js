'use strict';
(() => {
const $ = id => document.getElementById(id);
// The columns of a sample.
const T = 0, CWND = 1, SSTHRESH = 2, FLIGHT = 3, QUEUED = 4, ACCEPTED = 5, REFUSED = 6, TIMEOUTS = 7, WAIT = 9;
const KEEP = 600e3, GAP = 3500, MOST = 2000;
// Between decisions with no sample in between nobody looked.
const BLIND = 300;

// What is known of each limiter, by id: {id, name, s: samples, d: decisions, a: advice, gone}.
const limiters = new Map();
const view = { run: '', now: 0, end: 0, range: 60e3, span: 60e3, at: 0, id: 0, every: '250ms', heard: 0 };
const saved = $('saved') && JSON.parse($('saved').textContent);

// ---- what comes in

function take(m) {
  let wanted;
  if (m.run !== view.run) {
    wanted = limiters.get(view.id)?.name;
    limiters.clear();
    view.run = m.run;
    view.id = 0;
  }
  view.now = m.now;
  for (const l of limiters.values()) l.gone ||= m.now;
  for (const v of m.limiters) {
    let l = limiters.get(v.id);
    if (!l) limiters.set(v.id, l = { id: v.id, name: v.name, s: [], d: [] });
    l.gone = 0;
    l.a = v.a;
    const last = l.s.length ? l.s[l.s.length - 1][T] : 0;
    for (const row of v.s) if (row[T] > last) l.s.push(row);
    const seq = l.d.length ? l.d[l.d.length - 1].q : 0;
    for (const d of v.d || []) if (d.q > seq) l.d.push(d);
    if (v.skipped && v.d) l.d[l.d.length - 1].more = true;
    trim(l, m.now - KEEP);
    if (l.name === wanted) view.id = l.id;
  }
  for (const l of limiters.values()) if (l.gone && l.gone < m.now - KEEP) limiters.delete(l.id);
  if (!limiters.has(view.id)) view.id = limiters.size ? limiters.keys().next().value : 0;
  $('more').hidden = !m.more;
  $('more').textContent = `${m.more} more are not shown.`;
  $('empty').textContent = 'There is no limiter yet.';
}

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
  if (saved) [state, text] = ['saved', 'saved ' + new Date(view.now).toLocaleString()];
  else if (!view.heard || Date.now() - view.heard > 5000) [state, text] = view.run ? ['lost', 'lost the program, trying again'] : ['connecting', 'connecting'];
  else if (view.end) [state, text] = ['frozen', 'frozen, still recording'];
  if ($('link').dataset.state === state && !saved) return;
  $('link').dataset.state = state;
  $('link').lastElementChild.textContent = text;
}

// ---- numbers and times

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const tenth = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });
const num = x => x == null ? '–' : (Math.abs(x) < 100 ? tenth : whole).format(x);
const took = ms => ms < 1000 ? `${ms} ms` : ms < 60e3 ? `${tenth.format(ms / 1000)} s` : `${tenth.format(ms / 60e3)} min`;
const pad = n => String(n).padStart(2, '0');
const clock = t => { const d = new Date(t); return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`; };
const arrow = s => s.replaceAll(' -> ', '\u00a0→\u00a0');
const end = () => view.end || view.now;

// index of the last sample at or before t, -1: none.
function find(s, t) {
  let lo = 0, hi = s.length;
  while (lo < hi) { const mid = (lo + hi) >> 1; s[mid][T] <= t ? lo = mid + 1 : hi = mid; }
  return lo - 1;
}

// per second, over the last second before sample i.
function rate(s, i, ...columns) {
  let j = i;
  while (j > 0 && s[i][T] - s[j][T] < 950) j--;
  const dt = s[i][T] - s[j][T];
  return dt < 150 ? null : columns.reduce((sum, c) => sum + s[i][c] - s[j][c], 0) * 1000 / dt;
}

// ---- drawing

const names = ['ink', 'soft', 'rule', 'card', 'cwnd', 'ssthresh', 'flight', 'queued', 'accepted', 'refused', 'held'];
let ink = {};
function recolor() {
  const style = getComputedStyle(document.documentElement);
  for (const n of names) ink[n] = style.getPropertyValue('--' + n).trim();
  ink.hatch = hatch(ink.held);
  draw();
}
function hatch(color) {
  const c = document.createElement('canvas');
  c.width = c.height = 8;
  const g = c.getContext('2d');
  g.strokeStyle = color;
  g.globalAlpha = 0.55;
  g.lineWidth = 1.5;
  g.beginPath();
  for (const k of [-8, 0, 8]) { g.moveTo(k, 8); g.lineTo(k + 8, 0); }
  g.stroke();
  return g.createPattern(c, 'repeat');
}

// paper makes a canvas ready, with its scales.
function paper(canvas, max, top, left = 46) {
  const w = canvas.clientWidth, h = canvas.clientHeight, r = devicePixelRatio || 1;
  if (canvas.width !== Math.round(w * r) || canvas.height !== Math.round(h * r)) {
    canvas.width = Math.round(w * r);
    canvas.height = Math.round(h * r);
  }
  const g = canvas.getContext('2d');
  g.setTransform(r, 0, 0, r, 0, 0);
  g.clearRect(0, 0, w, h);
  g.lineJoin = 'round';
  const right = w - 8, bottom = left ? h - 20 : h - 2, t1 = end(), t0 = t1 - view.span;
  return {
    g, left, right, top, bottom, t0, t1, max,
    x: t => left + (t - t0) / (t1 - t0) * (right - left),
    y: v => bottom - Math.min(v, max * 1.2) / max * (bottom - top),
  };
}

// nice is the top of a scale with four steps in round numbers.
const nice = max => {
  const p = 10 ** Math.max(0, Math.floor(Math.log10(max / 4)));
  return 4 * p * ([1, 1.5, 2, 2.5, 3, 4, 5, 6, 8].find(k => k * p * 4 >= max && (k * p) % 1 === 0) || 10);
};

function grid(p) {
  const { g } = p;
  g.font = '11px system-ui, sans-serif';
  g.lineWidth = 1;
  g.strokeStyle = ink.rule;
  g.fillStyle = ink.soft;
  g.textBaseline = 'middle';
  g.textAlign = 'right';
  const n = p.bottom - p.top > 150 ? 4 : 2;
  for (let k = 0; k <= n; k++) {
    const v = p.max * k / n, y = Math.round(p.y(v)) + .5;
    g.beginPath();
    g.moveTo(p.left, y);
    g.lineTo(p.right, y);
    g.stroke();
    g.fillText(num(v), p.left - 7, y);
  }
  g.textAlign = 'center';
  g.textBaseline = 'alphabetic';
  const step = [5, 10, 15, 30, 60, 120, 300].find(s => (p.right - p.left) / view.span * s * 1000 > 66) * 1000 || 600e3;
  for (let t = Math.ceil(p.t0 / step) * step; t <= p.t1; t += step) {
    const x = p.x(t);
    if (x < p.left + 24 || x > p.right - 24) continue;
    g.fillText(clock(t), x, p.bottom + 15);
    g.fillRect(Math.round(x), p.bottom, 1, 4);
  }
}

function clip(p) {
  p.g.save();
  p.g.beginPath();
  p.g.rect(p.left, p.top - 26, p.right - p.left, p.bottom - p.top + 27);
  p.g.clip();
}

// steps draws points [t, v, of a decision] as steps; where nobody looked it is dotted.
function steps(p, points, { color, width = 2, dash = [], fill = 0 }) {
  const { g } = p;
  const runs = [];
  for (const q of points) {
    const run = runs[runs.length - 1];
    const last = run?.[run.length - 1];
    if (last && q[0] - last[0] <= (q[2] && last[2] ? BLIND : GAP)) run.push(q); else runs.push([q]);
  }
  g.strokeStyle = g.fillStyle = color;
  runs.forEach((run, i) => {
    g.beginPath();
    g.setLineDash(dash);
    g.lineWidth = width;
    run.forEach(([t, v], k) => {
      if (k) g.lineTo(p.x(t), p.y(run[k - 1][1]));
      g[k ? 'lineTo' : 'moveTo'](p.x(t), p.y(v));
    });
    g.stroke();
    if (fill) {
      g.lineTo(p.x(run[run.length - 1][0]), p.bottom);
      g.lineTo(p.x(run[0][0]), p.bottom);
      g.globalAlpha = fill;
      g.fill();
      g.globalAlpha = 1;
    }
    const next = runs[i + 1];
    if (!next) return;
    const [t, v] = run[run.length - 1];
    g.beginPath();
    g.setLineDash([2, 4]);
    g.lineWidth = 1;
    g.moveTo(p.x(t), p.y(v));
    g.lineTo(p.x(next[0][0]), p.y(next[0][1]));
    g.stroke();
  });
  g.setLineDash([]);
}

// column is a column of the samples shown, one before them included.
function column(l, c) {
  const points = [];
  for (let i = Math.max(0, find(l.s, end() - view.span)); i < l.s.length && l.s[i][T] <= end(); i++) {
    points.push([l.s[i][T], typeof c === 'function' ? c(i) : l.s[i][c]]);
  }
  const last = points[points.length - 1];
  if (last && end() - last[0] < GAP && !l.gone) points.push([end(), last[1]]);
  return points;
}

const moves = d => d.k === 'cut' || d.k === 'shrank' || d.k === 'reconfigured';
const shownDecisions = l => l.d.filter(d => d.t + (d.p || 0) >= end() - view.span && d.t <= end());

// curve is a column with what decisions made of it, each at its very time.
function curve(l, c, decisions) {
  const points = column(l, c), merged = [];
  let i = 0;
  for (const d of decisions) {
    if (!moves(d)) continue;
    while (i < points.length && points[i][0] < d.t) merged.push(points[i++]);
    if (c === CWND) merged.push([d.t, d.b, true]);
    merged.push([d.t, c === CWND ? d.c : d.h, true]);
  }
  return merged.concat(points.slice(i));
}

function shape(g, kind, x, y) {
  g.beginPath();
  if (kind === 'cut') { g.moveTo(x - 5, y - 10); g.lineTo(x + 5, y - 10); g.lineTo(x, y - 2); }
  if (kind === 'shrank') { g.moveTo(x, y - 12); g.lineTo(x + 5, y - 7); g.lineTo(x, y - 2); g.lineTo(x - 5, y - 7); }
  if (kind === 'reconfigured') g.rect(x - 4, y - 11, 8, 8);
  if (kind === 'closed') { g.moveTo(x - 4, y - 11); g.lineTo(x + 4, y - 3); g.moveTo(x + 4, y - 11); g.lineTo(x - 4, y - 3); }
  g.closePath();
}

// marks draws decisions on the window's chart, as many as there is room for.
function marks(p, decisions) {
  const { g } = p;
  const color = { cut: ink.refused, shrank: ink.ssthresh, reconfigured: ink.soft, closed: ink.ink };
  g.font = '600 11px system-ui, sans-serif';
  g.textAlign = 'center';
  let last = -99, label = -99, hold = -99;
  for (const d of decisions) {
    const x = p.x(d.t), y = Math.max(p.y(moves(d) ? d.b : 0), p.top - 2);
    if (d.k === 'held') { hold = pause(p, d, hold); continue; }
    if (x - last < 5) continue;
    last = x;
    shape(g, d.k, x, d.k === 'closed' ? p.top + 10 : y);
    g.lineWidth = 2;
    g.strokeStyle = g.fillStyle = color[d.k];
    if (d.k === 'shrank' || d.k === 'closed') g.stroke(); else g.fill();
    const text = !moves(d) ? d.k : Math.round(d.b) === Math.round(d.c) ? '' : `${num(Math.round(d.b))} → ${num(Math.round(d.c))}`;
    const half = g.measureText(text).width / 2;
    if (half < 8 || x - half < label + 6 || x - half < p.left || x + half > p.right) continue;
    label = x + half;
    g.fillStyle = ink.ink;
    g.lineWidth = 3;
    g.strokeStyle = ink.card;
    g.strokeText(text, x, y - 14);
    g.fillText(text, x, y - 14);
  }
}

// pause draws one, and its text if it is right of the last one, whose end it returns.
function pause(p, d, last) {
  const { g } = p, x = Math.max(p.x(d.t), p.left), w = Math.max(p.x(Math.min(d.t + d.p, p.t1)) - x, 2);
  g.fillStyle = ink.hatch;
  g.fillRect(x, p.top, w, p.bottom - p.top);
  const words = 'held ' + took(d.p), half = g.measureText(words).width / 2;
  const at = Math.min(Math.max(x + w / 2, p.left + half), p.right - half);
  if (w < 12 || at - half < last + 6) return last;
  g.fillStyle = ink.held;
  g.fillText(words, at, p.top - 8);
  return at + half;
}

// cross shows the time pointed at, and a dot on each line.
function cross(p, dots) {
  if (!view.at || view.at < p.t0 || view.at > p.t1) return;
  const { g } = p, x = Math.round(p.x(view.at)) + .5;
  g.strokeStyle = ink.ink;
  g.lineWidth = 1;
  g.setLineDash([3, 3]);
  g.beginPath();
  g.moveTo(x, p.top - 8);
  g.lineTo(x, p.bottom);
  g.stroke();
  g.setLineDash([]);
  for (const [v, color] of dots) {
    if (v == null) continue;
    g.beginPath();
    g.arc(x, p.y(v), 4, 0, 7);
    g.fillStyle = color;
    g.fill();
    g.lineWidth = 2;
    g.strokeStyle = ink.card;
    g.stroke();
  }
}

const highest = (...lists) => lists.flat().reduce((m, q) => Math.max(m, q[1] ?? 0), 1);

function charts(l) {
  const decisions = shownDecisions(l);
  const i = find(l.s, view.at || end()), s = i >= 0 ? l.s[i] : null;
  const cwnd = curve(l, CWND, decisions), flight = column(l, FLIGHT), ssthresh = curve(l, SSTHRESH, decisions);
  const accepted = column(l, k => rate(l.s, k, ACCEPTED)).filter(q => q[1] != null);
  const refused = column(l, k => rate(l.s, k, REFUSED, TIMEOUTS)).filter(q => q[1] != null);
  const queued = column(l, QUEUED);

  let p = paper($('c-window'), nice(highest(cwnd, flight) * 1.04), 30);
  grid(p);
  clip(p);
  steps(p, flight, { color: ink.flight, width: 1, fill: .18 });
  steps(p, ssthresh, { color: ink.ssthresh, width: 2, dash: [7, 5] });
  steps(p, cwnd, { color: ink.cwnd, width: 2.5 });
  marks(p, decisions);
  p.g.restore();
  if (s && s[SSTHRESH] > p.max) above(p, s[SSTHRESH]);
  cross(p, s ? [[s[FLIGHT], ink.flight], [s[CWND], ink.cwnd]] : []);

  p = paper($('c-rate'), nice(highest(accepted, refused) * 1.04), 10);
  grid(p);
  clip(p);
  steps(p, accepted, { color: ink.accepted, width: 2, fill: .14 });
  steps(p, refused, { color: ink.refused, width: 2.5, dash: [2, 3], fill: .25 });
  p.g.restore();
  cross(p, s ? [[rate(l.s, i, ACCEPTED), ink.accepted], [rate(l.s, i, REFUSED, TIMEOUTS), ink.refused]] : []);

  p = paper($('c-queue'), nice(highest(queued) * 1.04), 10);
  grid(p);
  clip(p);
  steps(p, queued, { color: ink.queued, width: 2, fill: .16 });
  p.g.restore();
  cross(p, s ? [[s[QUEUED], ink.queued]] : []);
  keys(l, s, i);
}

function above(p, v) {
  const { g } = p;
  g.font = '600 11px system-ui, sans-serif';
  g.fillStyle = ink.ssthresh;
  g.textAlign = 'right';
  g.fillText(`ssthresh ${num(v)} ↑`, p.right - 2, p.top - 14);
}

function keys(l, s, i) {
  const set = (k, v) => { text(document.querySelector('.k-' + k + ' b'), v == null ? '–' : num(v)); };
  set('cwnd', s?.[CWND]);
  set('ssthresh', s?.[SSTHRESH]);
  set('flight', s?.[FLIGHT]);
  set('queued', s?.[QUEUED]);
  set('accepted', s && rate(l.s, i, ACCEPTED));
  set('refused', s && rate(l.s, i, REFUSED, TIMEOUTS));
  if (!view.at) return text($('readout'), '');
  const near = nearest(l, view.at, view.span / 80);
  text($('readout'), clock(view.at) + (near ? ' · ' + arrow(near.w) : s ? ` · window ${num(s[CWND])}, ${num(s[FLIGHT])} in flight, ${num(s[QUEUED])} queued` : ''));
}

const nearest = (l, t, within) => l.d.reduce((best, d) =>
  t >= d.t - within && t <= d.t + (d.p || 0) + within && (!best || Math.abs(d.t - t) < Math.abs(best.t - t)) ? d : best, null);

// ---- texts

function text(node, s) { if (node.textContent !== s) node.textContent = s; }

function detail(l) {
  const i = find(l.s, end()), s = l.s[i];
  text($('name'), l.name);
  const a = l.gone ? { mark: 'off', text: 'Gone: the program let go of it.', do: [] } : l.a;
  $('verdict').dataset.tone = $('mark').dataset.mark = a.mark;
  text($('text'), a.text);
  const todo = a.do || [];
  if ($('do').dataset.all !== todo.join('\n')) {
    $('do').dataset.all = todo.join('\n');
    $('do').replaceChildren(...todo.map(t => element('li', t)));
  }
  if (!s) return;
  const accepted = rate(l.s, i, ACCEPTED), refused = rate(l.s, i, REFUSED, TIMEOUTS);
  text($('t-cwnd'), num(s[CWND]));
  text($('t-ssthresh'), s[CWND] < s[SSTHRESH] ? 'slow start' : `ssthresh ${num(s[SSTHRESH])}`);
  text($('t-flight'), num(s[FLIGHT]));
  $('fill').style.width = Math.min(100, 100 * s[FLIGHT] / s[CWND]) + '%';
  text($('t-queued'), num(s[QUEUED]));
  const j = Math.max(0, find(l.s, s[T] - 10e3)), more = s[QUEUED] - l.s[j][QUEUED];
  text($('t-queue'), more ? `${more > 0 ? '+' : '−'}${num(Math.abs(more))} in ${Math.max(1, Math.round((s[T] - l.s[j][T]) / 1000))} s` : 'steady');
  text($('t-accepted'), num(accepted ?? 0));
  text($('t-sum'), `${num(s[ACCEPTED])} in all`);
  text($('t-refused'), num(refused ?? 0));
  const all = s[REFUSED] + s[TIMEOUTS];
  text($('t-lost'), `${num(all)} in all` + (all ? `, ${num(100 * all / (all + s[ACCEPTED]))}%` : ''));
  text($('t-wait'), took(s[WAIT]));
}

function element(tag, content, kind) {
  const e = document.createElement(tag);
  if (content != null) e.textContent = content;
  if (kind) e.className = kind;
  return e;
}

// entries are the lines of the log, latest first: decisions of one kind within a second
// in one, and what grew before each.
function entries(l) {
  const all = [], shown = l.d.filter(d => d.t <= end()).slice(-400);
  let last = null;
  for (const d of shown) {
    const top = all[all.length - 1];
    const same = top?.k === d.k && Math.floor(top.t / 1000) === Math.floor(d.t / 1000);
    if (moves(d)) {
      if (!same && last && d.b > last.c + .5) all.push({ k: 'grew', t: d.t, w: `grew: ${num(last.c)} -> ${num(d.b)} in ${took(d.t - last.t)}` });
      last = d;
    }
    if (!same) all.push({ k: d.k, t: d.t, w: d.w, n: 1, b: d.b, more: d.more });
    else Object.assign(top, { t: d.t, n: ++top.n, more: top.more ||= d.more, w: `${d.k} ${top.n}${top.more ? '+' : ''} times in a second: ` + (moves(d) ? `${num(top.b)} -> ${num(d.c)}` : d.w) });
  }
  const s = l.s[find(l.s, end())];
  if (last && s && s[CWND] > last.c + .5) all.push({ k: 'grew', t: s[T], w: `grew since: ${num(last.c)} -> ${num(s[CWND])}` });
  return all.reverse().slice(0, 150);
}

function log(l) {
  const items = entries(l), rows = $('decisions').children;
  $('none').hidden = items.length > 0;
  items.forEach((d, k) => {
    const row = rows[k] || $('decisions').appendChild(line()), words = arrow(d.w), at = words.indexOf(': ');
    row.dataset.kind = row.children[1].dataset.k = d.k;
    text(row.children[0], clock(d.t));
    text(row.children[2].firstChild, at < 0 ? words : words.slice(0, at));
    text(row.children[2].lastChild, at < 0 ? '' : ' ' + words.slice(at + 2));
    row.classList.toggle('at', !!view.at && d.k !== 'grew' && Math.abs(d.t - view.at) < view.span / 80);
  });
  while (rows.length > items.length) $('decisions').lastChild.remove();
}
function line() {
  const row = element('li'), what = element('span'), sign = element('i');
  sign.setAttribute('aria-hidden', 'true');
  what.append(element('b'), element('span'));
  row.append(element('time'), sign, what);
  return row;
}

const rows = new Map();
function overview() {
  $('overview').hidden = limiters.size < 2;
  if (limiters.size < 2) return;
  for (const [id, tr] of rows) if (!limiters.has(id)) { tr.remove(); rows.delete(id); }
  for (const l of limiters.values()) {
    let tr = rows.get(l.id);
    if (!tr) {
      rows.set(l.id, tr = row(l));
      $('rows').append(tr);
    }
    const i = find(l.s, end()), s = l.s[i];
    tr.classList.toggle('on', l.id === view.id);
    tr.classList.toggle('gone', !!l.gone);
    tr.querySelector('button').setAttribute('aria-pressed', l.id === view.id);
    const c = tr.children, state = c[1].firstChild;
    state.dataset.mark = l.gone ? 'off' : l.a.mark;
    text(state, l.gone ? 'gone' : l.a.state);
    if (!s) continue;
    [num(s[CWND]), num(s[FLIGHT]), num(s[QUEUED]), num(rate(l.s, i, ACCEPTED) ?? 0), num(rate(l.s, i, REFUSED, TIMEOUTS) ?? 0), num(s[ACCEPTED])]
      .forEach((v, k) => text(c[k + 2], v));
    spark(c[8].firstChild, l);
  }
}
function row(l) {
  const tr = element('tr'), name = element('td'), pick = element('button'), state = element('td');
  pick.type = 'button';
  pick.append(element('bdi', l.name));
  pick.title = l.name;
  pick.onclick = () => { view.id = l.id; view.at = 0; draw(); };
  name.append(pick);
  state.append(element('span', '', 'state'));
  tr.append(name, state, ...['n', 'n wide', 'n mid', 'n', 'n mid', 'n wide'].map(k => element('td', '', k)));
  const last = element('td', null, 'spark wide'), canvas = element('canvas');
  canvas.setAttribute('aria-hidden', 'true');
  last.append(canvas);
  tr.append(last);
  tr.addEventListener('click', e => { if (e.target !== pick) pick.click(); });
  return tr;
}
function spark(canvas, l) {
  if (!canvas.clientWidth) return;
  const points = curve(l, CWND, shownDecisions(l)), p = paper(canvas, highest(points) * 1.1, 2, 0);
  p.g.save();
  steps(p, points, { color: ink.cwnd, width: 1.5, fill: .12 });
  p.g.restore();
}

// speak tells a screen reader when the state changes, not every number.
let spoken = '', spokenAt = 0;
function speak() {
  const l = limiters.get(view.id);
  if (!l || !l.a || Date.now() - spokenAt < 4000) return;
  const key = l.id + l.a.state;
  if (key === spoken) return;
  spoken = key;
  spokenAt = Date.now();
  text($('spoken'), `${l.name}: ${l.a.text}`);
}

// span is the time shown: what was asked for, or what there is so far.
function span(l) {
  const first = Math.min(l.s[0]?.[T] ?? end(), l.d[0]?.t ?? end());
  return Math.min(view.range, Math.max(15e3, end() - first));
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
    if (l) view.span = span(l);
    overview();
    if (!l) return;
    detail(l);
    charts(l);
    log(l);
  });
}

// ---- hands

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
  const [html, css, js] = await Promise.all(['./', 'live.css', 'live.js'].map(async u => {
    const r = await fetch(u);
    if (!r.ok) throw new Error(`${u}: ${r.status}`);
    return r.text();
  }).map(p => p.catch(() => null)));
  if (!html || !css || !js) return text($('spoken'), 'Not saved: the program does not answer.'), alert('Not saved: the program does not answer.');
  const data = JSON.stringify({ now: end(), run: view.run, id: view.id, range: view.range, limiters: [...limiters.values()] });
  const file = html
    .replace(/<link rel="icon"[^>]*>\n?/, '')
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>\n${css}</style>`)
    // The script must not have its own end in it.
    .replace(/<script src="live.js"><\/script>/, () =>
      `<script type="application/json" id="saved">${data.replaceAll('<', '\\u003c')}<\/script>\n<script>\n${js}<\/script>`);
  const a = element('a');
  a.href = URL.createObjectURL(new Blob([file], { type: 'text/html' }));
  a.download = `aimd-${new Date(end()).toISOString().slice(0, 19).replaceAll(':', '-')}.html`;
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10e3);
  text($('spoken'), `Saved as ${a.download}.`);
}

function open(s) {
  Object.assign(view, { now: s.now, run: s.run, id: s.id, range: s.range });
  for (const l of s.limiters) limiters.set(l.id, l);
  for (const radio of document.getElementsByName('range')) radio.checked = radio.value * 1000 === s.range;
  document.documentElement.classList.add('saved');
  $('more').hidden = true;
}

// ---- begin

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', recolor);
new ResizeObserver(draw).observe(document.body);
if (saved) open(saved);
recolor();
link();
if (!saved) {
  listen();
  setInterval(link, 1000);
}
})();
