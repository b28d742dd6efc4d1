package lsp

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"

	"stepline/analysis"
	"stepline/lsp/internal/text"
	"stepline/lsp/internal/wire"
	"stepline/pyscan"
)

// checker parses and lints documents on one goroutine, the last touched first. What a newer change has overtaken when its turn
// comes is dropped. A document that was touched itself is checked at once; those that a change elsewhere may concern wait until
// nobody has typed for laterTime, or until somebody asks for them.
type checker struct {
	s    *server
	once once
	wake chan struct{}

	mu      sync.Mutex
	queue   []string // keys, the most urgent last
	later   []string
	touched time.Time // when something was last queued

	// parsed are the last models, by key; the checker's goroutine owns them.
	parsed map[string]parsedDocument
	// stale remembers which documents were told to be stale; the checker's goroutine owns it.
	stale map[string]bool
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
	return &checker{s: s, wake: make(chan struct{}, 1), parsed: map[string]parsedDocument{}, stale: map[string]bool{}}
}

func (c *checker) start() { c.once.Do(func() { c.s.spawn(c.run) }) }

// poke has documents checked, the last named first.
func (c *checker) poke(keys ...string) {
	c.put(&c.queue, &c.later, keys)
}

// pokeLater has documents checked when nobody types.
func (c *checker) pokeLater(keys ...string) {
	c.put(&c.later, &c.queue, keys)
}

// put queues keys at the urgent end of one queue, out of the other.
func (c *checker) put(into, from *[]string, keys []string) {
	if len(keys) == 0 {
		return
	}
	c.mu.Lock()
	for _, k := range keys {
		for _, q := range []*[]string{into, from} {
			if i := slices.Index(*q, k); i >= 0 {
				*q = slices.Delete(*q, i, i+1)
			}
		}
		*into = append(*into, k)
	}
	c.touched = time.Now()
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// next takes the most urgent document; where there is none yet it tells how long to wait for one, 0 for as long as it takes.
func (c *checker) next() (key string, ok bool, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	from := &c.queue
	if len(c.queue) == 0 {
		if len(c.later) == 0 {
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

func (c *checker) run(ctx context.Context) {
	for ctx.Err() == nil {
		key, ok, wait := c.next()
		if ok {
			c.check(key)
			continue
		}
		var due <-chan time.Time
		if wait > 0 {
			due = time.After(wait)
		}
		select {
		case <-c.wake:
		case <-due:
		case <-ctx.Done():
		}
	}
}

func (c *checker) check(key string) {
	state := c.s.current.Load()
	c.takeTexts(state)
	d := state.documents[key]
	if d == nil || d.folder.workspace == nil || d.cell.overtaken() || d.cell.peek() != nil {
		return // it was closed, will be poked again, was overtaken, or is done
	}
	result := c.lint(d)
	if d.cell.settle(result) && c.s.current.Load().documents[key] == d {
		c.s.published(d, result)
	}
}

// takeTexts puts the texts of all open documents into their projects: what one says depends on what the others hold. The
// files of closed ones are again as they are on disk.
func (c *checker) takeTexts(state *state) {
	for key, p := range c.parsed {
		if state.documents[key] == nil {
			if p.workspace != nil {
				p.workspace.DropFile(p.path)
			}
			delete(c.parsed, key)
			delete(c.stale, key)
		}
	}
	for _, d := range state.documents {
		c.take(d)
	}
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
func (c *checker) lint(d *document) (result *checked) {
	result = &checked{} // also where a panic ends it
	file := c.parsed[d.key].file
	if !d.python() || file == nil {
		return result
	}
	defer c.recovered("checking", d)
	findings := d.folder.workspace.CheckFile(file, d.folder.costs())
	lines := d.folder.linesOf(d, file)
	return &checked{file: file, findings: findings, lines: lines}
}

// wait waits for a document's check, which becomes the most urgent one; nil if the document was overtaken.
func (s *server) wait(ctx context.Context, d *document) (*checked, error) {
	if result := d.cell.peek(); result != nil {
		return result, nil
	}
	s.checker.poke(d.key)
	return d.cell.wait(ctx)
}

// soonTime is how long an answer waits for a check when there is one of the same text to go by.
const soonTime = 2 * time.Millisecond

// checkedSoon is checkedFor for what must not keep a reader waiting: while a check is under way because something else than the
// text has changed (a trace was loaded, another file edited), the one before answers, with the lines of the trace there is now.
func (s *server) checkedSoon(ctx context.Context, d *document) (*document, *checked, error) {
	now := s.current.Load().documents[d.key]
	if now == nil || now.text != d.text || now.interim == nil || now.cell.peek() != nil {
		return s.checkedFor(ctx, d)
	}
	soon, cancel := context.WithTimeout(ctx, soonTime)
	defer cancel()
	if checked, result, err := s.checkedFor(soon, d); err == nil {
		return checked, result, nil
	}
	if ctx.Err() != nil {
		return nil, nil, ctx.Err()
	}
	if now = s.current.Load().documents[d.key]; now == nil || now.text != d.text || now.interim == nil {
		return s.checkedFor(ctx, d)
	}
	return now, now.interim(), nil
}

// checkedFor waits for the check of exactly the text a request was about; if the text has changed since, the answer would
// be for another document: ContentModified.
func (s *server) checkedFor(ctx context.Context, d *document) (*document, *checked, error) {
	for {
		now := s.current.Load().documents[d.key]
		if now == nil || now.text != d.text {
			return nil, nil, jsonrpc2.Errorf(wire.CodeContentModified, "%s has changed since", d.uri)
		}
		result, err := s.wait(ctx, now)
		if err != nil {
			return nil, nil, err
		}
		if result != nil {
			return now, result, nil
		}
	}
}

// checkedNow waits for the check of a document as it is now, whatever its version; nil if it was closed.
func (s *server) checkedNow(ctx context.Context, key string) (*document, *checked, error) {
	for {
		now := s.current.Load().documents[key]
		if now == nil {
			return nil, nil, nil
		}
		result, err := s.wait(ctx, now)
		if err != nil {
			return nil, nil, err
		}
		if result != nil {
			return now, result, nil
		}
	}
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
