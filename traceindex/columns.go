package traceindex

const (
	chunkShift = 14
	chunkRows  = 1 << chunkShift
	chunkMask  = chunkRows - 1
)

// column is a growing column in chunks of equal size. A chunk is never moved, and the whole column is let go of as soon as
// gather has put it in order: the peak while building is the events plus one column.
type column[T any] struct {
	chunks []*[chunkRows]T
	last   *[chunkRows]T
}

func (c *column[T]) grow() {
	c.last = new([chunkRows]T)
	c.chunks = append(c.chunks, c.last)
}

func (c *column[T]) at(row int32) T { return c.chunks[row>>chunkShift][row&chunkMask] }

func (c *column[T]) set(row int32, v T) { c.chunks[row>>chunkShift][row&chunkMask] = v }

// gather returns the column in the order of rows and empties it.
func (c *column[T]) gather(rows []int32) []T {
	out := make([]T, len(rows))
	for i, r := range rows {
		out[i] = c.chunks[r>>chunkShift][r&chunkMask]
	}
	c.chunks, c.last = nil, nil
	return out
}

// columns are the events in the order they were read.
type columns struct {
	start, dur column[int64]
	link       column[uint64]
	name       column[NameID]
	thread     column[ThreadID]
	detail     column[int32]
	category   column[Category]
}

func (c *columns) add(n int, e *Event) {
	i := n & chunkMask
	if i == 0 {
		c.start.grow()
		c.dur.grow()
		c.link.grow()
		c.name.grow()
		c.thread.grow()
		c.detail.grow()
		c.category.grow()
	}
	c.start.last[i], c.dur.last[i], c.link.last[i] = e.StartNs, e.DurNs, e.Link
	c.name.last[i], c.thread.last[i], c.detail.last[i], c.category.last[i] = e.Name, e.Thread, e.Detail, e.Category
}

// truncate forgets the rows from n on.
func (c *columns) truncate(n int) {
	c.start.truncate(n)
	c.dur.truncate(n)
	c.link.truncate(n)
	c.name.truncate(n)
	c.thread.truncate(n)
	c.detail.truncate(n)
	c.category.truncate(n)
}

func (c *column[T]) truncate(n int) {
	c.chunks = c.chunks[:(n+chunkRows-1)>>chunkShift]
	c.last = nil
	if len(c.chunks) > 0 {
		c.last = c.chunks[len(c.chunks)-1]
	}
}

// drop lets go of a chunk that has been copied elsewhere.
func (c *columns) drop(chunk int) {
	c.start.chunks[chunk], c.dur.chunks[chunk], c.link.chunks[chunk] = nil, nil, nil
	c.name.chunks[chunk], c.thread.chunks[chunk], c.detail.chunks[chunk], c.category.chunks[chunk] = nil, nil, nil, nil
}
