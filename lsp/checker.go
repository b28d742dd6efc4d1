package lsp

import (
	"context"
	"runtime/debug"
	"slices"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.uber.org/zap"

	"stepline/analysis"
	"stepline/lsp/internal/text"
	"stepline/lsp/internal/wire"
	"stepline/pyscan"
)

// checker parses and lints documents on one goroutine, the last touched first. It never waits and never debounces: what a
// newer change has overtaken when its turn comes is dropped.
type checker struct {
	s    *server
	once once
	wake chan struct{}

	mu    sync.Mutex
	queue []string // keys, the most urgent last

	// parsed are the last models, by key; the checker's goroutine owns them.
	parsed map[string]parsedDocument
	// stale remembers which documents were told to be stale; the checker's goroutine owns it.
	stale map[string]bool
}

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
	c.mu.Lock()
	for _, k := range keys {
		if i := slices.Index(c.queue, k); i >= 0 {
			c.queue = slices.Delete(c.queue, i, i+1)
		}
		c.queue = append(c.queue, k)
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// pokeLater has documents checked after what waits already.
func (c *checker) pokeLater(keys ...string) {
	c.mu.Lock()
	for _, k := range keys {
		if !slices.Contains(c.queue, k) {
			c.queue = slices.Insert(c.queue, 0, k)
		}
	}
	c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

func (c *checker) next() (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 0 {
		return "", false
	}
	key := c.queue[len(c.queue)-1]
	c.queue = c.queue[:len(c.queue)-1]
	return key, true
}

func (c *checker) run(ctx context.Context) {
	for {
		key, ok := c.next()
		if !ok {
			select {
			case <-c.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		if ctx.Err() != nil {
			return
		}
		c.check(key)
	}
}

func (c *checker) check(key string) {
	state := c.s.current.Load()
	d := state.documents[key]
	if d == nil {
		c.forget(key)
		return
	}
	if d.folder.workspace == nil || d.cell.overtaken() || d.cell.peek() != nil {
		return // it will be poked again, was overtaken, or is done
	}
	result, others := c.lint(d)
	if !d.cell.settle(result) {
		return
	}
	if c.s.current.Load().documents[key] == d {
		c.s.published(d, result)
	}
	c.s.recheckLater(others)
}

// forget drops what is kept of a closed document; its folder's other files see the file on disk again.
func (c *checker) forget(key string) {
	if p, there := c.parsed[key]; there && p.workspace != nil {
		p.workspace.DropFile(p.path)
		c.s.recheckLater(c.others(key, p.workspace))
	}
	delete(c.parsed, key)
	delete(c.stale, key)
}

// lint makes a document's result; a panic below costs this document its findings, not the session. others are documents
// whose findings may have changed with this one.
func (c *checker) lint(d *document) (result *checked, others []string) {
	defer func() {
		if p := recover(); p != nil {
			c.s.log.Error("checking a document panicked", zap.String("uri", d.uri), zap.Any("panic", p), zap.ByteString("stack", debug.Stack()))
			result = &checked{}
		}
	}()
	if !d.python() {
		return &checked{}, nil
	}
	w := d.folder.workspace
	p := c.parsed[d.key]
	if p.workspace != nil && (p.workspace != w || p.path != d.path) {
		p.workspace.DropFile(p.path)
	}
	changed := p.text != d.text || p.path != d.path
	if changed {
		p.file = pyscan.Parse(d.path, d.text.String())
	}
	c.parsed[d.key] = parsedDocument{text: d.text, path: d.path, file: p.file, workspace: w}
	if w.SetFile(p.file) && changed {
		others = c.others(d.key, w)
	}
	result = &checked{file: p.file}
	result.findings = w.CheckFile(p.file, d.folder.costs())
	result.lines = d.folder.linesOf(d, p.file)
	return result, others
}

// others are the open documents of a workspace but one: what is called from where may have changed for them.
func (c *checker) others(key string, w *analysis.Workspace) []string {
	var keys []string
	for k, d := range c.s.current.Load().documents {
		if k != key && d.folder.workspace == w {
			keys = append(keys, k)
		}
	}
	return keys
}

// checkedFor waits for the check of exactly the text a request was about; if the text has changed since, the answer would
// be for another document: ContentModified.
func (s *server) checkedFor(ctx context.Context, d *document) (*document, *checked, error) {
	for {
		now := s.current.Load().documents[d.key]
		if now == nil || now.text != d.text {
			return nil, nil, jsonrpc2.Errorf(wire.CodeContentModified, "%s has changed since", d.uri)
		}
		result, err := now.cell.wait(ctx)
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
		result, err := now.cell.wait(ctx)
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
