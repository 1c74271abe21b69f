'use strict';
// The texts: the state, the decisions, the table of limiters.

function text(node, s) { if (node.textContent !== s) node.textContent = s; }

const stateOf = l => l.gone ? 'gone' : l.a;

// usedUp is the quota that is used up for longest, or undefined.
const usedUp = l => (l.u || []).filter(q => q.used_up_until).sort((a, b) => a.used_up_until < b.used_up_until ? 1 : -1)[0];
const until = q => `until ${clock(Date.parse(q.used_up_until))}`;
const sentence = l => l.w && !l.gone ? l.w : stateOf(l) === 'quota' && usedUp(l) ? `quota ${usedUp(l).name} used up ${until(usedUp(l))}` : stateOf(l);

function detail(l) {
  const i = find(l.s, end()), s = l.s[i];
  text($('name'), l.name);
  $('verdict').dataset.tone = $('mark').dataset.mark = stateOf(l);
  text($('text'), sentence(l));
  $('detail').classList.toggle('unbound', !bounded(l));
  text($('c-title'), bounded(l) ? 'Window' : 'In flight');
  if (!s) return;
  const accepted = now(l, i, ACCEPTED), refused = now(l, i, REFUSED, TIMEOUTS);
  text($('t-cwnd'), num(s[CWND]));
  text($('t-ssthresh'), s[CWND] < s[SSTHRESH] ? 'slow start' : `ssthresh ${num(s[SSTHRESH])}`);
  text($('t-flight'), num(s[FLIGHT]));
  $('fill').style.width = Math.min(100, 100 * s[FLIGHT] / (s[CWND] || 1e9)) + '%';
  text($('t-queued'), num(s[QUEUED]));
  const j = Math.max(0, find(l.s, s[T] - 10e3)), more = s[QUEUED] - l.s[j][QUEUED];
  text($('t-queue'), more ? `${more > 0 ? '+' : '−'}${num(Math.abs(more))} in ${Math.max(1, Math.round((s[T] - l.s[j][T]) / 1000))} s` : 'steady');
  text($('t-accepted'), num(accepted));
  text($('t-sum'), `${num(s[ACCEPTED])} in all`);
  text($('t-refused'), num(refused));
  // Of several quotas the one that is used up for longest, or runs out first.
  const quota = usedUp(l) || (l.u || []).reduce((a, b) => a && a.left / a.limit <= b.left / b.limit ? a : b, null);
  $('quota').hidden = !quota;
  if (quota) {
    text($('t-quota'), num(quota.left));
    text($('t-limit'), `of ${num(quota.limit)} ${quota.name}` + (quota.used_up_until ? ', ' + until(quota) : '') + (quota.refused >= .005 ? `, ${num(100 * quota.refused)}% spent by refusals` : ''));
  }
  $('share').hidden = !l.f;
  if (l.f) {
    const silent = Math.round((end() - Date.parse(l.f.heard)) / 1000);
    text($('t-share'), l.f.window ? num(l.f.window) : '–');
    text($('t-fleet'), `${l.f.mode}, ${l.f.processes} processes` + (l.f.leads ? ', leads' : '') + (silent >= 2 ? `, store silent ${silent} s` : ''));
  }
  const all = s[REFUSED] + s[TIMEOUTS];
  text($('t-lost'), `${num(all)} in all` + (all ? `, ${num(100 * all / (all + s[ACCEPTED]))}%` : ''));
}

function element(tag, content, kind) {
  const e = document.createElement(tag);
  if (content != null) e.textContent = content;
  if (kind) e.className = kind;
  return e;
}

// entries are the lines of the log, latest first: the decisions, and what grew before each.
function entries(l) {
  const all = [];
  let last = null;
  for (const d of l.d.filter(d => d.t <= end()).slice(-150)) {
    if (moves(d)) {
      if (last && d.b > last.c + .5) all.push({ k: 'grew', t: d.t, w: `grew: ${num(last.c)} -> ${num(d.b)} in ${took(d.t - last.t)}` });
      last = d;
    }
    all.push(d);
  }
  const s = l.s[find(l.s, end())];
  if (last && s && s[CWND] > last.c + .5 && all[all.length - 1].k !== 'closed') all.push({ k: 'grew', t: s[T], w: `grew since: ${num(last.c)} -> ${num(s[CWND])}` });
  return all.reverse().slice(0, 150);
}

function log(l) {
  const items = entries(l), rows = $('decisions').children;
  $('none').hidden = items.length > 0;
  items.forEach((d, k) => {
    const row = rows[k] || $('decisions').appendChild(line()), words = arrow(d.w), at = words.indexOf(': ', words.startsWith('shadow') ? 8 : 0);
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
  $('mixed').hidden = ![...limiters.values()].some(l => !bounded(l));
  $('overview').hidden = limiters.size < 2;
  if (limiters.size < 2) return;
  for (const [id, tr] of rows) if (!limiters.has(id)) { tr.remove(); rows.delete(id); }
  let place = 0;
  for (const l of limiters.values()) {
    if (!rows.has(l.id)) rows.set(l.id, row(l));
    const tr = rows.get(l.id), there = $('rows').children[place++];
    if (tr !== there) $('rows').insertBefore(tr, there || null);
    const i = find(l.s, end()), s = l.s[i];
    tr.classList.toggle('on', l.id === view.id);
    tr.classList.toggle('gone', !!l.gone);
    tr.querySelector('button').setAttribute('aria-pressed', l.id === view.id);
    const c = tr.children, state = c[1].firstChild;
    state.dataset.mark = stateOf(l);
    text(state, stateOf(l));
    text(tr.querySelector('bdi'), l.name);
    if (!s) continue;
    [bounded(l) ? s[CWND] : null, s[FLIGHT], bounded(l) ? s[QUEUED] : null, now(l, i, ACCEPTED), now(l, i, REFUSED, TIMEOUTS), s[ACCEPTED], s[REFUSED] + s[TIMEOUTS]]
      .forEach((v, k) => text(c[k + 2], num(v)));
    spark(c[9].firstChild, l);
  }
}
function row(l) {
  const tr = element('tr'), name = element('td'), pick = element('button'), state = element('td');
  pick.type = 'button';
  pick.append(element('bdi', l.name));
  pick.title = l.name;
  pick.onclick = () => { view.id = l.id; view.picked = true; view.at = 0; draw(); };
  name.append(pick);
  state.append(element('span', '', 'state'));
  tr.append(name, state, ...['n', 'n wide', 'n', 'n', 'n', 'n mid', 'n wide'].map(k => element('td', '', k)));
  const last = element('td', null, 'spark wide'), canvas = element('canvas');
  canvas.setAttribute('aria-hidden', 'true');
  last.append(canvas);
  tr.append(last);
  tr.addEventListener('click', e => { if (e.target !== pick) pick.click(); });
  return tr;
}
function spark(canvas, l) {
  if (!canvas.clientWidth) return;
  const points = bounded(l) ? curve(l, CWND, shownDecisions(l)) : column(l, FLIGHT), p = paper(canvas, highest(points) * 1.1, 2, 0);
  p.g.save();
  steps(p, points, { color: bounded(l) ? ink.cwnd : ink.flight, width: 1.5, fill: .12, dots: true });
  p.g.restore();
}

// speak tells a screen reader when the state changes, not every number.
let spoken = '', spokenAt = 0;
function speak() {
  const l = limiters.get(view.id);
  if (!l || Date.now() - spokenAt < 4000) return;
  const key = l.id + l.a;
  if (key === spoken) return;
  spoken = key;
  spokenAt = Date.now();
  text($('spoken'), `${l.name}: ${l.a}`);
}
