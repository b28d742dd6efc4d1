package lsp

import (
	"context"
	"time"

	"go.lsp.dev/jsonrpc2"

	"stepline/lsp/internal/wire"
)

// checkedFor waits for the whole check of exactly the text a request was about.
func (s *server) checkedFor(ctx context.Context, d *document) (*document, *checked, error) {
	return s.await(ctx, d.key, d, s.whole)
}

// checkedSoon is checkedFor for what must not keep a reader waiting: it is content with the check of the quick lane, and while a
// check is under way because something else than the text has changed (a trace was loaded, another file edited), the one before
// answers, with the lines of the trace there is now.
func (s *server) checkedSoon(ctx context.Context, d *document) (*document, *checked, error) {
	return s.await(ctx, d.key, d, s.soon)
}

// checkedNow waits for the whole check of a document as it is now, whatever its version; nil if it was closed.
func (s *server) checkedNow(ctx context.Context, key string) (*document, *checked, error) {
	return s.await(ctx, key, nil, s.whole)
}

// checkedShown is checkedNow for those who only show the findings: a quick check that shows what a whole one does will do.
func (s *server) checkedShown(ctx context.Context, key string) (*document, *checked, error) {
	return s.await(ctx, key, nil, s.shown)
}

// await waits for a check of a document, until one is not overtaken. about is the document that a request was about, nil for whatever
// it is now: if its text has changed since, the answer would be for another one, ContentModified.
func (s *server) await(ctx context.Context, key string, about *document, check func(context.Context, *document) (*checked, error)) (*document, *checked, error) {
	for {
		now := s.current.Load().documents[key]
		switch {
		case about != nil && (now == nil || now.text != about.text):
			return nil, nil, jsonrpc2.Errorf(wire.CodeContentModified, "%s has changed since", about.uri)
		case now == nil:
			return nil, nil, nil
		}
		result, err := check(ctx, now)
		if err != nil {
			return nil, nil, err
		}
		if result != nil {
			return now, result, nil
		}
	}
}

// whole waits for a document's whole check, which becomes the most urgent one; nil if the document was overtaken.
func (s *server) whole(ctx context.Context, d *document) (*checked, error) {
	if result := d.cell.peek(); result != nil {
		return result, nil
	}
	s.checker.poke(d.key)
	return d.cell.wait(ctx)
}

// soonest waits for a document's first check, quick or whole; nil if the document was overtaken.
func (s *server) soonest(ctx context.Context, d *document) (*checked, error) {
	if result := d.cell.soonest(); result != nil {
		return result, nil
	}
	s.checker.hasten(d.key)
	return d.cell.waitSoonest(ctx)
}

// shown waits for a document's first check that shows what the whole one does; nil if the document was overtaken.
func (s *server) shown(ctx context.Context, d *document) (*checked, error) {
	result, err := s.soonest(ctx, d)
	if result != nil && result.provisional {
		return s.whole(ctx, d)
	}
	return result, err
}

// soonTime is how long an answer waits for a check when there is one of the same text to go by.
const soonTime = time.Millisecond

// soon waits for a document's first check, for soonTime only where one of the same text can answer; nil if the document was overtaken.
func (s *server) soon(ctx context.Context, d *document) (*checked, error) {
	if d.interim == nil {
		return s.soonest(ctx, d)
	}
	short, cancel := context.WithTimeout(ctx, soonTime)
	defer cancel()
	result, err := s.whole(short, d)
	if err != nil && ctx.Err() == nil {
		return d.interim(), nil
	}
	return result, err
}
