package lsp

import (
	"context"
	"time"
)

// watchParent ends the session when the client's process is gone: a client that crashed sends no exit, and its pipe may be
// held open by another process.
func (s *server) watchParent(pid *int64) {
	if !s.options.WatchParent || pid == nil || *pid <= 0 {
		return
	}
	s.spawn(func(ctx context.Context) {
		tick := time.NewTicker(2 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				if !processAlive(int(*pid)) {
					s.log.Info("the client's process is gone")
					s.end(errClientGone)
					return
				}
			}
		}
	})
}
