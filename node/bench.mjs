// Compares select with `JSON.parse`, map and `JSON.stringify` on the same job. Usage: npm run bench [-- SECONDS].
// Prints a table of microseconds per document, and the ratio. The outputs are compared before anything is measured.
import assert from 'node:assert/strict'
import { Program } from 'tamis'

const select = { number: 'number', title: 'title', state: 'state', login: 'user.login', labels: 'labels[].name' }

/** Three members of each item, and five, of which one is deeper and one an array. */
const jobs = {
  flat: {
    program: new Program({ select: ['number', 'title', 'state'], root: '/items' }),
    pick: (item) => ({ number: item.number, title: item.title, state: item.state }),
  },
  nested: {
    program: new Program({ select, root: '/items' }),
    pick: (item) => ({
      number: item.number,
      title: item.title,
      login: item.user.login,
      labels: item.labels.map((label) => label.name),
      state: item.state,
    }),
  },
}

/** Returns an issue in the shape that GitHub's API returns: about 2.5 KB, mostly addresses. */
function issue(number) {
  const base = `https://api.github.com/repos/harbour/tar/issues/${number}`
  const user = {
    login: `user${number % 17}`,
    id: 1000 + (number % 17),
    node_id: 'MDQ6VXNlcjE=',
    avatar_url: `https://avatars.githubusercontent.com/u/${number % 17}?v=4`,
    url: `https://api.github.com/users/user${number % 17}`,
    html_url: `https://github.com/user${number % 17}`,
    type: 'User',
    site_admin: false,
  }
  const names = ['url', 'repository_url', 'labels_url', 'comments_url', 'events_url', 'html_url']
  const label = { id: 7, node_id: 'MDU6TGFiZWw3', url: `${base}/labels/bug`, name: 'bug', color: 'd73a4a', default: true }
  return {
    ...Object.fromEntries(names.map((name) => [name, `${base}/${name}`])),
    id: 10_000_000 + number,
    node_id: `MDU6SXNzdWU${number}`,
    number,
    title: `Archives of more than ${number} files – wrong order`,
    user,
    labels: [label, { ...label, id: 8, name: 'help wanted', default: false }],
    state: number % 3 ? 'open' : 'closed',
    locked: false,
    assignee: null,
    assignees: [user],
    comments: number % 9,
    created_at: '2026-01-02T03:04:05Z',
    body: 'When I pack a folder, the order of the files is not kept.\n\n```sh\ntar -cf a.tar a\n```\n'.repeat(3),
    reactions: { url: `${base}/reactions`, total_count: 0, '+1': 0, '-1': 0, laugh: 0 },
  }
}

/** Returns an issue as an API without addresses returns it: about 0.33 KB. */
function brief(number) {
  const { id, title, state, locked, assignee, comments, created_at, user, labels } = issue(number)
  const { login, type } = user
  return {
    id,
    number,
    title,
    user: { login, id: user.id, type },
    labels: labels.map(({ id, name, color }) => ({ id, name, color })),
    state,
    locked,
    assignee,
    comments,
    created_at,
  }
}

/** Returns a page of issues of about this size. Below 1 KB, the issues are brief ones. */
function page(size) {
  const items = []
  for (let length = 40; length < size || items.length === 0; ) {
    items.push(size >= 1000 ? issue(items.length) : brief(items.length))
    length += Buffer.byteLength(JSON.stringify(items.at(-1))) + 1
  }
  return Buffer.from(JSON.stringify({ total_count: items.length, incomplete_results: false, items }))
}

function withJson(pick, bytes) {
  const document = JSON.parse(bytes.toString())
  document.items = document.items.map(pick)
  return Buffer.from(JSON.stringify(document))
}

/** Returns the mean of the best round of each job, in time of the processor: other programs may run meanwhile. The jobs take
 * turns, so that all of them meet the same conditions. */
function microseconds(jobs, bytes, seconds) {
  const round = (job, calls) => {
    const start = process.cpuUsage()
    for (let call = 0; call < calls; call += 1) job(bytes)
    const { user, system } = process.cpuUsage(start)
    return (user + system) / calls
  }
  const counts = jobs.map((job) => {
    // The compiler of JavaScript needs some rounds.
    for (let warm = 0; warm < 200 && round(job, 1) < 1000; warm += 1);
    return Math.max(1, Math.floor(3000 / Math.max(round(job, 10), 1)))
  })
  const end = Date.now() + seconds * 1000 * jobs.length
  let best = jobs.map(() => Infinity)
  while (Date.now() < end) best = best.map((one, at) => Math.min(one, round(jobs[at], counts[at])))
  return best
}

const seconds = Number(process.argv[2] ?? 2)
console.log('| job | document | bytes | tamis | JSON.parse + map + JSON.stringify | ratio |')
console.log('|---|---|--:|--:|--:|--:|')
for (const [job, { program, pick }] of Object.entries(jobs)) {
  for (const [name, size] of [['0.7 KB', 600], ['5 KB', 5_000], ['100 KB', 100_000], ['10 MB', 10_000_000]]) {
    const bytes = page(size)
    assert.equal(program.filter(bytes).toString(), withJson(pick, bytes).toString())
    const [ours, json] = microseconds([(data) => program.filter(data), (data) => withJson(pick, data)], bytes, seconds)
    const cells = [ours, json].map((value) => `${value.toLocaleString('en', { maximumFractionDigits: 1 })} µs`)
    const length = bytes.length.toLocaleString('en')
    console.log(`| ${job} | ${name} | ${length} | ${cells.join(' | ')} | ${(json / ours).toFixed(1)} |`)
  }
}
