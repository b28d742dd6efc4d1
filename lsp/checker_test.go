package lsp

import (
	"context"
	"slices"
	"testing"

	"go.uber.org/zap"
)

// TestALaneOutlivesAPanic: what panics at one document leaves the others their checks.
func TestALaneOutlivesAPanic(t *testing.T) {
	c := newChecker(&server{log: zap.NewNop()})
	c.poke("last", "middle", "first")
	ctx, cancel := context.WithCancel(t.Context())
	var done []string
	c.run(ctx, &c.wide, func(key string) {
		done = append(done, key)
		if key == "last" {
			cancel()
		}
		panic(key)
	})
	if want := []string{"first", "middle", "last"}; !slices.Equal(done, want) {
		t.Errorf("worked on %v, want %v", done, want)
	}
}
