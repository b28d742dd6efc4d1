package wire

import (
	"sync"
	"time"
)

// pool runs work on a bounded number of goroutines, started when there is work and gone when there is none. What waits is a
// closure, not a goroutine, so that a flood of requests costs little.
type pool struct {
	mu      sync.Mutex
	queue   []func()
	running int
	limit   int
	long    int
	idle    sync.Cond
}

func newPool(limit int) *pool {
	p := &pool{limit: limit}
	p.idle.L = &p.mu
	return p
}

// do queues f, or starts it at once on a goroutine of its own where it is long.
func (p *pool) do(long bool, f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if long {
		p.long++
		go func() {
			defer p.longDone()
			f()
		}()
		return
	}
	p.queue = append(p.queue, f)
	if p.running < p.limit {
		p.running++
		go p.work()
	}
}

func (p *pool) longDone() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.long--
	p.idle.Broadcast()
}

func (p *pool) work() {
	for {
		p.mu.Lock()
		if len(p.queue) == 0 {
			p.running--
			p.idle.Broadcast()
			p.mu.Unlock()
			return
		}
		f := p.queue[0]
		p.queue[0] = nil
		p.queue = p.queue[1:]
		p.mu.Unlock()
		f()
	}
}

// wait returns when the short work has ended, and the long too if that is asked for, or after limit: work that does not heed its
// context is left behind.
func (p *pool) wait(limit time.Duration, long bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	over := false
	timer := time.AfterFunc(limit, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		over = true
		p.idle.Broadcast()
	})
	defer timer.Stop()
	for (p.running > 0 || long && p.long > 0) && !over {
		p.idle.Wait()
	}
}
