package wire

// Post runs f on the reading goroutine, between two messages, so that what changes the session's state from elsewhere (a
// trace that finished loading, a timer) needs no lock. It returns when f was taken, false if the connection has ended.
// It must not be called from the reading goroutine itself.
func (c *Conn) Post(f func()) bool {
	select {
	case c.posts <- f:
		return true
	case <-c.ended:
		return false
	}
}
