package lsp

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"stepline/analysis"
	"stepline/lsp/internal/text"
	"stepline/pyscan"
)

// checker parses and lints documents, the last touched first. What a newer change has overtaken when its turn comes is dropped.
//
// It has two lanes, a goroutine each. An edit comes to the quick lane, which lints the edited definitions alone (quick.go) and
// tells at once; what only a look at the whole file can tell goes on to the whole lane, and so does every edited document once
// nobody has typed for laterTime. There, a document that was touched itself is checked at once; those that a change elsewhere
// may concern wait until nobody types, too, or until somebody asks for them.
type checker struct {
	s           *server
	once        once
	quick, wide lane

	mu      sync.Mutex
	later   []string
	touched time.Time // when something was last queued
	// lives are what the last whole checks found, by key, to lint edits by.
	lives      map[string]*liveDocument
	livesOrder []string

	// texts guards parsed, the last models by key, and which texts are in the projects.
	texts  sync.Mutex
	parsed map[string]parsedDocument

	// telling makes results be told in the order of their documents, and taken back behind all that was told; stale remembers
	// which were told to be stale.
	telling sync.Mutex
	stale   map[string]bool
}

// lane is a queue of documents, with the goroutine that works it off; the checker's mu guards it.
type lane struct {
	queue []string // keys, the most urgent last
	wake  chan struct{}
}

// laterTime is how long the checker must have had nothing new before it checks what was not touched itself.
const laterTime = 200 * time.Millisecond

type parsedDocument struct {
	text      *text.Text
	path      string
	file      *pyscan.File
	workspace *analysis.Workspace
}

func newChecker(s *server) *checker {
	return &checker{s: s, quick: lane{wake: make(chan struct{}, 1)}, wide: lane{wake: make(chan struct{}, 1)},
		lives: map[string]*liveDocument{}, parsed: map[string]parsedDocument{}, stale: map[string]bool{}}
}

func (c *checker) start() {
	c.once.Do(func() {
		c.s.spawn(func(ctx context.Context) { c.run(ctx, &c.quick, c.checkQuickly) })
		c.s.spawn(func(ctx context.Context) { c.run(ctx, &c.wide, c.check) })
	})
}

// edited has documents checked whose text was changed, the last named first.
func (c *checker) edited(keys ...string) { c.put(&c.quick, keys) }

// poke has documents checked whole, the last named first.
func (c *checker) poke(keys ...string) { c.put(&c.wide, keys) }

// pokeLater has documents checked whole when nobody types.
func (c *checker) pokeLater(keys ...string) { c.put(nil, keys) }

// put queues keys at the urgent end of a lane, nil for later. What waits in the quick lane goes on from there by itself.
func (c *checker) put(into *lane, keys []string) {
	if len(keys) == 0 {
		return
	}
	c.mu.Lock()
	for _, k := range keys {
		remove(&c.wide.queue, k)
		remove(&c.later, k)
		if into == nil {
			c.later = append(c.later, k)
			continue
		}
		if into == &c.quick {
			remove(&c.quick.queue, k)
		}
		into.queue = append(into.queue, k)
	}
	c.touched = time.Now()
	c.mu.Unlock()
	if into == nil {
		into = &c.wide
	}
	select {
	case into.wake <- struct{}{}:
	default:
	}
}

// hasten has a document checked at once that waits until nobody types.
func (c *checker) hasten(key string) {
	c.mu.Lock()
	waits := slices.Contains(c.later, key)
	c.mu.Unlock()
	if waits {
		c.poke(key)
	}
}

func remove(queue *[]string, key string) {
	if i := slices.Index(*queue, key); i >= 0 {
		*queue = slices.Delete(*queue, i, i+1)
	}
}

// next takes a lane's most urgent document; where there is none yet it tells how long to wait for one, 0 for as long as it takes.
func (c *checker) next(l *lane) (key string, ok bool, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := &l.queue
	if len(l.queue) == 0 {
		if l != &c.wide || len(c.later) == 0 {
			return "", false, 0
		}
		if wait = laterTime - time.Since(c.touched); wait > 0 {
			return "", false, wait
		}
		from = &c.later
	}
	last := len(*from) - 1
	key = (*from)[last]
	*from = (*from)[:last]
	return key, true, 0
}

func (c *checker) run(ctx context.Context, l *lane, work func(key string)) {
	for ctx.Err() == nil {
		key, ok, wait := c.next(l)
		if ok {
			c.one(work, key)
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-l.wake:
		case <-due:
		case <-ctx.Done():
		}
	}
}

// one works on one document; a panic ends that and not the lane.
func (c *checker) one(work func(key string), key string) {
	defer c.s.recovered("work on " + key)
	work(key)
}

// check checks a document whole.
func (c *checker) check(key string) {
	state := c.s.current.Load()
	file := c.takeTexts(state, key)
	d := state.documents[key]
	if d == nil || d.folder.workspace == nil || d.cell.overtaken() || d.cell.peek() != nil {
		return // it was closed, will be poked again, was overtaken, or is done
	}
	c.tell(d, c.lint(d, file), d.cell.settle)
}

// tell settles a document's check and has it published, if it is still the document.
func (c *checker) tell(d *document, result *checked, settle func(*checked) bool) {
	if c.told(d, result, settle) {
		root := d.folder.root
		c.s.conn.Post(func() { c.s.sendStatus(root) }) // unlocked: the session's goroutine may wait in takeBack
	}
}

// told is tell, all but for the folder's status; anew tells that it is to be sent again.
func (c *checker) told(d *document, result *checked, settle func(*checked) bool) (anew bool) {
	c.telling.Lock()
	defer c.telling.Unlock()
	quick := d.cell.soonest()
	if !settle(result) || c.s.current.Load().documents[d.key] != d {
		return false
	}
	if quick == nil || !sameFindings(quick, result) {
		c.s.published(d, result)
	}
	if quick == nil && !d.received.IsZero() {
		c.s.latency.edited(time.Since(d.received))
	}
	return c.noteStale(d, result)
}

// takeTexts puts the texts of all open documents into their projects: what one says depends on what the others hold. The
// files of closed ones are again as they are on disk. It returns the model of one of them.
func (c *checker) takeTexts(state *state, key string) *pyscan.File {
	c.texts.Lock()
	defer c.texts.Unlock()
	for key, p := range c.parsed {
		if state.documents[key] == nil {
			if p.workspace != nil {
				p.workspace.DropFile(p.path)
			}
			delete(c.parsed, key)
			c.forget(key)
		}
	}
	for _, d := range state.documents {
		c.take(d)
	}
	return c.parsed[key].file
}

// forget drops what is kept of a document that is closed.
func (c *checker) forget(key string) {
	c.telling.Lock()
	delete(c.stale, key)
	c.telling.Unlock()
	c.mu.Lock()
	delete(c.lives, key)
	remove(&c.livesOrder, key)
	c.mu.Unlock()
}

// take parses a document's text, if it is not yet, and puts it into its project. A panic below leaves the document without a model.
func (c *checker) take(d *document) {
	w := d.folder.workspace
	p := c.parsed[d.key]
	if !d.python() || w == nil || p.text == d.text && p.path == d.path && p.workspace == w {
		return
	}
	defer c.recovered("parsing", d)
	if p.workspace != nil && (p.workspace != w || p.path != d.path) {
		p.workspace.DropFile(p.path)
	}
	next := parsedDocument{text: d.text, path: d.path, file: p.file, workspace: w}
	if p.text != d.text || p.path != d.path {
		next.file = nil
		c.parsed[d.key] = next // what panics is not tried again
		next.file = pyscan.Parse(d.path, d.text.String())
	}
	c.parsed[d.key] = next
	if next.file != nil {
		w.SetFile(next.file)
	}
}

// recovered keeps a panic below from taking more than one document's findings; to be deferred.
func (c *checker) recovered(what string, d *document) {
	if p := recover(); p != nil {
		c.s.log.Error(what+" a document panicked", zap.String("uri", d.uri), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
	}
}

// lint makes a document's result.
func (c *checker) lint(d *document, file *pyscan.File) (result *checked) {
	result = &checked{} // also where a panic ends it
	if !d.python() || file == nil {
		return result
	}
	defer c.recovered("checking", d)
	findings, live, project := d.folder.workspace.CheckLive(file, d.folder.costs())
	result = &checked{file: file, findings: findings, lines: d.folder.linesOf(d, file)}
	if result.lines != nil {
		result.lenses() // worked out here rather than when somebody waits for them
	}
	c.s.phrased(d, result)
	c.keep(d, &liveDocument{live: live, workspace: d.folder.workspace, project: project, trace: d.folder.trace, path: d.path, result: result})
	return result
}

// recheckLater gives documents a new check once nothing more urgent waits. It may be called from any goroutine but the
// session's.
func (s *server) recheckLater(keys []string) {
	if len(keys) > 0 {
		s.conn.Post(func() { s.renew(keys) })
	}
}

// renew gives documents a new check. Session's goroutine only.
func (s *server) renew(keys []string) {
	s.update(func(next *state) {
		for _, k := range keys {
			if d := next.documents[k]; d != nil {
				next.documents[k] = d.renewed(d.folder)
			}
		}
	})
	s.checker.pokeLater(keys...)
}
